//! Refusals of a server, and tables that are missing, old, new or another program's.

use crate::support::{
    On, OnPostgres, assert_refused, assert_says, command, complaint, elector, message, take_part,
    url_of,
};
use election_driver::{
    StoreErrorCode,
    core::{Namespace, sql::Schema},
};
use election_testing::Server;

pub(crate) async fn everything<D: On>(server: &Server) {
    a_wrong_password::<D>(server).await;
    no_such_database::<D>(server).await;
    no_tables_yet::<D>(server).await;
    tables_of_other_versions::<D>(server).await;
}

/// Through the store, an elector and the command.
pub(crate) async fn refused<D: On>(what: &str, url: &str, words: &[&str]) {
    let looked = D::look(&mut D::store(url), &Namespace::default()).await;
    assert_refused(what, looked, words);
    let handle = elector::<D>(D::store(url), "refused");
    assert_says(what, &complaint(&handle).await, words);
    handle.shutdown().await;
    for arguments in [&["status"][..], &["run", "--", "true"], &["list"]] {
        let output = command(url, arguments).await;
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(125), "{what}: {arguments:?}: {said}");
        assert_says(what, &said, words);
    }
}

async fn a_wrong_password<D: On>(server: &Server) {
    D::create_user(server, "guest");
    let url = server.url_as("guest", "hunter2");
    let looked = D::look(&mut D::store(&url), &Namespace::default()).await;
    assert_eq!(looked.expect_err("refused").code(), Some(StoreErrorCode::Login));
    refused::<D>("a wrong password", &url, &["rejected the user or password"]).await;
    let url = server.url_as("nobody", "hunter2");
    refused::<D>("an unknown user", &url, &["rejected the user or password"]).await;
}

async fn no_such_database<D: On>(server: &Server) {
    let url = url_of(&server.url(), "nowhere");
    let looked = D::look(&mut D::store(&url), &Namespace::default()).await;
    // MariaDB does not tell users without rights to it.
    let Err(error) = looked else { panic!("there is no such database") };
    let text = message(&error);
    let unknown = text.contains("no database of this name") && text.contains("CREATE DATABASE");
    assert!(unknown || text.contains("has no right"), "{text}");
}

/// An elector that comes before the tables complains, and leads once they are there.
async fn no_tables_yet<D: On>(server: &Server) {
    D::create_database(server, "bare");
    let url = url_of(&server.url(), "bare");
    let words = &["tables are missing", "ensure_schema", "election schema --apply"];
    let listed = D::list(&mut D::store(&url), &Namespace::default()).await;
    assert_eq!(listed.expect_err("no tables").code(), Some(StoreErrorCode::Tables));
    assert_refused("no tables", D::list(&mut D::store(&url), &Namespace::default()).await, words);
    let output = command(&url, &["status"]).await;
    assert_eq!(output.status.code(), Some(125));
    assert_says("status", &String::from_utf8_lossy(&output.stderr), words);
    let early = elector::<D>(D::store(&url), "early");
    assert_says("an elector", &complaint(&early).await, words);
    assert!(command(&url, &["schema", "--apply"]).await.status.success());
    early.elected().await.unwrap();
    early.shutdown().await;
}

async fn tables_of_other_versions<D: On>(server: &Server) {
    D::create_database(server, "versions");
    let url = url_of(&server.url(), "versions");
    let ensure = async || D::ensure_schema(&mut D::store(&url)).await;
    // From before the first version: there is only the table of versions.
    let create = "CREATE TABLE election_schema \
                  (version BIGINT NOT NULL PRIMARY KEY, applied_ms BIGINT NOT NULL)";
    D::administer(server, "versions", create);
    let words = &["missing or from an older version", "ensure_schema"];
    let looked = D::look(&mut D::store(&url), &Namespace::default()).await;
    assert_refused("version 0", looked, words);
    ensure().await.unwrap();
    take_part::<D>(&mut D::store(&url)).await.unwrap();

    // A column that some later version brought is not there yet.
    let drop = "ALTER TABLE election_leader DROP COLUMN resign_requested_epoch";
    D::administer(server, "versions", drop);
    let looked = D::look(&mut D::store(&url), &Namespace::default()).await;
    let lacks = &["lacks a column", "ensure_schema", "another program"];
    assert_refused("without a column", looked, lacks);

    let changed = &["column is missing", "before the first release", "drop all of them"];
    assert_refused("changed by hand", ensure().await, changed);

    let version = Schema::NEWEST_USABLE + 1;
    let newer = format!("INSERT INTO election_schema VALUES ({version}, 0)");
    D::administer(server, "versions", &newer);
    let words = &[&*format!("are at version {version}"), "update the program"];
    assert_refused("newer", ensure().await, words);
    let output = command(&url, &["schema", "--apply"]).await;
    assert_eq!(output.status.code(), Some(125));
    assert_says("newer", &String::from_utf8_lossy(&output.stderr), words);
}

/// Tables of our names without the table of versions.
pub(crate) async fn tables_that_are_not_ours(server: &Server) {
    OnPostgres::create_database(server, "taken");
    let url = url_of(&server.url(), "taken");
    server.administer("taken", "CREATE TABLE election_leader (name text)");
    let made = OnPostgres::ensure_schema(&mut OnPostgres::store(&url)).await;
    assert_refused("taken", made, &["already exists without", "another prefix or schema"]);
}
