//! The start, with a database that cannot be used yet, or ever.

use super::{
    database::Writer,
    process::{alive, eventually},
    server::{Mute, apply_schema},
    world::World,
};
use election_driver::conformance::{Kind, Server};
use rustix::process::Signal;
use std::time::{Duration, Instant};

#[test]
fn a_server_that_is_down_is_waited_for() {
    for kind in [Kind::Postgres, Kind::MariaDb] {
        let world = World::new();
        let mut server = Server::start(kind);
        server.kill();
        let url = server.url();
        let mut waiting = world.start(world.run_on(&url, &["--ttl", "5s"], "exit=4"));
        waiting.says("waiting for the database");
        waiting.says("refused");
        let began = Instant::now();
        let mut patient = world.start(world.run_on(&url, &["--wait", "2s"], ""));
        assert_eq!(patient.exit(), Some(124));
        assert!(began.elapsed() >= Duration::from_secs(2));
        patient.says("not elected in time: the database was never reached");
        assert!(waiting.is_running(), "it did not wait: {}", waiting.messages());
        assert!(patient.messages().matches("refused").count() <= 2, "{}", patient.messages());
        let mut only_tries = world.start(world.run_on(&url, &["--try"], ""));
        assert_eq!(only_tries.exit(), Some(125));
        only_tries.says("refused");
        server.restart();
        assert_eq!(waiting.exit(), Some(4));
        let said = waiting.messages();
        assert_eq!(said.matches("waiting for the database").count(), 1, "{said}");
        assert!(said.contains("the database answers after"), "{said}");
    }
}

#[test]
fn a_server_that_says_nothing_is_named_within_seconds() {
    let world = World::new();
    let mute = Mute::start();
    for url in mute.urls() {
        let began = Instant::now();
        let mut waiting = world.start(world.run_on(&url, &[], ""));
        waiting.says("waiting for the database");
        assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
        let mut patient = world.start(world.run_on(&url, &["--wait", "1s"], ""));
        assert_eq!(patient.exit(), Some(124));
        patient.says("never reached");
        let mut only_tries = world.start(world.run_on(&url, &["--try"], ""));
        assert_eq!(only_tries.exit(), Some(125));
        let told = Instant::now();
        waiting.send(Signal::TERM);
        assert_eq!(waiting.exit(), Some(128 + 15));
        assert!(told.elapsed() < Duration::from_secs(2), "{:?}", told.elapsed());
    }
}

/// Another process's lock, under which nobody can even read.
#[test]
fn a_locked_file_is_waited_for() {
    let world = World::new();
    assert!(world.output(&mut world.election("schema", &["--apply"])).status.success());
    let writer = Writer::exclude(&world);
    let mut waiting = world.candidate("waiting", &["--ttl", "3s"], "exit=4");
    waiting.says("waiting for the database");
    waiting.says("another process is writing");
    let mut patient = world.candidate("patient", &["--ttl", "3s", "--wait", "1s"], "");
    assert_eq!(patient.exit(), Some(124));
    patient.says("never reached");
    patient.says("another process is writing");
    let mut only_tries = world.candidate("tries", &["--ttl", "3s", "--try"], "");
    assert_eq!(only_tries.exit(), Some(125));
    only_tries.says("another process is writing");
    assert!(waiting.is_running());
    drop(writer);
    assert_eq!(waiting.exit(), Some(4));
    let said = waiting.messages();
    assert_eq!(said.matches("waiting for the database").count(), 1, "{said}");
}

