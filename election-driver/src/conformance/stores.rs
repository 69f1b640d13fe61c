//! What holds on any store, and needs the runtime's sockets, timers and cancellation: a leader is
//! elected, renews, and is succeeded.

use super::{fixture::Stores, tasks::spawn};
use crate::{Handle, Runtime, Status, Store as _};
use election_core::{
    Candidate, Change, Epoch, Incarnation, Namespace, NodeId,
    lease::{Answer, Failure, Query, Registration},
};
use futures_lite::future::{pending, poll_once, yield_now};
use std::{pin::pin, time::Duration};
use uuid::Uuid;

const SHORT: Duration = Duration::from_secs(2);

async fn renewed<R: Runtime>(handle: &Handle<R>) {
    let lease = handle.lease().expect("a leader");
    let first = lease.until();
    let later = |status: &Status| status.tenure.as_ref().is_none_or(|own| own.until > first);
    let status = handle.watch().until(later).await;
    let tenure = status.tenure.expect("still leading");
    assert_eq!(tenure.term, *lease.term(), "a renewal keeps the term");
}

/// Elect, renew, and take over from a leader whose elector was dropped silently.
pub async fn elects_renews_and_fails_over<X: Stores>(place: X) {
    let (doomed, driver) = place.election("doomed", SHORT).into_parts();
    let driver = spawn::<X::Runtime, _>(driver);
    let lease = doomed.elected().await.expect("an elector");
    let (first, since) = (lease.epoch(), lease.since());
    renewed(&doomed).await;
    assert_eq!((lease.since(), lease.age() > Duration::ZERO), (since, true));
    assert_eq!(doomed.status().tenure.map(|tenure| tenure.since), Some(since), "since when");
    drop(lease);

    let heir = place.elector("heir", SHORT);
    let followed = heir.watch().until(|status| status.leader.is_some()).await;
    let followed = followed.leader.expect("it has just been seen");
    assert_eq!((followed.term.epoch, followed.own), (first, false));
    assert!(doomed.status().leader.is_some_and(|leader| leader.own));
    let since = followed.elected_ms;
    let mut changes = heir.changes();
    let told = changes.next().await.expect("a reader in time");
    assert!(matches!(told, Some(Change::Followed { elected_ms, .. }) if elected_ms == since));

    driver.abort();
    assert!(doomed.watch().until(|status| status.closed).await.closed);
    assert!(!doomed.is_leader(), "nobody renews: nobody believes");
    let second = heir.elected().await.expect("an elector").epoch();
    assert!(second > first, "{second} after {first}");
    heir.shutdown().await;
    let next = || changes.try_next().expect("a reader in time");
    let rest = std::iter::from_fn(next).collect::<Vec<_>>();
    let last = rest.iter().rev().find(|change| !matches!(change, Change::Vacant));
    assert!(matches!(last, Some(Change::Lost { .. })), "{rest:?}");
}

/// A graceful resignation lets a follower lead under a new term, and the old leader follows.
pub async fn resigns_to_a_follower<X: Stores>(place: X) {
    let a = place.elector("a", SHORT);
    let first = a.elected().await.expect("an elector").epoch();
    let b = place.elector("b", SHORT);
    b.watch().until(|status| status.leader.is_some()).await;
    a.resign().await.expect("an elector");
    let second = b.elected().await.expect("an elector").epoch();
    assert!(second > first);
    let status = a.watch().until(|status| status.leader.is_some()).await;
    assert_eq!(status.leader.map(|leader| leader.term.epoch), Some(second), "a follows b");
    a.shutdown().await;
    b.shutdown().await;
}

/// Work that ignores its loss is dropped at the hard stop, and only then starts elsewhere.
pub async fn leader_work_is_cancelled_and_starts_elsewhere<X: Stores>(place: X) {
    struct Running(async_channel::Sender<&'static str>);
    impl Drop for Running {
        fn drop(&mut self) {
            let _ = self.0.try_send("stopped");
        }
    }
    let (log, seen) = async_channel::unbounded();
    let a = place.elector("a", SHORT);
    let work = async |_| -> Result<(), String> {
        let _running = Running(log.clone());
        let _ = log.try_send("started");
        pending().await
    };
    let scenario = async {
        assert_eq!(seen.recv().await, Ok("started"));
        let b = place.elector("b", SHORT);
        b.watch().until(|status| status.leader.is_some()).await;
        a.resign().await.expect("an elector");
        assert_eq!(seen.try_recv(), Ok("stopped"), "released before its work had stopped");
        b.elected().await.expect("an elector");
        b.shutdown().await;
        a.shutdown().await;
    };
    // Both in this task: the work ends with the elector.
    let work = async {
        a.run_while_leader(work).await.expect("work that never fails");
        pending::<()>().await;
    };
    futures_lite::future::or(scenario, work).await;
}

/// Wherever a call is cancelled, the lease that it may have won runs out, and another takes it
/// (GreptimeDB#7670).
pub async fn a_cancelled_call_does_not_keep_the_lease<X: Stores>(place: X) {
    const BRIEF: Duration = Duration::from_millis(100);
    let registration = |id: &str| Registration {
        namespace: Namespace::new("test").expect("a name"),
        candidate: Candidate {
            id: NodeId::new(id).expect("a name"),
            incarnation: Incarnation::new(Uuid::new_v4()),
        },
        label: None,
    };
    let (cancelled, other) = (registration("cancelled"), registration("other"));
    let attempt = Query::Attempt { seen: Epoch::NONE, ttl: BRIEF, clock_step: Duration::ZERO };
    let (mut one, mut two) = (place.store(), place.store());
    for polls in 1..20 {
        {
            let mut call = pin!(one.answer(&cancelled, &attempt));
            for _ in 0..polls {
                if poll_once(call.as_mut()).await.is_some() {
                    break;
                }
                yield_now().await;
            }
        }
        let epoch = loop {
            match two.answer(&other, &attempt).await {
                Ok(Answer::Won { epoch, .. }) => break epoch,
                Ok(_) => {}
                Err(error) => assert_eq!(error.kind, Failure::Conflict, "{error}"),
            }
        };
        let resigned = two.answer(&other, &Query::Resign { epoch }).await;
        resigned.expect("a database");
    }
}
