use super::*;
use crate::{Changes, Lagged, Watch, changes::subscription, inbox::Inbox};
use election_core::{
    Alert, Candidate, Incarnation, Loss, Namespace, NodeId,
    lease::{Failure, Registration},
};
use futures_lite::future::{block_on, poll_once};
use std::{
    future::{Future, Pending, pending},
    pin::{Pin, pin},
    task::{Context, Wake},
};
use uuid::Uuid;

/// A clock that stands still.
#[derive(Clone)]
struct Still;

impl Runtime for Still {
    type Sleep = Pending<()>;

    fn now(&self) -> Timestamp {
        at(5)
    }

    fn sleep(&self, _: Duration) -> Pending<()> {
        pending()
    }

    fn spawn<F: Future<Output = ()> + Send + 'static>(&self, _: F) {
        unreachable!("what is published spawns nothing");
    }
}

fn at(seconds: u64) -> Timestamp {
    Timestamp::ZERO + Duration::from_secs(seconds)
}

fn shared() -> Arc<Shared<Still>> {
    let incarnation = Incarnation::new(Uuid::from_u128(1));
    let candidate = Candidate { id: NodeId::new("a").unwrap(), incarnation };
    let registration = Registration { namespace: Namespace::default(), candidate, label: None };
    let (inbox, _) = Inbox::new();
    let [ttl, grace, timer_slice] = [15, 2, 1].map(Duration::from_secs);
    let statements = None;
    let (runtime, named_metrics) = (Still, true);
    let setup =
        Setup { runtime, registration, ttl, grace, timer_slice, statements, inbox, named_metrics };
    Arc::new(Shared::new(Arc::new(setup)))
}

fn reader(shared: &Shared<Still>) -> Changes {
    let (subscriber, changes) = subscription();
    shared.subscribe(subscriber);
    changes
}

fn tenure(until: u64) -> Tenure {
    let term = Term { epoch: Epoch::new(7), leader: NodeId::new("a").unwrap() };
    Tenure { term, since: at(0), until: at(until), stop_by: at(until + 2) }
}

fn leading(until: u64) -> Snapshot {
    Snapshot { tenure: Some(tenure(until)), ..nobody() }
}

fn nobody() -> Snapshot {
    Snapshot { tenure: None, followed: None, unreleased: false, elected_ms: None, opens_at: None }
}

fn lost() -> Change {
    let (term, reason) = (tenure(0).term, Loss::Resigned);
    Change::Lost { term, reason, stop_by: at(9), successor: None }
}

/// What comes after a gap would look as if nothing were missing.
#[test]
fn a_reader_that_has_lagged_gets_nothing_after_the_gap() {
    const UNREAD: usize = 10_000;
    let shared = shared();
    let mut changes = reader(&shared);
    let happens = || shared.publish(nobody(), Some(Change::Vacant));
    (0..=UNREAD).for_each(|_| happens());
    assert_eq!(changes.try_next(), Ok(Some(Change::Vacant)));
    happens(); // and there would be room again
    for _ in 1..UNREAD {
        assert_eq!(changes.try_next(), Ok(Some(Change::Vacant)));
    }
    assert_eq!(changes.try_next(), Err(Lagged));
    happens();
    assert_eq!(changes.try_next(), Ok(None), "it has ended");
}

#[test]
fn a_renewal_is_no_change_and_ends_no_stream() {
    let shared = shared();
    let mut changes = reader(&shared);
    shared.publish(leading(10), Some(Change::Elected(tenure(10))));
    shared.publish(leading(20), None);
    assert_eq!(shared.status().0.tenure, Some(tenure(20)));
    shared.publish(nobody(), Some(lost()));
    assert_eq!(changes.try_next(), Ok(Some(Change::Elected(tenure(10)))));
    assert_eq!(changes.try_next(), Ok(Some(lost())));
}

/// Who leads is told first, and its address once it is known.
#[test]
fn an_address_that_becomes_known_is_news_and_no_change() {
    let shared = shared();
    let mut watch = Watch::new(shared.clone());
    let followed = |label: Option<&str>| {
        let term = Term { epoch: Epoch::new(7), leader: NodeId::new("b").unwrap() };
        let label = label.map(|label| Label::new(label).unwrap());
        Snapshot { followed: Some((term, label)), ..nobody() }
    };
    shared.publish(followed(None), Some(Change::Vacant));
    watch.get();
    shared.publish(followed(None), None);
    assert!(block_on(poll_once(watch.changed())).is_none());
    shared.publish(followed(Some("host:1")), None);
    let status = block_on(poll_once(watch.changed())).expect("news");
    let leader = status.leader.expect("somebody leads");
    assert!(!leader.own && leader.label.is_some());
}

/// Behind a failover: until when nobody can be elected is news, and over with the elector.
#[test]
fn until_when_nobody_can_be_elected_is_news_until_the_end() {
    let shared = shared();
    shared.publish(nobody(), Some(Change::Vacant));
    let version = shared.status().1;
    shared.publish(Snapshot { opens_at: Some(at(9)), ..nobody() }, None);
    let (status, next) = shared.status();
    assert_eq!((status.opens_at, next), (Some(at(9)), version + 1));
    shared.publish(nobody(), None);
    assert_eq!(shared.status().0.opens_at, None);
    shared.publish(Snapshot { opens_at: Some(at(9)), ..nobody() }, None);
    shared.close();
    assert_eq!(shared.status().0.opens_at, None);
}

