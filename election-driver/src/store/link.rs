//! The connection that a store keeps to its database, and the fate of one that a call gave up
//! midway.
//!
//! A caller that gives up a call cannot take back what was sent: on the server the statement goes
//! on, and with it the session, for as long as it waits for a lock or the server is ill. If every
//! call that is given up left a session behind and opened another, an elector that tries once a
//! second would use up every client's connections on that server. So there are never more than two:
//!
//! ```text
//!   nothing ── open ──▶ attempt ──▶ free ◀──── call ────▶ busy
//!                         │  ▲                              │ the call was given up
//!                         └──┘ outlives the call            ▼
//!                                                       abandoned ── ended by the next connection
//! ```
//!
//! Nothing here runs by itself: every step is taken within a call, and a call may be dropped
//! anywhere. [`Link`] records what a call does before the call waits for anything.

use super::client::{Client, Companions};
use crate::{StoreError, now};
use election_core::{Timestamp, lease::Failure};
use std::{future::Future, pin::Pin, sync::Mutex, time::Duration};

/// How long an attempt to connect continues, across any number of calls, before another is made. A
/// slow server is reached in the end; a server that has moved is looked up anew.
const PATIENCE: Duration = Duration::from_secs(10);

/// At most one connection in use, or an attempt at one; and at most one that is being given up.
pub(super) struct Link<C: Client> {
    kept: Option<Kept<C>>,
    /// Only ever taken out. The lock is needed to share a store between threads.
    attempt: Mutex<Option<Attempt<C>>>,
    /// A session that a call gave up midway and that may still exist on the server.
    abandoned: Option<(C::Connection, C::Session)>,
}

struct Kept<C: Client> {
    connection: C::Connection,
    session: C::Session,
    identity: C::Identity,
    companions: Companions,
    /// The use it is in. If the next call finds one, the last call was given up midway.
    busy: Option<Use>,
}

/// What a connection is opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    /// Statements that each stand alone.
    Call,
    /// Creating the database and its tables, in one transaction if possible.
    Making,
}

/// A connection that is being opened.
struct Attempt<C: Client> {
    connecting: Pin<Box<dyn Future<Output = Result<Kept<C>, StoreError>> + Send>>,
    what: Use,
    since: Timestamp,
}

impl<C: Client> Default for Link<C> {
    fn default() -> Self {
        Self { kept: None, attempt: Mutex::new(None), abandoned: None }
    }
}

impl<C: Client> Link<C> {
    /// The connection, for one call, which [`settle`](Self::settle) ends. The future may be
    /// dropped.
    pub(super) async fn open(
        &mut self,
        client: &C,
        what: Use,
    ) -> Result<&mut C::Connection, StoreError> {
        self.look_again(client, what)?;
        let given_up = |kept: &mut Kept<C>| match kept.busy {
            None => false,
            Some(Use::Call) => !C::QUEUES,
            Some(Use::Making) => true,
        };
        if let Some(kept) = self.kept.take_if(given_up) {
            // An older one had the time of a whole call, in which the server ended it by itself.
            self.abandoned = Some((kept.connection, kept.session));
        }
        if self.kept.is_none() {
            self.kept = Some(self.connect(client, what).await?);
        }
        let Some(kept) = &mut self.kept else { return Err(exchanged()) };
        kept.busy = Some(what);
        if let Some((_, session)) = &self.abandoned {
            client.end(&mut kept.connection, session).await;
            self.abandoned = None;
        }
        client.clear(&mut kept.connection).await;
        Ok(&mut kept.connection)
    }

    /// Ends a call, and keeps the connection if the call has left it in good order.
    pub(super) fn settle(&mut self, client: &C, in_order: bool) {
        if !in_order {
            self.kept = None;
        }
        if let Some(kept) = &mut self.kept {
            kept.busy = None;
            kept.companions = client.companions();
        }
    }

    /// Whether a connection is open, so that a statement may have been sent.
    pub(super) fn is_open(&self) -> bool {
        self.kept.is_some()
    }

    /// Drops a connection if a new one would lead elsewhere.
    fn look_again(&mut self, client: &C, what: Use) -> Result<(), StoreError> {
        let kept = self.kept.take();
        if what == Use::Making {
            client.make()?;
        }
        client.admit()?;
        let Some(kept) = kept else { return Ok(()) };
        let there = client.identity();
        // A call that was given up may have created what did not exist before.
        let stays = |(known, now): (Option<_>, Option<_>)| {
            known == now || known.is_none() && kept.busy.is_some()
        };
        let companions = client.companions();
        let companions_stay = kept.companions.into_iter().zip(companions).all(stays);
        if Some(&kept.identity) == there.as_ref() && companions_stay {
            self.kept = Some(Kept { companions, ..kept });
            return Ok(());
        }
        tracing::warn!(
            place = %client.place(),
            "the database, or a file beside it, was removed or exchanged while it was in use: \
             writes may be lost, and two may have led; opening it anew"
        );
        Ok(())
    }

    /// Continues an attempt that an earlier call has begun, or begins one.
    async fn connect(&mut self, client: &C, what: Use) -> Result<Kept<C>, StoreError> {
        let attempt = self.attempt.get_mut().unwrap_or_else(std::sync::PoisonError::into_inner);
        attempt.take_if(|attempt| attempt.what != what || now().since(attempt.since) > PATIENCE);
        let attempt = attempt.get_or_insert_with(|| Attempt {
            connecting: Box::pin(connect(client.clone(), what)),
            what,
            since: now(),
        });
        let connected = attempt.connecting.as_mut().await;
        self.attempt = Mutex::new(None);
        if connected.is_err() {
            // The abandoned session may take up the room. The server ends it by itself, now without
            // a client.
            self.abandoned = None;
        }
        connected
    }
}

/// How often to open a database that is replaced meanwhile, as happens when several create it at
/// once.
const LOOKS: u32 = 5;

async fn connect<C: Client>(client: C, what: Use) -> Result<Kept<C>, StoreError> {
    for _ in 0..LOOKS {
        let before = client.identity();
        let (connection, session) = client.connect(what == Use::Making).await?;
        // The connection leads to this place only if the path did so both before and after.
        match (before, client.identity()) {
            (Some(before), Some(identity)) if before == identity => {
                let companions = client.companions();
                return Ok(Kept { connection, session, identity, companions, busy: Some(what) });
            }
            _ => {}
        }
    }
    Err(exchanged())
}

fn exchanged() -> StoreError {
    let context = "the database was exchanged as it was opened; trying again";
    StoreError::new(Failure::Transient, context)
}
