//! A server that sends no notification: what was to be told has happened all the same.

use crate::support::{
    On, OnPostgres, assert_refused, assert_says, command_in, elector, registration_in,
};
use election_driver::core::{Namespace, lease::Candidacy};
use election_testing::{Pooler, Server};
use election_tokio::Status;
use sqlx::{Connection as _, PgConnection};

/// Directly, and in the transactions of a pooler: whatever shares one with a notification fails with
/// it.
pub(crate) async fn leadership_passes_on_without_notifications(server: &Server) {
    let pooler = || Pooler::start(server, 5, "transaction", "");
    let pooler = tokio::task::block_in_place(pooler);
    let pooled = format!("{}?statement-cache-capacity=0", pooler.url());
    OnPostgres::ensure_schema(&mut OnPostgres::store(&server.url())).await.unwrap();
    server.administer("election", "REVOKE EXECUTE ON FUNCTION pg_notify(text, text) FROM PUBLIC");
    for url in [server.url(), pooled] {
        let start = |node| elector::<OnPostgres>(OnPostgres::store(&url), node);
        let a = start("a");
        let first = a.elected().await.unwrap().epoch();
        let b = start("b");
        b.watch().until(|status| status.leader.is_some()).await;
        a.resign().await.unwrap();
        let second = b.elected().await.unwrap().epoch();
        assert!(second > first);

        let mut store = OnPostgres::store(&url);
        let namespace = Namespace::new("e").unwrap();
        let asked = store.request_resign_of_leader(&namespace).await.unwrap();
        assert_eq!(asked, Some(second));
        let third = a.elected().await.unwrap().epoch();
        assert!(store.request_resign(&namespace, third).await.unwrap());
        assert!(b.elected().await.unwrap().epoch() > third);
        a.watch().until(|status: &Status| status.leader.is_some()).await;

        let resign = command_in(&[("ELECTION_NAME", "e")], &url, &["resign"]).await;
        let said = String::from_utf8_lossy(&resign.stderr);
        assert!(resign.status.success(), "{said}");
        let words = &["could not be notified", "pg_notify", "grant it EXECUTE"];
        assert_says("resign", &said, words);
        a.elected().await.unwrap();
        b.shutdown().await;
        a.shutdown().await;
        let row = OnPostgres::store(&url).leader(&namespace).await.unwrap();
        assert_eq!(row.holder, None, "it was released at once");

        // A transaction of the caller's is undone as a whole.
        let mut me = Candidacy::new(registration_in(&namespace));
        store.elect(&mut me).await.unwrap();
        let mut connection = PgConnection::connect(&server.url()).await.unwrap();
        let mut transaction = connection.begin().await.unwrap();
        let left = store.on(&mut transaction).unregister_candidate(&mut me).await;
        assert_refused("a transaction", left, &words[1..]);
        transaction.rollback().await.unwrap();
        store.unregister_candidate(&mut me).await.unwrap();
    }
    server.administer("election", "GRANT EXECUTE ON FUNCTION pg_notify(text, text) TO PUBLIC");
}
