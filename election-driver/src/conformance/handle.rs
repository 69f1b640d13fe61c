//! Electors whose task is dropped, that only observe, or that share a store.

use super::sqlite::*;
use crate::{Election, SharedStore, Stopped};

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

/// The store's tasks ask, wait and listen on the runtime, whichever it is.
pub async fn elections_share_a_store<R: Runtime + Default>(place: InFile<R>) {
    let start = |store: &SharedStore, name, node| {
        let election = Election::<R>::builder(name).node(node).ttl(LONG).store(store.clone());
        election.build().unwrap().start()
    };
    let (ours, theirs) = (Election::<R>::share(place.store()), Election::<R>::share(place.store()));
    let [one, other] = ["one", "other"].map(|name| start(&ours, name, "a"));
    let epoch = one.elected().await.unwrap().epoch();
    let stays = other.elected().await.unwrap();
    let heir = start(&theirs, "one", "b");
    assert_eq!(followed(&heir).await, epoch);
    heir.watch().until(|status| status.listening).await;
    one.resign().await.unwrap();
    assert!(heir.elected().await.unwrap().epoch() > epoch);
    assert!(stays.check().is_ok());
    drop(stays);
    for handle in [one, other, heir] {
        handle.shutdown().await;
    }
}
