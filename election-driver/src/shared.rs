//! The state that the driver publishes and everybody else reads.

use crate::{
    Runtime, StoreError, changes::Subscriber, lease::GuardedLeadership, metrics::Metrics,
    setup::Setup,
};
use election_core::{
    Change, Epoch, Input, Label, Protocol as _, Tenure, Term, Timestamp, lease, quorum::Quorum,
};
use event_listener::{Event as Signal, listener};
use std::{
    mem,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

/// The state of an election as this process last heard of it.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Status {
    /// This process's own leadership. Whether it may still be believed depends on the clock:
    /// compare `until`, or ask [`Handle::is_leader`](crate::Handle::is_leader).
    pub tenure: Option<Tenure>,
    /// Who leads, this process included; `None` if no leader is known.
    pub leader: Option<Leader>,
    /// Why the last question to the database failed; cleared by the next answer. A quorum asks none.
    /// This does not cover the list of candidates: a process that cannot be listed can lead all the same, and
    /// logs `unlisted`.
    pub error: Option<Arc<StoreError>>,
    /// Behind a failover of the database: when every lease must have ended that the server before can
    /// have granted. Nobody is elected before. It is told once, and may have passed: compare it with the
    /// clock ([`now`](crate::now)). `None` if a leader is known, if nothing of that kind is waited for,
    /// and in a quorum.
    pub opens_at: Option<Timestamp>,
    /// The database has answered at least once; in a quorum, this node has found out at least once who
    /// leads, or that nobody does.
    pub reached: bool,
    /// Whether the database notifies this process of changes at once. If it does not, or not now,
    /// polling finds the changes: a graceful handover then takes up to an interval. MySQL and
    /// MariaDB never notify, nor does PostgreSQL behind a pooler. In a quorum it is `false`; nobody
    /// polls there.
    pub listening: bool,
    /// A term of this process may still stand in the database; in a quorum, its leadership is over and
    /// its work has not stopped.
    pub unreleased: bool,
    /// The elector has ended.
    pub closed: bool,
}

/// Who leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leader {
    /// The leadership.
    pub term: Term,
    /// What the leader published about itself, usually its address; in a quorum `None` until it is
    /// heard.
    pub label: Option<Label>,
    /// Whether this process is the leader.
    pub own: bool,
    /// When another process that leads was elected, in milliseconds since 1970 by the database's
    /// clock, which need not be this machine's; `None` in a quorum, and for this process itself.
    pub elected_ms: Option<i64>,
}

/// Where a process stands after a step, by the protocol's account.
pub(crate) struct Snapshot {
    pub(crate) tenure: Option<Tenure>,
    pub(crate) followed: Option<(Term, Option<Label>)>,
    pub(crate) elected_ms: Option<i64>,
    pub(crate) opens_at: Option<Timestamp>,
    pub(crate) unreleased: bool,
}

impl From<&lease::Lease> for Snapshot {
    fn from(lease: &lease::Lease) -> Self {
        Self {
            tenure: lease.tenure(Timestamp::ZERO),
            followed: lease.followed(),
            elected_ms: lease.followed_since(),
            opens_at: lease.opens_at(),
            unreleased: lease.unreleased().is_some(),
        }
    }
}

impl From<&Quorum> for Snapshot {
    fn from(node: &Quorum) -> Self {
        Self {
            tenure: node.tenure(Timestamp::ZERO),
            followed: node.followed(),
            elected_ms: None,
            opens_at: None,
            unreleased: node.draining().is_some(),
        }
    }
}

pub(crate) struct Shared<R: Runtime> {
    pub(crate) setup: Arc<Setup<R>>,
    pub(crate) metrics: Metrics,
    /// When belief ends, in nanoseconds; zero while not leading. The fast path of `is_leader`.
    until: AtomicU64,
    /// When the next step is due at the latest, in nanoseconds.
    due: AtomicU64,
    /// The elector has left the election as it was asked to.
    finished: AtomicBool,
    state: Mutex<State<R>>,
    /// Notified whenever the status has changed.
    pub(crate) changed: Signal,
}

struct State<R: Runtime> {
    status: Status,
    version: u64,
    /// The leadership that guards are handed out for. Dropping the last reference to it, here or in
    /// a guard, tells the core that its work has stopped.
    leadership: Option<Arc<GuardedLeadership<R>>>,
    /// The leadership that ended last.
    ended: Weak<GuardedLeadership<R>>,
    /// The core has reported the state, which it does once the database has answered.
    reported: bool,
    subscribers: Vec<Subscriber>,
}

