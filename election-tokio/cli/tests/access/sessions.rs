//! Sessions that an administrator's `init_connect` has left in a transaction: what the elector is told
//! is committed all the same, or the session is refused.

use crate::support::{
    On, OnMariaDb, assert_refused, assert_says, message, registration_in, url_of,
};
use election_driver::core::{Namespace, lease::Candidacy};
use election_testing::Server;
use election_tokio::StoreError;
use sqlx::{Connection as _, MySqlConnection};

/// After these, the store's own session is fit.
const COMMITTED: &[&str] = &[
    "START TRANSACTION",
    "START TRANSACTION READ ONLY",
    "START TRANSACTION WITH CONSISTENT SNAPSHOT",
    "SET TRANSACTION READ ONLY",
    "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE",
    "SET completion_type = 1; START TRANSACTION",
    "SET completion_type = 2; START TRANSACTION",
    "SET autocommit = 0; SELECT * FROM begun.election_leader",
    "SET autocommit = 0; START TRANSACTION",
    "LOCK TABLES begun.election_schema READ; START TRANSACTION",
];

pub(crate) async fn what_begins_in_a_transaction_is_committed(server: &Server) {
    OnMariaDb::create_database(server, "begun");
    let url = url_of(&server.url(), "begun");
    OnMariaDb::ensure_schema(&mut OnMariaDb::store(&url)).await.unwrap();
    let held = "SELECT COUNT(*) FROM election_leader WHERE leader_id IS NOT NULL";
    for command in COMMITTED {
        connects_with(server, command);
        let (mut store, mut me) = (OnMariaDb::store(&url), candidacy());
        let won =
            store.elect(&mut me).await.unwrap_or_else(|e| panic!("{command}: {}", message(&e)));
        assert!(me.leads(&won), "{command}");
        assert_eq!(server.administer("begun", held), "1", "{command}");
        store.unregister_candidate(&mut me).await.unwrap();
        assert_eq!(server.administer("begun", held), "0", "{command}");
    }
    let elect = async || -> Result<(), StoreError> {
        OnMariaDb::store(&url).elect(&mut candidacy()).await.map(|_| ())
    };
    connects_with(server, "SET SESSION TRANSACTION READ ONLY");
    assert_refused("read only", elect().await, &["read-only", "tx_read_only"]);
    connects_with(server, "XA START 'x'");
    let error = elect().await.expect_err("a part of a distributed transaction");
    assert_says("XA", &message(&error), &["global transaction"]);
    assert_eq!(server.administer("begun", held), "0");
    connects_with(server, "");
}

/// A caller's connection is not the store's to roll back.
pub(crate) async fn a_transaction_that_sqlx_does_not_know_is_refused(server: &Server) {
    OnMariaDb::create_database(server, "unknown");
    let url = url_of(&server.url(), "unknown");
    let mut store = OnMariaDb::store(&url);
    OnMariaDb::ensure_schema(&mut store).await.unwrap();
    connects_with(server, "START TRANSACTION");
    let mut connection = MySqlConnection::connect(&url).await.unwrap();
    let mut me = candidacy();
    let elected = store.on(&mut connection).elect(&mut me).await.map(|_| ());
    assert_refused("elect", elected, &["has an open transaction", "init_connect", "Pool::begin"]);
    // sqlx's own begin ends the one before.
    let mut transaction = connection.begin().await.unwrap();
    let won = store.on(&mut transaction).elect(&mut me).await.unwrap();
    transaction.commit().await.unwrap();
    assert!(me.leads(&won.committed()) && store.is_leader(&me).await.unwrap());
    connects_with(server, "");
}

fn connects_with(server: &Server, command: &str) {
    server.administer("mysql", &format!("SET GLOBAL init_connect = \"{command}\""));
}

fn candidacy() -> Candidacy {
    Candidacy::new(registration_in(&Namespace::default()))
}
