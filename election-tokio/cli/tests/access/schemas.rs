//! Where the tables are: processes that name the same schema take part in the same election,
//! whatever the session's search path says, and no others do.

use crate::support::{
    LONG, On, OnMariaDb, OnPostgres, assert_refused, assert_says, command, elector, take_part,
    url_of,
};
use election_driver::{
    Notice, Pause,
    core::{
        Candidate, Incarnation, Namespace, NodeId,
        lease::{Answer, Candidacy, Failure, Query, Registration},
        sql::Tables,
    },
};
use election_testing::Server;
use election_tokio::Store as _;
use futures_lite::StreamExt as _;
use std::sync::Arc;
use std::time::Duration;

/// Names that are words of SQL's, or need care.
const NAMES: &[&str] =
    &["user", "order", "Ops", "two words", "quo\"te", "o'clock", "back`tick", "RETURNING", "$1 ?"];

fn in_schema(name: &str) -> Tables {
    Tables::new("election_", Some(name)).unwrap()
}

/// Through every operation, a fence, and the command.
pub(crate) async fn any_name_will_do<D: On>(server: &Server) {
    D::create_database(server, "named");
    let url = url_of(&server.url(), "named");
    for name in NAMES {
        D::create_schema(server, "named", name);
        let mut store = D::with_tables(D::store(&url), &in_schema(name));
        take_part::<D>(&mut store).await.unwrap_or_else(|error| panic!("{name}: {error}"));
        let handle = elector::<D>(store, "a");
        let lease = handle.elected().await.unwrap();
        D::fence(&url, &lease).await.unwrap_or_else(|error| panic!("{name}: {error}"));
        let schema = ["--schema", name];
        let ask = [&["status", "--json", "--name", "e"], &schema[..]].concat();
        let said = String::from_utf8(command(&url, &ask).await.stdout).unwrap();
        let status: serde_json::Value = serde_json::from_str(&said).unwrap();
        assert_eq!(status["leader"], "a", "{name}: {said}");
        assert_eq!(status["schema"], *name, "{said}");
        assert!(status["place"].as_str().unwrap().ends_with(name), "{said}");
        let output = command(&url, &[&["resign", "--name", "e"], &schema[..]].concat()).await;
        assert!(output.status.success(), "{name}: {output:?}");
        drop(lease);
        handle.shutdown().await;
    }
    let mut nowhere = D::with_tables(D::store(&url), &in_schema("nowhere"));
    let Err(error) = D::ensure_schema(&mut nowhere).await else {
        panic!("there is no such schema")
    };
    assert_eq!(error.kind, Failure::Fatal, "{error}");
}

/// Two users whose paths lead elsewhere, and one election.
pub(crate) async fn a_search_path_leads_nobody_astray(server: &Server) {
    OnPostgres::create_database(server, "paths");
    for user in ["north", "south"] {
        server.administer(
            "paths",
            &format!(
                "CREATE ROLE {user} LOGIN PASSWORD '{user}' IN ROLE election; \
                 CREATE SCHEMA {user} AUTHORIZATION {user}; \
                 ALTER ROLE {user} SET search_path = {user}; \
                 GRANT CREATE ON SCHEMA public TO {user}"
            ),
        );
    }
    let url = |user| url_of(&server.url_as(user, user), "paths");
    let mut stores = ["north", "south"].map(|user| OnPostgres::store(&url(user)));
    let grants = "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO election";
    for store in &mut stores {
        store.ensure_schema().await.unwrap();
        server.administer("paths", grants); // the tables are whose who came first
    }
    let [north, south] = stores;
    let north = elector::<OnPostgres>(north, "north");
    let epoch = north.elected().await.unwrap().epoch();
    let south = elector::<OnPostgres>(south, "south");
    let seen = south.watch().until(|status| status.leader.is_some()).await.leader.unwrap();
    assert!(!seen.own && seen.term.epoch == epoch, "{seen:?}");
    for user in ["north", "south"] {
        let output = command(&url(user), &["status", "--name", "e"]).await;
        let words = &["north leads", "database paths, schema public"];
        assert_says(user, &String::from_utf8_lossy(&output.stdout), words);
    }
    north.shutdown().await;
    south.shutdown().await;
}

/// The tables of an earlier program are where its user's path led. A set in `public` would be
/// another election under the same name.
pub(crate) async fn a_second_set_of_tables_is_not_made_unasked(server: &Server) {
    OnPostgres::create_database(server, "second");
    let url = url_of(&server.url(), "second");
    OnPostgres::create_schema(server, "second", "app");
    let mut named = OnPostgres::with_tables(OnPostgres::store(&url), &in_schema("app"));
    named.ensure_schema().await.unwrap();
    let words = &["in schema \"app\"", "--schema app", "ELECTION_SCHEMA"];
    assert_refused("unnamed", OnPostgres::store(&url).ensure_schema().await, words);
    let run = ["run", "--", "true"];
    let output = command(&url, &run).await;
    assert_eq!(output.status.code(), Some(125), "{output:?}");
    assert_says("run", &String::from_utf8_lossy(&output.stderr), words);

    // A schema that is named, even `public`, is meant.
    let output = command(&url, &["run", "--schema", "public", "--", "true"]).await;
    assert!(output.status.success(), "{output:?}");
    let warned = |output: &std::process::Output| {
        String::from_utf8_lossy(&output.stderr).contains("has tables of the same names")
    };
    assert!(!warned(&output), "{output:?}");
    let output = command(&url, &run).await;
    assert!(output.status.success() && warned(&output), "{output:?}");
}

