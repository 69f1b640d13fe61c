//! The connection that a store keeps to its database, and the fate of one that a call gave up
//! midway.
//!
//! A caller that gives up a call cannot take back what was sent: on the server the statement goes
//! on, and with it the session, for as long as it waits for a lock or the server is ill. A session
//! whose connection was lost may go on as well, where the server is not told. If every call that
//! fails left a session behind and opened another, an elector that tries once a second would use up
//! every client's connections on that server. So there are never more than a few
//! ([`Client::SESSIONS`]):
//!
//! ```text
//!   nothing ── open ──▶ attempt ──▶ free ◀──── call ────▶ busy
//!                         │  ▲  │                           │ the call was given up, or failed
//!                         └──┘  │ fails after               ▼
//!              outlives a call  └─────────────────────▶ abandoned ── ended by the next attempt
//! ```
//!
//! * An attempt first ends the abandoned session. Until then the server ends the attempt's own by
//!   itself if it falls silent, as it was told with the first words ([`Timeouts`]), wherever the
//!   link stops: nothing is sent that the server would wait for the rest of without a limit.
//! * So an attempt that falls silent before is given up only once the server has ended its session,
//!   and one that breaks before is not followed by another while too many may still exist.
//! * From then on, no other session is left and its own is known by name: it counts as abandoned
//!   until the attempt is complete, whatever the server has heard of the last words.
//!
//! Nothing here runs by itself: every step is taken within a call, and a call may be dropped
//! anywhere. [`Link`] records what a call does before the call waits for anything.

use super::{
    calls::is_lost,
    client::{Client, Companions},
    error::Connecting,
    progress::{Progress, lock},
    timeouts::{Stage, Timeouts},
};
use crate::{StoreError, now};
use election_core::{Timestamp, lease::Failure, sql::Statements};
use std::{
    future::Future,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
};

/// At most one connection in use, or an attempt at one; and few that are being given up.
pub(super) struct Link<C: Client> {
    kept: Option<Kept<C>>,
    /// Only ever taken out. The lock is needed to share a store between threads.
    attempt: Mutex<Option<Attempt<C>>>,
    /// How many attempts in a row fell silent before the server let them in, and how many after
    /// that while nothing bounded their sessions.
    vain: [u32; 2],
    broken: Vec<Broken>,
    abandoned: Shared<C>,
}

/// A session that is not used any more and that may still exist on the server.
struct Abandoned<C: Client> {
    session: Arc<C::Session>,
    /// None if it was lost. Closed if it might take up the room that an attempt needs.
    connection: Option<C::Connection>,
}

/// An attempt that failed and may have left a session behind.
struct Broken {
    /// When the server has ended its session.
    ended: Timestamp,
    kind: Failure,
    why: String,
}

/// An attempt puts its own session in its place once it has ended it.
type Shared<C> = Arc<Mutex<Option<Abandoned<C>>>>;

struct Kept<C: Client> {
    connection: C::Connection,
    session: Arc<C::Session>,
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
    progress: Progress,
}