impl<R: Runtime> Shared<R> {
    pub(crate) fn new(setup: Arc<Setup<R>>) -> Self {
        let metrics = Metrics::new(&setup.registration.namespace, setup.named_metrics);
        // The first step is due at once.
        let due = AtomicU64::new(setup.runtime.now().as_nanos());
        Self {
            setup,
            metrics,
            until: AtomicU64::new(0),
            due,
            finished: AtomicBool::new(false),
            state: Mutex::new(State {
                status: Status::default(),
                version: 0,
                leadership: None,
                ended: Weak::new(),
                reported: false,
                subscribers: Vec::new(),
            }),
            changed: Signal::new(),
        }
    }

    pub(crate) fn is_leader(&self) -> bool {
        // In this order: a clock reading taken before says nothing about an end published since.
        let until = self.believed_until();
        self.setup.runtime.now() < until
    }

    fn believed_until(&self) -> Timestamp {
        Timestamp::from_nanos(self.until.load(Ordering::Acquire))
    }

    /// The elector waits for its next input, and takes a step at this instant without one.
    pub(crate) fn is_due(&self, at: Option<Timestamp>) {
        self.due.store(at.unwrap_or(Timestamp::MAX).as_nanos(), Ordering::Release);
    }

    /// How long ago the elector should have taken a step that it has not taken.
    pub(crate) fn overdue(&self) -> Duration {
        // In this order: a clock reading taken before says nothing about a step taken since.
        let due = Timestamp::from_nanos(self.due.load(Ordering::Acquire));
        self.setup.runtime.now().since(due)
    }

    /// The status and its version, which grows with every change.
    pub(crate) fn status(&self) -> (Status, u64) {
        let state = self.state();
        (state.status.clone(), state.version)
    }

    /// The current leadership, if it may still be believed.
    pub(crate) fn leadership(&self) -> Option<Arc<GuardedLeadership<R>>> {
        let state = self.state();
        state.leadership.as_ref().filter(|leadership| leadership.is_held()).cloned()
    }

    /// The epoch of a leadership that has ended and whose guards are still held.
    pub(crate) fn still_held(&self) -> Option<Epoch> {
        Some(self.state().ended.upgrade()?.term().epoch)
    }

    /// Adds a subscriber. It first gets the current state or, if nothing is known yet, the first
    /// state that becomes known.
    pub(crate) fn subscribe(&self, subscriber: Subscriber) {
        let mut state = self.state();
        if state.reported {
            subscriber.tell(&match (&state.status.tenure, &state.status.leader) {
                (Some(tenure), _) => Change::Elected(tenure.clone()),
                (None, Some(leader)) => {
                    let Leader { term, label, elected_ms, .. } = leader.clone();
                    Change::Followed { term, label, elected_ms }
                }
                (None, None) => Change::Vacant,
            });
        }
        if !state.status.closed {
            state.subscribers.push(subscriber);
        }
    }

    /// Publishes the results of a step.
    pub(crate) fn publish(&self, snapshot: impl Into<Snapshot>, change: Option<Change>) {
        let Snapshot { tenure, followed, elected_ms, opens_at, unreleased } = snapshot.into();
        if tenure.is_none() {
            self.until.store(0, Ordering::Release); // before anybody is told
        }
        let (ended, readers) = {
            let mut state = self.state();
            let (tenure, ended) = self.follow_leadership(&mut state, tenure, change.as_ref());
            let leader = match &tenure {
                Some(tenure) => Some(Leader {
                    term: tenure.term.clone(),
                    label: self.setup.registration.label.clone(),
                    own: true,
                    elected_ms: None,
                }),
                None => {
                    followed.map(|(term, label)| Leader { term, label, own: false, elected_ms })
                }
            };
            let status = &mut state.status;
            let same = status.tenure == tenure
                && status.leader == leader
                && status.opens_at == opens_at
                && status.unreleased == unreleased;
            if same && change.is_none() {
                return;
            }
            (status.tenure, status.leader, status.unreleased) = (tenure, leader, unreleased);
            status.opens_at = opens_at;
            state.version += 1;
            state.reported |=
                change.as_ref().is_some_and(|change| !matches!(change, Change::Alert(_)));
            (ended, change.is_some().then(|| mem::take(&mut state.subscribers)))
        };
        // Outside the lock: whoever is woken may ask at once. Everything is in place by now.
        if let Some(ended) = ended {
            ended.tell();
        }
        if let (Some(mut readers), Some(change)) = (readers, change) {
            readers.retain(|each| each.tell(&change));
            // Who has come meanwhile began with this change.
            self.state().subscribers.append(&mut readers);
        }
        self.changed.notify(usize::MAX);
    }

