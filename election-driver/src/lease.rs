//! The lease guard: proof that leader work may run, and the signal that it has stopped.

use crate::{Runtime, setup::Setup};
use election_core::{
    Change, Epoch, Input, Label, Loss, Tenure, Term, Timestamp, lease::Registration,
};
use event_listener::{Event as Signal, listener};
use futures_lite::future::or;
use std::{
    fmt,
    future::Future,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};
use thiserror::Error;

/// What this process knows of one of its leaderships.
struct Leadership<R: Runtime> {
    setup: Arc<Setup<R>>,
    term: Term,
    since: Timestamp,
    until: AtomicU64,
    stop_by: AtomicU64,
    lost: OnceLock<Lost>,
    ended: Signal,
}

/// The same, held by the driver and by every guard. Once the last of them drops it, the work has
/// stopped. Code that waits for the end of a leadership without a guard holds only the inner part.
pub(crate) struct GuardedLeadership<R: Runtime>(Arc<Leadership<R>>);

impl<R: Runtime> GuardedLeadership<R> {
    pub(crate) fn new(setup: Arc<Setup<R>>, tenure: &Tenure) -> Self {
        Self(Arc::new(Leadership {
            setup,
            term: tenure.term.clone(),
            since: tenure.since,
            until: AtomicU64::new(tenure.until.as_nanos()),
            stop_by: AtomicU64::new(tenure.stop_by.as_nanos()),
            lost: OnceLock::new(),
            ended: Signal::new(),
        }))
    }

    pub(crate) fn is_held(&self) -> bool {
        self.0.is_held()
    }

    pub(crate) fn term(&self) -> &Term {
        &self.0.term
    }

    /// Moves the end of belief and the hard stop: forward, unless a node that was alone in its cluster, and
    /// trusted itself without end, no longer is. Returns `false` and moves neither if a guard has already
    /// found belief to be over: a guard that reported the loss must not lead again under the same term.
    #[must_use]
    pub(crate) fn prolong(&self, tenure: &Tenure) -> bool {
        let leadership = &self.0;
        let until = tenure.until.as_nanos();
        let held = |old: u64| (old != 0).then_some(until);
        // In this order: belief never outlasts the hard stop.
        let stop_by = leadership.stop_by.swap(tenure.stop_by.as_nanos(), Ordering::AcqRel);
        #[allow(deprecated, reason = "its new name, `try_update`, is younger than Rust 1.85")]
        let prolonged =
            leadership.until.fetch_update(Ordering::AcqRel, Ordering::Acquire, held).is_ok();
        if !prolonged {
            // Only the driver writes here. A waiter that has seen the later instant looks again
            // when it is woken for the end.
            leadership.stop_by.store(stop_by, Ordering::Release);
        } else if tenure.stop_by.as_nanos() < stop_by {
            // Whoever waits for the later instant has to wait for this one.
            self.tell();
        }
        prolonged
    }

    /// Ends belief. Nobody is woken yet; that is [`tell`](Self::tell).
    pub(crate) fn end(&self, reason: Loss, stop_by: Timestamp, successor: Option<Term>) {
        let leadership = &self.0;
        let term = leadership.term.clone();
        let lost = leadership.lost.get_or_init(|| Lost { term, reason, successor });
        // A guard may have found the end earlier: the hard stop that it has named stands.
        leadership.stop_by.fetch_min(stop_by.as_nanos(), Ordering::AcqRel);
        leadership.end_belief(lost);
    }

    /// Wakes everybody who waits for the end, to look for it again.
    pub(crate) fn tell(&self) {
        self.0.ended.notify(usize::MAX);
    }

    /// The elector is gone; the lease will not be renewed.
    pub(crate) fn abandon(&self, now: Timestamp) -> Change {
        let stop_by = self.0.stop_by().min(now + self.0.setup.grace);
        let reason = Loss::Withdrawn;
        self.end(reason, stop_by, None);
        Change::Lost { term: self.0.term.clone(), reason, stop_by, successor: None }
    }
}