impl<C: Client> Default for Link<C> {
    fn default() -> Self {
        let (attempt, abandoned) = (Mutex::new(None), Shared::<C>::default());
        Self { kept: None, attempt, vain: [0; 2], broken: Vec::new(), abandoned }
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
        self.look_again(client, what).await?;
        let given_up = |kept: &mut Kept<C>| match kept.busy {
            None => false,
            Some(Use::Call) => !C::QUEUES,
            Some(Use::Making) => true,
        };
        if let Some(kept) = self.kept.take_if(given_up) {
            client.move_on();
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
        if let Some(kept) = self.kept.take_if(|kept| !in_order && kept.busy.is_some()) {
            *lock(&self.abandoned) = Some(Abandoned { session: kept.session, connection: None });
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

    /// Closes a connection if a new one would lead elsewhere. It has ended when this returns: SQLite
    /// saves what is in a file's log when the last connection to it closes, and the new one is to find
    /// that.
    async fn look_again(&mut self, client: &C, what: Use) -> Result<(), StoreError> {
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
            "the database, or a file beside it, was removed or replaced while in use: writes may \
             be lost, and two processes may have led; reopening it"
        );
        if let Err(error) = sqlx::Connection::close(kept.connection).await {
            tracing::debug!(%error, "the connection to the old file cannot be closed");
        }
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
        if let Some(vain) = attempt.take_if(|attempt| attempt.is_vain(timeouts, self.vain)) {
            vain.counts(&mut self.vain);
            client.move_on();
        }
        attempt.take_if(|attempt| attempt.what != what && C::CREATES);
        if attempt.is_none() {
            self.broken.retain(|broken| called < broken.ended);
            let left = self.broken.len() + usize::from(lock(&self.abandoned).is_some());
            if let Some(broken) = self.broken.first().filter(|_| left >= C::SESSIONS) {
                return Err(broken.again(called));
            }
        }
        let attempt = attempt.get_or_insert_with(|| {
            let again = (timeouts.repeats() && what == Use::Call).then(|| statements.clone());
            Attempt::new(client, what, again, self.abandoned.clone())
        });
        let connected = attempt.connecting.as_mut().await;
        let took = now().since(attempt.progress.began());
        let broken = connected.as_ref().err().and_then(|error| {
            let ended = attempt.breaks(error, timeouts, self.vain)?;
            if attempt.progress.get().0 == Stage::Inside {
                attempt.counts(&mut self.vain);
            }
            Some(Broken { ended, kind: error.kind, why: error.told() })
        });
        self.broken.extend(broken);
        self.attempt = Mutex::new(None);
        match connected {
            Ok(kept) => {
                (self.vain, self.broken) = ([0; 2], Vec::new());
                *lock(&self.abandoned) = None;
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
                "connecting took {} ms, too long for this call; the next call uses the connection",
                took.as_millis()
            );
            return Err(StoreError::new(Failure::Transient, context).with_source(Connecting));
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
            told.heard();
            let left = lock(&abandoned).as_ref().map(|abandoned| abandoned.session.clone());
            if let Some(session) = left {
                client.end(&mut kept.connection, &session).await?;
            }
            let session = kept.session.clone();
            let known = C::can_be_ended(&session);
            *lock(&abandoned) = known.then_some(Abandoned { session, connection: None });
            if known {
                told.reached(Stage::Known);
            } else {
                told.heard();
            }
            for call in again.iter().flat_map(|statements| statements.recurring()) {
                if let Err(error) = client.prepare(&mut kept.connection, &call).await {
                    tracing::debug!(%error, "a statement cannot be prepared in advance");
                    break; // if that is more than a lock, the call will say so
                }
                told.heard();
            }
            if told.get().0 == Stage::Bounded {
                told.reached(Stage::Lasting);
            }
            client.opened(&mut kept.connection).await?;
            Ok(kept)
        });
        Self { connecting, what, progress }
    }

    /// One more attempt has come to nothing at this stage.
    fn counts(&self, vain: &mut [u32; 2]) {
        let others = match self.progress.get().0 {
            Stage::Outside => &mut vain[0],
            Stage::Inside => &mut vain[1],
            Stage::Bounded | Stage::Known | Stage::Lasting => return,
        };
        *others = others.saturating_add(1);
    }

    /// When to stop waiting for it, or for the end of its session, after so many others in vain.
    fn patience(&self, timeouts: Timeouts, [outside, inside]: [u32; 2]) -> Timestamp {
        let (stage, heard) = self.progress.get();
        let others = if stage == Stage::Outside { outside } else { inside };
        heard + timeouts.patience(stage, others)
    }

    fn is_vain(&self, timeouts: Timeouts, vain: [u32; 2]) -> bool {
        now() > self.patience(timeouts, vain)
    }

    /// When the server has ended the session of an attempt that failed with this error; `None` if
    /// it has none, or sees for itself that its client goes.
    fn breaks(&self, error: &StoreError, timeouts: Timeouts, vain: [u32; 2]) -> Option<Timestamp> {
        match self.progress.get() {
            // The answer to the login may have been lost.
            (Stage::Outside, _) => is_lost(error).then(|| now() + timeouts.opening()),
            (Stage::Inside, _) => is_lost(error).then(|| self.patience(timeouts, vain)),
            (Stage::Bounded | Stage::Lasting, _) => Some(self.patience(timeouts, vain)),
            // It is among the abandoned.
            (Stage::Known, _) => None,
        }
    }
}

impl Broken {
    /// The error while no other connection may be opened.
    fn again(&self, now: Timestamp) -> StoreError {
        let rest = self.ended.since(now).as_millis();
        let context = format!(
            "{}; connections fail as soon as they are opened, so the next one waits {rest} ms for \
             the server to end the old ones",
            self.why
        );
        StoreError::new(self.kind, context)
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
                let session = Arc::new(session);
                return Ok(Kept { connection, session, identity, companions, busy: None });
            }
            _ => {}
        }
    }
    Err(exchanged())
}

fn exchanged() -> StoreError {
    let context = "the database was replaced while it was being opened; trying again";
    StoreError::new(Failure::Transient, context)
}

#[cfg(all(test, feature = "sqlite"))]
mod tests;
