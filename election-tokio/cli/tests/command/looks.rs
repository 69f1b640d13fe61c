//! Looking at an election whose database does not answer.

use super::{
    database::Writer,
    process::{eventually, within},
    server::{Mute, apply_schema},
    world::World,
};
use election_testing::{Kind, Server};
use rustix::process::Signal;
use std::{
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
fn an_observer_goes_on_through_outages_and_says_so() {
    let world = World::new();
    let mut server = Server::start(Kind::Postgres);
    let url = server.url();
    apply_schema(&url);
    server.kill();
    let mut observer = world.start(world.on(&url, "observe", &["--json"]));
    observer.says("\"event\":\"outage\"");
    assert!(!within(Duration::from_millis(100), || !observer.is_running()), "it gave up");
    server.restart();
    observer.says("\"event\":\"outage_over\"");
    observer.prints("\"leader\":null");
    let leader = world.start(world.run_on(&url, &["--ttl", "60s", "--node", "one"], ""));
    observer.prints("\"leader\":\"one\"");
    for line in observer.messages().lines() {
        let line: serde_json::Value = serde_json::from_str(line).expect("JSON");
        assert_eq!(line["election"], "default", "{line}");
        assert!(line["node"].is_string(), "{line}");
    }
    observer.send(Signal::INT);
    assert_eq!(observer.exit(), Some(0));
    drop(leader);
}

/// On every database: names that sort byte by byte, one that nobody leads any more.
#[test]
fn all_elections_of_a_database_are_listed_with_their_leaders() {
    let world = World::new();
    let servers = [Kind::Postgres, Kind::MariaDb].map(Server::start);
    let mut urls = vec![world.url()];
    urls.extend(servers.iter().map(Server::url));
    for url in urls {
        let list = |options: &[&str]| {
            let options = [&["list", "--elections", "--store", &url], options].concat();
            let output = world.output(&mut world.bare(&options));
            assert!(output.status.success(), "{url}: {output:?}");
            String::from_utf8(output.stdout).expect("UTF-8")
        };
        let schema = world.output(&mut world.bare(&["schema", "--apply", "--store", &url]));
        assert!(schema.status.success(), "{url}: {schema:?}");
        assert_eq!(super::control::parsed(&list(&["--json"])), [] as [serde_json::Value; 0]);
        let hold = |name: &str, options: &[&str]| {
            let options = [&["--node", "me", "--ttl", "60s"], options].concat();
            let mut command = world.on(&url, "hold", &options);
            command.env("ELECTION_NAME", name);
            world.start(command)
        };
        let leads = |count: usize| {
            eventually("the leaders", || {
                let led = super::control::parsed(&list(&["--json"]));
                (led.iter().filter(|it| it["leader"] == "me").count() == count).then_some(())
            });
        };
        let label = ["--label", "10.0.0.1:80"];
        let mut over = hold("over", &[]);
        leads(1);
        over.send(Signal::TERM);
        over.exit();
        let _leaders = [hold("led", &label), hold("Led", &[])];
        leads(2);
        let rows = super::control::parsed(&list(&["--json"]));
        let names: Vec<_> = rows.iter().map(|row| row["name"].as_str().expect("a name")).collect();
        assert_eq!(names, ["Led", "led", "over"], "{url}");
        assert_eq!((&rows[1]["label"], &rows[1]["ttl_ms"]), (&label[1].into(), &60_000.into()));
        // The first epoch of each is the time by the database's clock.
        assert_eq!(rows[1]["elected_ms"], rows[1]["epoch"], "{url}: {rows:?}");
        let left = rows[1]["remaining_ms"].as_u64().expect("a time");
        assert!((1..=60_000).contains(&left), "{url}: {rows:?}");
        assert!(rows[2]["leader"].is_null() && rows[2]["epoch"].as_u64() > Some(0), "{rows:?}");
        let table = list(&[]);
        let words = |at: usize| -> Vec<_> {
            table.lines().nth(at).expect("a line").split_whitespace().collect()
        };
        assert_eq!(words(0), ["ELECTION", "LEADER", "LABEL", "EPOCH", "LEASE", "LEFT"], "{table}");
        assert_eq!(words(2)[..3], ["led", "me", "10.0.0.1:80"], "{table}");
        assert_eq!(words(3), ["over", &rows[2]["epoch"].to_string()], "{table}");
    }
}

#[test]
fn a_cluster_has_no_other_elections() {
    let world = World::new();
    let options = ["list", "--elections", "--cluster", "no/such/file"];
    let output = world.output(&mut world.bare(&options));
    super::members::refused(&output, 125, &["a cluster has one election"]);
}
