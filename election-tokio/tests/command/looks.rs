//! Looking at an election whose database does not answer.

use super::{
    database::Writer,
    process::{eventually, within},
    server::{Mute, apply_schema},
    world::{Candidate, World},
};
use election_driver::conformance::{Kind, Server};
use rustix::process::Signal;
use std::{
    fs::{self, File},
    process::Output,
    time::{Duration, Instant},
};

const LOOKS: [&str; 3] = ["status", "list", "resign"];

#[track_caller]
fn gives_up(what: &str, bound: Duration, look: impl FnOnce() -> Output, words: &[&str]) {
    let began = Instant::now();
    let output = look();
    let (took, said) = (began.elapsed(), String::from_utf8_lossy(&output.stderr).into_owned());
    assert_eq!(output.status.code(), Some(125), "{what}: {said}");
    assert!(words.iter().all(|each| said.contains(each)), "{what}: {said}");
    // Three seconds are for a busy machine.
    assert!(took < bound + Duration::from_secs(3), "{what} took {took:?}: {said}");
}

#[test]
fn a_server_that_says_nothing_is_given_up() {
    let world = World::new();
    let mute = Mute::start();
    for url in mute.urls() {
        for command in LOOKS {
            let mut look = world.on(&url, command, &["--timeout", "1s"]);
            let bound = Duration::from_secs(1);
            gives_up(command, bound, || world.output(&mut look), &["127.0.0.1:"]);
        }
    }
    let [url, _] = mute.urls();
    let mut usual = world.on(&url, "status", &[]);
    let words = ["127.0.0.1:"];
    gives_up("by default", Duration::from_secs(5), || world.output(&mut usual), &words);
    let mut told = world.on(&url, "status", &[]);
    let bound = Duration::from_millis(300);
    gives_up("variable", bound, || world.output(told.env("ELECTION_TIMEOUT", "300ms")), &words);
}

#[test]
fn times_of_any_length_are_obeyed() {
    let world = World::new();
    assert!(world.output(&mut world.election("schema", &["--apply"])).status.success());
    for time in ["1000000000 years", "1ns 5s", "1h"] {
        let output = world.output(&mut world.election("status", &["--timeout", time]));
        assert!(output.status.success(), "{time}: {output:?}");
    }
}

#[test]
fn a_locked_file_is_given_up() {
    let world = World::new();
    assert!(world.output(&mut world.election("schema", &["--apply"])).status.success());
    let _writer = Writer::exclude(&world);
    for command in LOOKS {
        let mut look = world.election(command, &["--timeout", "2s"]);
        let words = ["another process is writing"];
        gives_up(command, Duration::from_secs(2), || world.output(&mut look), &words);
    }
}

#[test]
fn a_locked_table_is_given_up() {
    let world = World::new();
    let server = Server::start(Kind::Postgres);
    let url = server.url();
    apply_schema(&url);
    std::thread::scope(|scope| {
        let hold = "BEGIN; LOCK TABLE election_leader; SELECT pg_sleep(1000)";
        let server = &server;
        scope.spawn(move || {
            // Ends when it is cancelled below.
            let held = std::panic::AssertUnwindSafe(|| server.administer("election", hold));
            let _ = std::panic::catch_unwind(held);
        });
        let holders =
            "SELECT count(*) FROM pg_locks WHERE mode = 'AccessExclusiveLock' AND granted";
        eventually("the lock", || (server.administer("election", holders) != "0").then_some(()));
        for command in LOOKS {
            let mut look = world.on(&url, command, &["--timeout", "1s"]);
            gives_up(command, Duration::from_secs(1), || world.output(&mut look), &["127.0.0.1:"]);
        }
        server.administer(
            "postgres",
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE '%pg_sleep%' \
             AND pid <> pg_backend_pid()",
        );
    });
}

/// An `election observe` whose output and messages go to files.
fn observe(world: &World, url: &str, options: &[&str]) -> Candidate {
    let file = |name: &str| File::create(world.path().join(name)).expect("a file of our own");
    let mut command = world.on(url, "observe", options);
    command.stdout(file("changes")).stderr(file("observe.stderr"));
    Candidate::of(command)
}

#[test]
fn an_observer_goes_on_through_outages_and_says_so() {
    let world = World::new();
    let mut server = Server::start(Kind::Postgres);
    let url = server.url();
    apply_schema(&url);
    let read = |name: &str| fs::read_to_string(world.path().join(name)).unwrap_or_default();
    let says = |name: &str, words: &str| {
        eventually(&format!("{words:?} in {name}"), || read(name).contains(words).then_some(()));
    };
    server.kill();
    let mut observer = observe(&world, &url, &["--json"]);
    says("observe.stderr", "\"event\":\"outage\"");
    assert!(!within(Duration::from_millis(100), || !observer.is_running()), "it gave up");
    server.restart();
    says("observe.stderr", "\"event\":\"outage_over\"");
    says("changes", "\"leader\":null");
    let leader = world.start(world.run_on(&url, &["--ttl", "60s", "--node", "one"], ""));
    says("changes", "\"leader\":\"one\"");
    for line in read("observe.stderr").lines() {
        let line: serde_json::Value = serde_json::from_str(line).expect("JSON");
        assert_eq!(line["election"], "default", "{line}");
        assert!(line["node"].is_string(), "{line}");
    }
    observer.send(Signal::INT);
    assert_eq!(observer.exit(), Some(0));
    drop(leader);
}

#[test]
fn an_observer_of_nothing_says_what_has_to_be_mended() {
    let world = World::new();
    let output = world.output(&mut world.election("observe", &[]));
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(125), "{said}");
    assert!(said.contains("schema --apply"), "{said}");
}

/// A time in which nobody may read is an outage, and it has an end.
#[test]
fn an_observer_without_its_right_says_when_it_has_it_again() {
    let world = World::new();
    let server = Server::start(Kind::Postgres);
    apply_schema(&server.url());
    server.administer("election", "CREATE ROLE app LOGIN PASSWORD 'app'");
    server.administer("election", Kind::Postgres.grants());
    let observer = observe(&world, &server.url_as("app", "app"), &["--json"]);
    let read = |name: &str| fs::read_to_string(world.path().join(name)).unwrap_or_default();
    let says = |name: &str, words: &str| {
        eventually(&format!("{words:?} in {name}"), || read(name).contains(words).then_some(()));
    };
    says("changes", "\"leader\":null");
    server.administer("election", "REVOKE SELECT ON election_leader FROM app");
    says("observe.stderr", "\"event\":\"outage\"");
    server.administer("election", Kind::Postgres.grants());
    says("observe.stderr", "\"event\":\"outage_over\"");
    drop(observer);
}
