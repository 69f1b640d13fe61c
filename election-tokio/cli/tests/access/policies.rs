//! Row-level security: a row that a user may not see is no missing row.

use crate::{
    refused::refused,
    support::{
        On, OnPostgres, assert_refused, assert_says, command, complaint, elector, message,
        take_part, url_of,
    },
};
use election_driver::core::Namespace;
use election_testing::{Kind, Pooler, Server};
use election_tokio::FenceError;
use sqlx::{Connection as _, PgConnection};

const WORDS: &[&str] = &["row-level security", "DISABLE ROW LEVEL SECURITY", "BYPASSRLS"];

/// Whatever the policies say, and whoever leads meanwhile.
pub(crate) async fn rows_that_are_hidden_are_not_missing(server: &Server) {
    OnPostgres::create_database(server, "policed");
    server.administer("postgres", "CREATE ROLE policed LOGIN PASSWORD 'policed'");
    let owner = url_of(&server.url(), "policed");
    OnPostgres::ensure_schema(&mut OnPostgres::store(&owner)).await.unwrap();
    server.administer("policed", &Kind::Postgres.grants().replace("TO app", "TO policed"));
    let url = url_of(&server.url_as("policed", "policed"), "policed");
    take_part::<OnPostgres>(&mut OnPostgres::store(&url)).await.unwrap();

    let everybody = "USING (true)";
    for policy in ["", "FOR SELECT", "FOR ALL"] {
        let secure = "ALTER TABLE election_leader ENABLE ROW LEVEL SECURITY";
        OnPostgres::administer(server, "policed", secure);
        if !policy.is_empty() {
            let create = format!("CREATE POLICY policed ON election_leader {policy} {everybody}");
            OnPostgres::administer(server, "policed", &create);
        }
        // It does not apply to the owner.
        let leader = elector::<OnPostgres>(OnPostgres::store(&owner), "owner");
        let lease = leader.elected().await.unwrap();
        refused::<OnPostgres>(policy, &url, WORDS).await;
        for arguments in [&["resign"][..], &["check"]] {
            let output = command(&url, arguments).await;
            let said = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(125), "{policy} {arguments:?}: {said}");
            assert_says(policy, &said, WORDS);
        }
        in_a_transaction(&url).await;
        // It locks the row that it finds.
        match OnPostgres::fence(&url, &lease).await {
            Err(FenceError::Store(error)) => assert_says("a fence", &message(&error), WORDS),
            other => assert!(policy == "FOR ALL" && other.is_ok(), "{policy}: {other:?}"),
        }
        drop(lease);
        leader.shutdown().await;
        let open = "DROP POLICY IF EXISTS policed ON election_leader; \
                    ALTER TABLE election_leader DISABLE ROW LEVEL SECURITY";
        OnPostgres::administer(server, "policed", open);
        take_part::<OnPostgres>(&mut OnPostgres::store(&url)).await.unwrap();
    }

    // While somebody leads, on another table, and for the owner, too.
    let leader = elector::<OnPostgres>(OnPostgres::store(&url), "leader");
    leader.elected().await.unwrap();
    let force = "ALTER TABLE election_candidate ENABLE ROW LEVEL SECURITY; \
                 ALTER TABLE election_candidate FORCE ROW LEVEL SECURITY";
    OnPostgres::administer(server, "policed", force);
    for user in [&url, &owner] {
        let listed = OnPostgres::list(&mut OnPostgres::store(user), &Namespace::default()).await;
        assert_refused("candidates", listed, WORDS);
    }
    server.administer("postgres", "ALTER ROLE policed BYPASSRLS");
    take_part::<OnPostgres>(&mut OnPostgres::store(&url)).await.unwrap();
    leader.shutdown().await;
}

async fn in_a_transaction(url: &str) {
    let store = OnPostgres::store(url);
    let mut connection = PgConnection::connect(url).await.unwrap();
    let mut transaction = connection.begin().await.unwrap();
    let read = store.on(&mut transaction).leader(&Namespace::default()).await;
    assert_refused("a transaction", read, WORDS);
}

/// A pooler's sessions begin without the store's settings.
pub(crate) async fn nor_are_they_behind_a_pooler(server: &Server) {
    OnPostgres::ensure_schema(&mut OnPostgres::store(&server.url())).await.unwrap();
    let pooler = tokio::task::block_in_place(|| Pooler::start(server, 2, "transaction", ""));
    let url = format!("{}?statement-cache-capacity=0", pooler.url());
    let force = "ALTER TABLE election_leader ENABLE ROW LEVEL SECURITY; \
                 ALTER TABLE election_leader FORCE ROW LEVEL SECURITY";
    OnPostgres::administer(server, "election", force);
    let looked = OnPostgres::look(&mut OnPostgres::store(&url), &Namespace::default()).await;
    assert_refused("pooled", looked, WORDS);
    let handle = elector::<OnPostgres>(OnPostgres::store(&url), "pooled");
    assert_says("pooled", &complaint(&handle).await, WORDS);
    let open = "ALTER TABLE election_leader NO FORCE ROW LEVEL SECURITY; \
                ALTER TABLE election_leader DISABLE ROW LEVEL SECURITY";
    OnPostgres::administer(server, "election", open);
    handle.elected().await.unwrap();
    handle.shutdown().await;
}
