use super::*;
use crate::{inbox::Inbox, shared::Shared};
use election_core::{
    Candidate, Incarnation, Namespace, NodeId,
    lease::{self, Config, Event, Registration},
};
use futures_lite::future::{block_on, poll_once};
use std::{future::Pending, sync::Mutex};
use uuid::Uuid;

/// A clock that lets something happen during a reading, as a preempted thread sees it.
#[derive(Clone, Default)]
struct Interrupted {
    now: Arc<AtomicU64>,
    before: Arc<Mutex<Option<Interruption>>>,
    after: Arc<Mutex<Option<Interruption>>>,
}

type Interruption = Box<dyn FnOnce() + Send>;

impl Interrupted {
    fn at(&self, nanos: u64) {
        self.now.store(nanos, Ordering::Relaxed);
    }
}

fn happens(what: &Mutex<Option<Interruption>>) {
    let what = what.lock().unwrap().take();
    if let Some(what) = what {
        what();
    }
}

impl Runtime for Interrupted {
    type Sleep = Pending<()>;

    fn now(&self) -> Timestamp {
        happens(&self.before);
        let now = self.now.load(Ordering::Relaxed);
        happens(&self.after);
        Timestamp::from_nanos(now)
    }

    fn sleep(&self, _: Duration) -> Pending<()> {
        std::future::pending() // only the clock moves
    }

    fn spawn<F: Future<Output = ()> + Send + 'static>(&self, _: F) {
        unreachable!("a guard spawns nothing");
    }
}

fn candidate() -> Candidate {
    let incarnation = Incarnation::new(Uuid::from_u128(1));
    Candidate { id: NodeId::new("a").unwrap(), incarnation }
}

fn setup(runtime: Interrupted) -> Arc<Setup<Interrupted>> {
    let registration =
        Registration { namespace: Namespace::default(), candidate: candidate(), label: None };
    let (inbox, _) = Inbox::new();
    let [ttl, grace, timer_slice] = [15, 2, 1].map(Duration::from_secs);
    let (statements, named_metrics) = (None, true);
    Arc::new(Setup {
        runtime,
        registration,
        ttl,
        grace,
        timer_slice,
        statements,
        inbox,
        named_metrics,
    })
}

fn tenure(until: u64) -> Tenure {
    let until = Timestamp::from_nanos(until);
    let term = Term { epoch: Epoch::new(7), leader: candidate().id };
    Tenure { term, since: Timestamp::ZERO, until, stop_by: until }
}

/// The renewal is published between the two readings, and has itself run out by the second.
#[test]
fn a_renewal_in_between_is_held_only_until_its_own_end() {
    let clock = Interrupted::default();
    let leadership = Arc::new(GuardedLeadership::new(setup(clock.clone()), &tenure(10)));
    let (renewed, time) = (leadership.clone(), clock.clone());
    *clock.before.lock().unwrap() = Some(Box::new(move || {
        assert!(renewed.prolong(&tenure(20)));
        time.at(25);
    }));
    assert!(!leadership.is_held(), "at 25, of a lease until 20");
    assert!(!leadership.prolong(&tenure(30)), "told is told");
    assert!(!leadership.is_held());
}

#[test]
fn a_renewal_in_between_that_still_runs_counts() {
    let clock = Interrupted::default();
    let leadership = Arc::new(GuardedLeadership::new(setup(clock.clone()), &tenure(10)));
    let (renewed, time) = (leadership.clone(), clock.clone());
    *clock.before.lock().unwrap() = Some(Box::new(move || {
        assert!(renewed.prolong(&tenure(20)));
        time.at(15);
    }));
    assert!(leadership.is_held(), "at 15, of a lease until 20");
    assert_eq!(leadership.0.stop_by(), Timestamp::from_nanos(20));
}

/// As of a cluster of one that grows.
#[test]
fn a_term_without_end_can_get_one() {
    let clock = Interrupted::default();
    let leadership = Arc::new(GuardedLeadership::new(setup(clock.clone()), &tenure(u64::MAX)));
    let lease = Lease::new(leadership.clone());
    let waits = leadership.0.ended.listen();
    assert!(leadership.prolong(&tenure(20)));
    assert_eq!((lease.until(), lease.stop_by()), (tenure(20).until, tenure(20).stop_by));
    assert_eq!(block_on(poll_once(waits)), Some(()), "it has to wait for another instant");
    clock.at(20);
    assert!(!lease.is_held());
}