/// A notice in one schema does not reach another, however long their names.
pub(crate) async fn schemas_do_not_hear_of_each_other(server: &Server) {
    OnPostgres::create_database(server, "heard");
    let url = url_of(&server.url(), "heard");
    let long = "s".repeat(63);
    let names = ["one", "Two", &long, &long[1..]];
    let mut heard = Vec::new();
    for name in names {
        OnPostgres::create_schema(server, "heard", name);
        let mut store = OnPostgres::with_tables(OnPostgres::store(&url), &in_schema(name));
        store.ensure_schema().await.unwrap();
        let pause: Pause = Arc::new(|time| Box::pin(tokio::time::sleep(time)));
        let mut notices = store.notifications(who(99).registration(), pause);
        assert_eq!(notices.next().await, Some(Notice::Listening));
        assert_eq!(notices.next().await, Some(Notice::Wake), "it listens");
        heard.push((store, notices));
    }
    for at in 0..heard.len() {
        for (other, (store, _)) in heard.iter_mut().enumerate() {
            if other != at {
                let query = Query::Attempt {
                    seen: election_tokio::core::Epoch::NONE,
                    ttl: LONG,
                    clock_step: Duration::ZERO,
                };
                let mut me = who(1);
                let won = store.answer(me.registration(), &query).await.unwrap();
                assert!(matches!(won, Answer::Won { .. }), "{won:?}");
                store.unregister_candidate(&mut me).await.unwrap();
            }
        }
        let (store, notices) = &mut heard[at];
        let epoch = store.elect(&mut who(2)).await.unwrap().epoch;
        store.unregister_candidate(&mut who(2)).await.unwrap();
        assert_eq!(notices.next().await, Some(Notice::Resigned(epoch)), "its own, and no other");
        for (_, notices) in heard.iter_mut().enumerate().filter(|(o, _)| *o != at).map(|(_, h)| h) {
            assert!(matches!(notices.next().await, Some(Notice::Resigned(_))));
        }
    }
}

fn who(number: u128) -> Candidacy {
    let id = NodeId::new(&format!("n{number}")).unwrap();
    let incarnation = Incarnation::new(uuid::Uuid::from_u128(number));
    Candidacy::new(Registration {
        namespace: Namespace::new("e").unwrap(),
        candidate: Candidate { id, incarnation },
        label: None,
    })
}

/// A statement that the server cannot parse is not executed the next time either.
pub(crate) async fn a_senseless_statement_is_fatal<D: On>(server: &Server) {
    D::create_database(server, "senseless");
    let url = url_of(&server.url(), "senseless");
    D::ensure_schema(&mut D::store(&url)).await.unwrap();
    D::refuse_registrations(server, "senseless");
    let refused = take_part::<D>(&mut D::store(&url)).await;
    assert_refused("a syntax error", refused, &["rejects the statement"]);
}

/// Flag, environment and file.
pub(crate) async fn the_command_takes_it_from_anywhere(server: &Server) {
    OnMariaDb::create_database(server, "anywhere");
    let url = url_of(&server.url(), "anywhere");
    let output = command(&url, &["schema", "--schema", "a`b"]).await;
    let said = String::from_utf8(output.stdout).unwrap();
    assert_says(
        "schema",
        &said,
        &["TABLE IF NOT EXISTS `a``b`.election_schema", "`a``b`.election_fence"],
    );
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("e.toml");
    std::fs::write(&file, "schema = \"anywhere\"").unwrap();
    let url = server.url();
    let file = ["--config", file.to_str().unwrap()];
    let output = command(&url, &[&["schema", "--apply"], &file[..]].concat()).await;
    assert!(output.status.success(), "{output:?}");
    let output = command(&url, &[&["status"], &file[..]].concat()).await;
    assert_says("status", &String::from_utf8_lossy(&output.stdout), &["database anywhere"]);
    let output = command(&url, &["status", "--schema", ""]).await;
    assert_eq!(output.status.code(), Some(125), "{output:?}");
    assert_says("empty", &String::from_utf8_lossy(&output.stderr), &["--schema", "1 to 63 bytes"]);
    let output = command("sqlite:e.db", &["status", "--schema", "app"]).await;
    let words = &["a SQLite file has no schema \"app\"", "name the file"];
    assert_says("sqlite", &String::from_utf8_lossy(&output.stderr), words);
}