/// An alert says nothing about who leads.
#[test]
fn no_state_is_made_up_from_an_alert() {
    let shared = shared();
    shared.publish(nobody(), Some(Change::Alert(Alert::MembersChanged)));
    let mut changes = reader(&shared);
    assert_eq!(changes.try_next(), Ok(None));
    shared.publish(nobody(), Some(Change::Vacant));
    assert_eq!(changes.try_next(), Ok(Some(Change::Vacant)));
    assert_eq!(reader(&shared).try_next(), Ok(Some(Change::Vacant)), "now it is known");
}

#[test]
fn an_ended_leadership_is_known_while_a_guard_is_held() {
    let shared = shared();
    shared.publish(leading(10), Some(Change::Elected(tenure(10))));
    let guard = shared.leadership().expect("it leads");
    assert!(shared.is_leader() && shared.still_held().is_none());
    shared.publish(nobody(), Some(lost()));
    assert!(!shared.is_leader() && shared.leadership().is_none());
    assert_eq!(shared.still_held(), Some(Epoch::new(7)));
    drop(guard);
    assert_eq!(shared.still_held(), None);
}

/// Who notes that it is woken.
struct Sleeper(&'static str, Arc<Mutex<Vec<&'static str>>>);

impl Wake for Sleeper {
    fn wake(self: Arc<Self>) {
        self.1.lock().unwrap().push(self.0);
    }
}

/// Whoever hears of a resignation may rely on it that work was told to stop.
#[test]
fn work_is_told_of_an_end_before_anybody_else() {
    let ends: [fn(&Shared<Still>); 2] =
        [|shared| shared.publish(nobody(), Some(lost())), Shared::close];
    for end in ends {
        let (shared, woken) = (shared(), Arc::default());
        shared.publish(leading(10), Some(Change::Elected(tenure(10))));
        let lease = crate::Lease::new(shared.leadership().expect("it leads"));
        let (mut watch, mut changes) = (Watch::new(shared.clone()), reader(&shared));
        watch.get();
        changes.try_next().expect("the state");
        let sleeps = |name, future: Pin<&mut dyn Future<Output = ()>>| {
            let waker = Arc::new(Sleeper(name, Arc::clone(&woken))).into();
            assert!(future.poll(&mut Context::from_waker(&waker)).is_pending());
        };
        let mut told = pin!(async { drop(watch.changed().await) });
        let mut hears = pin!(async { drop(changes.next().await) });
        let mut work = pin!(async { drop(lease.lost().await) });
        sleeps("who watches", told.as_mut());
        sleeps("who reads", hears.as_mut());
        sleeps("work", work.as_mut());
        end(&shared);
        let woken = woken.lock().unwrap();
        assert!(woken.len() == 3 && woken[0] == "work", "{woken:?}");
    }
}

/// Whoever watches is woken for news, for nothing else, and finds it.
#[test]
fn what_is_known_of_the_database_is_news_once() {
    let shared = shared();
    let mut watch = Watch::new(shared.clone());
    watch.get();
    let fails = || shared.database(Err(Arc::new(StoreError::new(Failure::Transient, "it says"))));
    let mut is_news = |what: &dyn Fn()| {
        what();
        block_on(poll_once(watch.changed())).is_some()
    };
    assert!(is_news(&|| shared.database(Ok(()))), "the first answer");
    assert!(!is_news(&|| shared.database(Ok(()))));
    assert!(is_news(&fails));
    assert!(is_news(&fails), "the cause may be another");
    assert!(is_news(&|| shared.database(Ok(()))), "the error is over");
    let mut copy = watch.clone();
    assert!(block_on(poll_once(copy.changed())).is_none(), "it has seen the same");
    let mut is_news = |what: &dyn Fn()| {
        what();
        block_on(poll_once(watch.changed())).is_some()
    };
    assert!(is_news(&|| shared.listening(true)));
    assert!(!is_news(&|| shared.listening(true)));
    assert!(is_news(&|| shared.listening(false)));
}

#[test]
fn what_has_ended_listens_to_nothing_and_leads_nobody() {
    let shared = shared();
    let mut changes = reader(&shared);
    shared.listening(true);
    shared.publish(leading(10), Some(Change::Elected(tenure(10))));
    let before = shared.status().1;
    shared.close();
    let (status, version) = shared.status();
    assert!(status.closed && !status.listening && !shared.is_leader());
    assert!(status.tenure.is_none() && status.leader.is_none() && version > before);
    assert_eq!(changes.try_next(), Ok(Some(Change::Elected(tenure(10)))));
    let end = changes.try_next();
    assert!(matches!(end, Ok(Some(Change::Lost { reason: Loss::Withdrawn, .. }))), "{end:?}");
    assert_eq!(block_on(changes.next()), Ok(None));
}
