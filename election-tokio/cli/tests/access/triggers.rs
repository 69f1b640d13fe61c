//! Triggers of an administrator on the leader's table. On MariaDB they hide from a client what its
//! statement has written; on PostgreSQL they can keep it from being written.

use crate::support::{
    On, OnMariaDb, OnPostgres, assert_says, comes_true, command, elector, take_part, url_of,
};
use election_driver::core::{Change, Loss, Namespace};
use election_testing::Server;

/// Whatever a trigger does besides, an election goes on as without it.
pub(crate) async fn elections_go_on(server: &Server) {
    OnMariaDb::create_database(server, "audited");
    let url = url_of(&server.url(), "audited");
    let mut store = OnMariaDb::store(&url);
    OnMariaDb::ensure_schema(&mut store).await.unwrap();
    let table = "CREATE TABLE audit (id INT AUTO_INCREMENT PRIMARY KEY, epoch BIGINT)";
    server.administer("audited", table);
    for (time, body) in [
        ("AFTER", "INSERT INTO audit (epoch) VALUES (NEW.epoch)"),
        ("AFTER", "SET @a = LAST_INSERT_ID(1)"),
        ("BEFORE", "SET @a = 1"),
    ] {
        let trigger = format!("CREATE OR REPLACE TRIGGER t {time} UPDATE ON election_leader");
        server.administer("audited", &format!("{trigger} FOR EACH ROW {body}"));
        take_part::<OnMariaDb>(&mut store).await.unwrap();

        let handle = elector::<OnMariaDb>(OnMariaDb::store(&url), "audited");
        let mut changes = handle.changes();
        let epoch = handle.elected().await.unwrap().epoch();
        let name = Namespace::new("e").unwrap();
        let listed = async || OnMariaDb::list(&mut store, &name).await.unwrap() > 0;
        comes_true("a candidate", listed).await;
        let output = command(&url, &["resign", "--name", "e"]).await;
        assert!(output.status.success(), "{output:?}");
        let said = String::from_utf8_lossy(&output.stdout);
        assert_says(body, &said, &[&format!("epoch {epoch}")]);
        let lost = loop {
            if let Change::Lost { term, reason, .. } = changes.next().await.unwrap().unwrap() {
                break (term.epoch, reason);
            }
        };
        assert_eq!(lost, (epoch, Loss::ResignRequested), "{body}");
        handle.shutdown().await;
        server.administer("audited", "DROP TRIGGER t");
    }
}

/// Every epoch is 5: no win is above what this process knows.
pub(crate) async fn one_that_changes_epochs_is_warned_of(server: &Server) {
    OnMariaDb::create_database(server, "changed");
    let url = url_of(&server.url(), "changed");
    OnMariaDb::ensure_schema(&mut OnMariaDb::store(&url)).await.unwrap();
    let trigger =
        "CREATE TRIGGER t BEFORE UPDATE ON election_leader FOR EACH ROW SET NEW.epoch = 5";
    server.administer("changed", trigger);
    let arguments = ["run", "--ttl", "3s", "--min-epoch", "10", "--wait", "4s", "--", "true"];
    let output = command(&url, &arguments).await;
    assert_eq!(output.status.code(), Some(124), "{output:?}");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_says("run", &said, &["cannot_lead", "epoch 5 is not above 9", "trigger"]);
    assert_eq!(said.matches("cannot_lead").count(), 1, "{said}");
}

/// The row is free, and stays so.
pub(crate) async fn one_that_drops_the_write_is_warned_of(server: &Server) {
    OnPostgres::create_database(server, "unwritten");
    let url = url_of(&server.url(), "unwritten");
    OnPostgres::ensure_schema(&mut OnPostgres::store(&url)).await.unwrap();
    let trigger = "CREATE FUNCTION nothing() RETURNS trigger LANGUAGE plpgsql AS \
                   $$ BEGIN RETURN NULL; END $$; CREATE TRIGGER t BEFORE INSERT OR UPDATE \
                   ON election_leader FOR EACH ROW EXECUTE FUNCTION nothing()";
    OnPostgres::administer(server, "unwritten", trigger);
    let output = command(&url, &["run", "--ttl", "2s", "--wait", "6s", "--", "true"]).await;
    assert_eq!(output.status.code(), Some(124), "{output:?}");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_says("run", &said, &["cannot_lead", "cannot take the lease", "a trigger or rule"]);
    assert_eq!(said.matches("cannot_lead").count(), 1, "{said}");
    let output = command(&url, &["run", "--try", "--", "true"]).await;
    assert_eq!(output.status.code(), Some(125), "{output:?}");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_says("run --try", &said, &["nobody leads", "a trigger or rule"]);
}

/// What a release or a renewal finds unchanged is no success and no other leader, and whoever reads the
/// log learns what is in the way.
pub(crate) async fn one_that_keeps_the_row_is_named(server: &Server) {
    let keeps = "a trigger or rule on the leader table prevents the write";
    for (at, body, expected) in [
        ("released", "IF new.leader_id IS NULL THEN RETURN NULL; END IF", ["not_released", keeps]),
        (
            "renewed",
            "IF new.renewals > old.renewals THEN RETURN NULL; END IF",
            ["reason=expired", keeps],
        ),
        ("raised", "new.missing := 1", ["has no field", "a trigger function on"]),
        ("refused", "RAISE EXCEPTION 'not today'", ["a trigger function on", "not today"]),
    ] {
        OnPostgres::create_database(server, at);
        let url = url_of(&server.url(), at);
        OnPostgres::ensure_schema(&mut OnPostgres::store(&url)).await.unwrap();
        let arguments = ["run", "--ttl", "2s", "--", "true"];
        assert!(command(&url, &arguments).await.status.success(), "{at}");
        let trigger = format!(
            "CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {body}; RETURN new; END \
             $$; CREATE TRIGGER t BEFORE UPDATE ON election_leader FOR EACH ROW EXECUTE FUNCTION f()"
        );
        OnPostgres::administer(server, at, &trigger);
        let job = if at == "renewed" { "600" } else { "0" };
        // A lease that has run out has to be released no more.
        let ttl = if at == "released" { "20s" } else { "2s" };
        let arguments =
            ["run", "--ttl", ttl, "--wait", "4s", "--on-lost", "stop", "--", "sleep", job];
        let said = command(&url, &arguments).await.stderr;
        let said = String::from_utf8_lossy(&said);
        assert_says(at, &said, &expected);
        for wrong in ["event=released", "replaced", "lacks a column"] {
            assert!(!said.contains(wrong), "{at}: {said}");
        }
    }
}
