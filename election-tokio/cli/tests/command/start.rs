//! The start, with a database that cannot be used yet, or ever.

use super::{
    database::Writer,
    process::{alive, eventually},
    server::{Mute, apply_schema},
    world::World,
};
use election_testing::{Kind, LinkState, Proxy, Server};
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

/// It answers, and so was reached.
#[test]
fn a_server_that_refuses_is_not_said_to_be_out_of_reach() {
    let (world, server) = (World::new(), Server::start(Kind::Postgres));
    apply_schema(&server.url());
    server.administer("election", "CREATE ROLE app LOGIN PASSWORD 'app'");
    let mut patient =
        world.start(world.run_on(&server.url_as("app", "app"), &["--wait", "1s"], ""));
    assert_eq!(patient.exit(), Some(124));
    patient.says("not elected in time: the database cannot be used");
    patient.says("lacks a right");
    assert!(!patient.messages().contains("reached"), "{}", patient.messages());
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
    refused("no database", &missing, &[], &["no database of this name", "CREATE DATABASE"]);
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

/// The operator who says how long to wait expects to mend something meanwhile.
#[test]
fn what_somebody_has_to_mend_is_waited_for_if_a_time_is_given() {
    let world = World::new();
    let server = Server::start(Kind::Postgres);
    let url = server.url();
    let missing = format!("{url}_nowhere");
    for (options, words) in [
        (["--wait", "2s"].as_slice(), ["not elected in time", "no database of this name"]),
        (["--try"].as_slice(), ["cannot be used", "no database of this name"]),
    ] {
        let began = Instant::now();
        let mut candidate = world.start(world.run_on(&missing, options, ""));
        let waits = options[0] == "--wait";
        assert_eq!(candidate.exit(), Some(if waits { 124 } else { 125 }));
        assert_eq!(began.elapsed() >= Duration::from_secs(2), waits, "{:?}", began.elapsed());
        let said = candidate.messages();
        assert!(words.iter().all(|each| said.contains(each)), "{said}");
    }
    apply_schema(&url);
    server.administer(
        "election",
        "CREATE ROLE rotated LOGIN PASSWORD 'old'; GRANT USAGE ON SCHEMA public TO rotated; \
         GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO rotated",
    );
    let rotated = server.url_as("rotated", "new");
    let mut patient = world.start(world.run_on(&rotated, &["--wait", "120s"], "exit=4"));
    patient.says("waiting for the database");
    patient.says("refused user or password");
    server.administer("election", "ALTER ROLE rotated PASSWORD 'new'");
    assert_eq!(patient.exit(), Some(4));
    let said = patient.messages();
    assert_eq!(said.matches("refused user or password").count(), 1, "{said}");
    assert!(said.contains("the database answers after"), "{said}");
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
        let told = warnings(&said);
        // That it has cost leadership is told with its cause.
        let told = told.iter().filter(|line| !line.contains("event=lost"));
        let told = told.filter(|line| line.contains("lacks a right")).count();
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

/// Connecting takes longer than a call may take, and less than a lease lasts. Nothing has failed.
#[test]
fn a_slow_link_is_no_trouble() {
    let server = Server::start(Kind::Postgres);
    apply_schema(&server.url());
    let (link, url) = slow(&server, &server.url(), Duration::from_millis(60));
    let world = World::new();
    let mut run = world.start(world.run_on(&url, &["--ttl", "6s"], "exit=4"));
    assert_eq!(run.exit(), Some(4));
    let said = run.messages();
    drop(link);
    assert!(said.contains("elected"), "{said}");
    for trouble in ["waiting", "outage", "slow", "firewall"] {
        assert!(!said.contains(trouble), "{said}");
    }
}

/// Making the tables takes many round trips, and a call within an elector has little time.
#[test]
fn tables_are_made_over_a_slow_link() {
    let server = Server::start(Kind::Postgres);
    let (link, url) = slow(&server, &server.url(), Duration::from_millis(45));
    let world = World::new();
    let mut first = world.start(world.run_on(&url, &["--ttl", "3s"], "exit=4"));
    assert_eq!(first.exit(), Some(4), "{}", first.messages());
    drop(link);
}

/// Connecting takes longer than a call may take, so the next call uses the connection; and that one
/// always fails.
#[test]
fn who_cannot_be_listed_leads_over_a_slow_link() {
    let server = Server::start(Kind::Postgres);
    apply_schema(&server.url());
    server.administer("election", "CREATE ROLE app LOGIN PASSWORD 'app'");
    server.administer("election", Kind::Postgres.grants());
    server.administer("election", "REVOKE INSERT, UPDATE ON election_candidate FROM app");
    let (link, url) = slow(&server, &server.url_as("app", "app"), Duration::from_millis(6));
    let world = World::new();
    let mut run = world.start(world.run_on(&url, &["--ttl", "2s"], "exit=4"));
    assert_eq!(run.exit(), Some(4), "{}", run.messages());
    drop(link);
}

/// The way to this database through a link that takes so long each way.
fn slow(server: &Server, url: &str, each_way: Duration) -> (Proxy, String) {
    let link = Proxy::to(server.port());
    link.set(LinkState::Slow(each_way), LinkState::Slow(each_way));
    let (port, through) = (format!(":{}/", server.port()), format!(":{}/", link.port()));
    let url = url.replace(&port, &through);
    (link, url)
}
