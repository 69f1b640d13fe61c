//! What a service holds: questions about leadership, and a few commands.

use crate::{
    Changes, Lease, NotLeader, Runtime, Status, StoreError, Watch, changes::subscription, log,
    shared::Shared,
};
use election_core::{
    Input, Term,
    lease::{Failure, Registration},
};
use futures_lite::future::or;
use std::{future::pending, sync::Arc, time::Duration};
use thiserror::Error;

/// A handle to a running elector. Cheap to clone.
///
/// Dropping the last handle tells the elector to leave the election in the background; nobody waits
/// for it. For a graceful exit call [`shutdown`](Self::shutdown).
///
/// ```no_run
/// # use election_driver::{Handle, NotLeader, Runtime};
/// # fn write_index() {}
/// async fn refresh<R: Runtime>(leader: &Handle<R>) -> Result<(), NotLeader> {
///     if !leader.is_leader() {
///         return Ok(()); // one reading of the clock
///     }
///     let lease = leader.require()?; // or an error that says who leads instead, and where
///     write_index();
///     drop(lease); // until here, nobody else leads unless this leadership has run out
///     Ok(())
/// }
///
/// async fn leave<R: Runtime>(leader: Handle<R>) {
///     leader.shutdown().await; // waits for guards, releases, and tells the others
/// }
/// ```
#[must_use = "the process leaves the election when the last handle is dropped"]
pub struct Handle<R: Runtime>(Arc<Owner<R>>);

/// Exists once per elector. Once it is gone, nobody can ask for leadership any more.
struct Owner<R: Runtime>(Arc<Shared<R>>);

impl<R: Runtime> Drop for Owner<R> {
    fn drop(&mut self) {
        self.0.setup.inbox.tell(Input::Withdraw);
    }
}

impl<R: Runtime> Clone for Handle<R> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

/// The elector has ended: by a shutdown, with its runtime, or by a panic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the elector has ended")]
pub struct Stopped;

/// Why a wait for leadership ended without it.
#[derive(Clone, Error)]
#[non_exhaustive]
pub enum NotElected {
    /// The elector has ended.
    #[error(transparent)]
    Stopped(#[from] Stopped),
    /// The store has never answered, and will not until an operator has acted: a table or a right is
    /// missing, or the password is wrong. The elector keeps trying: to wait for the operator, call again.
    #[error("the store cannot be used: {0}")]
    Unusable(Arc<StoreError>),
}

crate::log::shown!(NotElected);

impl<R: Runtime> Handle<R> {
    pub(crate) fn new(shared: Arc<Shared<R>>) -> Self {
        Self(Arc::new(Owner(shared)))
    }

    pub(crate) fn shared(&self) -> &Arc<Shared<R>> {
        &self.0.0
    }

    /// Whether this process may believe now that it leads. Costs one reading of the clock.
    ///
    /// The answer is a snapshot: anything can happen between it and the act that depends on it.
    /// Hold a [`lease`](Self::lease) while leader work runs, and fence what must not happen twice.
    #[must_use]
    pub fn is_leader(&self) -> bool {
        self.shared().is_leader()
    }

    /// A guard for the current leadership of this process; `None` if it does not lead.
    #[must_use]
    pub fn lease(&self) -> Option<Lease<R>> {
        self.shared().leadership().map(Lease::new)
    }

    /// Like [`lease`](Self::lease), with an error that says who leads instead, and where.
    ///
    /// # Errors
    /// If this process does not lead.
    pub fn require(&self) -> Result<Lease<R>, NotLeader> {
        self.lease().ok_or_else(|| {
            let leader = self.status().leader;
            let (leader, label) = leader.map(|leader| (leader.term, leader.label)).unzip();
            NotLeader { leader, label: label.flatten() }
        })
    }

    /// Who leads, as far as this process knows.
    #[must_use]
    pub fn leader(&self) -> Option<Term> {
        self.status().leader.map(|leader| leader.term)
    }

    /// The latest state of the election.
    #[must_use]
    pub fn status(&self) -> Status {
        self.shared().status().0
    }

    /// Has the elector look soon at who leads, and not only when it is its turn: for a process that is
    /// about to give up waiting, where the database tells nobody of a resignation (MySQL). A leader
    /// looks, too. A node of a quorum hears from the others without it.
    pub fn look(&self) {
        self.shared().setup.inbox.wake();
    }

    /// How long ago the elector should have taken a step that it has not taken; zero while it runs
    /// as it should, and once it has ended ([`Status::closed`]).
    ///
    /// An elector that is late by seconds is stuck: its thread is blocked, its runtime does not poll
    /// it, or the machine was suspended a moment ago. A probe for liveness can report that. It costs
    /// one reading of the clock and waits for nobody.
    #[must_use]
    pub fn overdue(&self) -> Duration {
        self.shared().overdue()
    }

    /// How long a timer that guards leader work may sleep at most before it looks at the clock
    /// again. A machine that was suspended meanwhile still stops the work in time.
    #[must_use]
    pub fn timer_slice(&self) -> Duration {
        self.shared().setup.timer_slice
    }

