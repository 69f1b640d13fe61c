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
//!                                                       abandoned ── ended by the next attempt
//! ```
//!
//! An attempt is complete only once its connection has ended the abandoned one. A link that lets a
//! client in and then carries nothing more therefore holds one connection up, not one per call.
//!
//! Nothing here runs by itself: every step is taken within a call, and a call may be dropped
//! anywhere. [`Link`] records what a call does before the call waits for anything.

use super::{
    client::{Client, Companions},
    timeouts::Timeouts,
};
use crate::{StoreError, now};
use election_core::{Timestamp, lease::Failure, sql::Statements};
use std::{
    future::Future,
    pin::Pin,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

/// At most one connection in use, or an attempt at one; and at most one that is being given up.
pub(super) struct Link<C: Client> {
    kept: Option<Kept<C>>,
    /// Only ever taken out. The lock is needed to share a store between threads.
    attempt: Mutex<Option<Attempt<C>>>,
    /// How many attempts in a row came to nothing.
    vain: u32,
    abandoned: Shared<C>,
}

/// A session that a call gave up midway and that may still exist on the server.
struct Abandoned<C: Client> {
    session: C::Session,
    /// Closed if it might take up the room that an attempt needs.
    connection: Option<C::Connection>,
}

/// An attempt takes it out to end it.
type Shared<C> = Arc<Mutex<Option<Abandoned<C>>>>;

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
    progress: Progress,
}

/// Whether the server has let a client in.
#[derive(Clone, Default)]
pub struct Progress(Arc<AtomicBool>);

impl Progress {
    /// The server has: from now on it bounds the session.
    #[cfg(any(feature = "postgres", feature = "mysql"))]
    pub(super) fn logged_in(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl<C: Client> Default for Link<C> {
    fn default() -> Self {
        let (attempt, abandoned) = (Mutex::new(None), Shared::<C>::default());
        Self { kept: None, attempt, vain: 0, abandoned }
    }
}

impl<C: Client> Link<C> {
    /// The connection, for one call, which [`settle`](Self::settle) ends. The future may be
    /// dropped.
    pub(super) async fn open(
        &mut self,
        client: &C,
        what: Use,
        statements: &Arc<Statements>,
    ) -> Result<&mut C::Connection, StoreError> {
        self.look_again(client, what)?;
        let given_up = |kept: &mut Kept<C>| match kept.busy {
            None => false,
            Some(Use::Call) => !C::QUEUES,
            Some(Use::Making) => true,
        };
        if let Some(kept) = self.kept.take_if(given_up) {
            let connection = Some(kept.connection);
            *lock(&self.abandoned) = Some(Abandoned { session: kept.session, connection });
        }
        if self.kept.is_none() {
            self.connect(client, what, statements).await?;
        }
        let Some(kept) = &mut self.kept else { return Err(exchanged()) };
        kept.busy = Some(what);
        client.clear(&mut kept.connection).await;
        Ok(&mut kept.connection)
    }

    /// Ends a call, and keeps the connection if the call has left it in good order.
    pub(super) fn settle(&mut self, client: &C, in_order: bool) {
        if !in_order {
            self.kept.take_if(|kept| kept.busy.is_some());
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
    async fn connect(
        &mut self,
        client: &C,
        what: Use,
        statements: &Arc<Statements>,
    ) -> Result<(), StoreError> {
        let called = now();
        let timeouts = client.timeouts();

        let attempt = self.attempt.get_mut().unwrap_or_else(PoisonError::into_inner);
        if attempt.take_if(|attempt| attempt.is_vain(timeouts, self.vain)).is_some() {
            self.vain = self.vain.saturating_add(1);
        }
        attempt.take_if(|attempt| attempt.what != what);
        let attempt = attempt.get_or_insert_with(|| {
            let again = (timeouts.repeats() && what == Use::Call).then(|| statements.clone());
            Attempt::new(client, what, again, self.abandoned.clone())
        });
        let connected = attempt.connecting.as_mut().await;
        let took = now().since(attempt.since);
        self.attempt = Mutex::new(None);
        match connected {
            Ok(kept) => {
                self.vain = 0;
                let free = Kept { busy: None, ..kept };
                self.kept = Some(free);
            }
            Err(error) => {
                if let Some(abandoned) = lock(&self.abandoned).as_mut() {
                    abandoned.connection = None;
                }
                return Err(error);
            }
        }
        // Creating the tables has the time of several calls.
        if what == Use::Call && timeouts.is_too_late(now().since(called), took) {
            let context = format!(
                "connecting took {} ms, which leaves this call too little time; the next call uses \
                 the connection",
                took.as_millis()
            );
            return Err(StoreError::new(Failure::Transient, context));
        }
        Ok(())
    }
}

impl<C: Client> Attempt<C> {
    /// Connects, ends the abandoned session, and prepares the statements that will be run.
    fn new(client: &C, what: Use, again: Option<Arc<Statements>>, abandoned: Shared<C>) -> Self {
        let (client, progress) = (client.clone(), Progress::default());
        let told = progress.clone();
        let connecting = Box::pin(async move {
            let mut kept = connect(&client, what, &told).await?;
            let abandoned = lock(&abandoned).take();
            if let Some(abandoned) = abandoned {
                client.end(&mut kept.connection, &abandoned.session).await;
            }
            for call in again.iter().flat_map(|statements| statements.recurring()) {
                if let Err(error) = C::prepare(&mut kept.connection, &call).await {
                    tracing::debug!(%error, "a statement cannot be prepared ahead");
                    break; // if that is more than a lock, the call will say so
                }
            }
            Ok(kept)
        });
        Self { connecting, what, since: now(), progress }
    }

    /// Whether to stop waiting for it, after this many others in vain.
    fn is_vain(&self, timeouts: Timeouts, others: u32) -> bool {
        let logged_in = self.progress.0.load(Ordering::Relaxed);
        now().since(self.since) > timeouts.patience(logged_in, others)
    }
}

/// How often to open a database that is replaced meanwhile, as happens when several create it at
/// once.
const LOOKS: u32 = 5;

async fn connect<C: Client>(
    client: &C,
    what: Use,
    progress: &Progress,
) -> Result<Kept<C>, StoreError> {
    for _ in 0..LOOKS {
        let before = client.identity();
        let (connection, session) = client.connect(what == Use::Making, progress).await?;
        // The connection leads to this place only if the path did so both before and after.
        match (before, client.identity()) {
            (Some(before), Some(identity)) if before == identity => {
                let companions = client.companions();
                return Ok(Kept { connection, session, identity, companions, busy: None });
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

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
