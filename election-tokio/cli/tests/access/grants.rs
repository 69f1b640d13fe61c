//! The rights that the stores document: the test runs the very lines of the documentation.

use crate::support::{On, OnMariaDb, OnPostgres, assert_refused, elector, take_part, url_of};
use election_testing::{Kind, Server};
use election_tokio::{FenceError, StoreError};

const WORDS: &[&str] = &["lacks a right", "grant"];

/// With all of them everything works; without any one of them something does not, and says so.
pub(crate) async fn suffice_and_are_needed<D: Grants>(server: &Server) {
    D::create_database(server, "granted");
    let owner = url_of(&server.url(), "granted");
    D::ensure_schema(&mut D::store(&owner)).await.unwrap();
    D::create_user(server, "app");
    D::nothing_by_default(server, "granted");
    let url = url_of(&server.url_as("app", "app"), "granted");
    let before = lead::<D>(&url).await;
    assert!(before.is_err(), "without any right");
    server.administer("granted", D::KIND.grants());
    lead::<D>(&url).await.unwrap();

    let mut needed = 0;
    // These are needed at a promoted server: the conformance suite has one.
    let elsewhere = |right: &str, object: &str| right != "SELECT" && object.ends_with("_server");
    for (right, object) in rights(D::KIND.grants()) {
        if elsewhere(right, object) {
            continue;
        }
        server.administer("granted", &format!("REVOKE {right} ON {object} FROM app"));
        let without = lead::<D>(&url).await;
        assert_refused(&format!("{right} on {object}"), without, WORDS);
        server.administer("granted", &format!("GRANT {right} ON {object} TO app"));
        needed += 1;
    }
    assert!(needed >= 8, "{needed} rights");
    lead::<D>(&url).await.unwrap();
}

/// Call by call, and then by an elector with a fenced transaction beside it.
async fn lead<D: On>(url: &str) -> Result<(), StoreError> {
    take_part::<D>(&mut D::store(url)).await?;
    let handle = elector::<D>(D::store(url), "app");
    let lease = handle.elected().await.unwrap();
    let fenced = D::fence(url, &lease).await;
    drop(lease);
    handle.shutdown().await;
    match fenced {
        Err(FenceError::Store(error)) => Err(error),
        other => {
            other.unwrap();
            Ok(())
        }
    }
}

/// Every single right, with what it is on.
fn rights(grants: &str) -> impl Iterator<Item = (&str, &str)> {
    grants.lines().flat_map(|line| {
        let line = line.strip_prefix("GRANT ").unwrap().strip_suffix(" TO app;").unwrap();
        let (rights, object) = line.split_once(" ON ").unwrap();
        rights.split(", ").map(move |right| (right, object))
    })
}

pub(crate) trait Grants: On {
    const KIND: Kind;
    /// Takes away what everybody may.
    fn nothing_by_default(server: &Server, database: &str);
}

impl Grants for OnPostgres {
    const KIND: Kind = Kind::Postgres;

    fn nothing_by_default(server: &Server, database: &str) {
        server.administer(database, "REVOKE ALL ON SCHEMA public FROM public");
    }
}

impl Grants for OnMariaDb {
    const KIND: Kind = Kind::MariaDb;

    fn nothing_by_default(_: &Server, _: &str) {}
}

pub(crate) async fn making_the_tables_on_postgres(server: &Server) {
    OnPostgres::create_database(server, "made");
    OnPostgres::nothing_by_default(server, "made");
    OnPostgres::create_user(server, "maker");
    let url = url_of(&server.url_as("maker", "maker"), "made");
    let make = async || OnPostgres::ensure_schema(&mut OnPostgres::store(&url)).await;
    server.administer("made", "GRANT USAGE ON SCHEMA public TO maker");
    let words =
        ["may not create the tables", "GRANT USAGE, CREATE ON SCHEMA \"public\" TO \"maker\""];
    assert_refused("without CREATE", make().await, &words);
    server.administer("made", "GRANT CREATE ON SCHEMA public TO maker");
    make().await.unwrap();
    take_part::<OnPostgres>(&mut OnPostgres::store(&url)).await.unwrap();
}

pub(crate) async fn making_the_tables_on_mariadb(server: &Server) {
    OnMariaDb::create_database(server, "made");
    OnMariaDb::create_user(server, "maker");
    let url = url_of(&server.url_as("maker", "maker"), "made");
    let make = async || OnMariaDb::ensure_schema(&mut OnMariaDb::store(&url)).await;
    let rights = ["CREATE", "SELECT", "INSERT"];
    for missing in rights {
        let others: Vec<_> = rights.into_iter().filter(|right| *right != missing).collect();
        server.administer("made", &format!("GRANT {} ON made.* TO maker", others.join(", ")));
        let words = match missing {
            "SELECT" => WORDS,
            _ => &["may not create the tables", "grant it CREATE"],
        };
        assert_refused(missing, make().await, words);
        server.administer("made", "REVOKE ALL PRIVILEGES, GRANT OPTION FROM maker");
    }
    server.administer("made", &format!("GRANT {} ON made.* TO maker", rights.join(", ")));
    make().await.unwrap();
    make().await.unwrap();
}