    /// The name under which this process stands for election.
    #[must_use]
    pub fn registration(&self) -> &Registration {
        &self.shared().setup.registration
    }

    /// A watch of the latest state.
    #[must_use]
    pub fn watch(&self) -> Watch<R> {
        Watch::new(self.shared().clone())
    }

    /// Every change in order, beginning with the current state.
    #[must_use]
    pub fn changes(&self) -> Changes {
        let (subscriber, changes) = subscription();
        self.shared().subscribe(subscriber);
        changes
    }

    /// Waits until this process leads.
    ///
    /// Drop the guard of a leadership that was lost before you wait for another: while work may
    /// still run, this process does not stand for election. If such a guard is held a second longer
    /// than the work may take to stop, the log says so (`still_held`).
    ///
    /// While the store cannot be reached, the call keeps waiting, however long that takes.
    ///
    /// # Errors
    /// If the elector ends first, or the store still [cannot be used](NotElected::Unusable) a ttl after
    /// the call.
    pub async fn elected(&self) -> Result<Lease<R>, NotElected> {
        let mut watch = self.watch();
        let elected = async {
            loop {
                let status = watch.changed().await;
                if status.closed {
                    return Err(Stopped.into());
                }
                if let Some(lease) = self.lease() {
                    return Ok(lease);
                }
            }
        };
        let given_up = async { Err(NotElected::Unusable(self.unusable().await)) };
        or(elected, or(given_up, self.held_up())).await
    }

    /// What keeps the store from being used a ttl from now, if it has never answered by then.
    async fn unusable(&self) -> Arc<StoreError> {
        let setup = &self.shared().setup;
        if !self.status().reached {
            setup.timer().wait_until(setup.runtime.now() + setup.ttl).await;
        }
        let is_fatal = |error: &Arc<StoreError>| error.kind == Failure::Fatal;
        let told = |status: &Status| status.reached || status.error.as_ref().is_some_and(is_fatal);
        let Status { reached, error, closed, .. } = self.watch().until(told).await;
        match error {
            Some(error) if !reached && !closed => error,
            _ => pending().await,
        }
    }

    /// Never ends. Says once that whoever waits to lead may wait for a guard of their own.
    async fn held_up<T>(&self) -> T {
        let (shared, mut watch) = (self.shared(), self.watch());
        let mut timer = shared.setup.timer();
        loop {
            watch.until(|status| status.unreleased && status.tenure.is_none()).await;
            let now = shared.setup.runtime.now();
            timer.wait_until(now + shared.setup.grace + Duration::from_secs(1)).await;
            if let Some(epoch) = shared.still_held() {
                log::span(self.registration()).in_scope(|| log::still_held(epoch));
                return pending().await;
            }
        }
    }

    /// Gives leadership up and waits until others can take it. Leader work is told to stop, and
    /// leadership is released once every guard is gone. This process then stays out for a while, so
    /// that another can be elected:
    ///
    /// * In a quorum, until another leads, or for an `election_timeout`. The others hear at once that
    ///   it is free.
    /// * With a lease in a database, until another leads, or for an interval and twice its jitter at
    ///   most: candidates that get no notifications notice it when they poll. If no other candidate is
    ///   on the list, it stands again as soon as it has seen that, after about a quarter of a second.
    ///
    /// The call waits as long as guards are held, and while the database is away until the lease has
    /// run out. Dropping the future does not take the resignation back. Without leadership the call
    /// only makes this process stay out.
    ///
    /// # Errors
    /// If the elector ends first.
    pub async fn resign(&self) -> Result<(), Stopped> {
        let resigned = self.status().tenure.map(|tenure| tenure.term);
        self.shared().setup.inbox.tell(Input::Resign);
        let over = |status: &Status| match (&resigned, &status.tenure) {
            (Some(resigned), Some(tenure)) => tenure.term != *resigned,
            (None, Some(_)) => true,
            (_, None) => !status.unreleased, // wait, too, for an end that had begun before
        };
        let status = self.watch().until(over).await;
        // It has ended otherwise.
        if over(&status) { Ok(()) } else { Err(Stopped) }
    }

    /// Leaves the election for good: resigns, releases, takes the candidate off the list, and waits
    /// until the elector has ended. It waits as long as guards are held. While the database is away the
    /// release is tried until the lease has run out; whoever has less time drops the future.
    pub async fn shutdown(&self) {
        self.withdraw();
        self.watch().until(|status| status.closed).await;
    }

    /// Begins to leave the election for good, like [`shutdown`](Self::shutdown), without waiting.
    pub fn withdraw(&self) {
        self.shared().setup.inbox.tell(Input::Withdraw);
    }

    /// Reports whether this process is fit to lead. The report holds until the next one. An
    /// unhealthy leader steps down; an unhealthy follower does not campaign.
    pub fn set_healthy(&self, healthy: bool) {
        self.shared().setup.inbox.health(healthy);
    }
}