/// The last guard is gone. No leader work of this term runs any more, so the term may be released.
impl<R: Runtime> Drop for GuardedLeadership<R> {
    fn drop(&mut self) {
        self.0.setup.inbox.tell(Input::Stopped(self.0.term.epoch));
    }
}

impl<R: Runtime> Leadership<R> {
    fn until(&self) -> Timestamp {
        Timestamp::from_nanos(self.until.load(Ordering::Acquire))
    }

    fn stop_by(&self) -> Timestamp {
        Timestamp::from_nanos(self.stop_by.load(Ordering::Acquire))
    }

    /// Whether belief goes on. Once this has returned `false` it never returns `true` again, even
    /// if a renewal that was on its way is answered after all.
    fn is_held(&self) -> bool {
        let mut until = self.until.load(Ordering::Acquire);
        loop {
            // Read the end first, then the clock: an earlier reading says nothing about an end that
            // was published since.
            if self.setup.runtime.now() < Timestamp::from_nanos(until) {
                return true;
            }
            match self.until.compare_exchange(until, 0, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) | Err(0) => return false,
                // A renewal came in between, and nobody has been told of a loss yet. The renewed
                // lease may be over by now as well.
                Err(renewed) => until = renewed,
            }
        }
    }

    /// Ends belief. Takes the reason, because a reader that sees the end has to find it.
    fn end_belief(&self, _: &Lost) {
        self.until.store(0, Ordering::Release);
    }

    /// How this leadership ended. Call it only after the end.
    fn loss(&self) -> Lost {
        self.lost.get().cloned().unwrap_or_else(|| Lost {
            term: self.term.clone(),
            reason: Loss::Expired,
            successor: None,
        })
    }

    async fn lost(&self) -> Lost {
        let mut timer = self.setup.timer();
        loop {
            listener!(self.ended => ended);
            if !self.is_held() {
                return self.loss();
            }
            or(ended, timer.wait_until(self.until())).await;
        }
    }
}

/// A guard for one leadership of this process. Cheap to clone.
///
/// Hold one for as long as leader work runs. A loss of leadership does not take the guard away: it
/// makes [`check`](Self::check) fail and [`lost`](Self::lost) return, and it starts the grace
/// period. **While a guard is alive, leadership is not released to others**, because work may still
/// run. It then ends by time: a row's lease with its ttl, a quorum's once the `down_after` of those
/// who supported this member is over. This process does not campaign until the last guard is dropped.
///
/// ```no_run
/// # use election_driver::{Lease, Lost, Runtime};
/// # async fn next_page() -> u32 { 0 }
/// # fn store(page: u32, token: u64) {}
/// async fn crawl<R: Runtime>(lease: Lease<R>) -> Result<(), Lost> {
///     loop {
///         // Dropped at once when leadership ends: reading can be repeated.
///         let page = lease.until_lost(next_page()).await?;
///         // Before every act. What must not come late carries the token, too.
///         lease.check()?;
///         store(page, lease.epoch().get());
///     }
/// }
/// ```
#[doc(alias("guard", "fencing"))]
pub struct Lease<R: Runtime>(Arc<GuardedLeadership<R>>);

impl<R: Runtime> Clone for Lease<R> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<R: Runtime> fmt::Debug for Lease<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lease")
            .field("term", self.term())
            .field("remaining", &self.remaining())
            .field("lost", &self.leadership().lost.get())
            .finish()
    }
}

impl<R: Runtime> Lease<R> {
    pub(crate) fn new(leadership: Arc<GuardedLeadership<R>>) -> Self {
        Self(leadership)
    }

    fn leadership(&self) -> &Leadership<R> {
        &self.0.0
    }

    #[cfg(feature = "_sql")]
    pub(crate) fn setup(&self) -> &Setup<R> {
        &self.leadership().setup
    }

    /// Who leads: the election, the candidate, and its label.
    #[must_use]
    pub fn registration(&self) -> &Registration {
        &self.leadership().setup.registration
    }

    /// The fencing token: hand it to every resource that leader work writes to.
    #[must_use]
    pub fn epoch(&self) -> Epoch {
        self.leadership().term.epoch
    }

