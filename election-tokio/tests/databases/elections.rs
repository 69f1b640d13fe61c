//! What others learn of a leader, and what it learns of them.

use crate::database::{Backend, LONG, SHORT};
use election_core::{Change, Epoch, Loss};

/// Another process asks the leader to resign, by its term.
async fn resigns_when_asked<B: Backend>(database: B) {
    let a = database.elector("a", SHORT);
    let term = a.elected().await.expect("an elector").term().clone();
    let mut changes = a.changes();
    let older = Epoch::new(term.epoch.get() - 1);
    let asked = database.request_resign(older).await.expect("a database");
    assert!(!asked, "another term is not asked");
    assert!(database.request_resign(term.epoch).await.expect("a database"));
    assert!(matches!(changes.next().await, Ok(Some(Change::Elected(_)))));
    match changes.next().await {
        Ok(Some(Change::Lost { term: lost, reason, .. })) => {
            assert_eq!((lost, reason), (term, Loss::ResignRequested));
        }
        other => panic!("{other:?}"),
    }
    a.shutdown().await;
}

/// Followers are told what the row says.
async fn since_when_somebody_leads_is_told<B: Backend>(database: B) {
    let a = database.elector("a", LONG);
    a.elected().await.expect("an elector");
    let b = database.elector("b", LONG);
    let followed = b.watch().until(|status| status.leader.is_some()).await;
    let told = followed.leader.expect("it has just been seen").elected_ms;
    let since = database.row().await.expect("the database").elected_ms;
    assert_eq!((told, since.is_some()), (since, true));
    a.shutdown().await;
    b.shutdown().await;
}

tests! {
    since_when_somebody_leads_is_told: sqlite postgres mariadb;
    resigns_when_asked: sqlite postgres mariadb;
}