/// Waiting fixes none of these.
#[test]
fn what_somebody_has_to_mend_is_an_error_at_the_start() {
    let world = World::new();
    let server = Server::start(Kind::Postgres);
    let url = server.url();
    let missing = format!("{url}_nowhere");
    let refused = |what: &str, url: &str, options: &[&str], words: &[&str]| {
        let mut candidate = world.start(world.run_on(url, options, ""));
        assert_eq!(candidate.exit(), Some(125), "{what}");
        let said = candidate.messages();
        assert!(words.iter().all(|each| said.contains(each)), "{what}: {said}");
        assert!(!said.contains("waiting for"), "{what}: {said}");
    };
    let nowhere = ["--schema", "nowhere"];
    refused("no tables", &url, &["--no-schema"], &["election schema --apply"]);
    refused("no schema", &url, &nowhere, &["does not exist", "CREATE SCHEMA"]);
    refused("no database", &missing, &[], &["no database of this name"]);
    apply_schema(&url);
    server.administer(
        "election",
        "CREATE ROLE reader LOGIN PASSWORD 'reader'; GRANT USAGE ON SCHEMA public TO reader; \
         GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader",
    );
    let wrong = server.url_as("reader", "wrong");
    refused("password", &wrong, &[], &["refused user or password"]);
    refused("rights", &server.url_as("reader", "reader"), &[], &["lacks a right", "grant"]);
    // Also while somebody else leads.
    let leader = world.start(world.run_on(&url, &["--ttl", "60s"], ""));
    world.start_after(0);
    refused("rights", &server.url_as("reader", "reader"), &[], &["lacks a right", "grant"]);
    drop(leader);
}

/// A process that already runs does not end because of it, and does not repeat it for ever.
#[test]
fn a_right_that_is_taken_away_is_told_once() {
    let world = World::new();
    let server = Server::start(Kind::Postgres);
    apply_schema(&server.url());
    server.administer("election", "CREATE ROLE app LOGIN PASSWORD 'app'");
    server.administer("election", Kind::Postgres.grants());
    let url = server.url_as("app", "app");
    let start = |node: &str| {
        let mut run = world.run_on(&url, &["--ttl", "1s", "--node", node], "");
        world.start({
            run.env("RUST_LOG", "info,election_driver::log=debug");
            run
        })
    };
    let first = start("first");
    let job = world.start_after(0);
    let second = start("second");
    second.says("following leader=first");
    server.administer("election", "REVOKE UPDATE ON election_leader FROM app");
    super::process::gone("the job", job.pid);
    for each in [&first, &second] {
        let questions = || each.messages().matches("DEBUG no answer").count();
        eventually("twenty questions that failed", || (questions() >= 20).then_some(()));
        let said = each.messages();
        let told = warnings(&said).iter().filter(|line| line.contains("lacks a right")).count();
        assert!(told == 1, "told {told} times: {said}");
    }
    server.administer("election", "GRANT UPDATE ON election_leader TO app");
    world.start_after(job.epoch);
    world.assert_exclusive();
}

/// It leads all the same, and does not repeat for ever that it is missing from the list.
#[test]
fn who_cannot_be_listed_leads_and_says_so_once() {
    let world = World::new();
    let server = Server::start(Kind::Postgres);
    apply_schema(&server.url());
    server.administer("election", "CREATE ROLE app LOGIN PASSWORD 'app'");
    server.administer("election", Kind::Postgres.grants());
    server.administer("election", "REVOKE INSERT, UPDATE ON election_candidate FROM app");
    let mut run = world.run_on(&server.url_as("app", "app"), &["--ttl", "2s"], "");
    let mut leader = world.start({
        run.env("RUST_LOG", "info,election_driver::log=debug");
        run
    });
    let job = world.start_after(0);
    leader.says("event=unlisted ");
    let failed = || leader.messages().matches("DEBUG no answer query=register").count();
    let soon = failed() + 4;
    eventually("more questions that failed", || (failed() >= soon).then_some(()));
    let said = leader.messages();
    assert_eq!(warnings(&said).len(), 1, "{said}");
    server.administer("election", Kind::Postgres.grants());
    leader.says("event=listed ");
    assert!(alive(job.pid) && leader.is_running(), "{}", leader.messages());
}

fn warnings(said: &str) -> Vec<&str> {
    said.lines().filter(|line| line.contains(" WARN ")).collect()
}