    /// The leadership that this guard stands for.
    #[must_use]
    pub fn term(&self) -> &Term {
        &self.leadership().term
    }

    /// Since when this process has led, by its runtime's clock.
    #[must_use]
    pub fn since(&self) -> Timestamp {
        self.leadership().since
    }

    /// How long ago this leadership began, whether it is still held or not.
    #[must_use]
    pub fn age(&self) -> Duration {
        self.leadership().setup.runtime.now().since(self.since())
    }

    /// When belief ends unless it is confirmed first, by a renewal of the row or by a majority's
    /// heartbeats; in the past once leadership is lost.
    #[must_use]
    pub fn until(&self) -> Timestamp {
        self.leadership().until()
    }

    /// The hard stop: the instant by which leader work must have ended. It moves forward whenever
    /// belief is confirmed, and stays where it is once leadership is lost.
    #[must_use]
    pub fn stop_by(&self) -> Timestamp {
        self.leadership().stop_by()
    }

    /// How long this leadership may still be believed unless it is confirmed again.
    #[must_use]
    pub fn remaining(&self) -> Duration {
        self.until().since(self.leadership().setup.runtime.now())
    }

    /// Whether this leadership may be believed now. Costs one reading of the clock.
    #[must_use]
    pub fn is_held(&self) -> bool {
        self.leadership().is_held()
    }

    /// `Ok` while this leadership may be believed. Use it with `?` before every step of leader
    /// work.
    ///
    /// # Errors
    /// Once this leadership may no longer be believed.
    pub fn check(&self) -> Result<(), Lost> {
        if self.is_held() { Ok(()) } else { Err(self.leadership().loss()) }
    }

    /// Completes when this leadership ends. That is no later than the end of belief, even if the
    /// elector itself has stalled. Dropping the future has no effect.
    pub async fn lost(&self) -> Lost {
        self.leadership().lost().await
    }

    /// Like [`lost`](Self::lost), as a future that holds no guard: it does not keep leadership from
    /// being released.
    pub fn ended(&self) -> impl Future<Output = Lost> + Send + use<R> {
        let leadership = self.0.0.clone();
        async move { leadership.lost().await }
    }

    /// Completes at the hard stop: never while belief is confirmed in time, and no later than when leader
    /// work of this term must have ended. Dropping the future has no effect.
    pub async fn hard_stop(&self) {
        let leadership = self.leadership();
        let mut timer = leadership.setup.timer();
        loop {
            listener!(leadership.ended => ended);
            let stop_by = leadership.stop_by();
            if leadership.setup.runtime.now() >= stop_by {
                return;
            }
            or(ended, timer.wait_until(stop_by)).await;
        }
    }

    /// Runs `work` until it completes or leadership is lost, whichever comes first. A loss drops
    /// the future at once, without grace: pass only work that can be cancelled at any await.
    ///
    /// # Errors
    /// If leadership is lost before `work` completes.
    pub async fn until_lost<F: Future>(&self, work: F) -> Result<F::Output, Lost> {
        or(async { Err(self.lost().await) }, async { Ok(work.await) }).await
    }
}

/// A leadership of this process has ended.
#[derive(Clone, PartialEq, Eq, Error)]
#[error("leadership of {term} was lost ({reason})")]
pub struct Lost {
    /// The leadership.
    pub term: Term,
    /// Why it ended.
    pub reason: Loss,
    /// Who leads instead, if the loss became known that way.
    pub successor: Option<Term>,
}

crate::log::shown!(Lost);

/// This process does not lead.
#[derive(Clone, PartialEq, Eq, Error)]
#[error("this process is not the leader; {}", match leader {
    Some(term) => format!("the leader is {term}{}", at(label.as_ref())),
    None => "no leader is known".to_owned(),
})]
#[non_exhaustive]
pub struct NotLeader {
    /// Who leads, if known.
    pub leader: Option<Term>,
    /// What that leader has published about itself, usually the address of its service.
    pub label: Option<Label>,
}

crate::log::shown!(NotLeader);

fn at(label: Option<&Label>) -> String {
    label.map(|label| format!(", at {label}")).unwrap_or_default()
}

#[cfg(test)]
mod tests;
