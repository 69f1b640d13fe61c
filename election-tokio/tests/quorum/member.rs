//! A node within the test's own process: what its handle says when things end.

use election_driver::{
    HandOverError, Member, PauseError,
    conformance::Place,
    core::{Loss, NodeId, quorum::Position},
};
use election_tokio::Tokio;
use futures_lite::future::{or, poll_once, zip};
use std::{
    future::{Future, poll_fn},
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::Poll,
    time::Duration,
};

/// Longer than anything here may take.
const PATIENCE: Duration = Duration::from_secs(30);

async fn in_time<T>(what: &str, future: impl Future<Output = T>) -> T {
    let waits = tokio::time::timeout(PATIENCE, future).await;
    waits.unwrap_or_else(|_| panic!("waited {PATIENCE:?} for this in vain: {what}"))
}

/// The ballot and the port are free as soon as a shutdown has returned.
#[tokio::test]
async fn what_has_shut_down_can_start_again_at_once() {
    let place = Place::new(3);
    for round in 0..200 {
        let started = place.cluster::<Tokio>(0, Position::default()).start().await;
        let member = started.unwrap_or_else(|error| panic!("round {round}: {error}"));
        in_time("a shutdown", member.handle().shutdown()).await;
    }
}

/// A trio of which one leads; each node stands still while its flag says so.
async fn trio(place: &Place) -> (Vec<Member<Tokio>>, Vec<Arc<AtomicBool>>) {
    let (mut members, mut flags) = (Vec::new(), Vec::new());
    for own in 0..3 {
        let (member, mut node) =
            place.cluster::<Tokio>(own, Position::default()).open().await.expect("a node");
        let still = Arc::new(AtomicBool::new(false));
        let flag = still.clone();
        tokio::spawn(async move {
            poll_fn(|cx| match flag.load(Ordering::Relaxed) {
                true => {
                    cx.waker().wake_by_ref();
                    Poll::Pending
                }
                false => Pin::new(&mut node).poll(cx),
            })
            .await;
        });
        members.push(member);
        flags.push(still);
    }
    (members, flags)
}

/// A handover of which the node hears only when its leadership has run out.
#[tokio::test]
async fn a_handover_that_comes_too_late_says_why() {
    let place = Place::new(3);
    let (members, flags) = trio(&place).await;
    let elected = |own: usize| {
        let handle = members[own].handle().clone();
        async move {
            let _ = handle.elected().await;
            own
        }
    };
    let leads = in_time("a leader", or(or(elected(0), elected(1)), elected(2))).await;
    let heir = NodeId::new(&format!("n{}", (leads + 1) % 3 + 1)).expect("a short id");
    let ended = members[leads].handle().lease().expect("a leader").ended();
    flags[leads].store(true, Ordering::Relaxed);
    let mut ordered = Box::pin(members[leads].hand_over(&heir));
    assert_eq!(poll_once(&mut ordered).await, None, "the node stands still");
    in_time("the end of its belief", ended).await;
    flags[leads].store(false, Ordering::Relaxed);
    let ended = in_time("the end of a handover", ordered).await;
    assert_eq!(ended, Err(HandOverError::Lost(Loss::Expired)));
    for member in &members {
        in_time("a shutdown", member.handle().shutdown()).await;
    }
}

/// Nobody waits for a majority on behalf of a node that has ended.
#[tokio::test]
async fn a_pause_ends_with_its_node() {
    let place = Place::new(3);
    let member = place.cluster::<Tokio>(0, Position::default()).start().await.expect("a node");
    let (paused, ()) =
        in_time("an answer", zip(member.pause(None), member.handle().shutdown())).await;
    assert!(matches!(paused, Err(PauseError::Refused(_) | PauseError::Stopped)), "{paused:?}");
    assert_eq!(in_time("an answer", member.pause(None)).await, Err(PauseError::Stopped));
}

/// What a probe for liveness asks. Nobody but the node itself can take its steps.
#[tokio::test]
async fn a_blocked_node_is_overdue() {
    let place = Place::new(3);
    let (members, flags) = trio(&place).await;
    let handle = members[0].handle();
    let until = async |what: &str, holds: fn(Duration) -> bool| {
        let waits = async {
            while !holds(handle.overdue()) {
                tokio::task::yield_now().await;
            }
        };
        in_time(what, waits).await;
    };
    in_time("a leader", handle.watch().until(|status| status.leader.is_some())).await;
    until("steps in time", |late| late.is_zero()).await;
    flags[0].store(true, Ordering::Relaxed);
    until("a step that is not taken", |late| late > Duration::from_millis(500)).await;
    flags[0].store(false, Ordering::Relaxed);
    until("steps in time again", |late| late.is_zero()).await;
    for member in &members {
        in_time("a shutdown", member.handle().shutdown()).await;
    }
    assert!(handle.overdue().is_zero(), "nothing is due any more");
}
