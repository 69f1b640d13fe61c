//! Electors whose task is dropped, and electors that only look on.

use super::sqlite::*;
use crate::{Election, Stopped};

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
    assert_eq!(
        error.to_string(),
        format!("this process is not the leader; the leader is a (epoch {epoch})")
    );
    a.shutdown().await;
    observer.watch().until(|status| status.leader.is_none()).await;
    observer.shutdown().await;
    assert!(line.log().iter().all(|asked| asked.query == Query::Observe), "it writes nothing");
}