    /// Begins, prolongs or ends the leadership that guards are handed out for. Returns the tenure
    /// to publish, and the leadership if it has ended.
    fn follow_leadership(
        &self,
        state: &mut State<R>,
        tenure: Option<Tenure>,
        change: Option<&Change>,
    ) -> (Option<Tenure>, Option<Arc<GuardedLeadership<R>>>) {
        if let Some(Change::Lost { reason, stop_by, successor, .. }) = change {
            let ended = state.leadership.take();
            if let Some(ended) = &ended {
                ended.end(*reason, *stop_by, successor.clone());
                state.ended = Arc::downgrade(ended);
            }
            return (tenure, ended);
        }
        let Some(tenure) = tenure else { return (None, None) };
        match &state.leadership {
            Some(leadership) if *leadership.term() == tenure.term => {
                if !leadership.prolong(&tenure) {
                    // A guard was told in the last moment that leadership is over, and that stands.
                    self.until.store(0, Ordering::Release);
                    self.setup.inbox.tell(Input::Resign);
                    return (state.status.tenure.clone(), None);
                }
            }
            _ => {
                state.leadership =
                    Some(Arc::new(GuardedLeadership::new(self.setup.clone(), &tenure)));
            }
        }
        // Last: nobody may hear that this process leads while a guard may yet contradict it.
        self.until.store(tenure.until.as_nanos(), Ordering::Release);
        (Some(tenure), None)
    }

    /// Records how the last question to the database went.
    pub(crate) fn database(&self, outcome: Result<(), Arc<StoreError>>) {
        let mut state = self.state();
        let status = &mut state.status;
        let news = match &outcome {
            Ok(()) => !status.reached || status.error.is_some(),
            Err(_) => true,
        };
        status.reached |= outcome.is_ok();
        status.error = outcome.err();
        if news {
            state.version += 1;
            drop(state);
            self.changed.notify(usize::MAX);
        }
    }

    /// Completes once the database has answered.
    pub(crate) async fn reached(&self) {
        loop {
            listener!(self.changed => changed);
            if self.state().status.reached {
                return;
            }
            changed.await;
        }
    }

    /// Records whether the database notifies of changes.
    pub(crate) fn listening(&self, listening: bool) {
        let mut state = self.state();
        if state.status.listening != listening {
            state.status.listening = listening;
            state.version += 1;
            drop(state);
            self.changed.notify(usize::MAX);
        }
    }

    /// The elector has left the election as it was asked to, and ends now.
    pub(crate) fn finish(&self) {
        self.finished.store(true, Ordering::Release);
    }

    /// Whether somebody asked for the end of the elector.
    pub(crate) fn is_finished(&self) -> bool {
        self.finished.load(Ordering::Acquire)
    }

    /// The elector has ended: nobody renews the lease that it held.
    pub(crate) fn close(&self) {
        self.until.store(0, Ordering::Release);
        self.is_due(None);
        self.metrics.closed();
        let now = self.setup.runtime.now();
        let (ended, readers) = {
            let mut state = self.state();
            let ended = state.leadership.take().map(|leadership| {
                let lost = leadership.abandon(now);
                (leadership, lost)
            });
            state.status.tenure = None;
            state.status.leader = None;
            state.status.opens_at = None;
            state.status.listening = false;
            state.status.closed = true;
            state.version += 1;
            (ended, mem::take(&mut state.subscribers))
        };
        // Outside the lock, as in `publish`.
        if let Some((leadership, lost)) = ended {
            leadership.tell();
            for each in &readers {
                let _ = each.tell(&lost);
            }
        }
        drop(readers);
        self.changed.notify(usize::MAX);
    }

    fn state(&self) -> MutexGuard<'_, State<R>> {
        // A panic elsewhere leaves nothing half-written here.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
