//! The start, with a database that cannot be used yet, or ever.

use super::{
    database::Writer,
    server::{Mute, apply_schema},
    world::World,
};
use election_testing::{Kind, Server};
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
    patient.says("rejected the user or password");
    server.administer("election", "ALTER ROLE rotated PASSWORD 'new'");
    assert_eq!(patient.exit(), Some(4));
    let said = patient.messages();
    assert_eq!(said.matches("rejected the user or password").count(), 1, "{said}");
    assert!(said.contains("the database answers after"), "{said}");
}

/// A process that already runs does not end because of it, nor does one that only looks.
#[test]
fn a_right_that_is_taken_away_ends_no_elector() {
    let world = World::new();
    let server = Server::start(Kind::Postgres);
    apply_schema(&server.url());
    server.administer("election", "CREATE ROLE app LOGIN PASSWORD 'app'");
    server.administer("election", Kind::Postgres.grants());
    let url = server.url_as("app", "app");
    let start = |node: &str| world.start(world.run_on(&url, &["--ttl", "1s", "--node", node], ""));
    let first = start("first");
    let job = world.start_after(0);
    let second = start("second");
    second.says("following leader=first");
    let mut observer = world.start(world.on(&url, "observe", &[]));
    observer.prints("first");
    server.administer("election", "REVOKE SELECT, UPDATE ON election_leader FROM app");
    super::process::gone("the job", job.pid);
    for each in [&first, &second, &observer] {
        each.says("lacks a right");
    }
    server.administer("election", Kind::Postgres.grants());
    world.start_after(job.epoch);
    observer.says("event=outage_over");
    assert!(observer.is_running());
    world.assert_exclusive();
}
