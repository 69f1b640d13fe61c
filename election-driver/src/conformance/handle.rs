//! The guarantees of a handle and a guard: when leadership ends, and what that takes.

use super::sqlite::*;
use crate::{Election, Stopped};
use election_core::lease::Config;
use futures_lite::future::yield_now;
use std::time::Duration;

pub async fn dropping_the_last_handle_withdraws<R: Runtime + Default>(place: InFile<R>) {
    let a = place.start("a", LONG);
    let copy = a.clone();
    let epoch = a.elected().await.unwrap().epoch();
    let b = place.start("b", LONG);
    assert_eq!(followed(&b).await, epoch);
    let (mut watch, mut changes) = (a.watch(), a.changes());
    drop(a);
    execute(&mut place.raw().await, "CREATE TABLE noise (x)").await; // wakes everybody
    assert!(copy.is_leader(), "one handle is enough");
    drop(copy);
    assert_eq!(next_loss(&mut changes).await, Loss::Withdrawn);
    assert!(b.elected().await.unwrap().epoch() > epoch, "released, not run out");
    assert!(watch.until(|_| false).await.closed);
    b.shutdown().await;
}

pub async fn resigning_waits_until_others_can_have_it<R: Runtime + Default>(place: InFile<R>) {
    let a = place.start("a", LONG);
    let epoch = a.elected().await.unwrap().epoch();
    a.resign().await.unwrap();
    let row = place.row().await;
    assert_eq!((row.epoch, row.holder), (epoch, None), "vacant when the call returns");
    assert!(!a.is_leader());
    a.resign().await.unwrap(); // without leadership: no error
    a.shutdown().await;
    assert_eq!(a.resign().await, Ok(()), "there is nothing to give up");
    assert_eq!(a.elected().await.map(|_| ()), Err(Stopped));
    a.shutdown().await; // twice is once
}

/// Work may still run while a guard lives. So the lease stays, even if others wait for it, and this
/// process does not campaign.
pub async fn a_guard_held_after_the_loss_prevents_the_release<R: Runtime + Default>(
    place: InFile<R>,
) {
    let (a_line, b_line) = (Line::default(), Line::default());
    let a = elector::<R, _>(a_line.to(place.store()), "a", LONG).start();
    let guard = a.elected().await.unwrap();
    let b = elector::<R, _>(b_line.to(place.store()), "b", LONG).start();
    assert_eq!(followed(&b).await, guard.epoch());
    let resigning = spawn::<R, _>({
        let a = a.clone();
        async move { a.resign().await }
    });
    let lost = guard.lost().await;
    assert_eq!((lost.reason, &lost.term), (Loss::Resigned, guard.term()));
    assert_eq!(guard.check(), Err(lost));
    assert!(!a.is_leader() && a.lease().is_none() && guard.remaining().is_zero());

    // Whatever b asks, the answer is that a holds it.
    let asked = b_line.log().len();
    while b_line.log().len() < asked + 3 {
        place.wake();
        yield_now().await;
    }
    let row = place.row().await;
    assert_eq!(row.epoch, guard.epoch());
    assert_eq!(row.live_holder().unwrap().candidate, a.registration().candidate);
    assert!(!b.is_leader() && !resigning.is_finished());

    drop(guard);
    resigning.await.unwrap();
    b.elected().await.unwrap();
    let attempts =
        a_line.log().iter().filter(|asked| matches!(asked.query, Query::Attempt { .. })).count();
    assert_eq!(attempts, 1, "the one it was elected by");
    a.shutdown().await;
    b.shutdown().await;
}

/// The same when the lease itself is long over, and vacant.
pub async fn a_guard_held_after_the_loss_prevents_a_campaign<R: Runtime + Default>(
    place: InFile<R>,
) {
    let line = Line::default();
    let a = elector::<R, _>(line.to(place.store()), "a", SHORT).start();
    let guard = a.elected().await.unwrap();
    line.set(State::Fails);
    assert_eq!(guard.lost().await.reason, Loss::Expired);
    line.set(State::Open);
    let b = place.start("b", SHORT);
    let epoch = b.elected().await.unwrap().epoch();
    b.shutdown().await;
    let asked = line.log().len();
    let vacant = |asked: &Asked| matches!(&asked.done, Some((_, Ok(Answer::Seen(row)))) if row.epoch == epoch && row.holder.is_none());
    while line.log()[asked..].iter().filter(|asked| vacant(asked)).count() < 2 {
        yield_now().await;
    }
    let log = line.log();
    let attempts = log.iter().filter(|asked| matches!(asked.query, Query::Attempt { .. })).count();
    assert_eq!(attempts, 1, "the one it was elected by: {log:?}");
    drop(guard);
    assert!(a.elected().await.unwrap().epoch() > epoch);
    a.shutdown().await;
}