#[test]
fn a_guard_tells_since_when_and_for_how_long() {
    let clock = Interrupted::default();
    let since = Timestamp::from_nanos(3);
    let tenure = Tenure { since, ..tenure(10) };
    let lease = Lease::new(Arc::new(GuardedLeadership::new(setup(clock.clone()), &tenure)));
    clock.at(8);
    assert_eq!((lease.since(), lease.age()), (since, Duration::from_nanos(5)));
    clock.at(25);
    assert_eq!((lease.is_held(), lease.age()), (false, Duration::from_nanos(22)), "it is over");
}

/// A leader since its clock read zero.
fn leading(epoch: u64) -> lease::Lease {
    leading_until(epoch, Duration::from_secs(15))
}

fn leading_until(epoch: u64, ttl: Duration) -> lease::Lease {
    use election_core::{Protocol as _, lease::Answer};
    let mut lease = lease::Lease::new(Config::builder().ttl(ttl).build().unwrap(), candidate(), 0);
    let step = lease.step(Timestamp::ZERO, Input::Tick);
    let Some(lease::Action::Query { ticket, .. }) = step.action else { panic!("no attempt") };
    let won = Answer::Won { epoch: Epoch::new(epoch), remaining: ttl };
    let won = Event::Answer { ticket, result: Ok(won) };
    let _ = lease.step(Timestamp::ZERO, Input::Event(won));
    lease
}

/// The clock is read, leadership begins and ends, and only then is its end read.
#[test]
fn a_handle_that_is_set_aside_does_not_lead_past_the_end() {
    use election_core::Protocol as _;
    let clock = Interrupted::default();
    let shared = Arc::new(Shared::new(setup(clock.clone())));
    let (published, time, lease) = (shared.clone(), clock.clone(), leading(7));
    *clock.after.lock().unwrap() = Some(Box::new(move || {
        published.publish(&lease, None);
        let until = lease.tenure(Timestamp::ZERO).expect("a leader").until;
        time.at(until.as_nanos());
    }));
    assert!(!shared.is_leader(), "it led neither before nor after");
    clock.at(0);
    assert!(shared.is_leader());
}

/// A guard has found the end; a renewal that is granted after all, and the end that the elector
/// then reports, move neither the end of belief nor the hard stop forward.
#[test]
fn a_refused_renewal_prolongs_nothing() {
    let clock = Interrupted::default();
    let guard = Lease::new(Arc::new(GuardedLeadership::new(setup(clock.clone()), &tenure(10))));
    clock.at(10);
    assert!(guard.check().is_err());
    let over = (guard.until(), guard.stop_by());
    assert!(!guard.0.prolong(&tenure(20)));
    assert_eq!((guard.until(), guard.stop_by()), over);
    guard.0.end(Loss::Resigned, Timestamp::from_nanos(15), None);
    assert_eq!((guard.until(), guard.stop_by()), over);
    assert_eq!(over, (Timestamp::ZERO, Timestamp::from_nanos(10)));
}

/// A guard is prolonged by renewals of its own term, never by another term's.
#[test]
fn another_term_prolongs_no_guard() {
    let clock = Interrupted::default();
    let shared = Shared::new(setup(clock));
    shared.publish(&leading(7), None);
    let old = Lease::new(shared.leadership().expect("a leader"));
    let before = (old.until(), old.stop_by());
    shared.publish(&leading_until(8, Duration::from_secs(60)), None);
    assert_eq!((old.until(), old.stop_by()), before);
    let new = Lease::new(shared.leadership().expect("a leader"));
    assert_eq!(new.epoch(), Epoch::new(8));
    assert!(new.until() > old.until());
}

/// The status names no tenure that a guard has already denied, and the handle does not believe it.
#[test]
fn a_refused_renewal_is_not_published() {
    let clock = Interrupted::default();
    let shared = Shared::new(setup(clock.clone()));
    shared.publish(&leading(7), None);
    let guard = Lease::new(shared.leadership().expect("a leader"));
    let until = guard.until();
    clock.at(until.as_nanos());
    assert!(guard.check().is_err());
    shared.publish(&leading_until(7, Duration::from_secs(60)), None);
    let tenure = shared.status().0.tenure.expect("no loss was reported yet");
    assert_eq!(tenure.until, until);
    assert!(!shared.is_leader() && !guard.is_held() && shared.leadership().is_none());
}
