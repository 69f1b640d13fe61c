//! What others learn of a leader.

use crate::database::{Backend, LONG};

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
}