pub async fn ill_health_steps_down_and_good_health_campaigns<R: Runtime + Default>(
    place: InFile<R>,
) {
    let a = place.start("a", LONG);
    let mut changes = a.changes();
    let first = a.elected().await.unwrap().epoch();
    a.set_healthy(false);
    assert_eq!(next_loss(&mut changes).await, Loss::Unhealthy);
    a.watch().until(|status| !status.unreleased).await;
    assert_eq!(place.row().await.holder, None);
    a.set_healthy(false); // a level, not an event
    let b = place.start("b", LONG);
    let second = b.elected().await.unwrap().epoch();
    assert!(second > first);
    assert_eq!(followed(&a).await, second, "the sick one follows");
    b.shutdown().await;
    a.watch().until(|status| status.leader.is_none()).await;
    assert!(!a.is_leader());
    a.set_healthy(true);
    assert!(a.elected().await.unwrap().epoch() > second);
    a.shutdown().await;
}

pub async fn a_driver_dropped_unpolled_hangs_nobody<R: Runtime + Default>(place: InFile<R>) {
    let (handle, driver) = place.elector("a", LONG).into_parts();
    let mut changes = handle.changes();
    drop(driver);
    handle.shutdown().await;
    assert_eq!(handle.elected().await.map(|_| ()), Err(Stopped));
    assert_eq!(handle.resign().await, Ok(()));
    assert!(handle.status().closed && !handle.is_leader());
    assert_eq!(changes.next().await, Ok(None), "nothing was ever known");
}

/// A driver dropped while it leads ends leadership at once and says so.
pub async fn a_driver_dropped_while_leading_ends_leadership<R: Runtime + Default>(
    place: InFile<R>,
) {
    let election = place.elector("a", LONG);
    let grace = election.config().grace();
    let (handle, driver) = election.into_parts();
    let driver = spawn::<R, _>(driver);
    let lease = handle.elected().await.unwrap();
    let mut changes = handle.changes();
    let (before, stop_by) = (now(), lease.stop_by());
    driver.abort();
    assert_eq!(lease.lost().await.reason, Loss::Withdrawn);
    assert!(!handle.is_leader());
    assert_eq!(next_loss(&mut changes).await, Loss::Withdrawn);
    assert_eq!(changes.next().await, Ok(None));
    assert!(lease.stop_by() <= stop_by && lease.stop_by() <= now() + grace);
    assert!(lease.stop_by() >= before, "work has its grace");
    assert_eq!(handle.resign().await, Err(Stopped), "nobody releases it any more");
    assert!(handle.status().leader.is_none() && handle.leader().is_none());
    handle.shutdown().await;
    assert!(place.row().await.live_holder().is_some(), "the lease is left to its ttl");
}

pub async fn an_observer_follows_and_never_leads<R: Runtime + Default>(place: InFile<R>) {
    let line = Line::default();
    let builder = Election::<R>::builder("e").node("watcher").ttl(LONG).observer();
    let observer = builder.store(line.to(place.store())).build().unwrap().start();
    let reached = observer.watch().until(|status| status.reached).await;
    assert!(reached.leader.is_none());
    let a = place.start("a", LONG);
    let epoch = a.elected().await.unwrap().epoch();
    assert_eq!(followed(&observer).await, epoch);
    let error = observer.require().unwrap_err();
    assert_eq!(error.to_string(), format!("this process does not lead; a (epoch {epoch}) does"));
    a.shutdown().await;
    observer.watch().until(|status| status.leader.is_none()).await;
    observer.shutdown().await;
    assert!(line.log().iter().all(|asked| asked.query == Query::Observe), "it writes nothing");
}

/// The guard's two instants: belief ends a grace before the hard stop, and both move on together.
pub async fn a_guard_tells_how_long_it_holds<R: Runtime + Default>(place: InFile<R>) {
    let ttl = SHORT * 3; // a busy machine must not cost the lease
    let election = place.elector("a", ttl);
    let config: Config = election.config().clone();
    let a = election.start();
    let lease = a.elected().await.unwrap();
    assert_eq!(lease.until() + config.grace(), lease.stop_by());
    let trust = ttl - config.margin() - config.grace();
    assert!(lease.remaining() > Duration::ZERO && lease.remaining() <= trust);
    let (until, stop_by) = (lease.until(), lease.stop_by());
    let renewed = async {
        while lease.until() == until {
            yield_now().await;
        }
    };
    lease.until_lost(renewed).await.unwrap();
    assert!(lease.until() > until && lease.stop_by() > stop_by);
    lease.check().unwrap();
    let error = lease.until_lost(async { a.resign().await }).await.unwrap_err();
    assert_eq!(error.reason, Loss::Resigned);
    drop(lease);
    a.shutdown().await;
}
