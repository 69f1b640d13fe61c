//! What the HTTP port answers while an election is held in a database.

use super::{
    client::{get, leader, leader_until, port, try_ask, until},
    three::ANY,
};
use crate::{
    process::{alive, eventually},
    server::apply_schema,
    world::{Candidate, World},
};
use election_testing::{Kind, Server};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::{
    net::SocketAddr,
    process::Command,
    time::{Duration, Instant},
};

impl World {
    /// `election serve` at a port of its own.
    pub(super) fn server(&self, node: &str, options: &[&str]) -> Command {
        let options = [&["--node", node][..], &ANY, options].concat();
        self.election("serve", &options)
    }

    pub(super) fn serve(&self, node: &str, options: &[&str]) -> (Candidate, SocketAddr) {
        let serving = self.start(self.server(node, options));
        let port = port(&serving);
        (serving, port)
    }
}

/// Who holds the lease by the database's account.
fn holder(world: &World) -> Value {
    let output = world.output(&mut world.election("status", &["--json"]));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

#[test]
fn a_leader_and_a_follower_say_the_same_name() {
    let world = World::new();
    let (mut first, one) = world.serve("one", &["--label", "10.0.0.1:80", "--ttl", "3s"]);
    let said = leader_until("a leader", one, |said| said["is_leader"] == true);
    let row = holder(&world);
    assert_eq!((&row["leader"], &row["epoch"]), (&said["name"], &said["epoch"]), "{row} {said}");
    let trusted = said["trusted_ms"].as_u64().expect("a time");
    // A grace before the hard stop, which is a margin before the end of the lease: by default a sixth
    // and at least the drift.
    assert!((1..3_000 - 500 - 270).contains(&trusted), "{said}");
    let (_second, two) = world.serve("two", &["--ttl", "3s"]);
    let followed = leader_until("who leads", two, |said| said["name"] == "one");
    let expected = json!({
        "name": "one", "epoch": said["epoch"], "label": "10.0.0.1:80", "is_leader": false,
        "trusted_ms": null, "node": "two", "election": "default",
    });
    assert_eq!(followed, expected);
    // Readiness does not mean leadership.
    for port in [one, two] {
        assert_eq!(get(port, "/readyz").status, 200);
        assert_eq!(get(port, "/livez").status, 200);
    }
    first.kill();
    let next = leader_until("the heir", two, |said| said["is_leader"] == true);
    assert_eq!((&next["name"], &next["node"]), (&json!("two"), &json!("two")));
    assert!(next["epoch"].as_u64() > said["epoch"].as_u64(), "{next} after {said}");
}

#[test]
fn every_path_and_every_method_has_its_answer() {
    let world = World::new();
    let (_serving, port) = world.serve("one", &[]);
    leader_until("a leader", port, |said| said["is_leader"] == true);
    for (path, kind) in [
        ("/leader", "application/json"),
        ("/leader?pretty=1", "application/json"),
        ("/livez", "text/plain; charset=utf-8"),
        ("/readyz", "text/plain; charset=utf-8"),
        ("/metrics", "text/plain; version=0.0.4; charset=utf-8"),
    ] {
        let answer = get(port, path);
        assert_eq!(answer.status, 200, "{path}");
        assert!(answer.head.contains(&format!("content-type: {kind}\r\n")), "{answer:?}");
        assert!(answer.head.contains("cache-control: no-store"), "{answer:?}");
        assert!(answer.body.ends_with('\n'), "{answer:?}");
        let head = try_ask(port, "HEAD", path).expect("an answer");
        assert_eq!((head.status, head.body.as_str()), (200, ""), "{path}");
        assert!(head.head.contains(&format!("content-type: {kind}\r\n")), "{head:?}");
        for method in ["POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "CONNECT-ME", "get"] {
            let answer = try_ask(port, method, path).expect("an answer");
            assert_eq!(answer.status, 405, "{method} {path}");
            assert!(answer.head.contains("allow: get, head"), "{answer:?}");
            assert!(answer.head.contains("cache-control: no-store"), "{answer:?}");
        }
    }
    for path in ["/", "/leader/", "//leader", "/LEADER", "/metrics/x", "/%6ceader", "/x?/leader"] {
        for method in ["GET", "POST"] {
            let answer = try_ask(port, method, path).expect("an answer");
            assert_eq!(answer.status, 404, "{method} {path}");
            assert!(answer.head.contains("cache-control: no-store"), "{answer:?}");
            for each in ["/leader", "/livez", "/readyz", "/metrics"] {
                assert!(answer.body.contains(each), "{answer:?}");
            }
        }
    }
}

/// Alive all the time, ready only while the database answers.
#[test]
fn readiness_comes_with_the_database_and_goes_with_it() {
    let world = World::new();
    let server = Server::start(Kind::Postgres);
    let url = server.url();
    apply_schema(&url);
    server.freeze();
    let options = [&ANY[..], &["--node", "one", "--ttl", "3s"]].concat();
    let serving = world.start(world.on(&url, "serve", &options));
    let port = port(&serving);
    serving.says("event=waiting ");
    let known =
        |code: u16| [("/readyz", code), ("/leader", code), ("/livez", 200), ("/metrics", 200)];
    for (path, status) in known(503) {
        assert_eq!(get(port, path).status, status, "{path}");
    }
    let said = leader(port);
    assert_eq!((&said["name"], &said["is_leader"]), (&json!(""), &json!(false)), "{said}");
    assert!(said["error"].as_str().is_some_and(|why| why.contains("has not joined")), "{said}");
    server.thaw();
    leader_until("a leader", port, |said| said["is_leader"] == true);
    for (path, status) in known(200) {
        assert_eq!(get(port, path).status, status, "{path}");
    }
    // Whoever leads knows that, for as long as it may believe it; nobody is called a leader longer.
    server.freeze();
    until(port, "/readyz", 503);
    let lost = leader_until("the end of its leadership", port, |it| it["is_leader"] == false);
    assert_eq!((&lost["name"], &lost["epoch"]), (&json!(""), &Value::Null), "{lost}");
    assert!(
        lost["error"].as_str().is_some_and(|why| why.contains("waiting for the database")),
        "{lost}"
    );
    assert!(!lost.to_string().contains("postgres"), "where the database is is nobody's business");
    for (path, status) in known(503) {
        assert_eq!(get(port, path).status, status, "{path}");
    }
    server.thaw();
    leader_until("the leader again", port, |said| said["is_leader"] == true);
}

/// A leader that is out of contact is not ready, and leads on for as long as it may believe it. Whoever
/// asks it has to be told so: nobody else leads yet.
#[test]
fn a_leader_out_of_contact_leads_on_for_a_moment_and_says_both() {
    let world = World::new();
    let server = Server::start(Kind::Postgres);
    let url = server.url();
    apply_schema(&url);
    let options = [&ANY[..], &["--node", "one", "--ttl", "9s"]].concat();
    let serving = world.start(world.on(&url, "serve", &options));
    let port = port(&serving);
    leader_until("a leader", port, |said| said["is_leader"] == true);
    server.freeze();
    until(port, "/readyz", 503);
    let answer = get(port, "/leader");
    let said = answer.json();
    assert_eq!(
        (answer.status, &said["is_leader"], &said["name"]),
        (200, &json!(true), &json!("one"))
    );
    assert!(said["trusted_ms"].as_u64().is_some_and(|left| left < 9_000), "{said}");
    assert!(said.get("error").is_none(), "it knows who leads: {said}");
    server.thaw();
}

/// Beside a job: no longer than the job may work.
#[test]
fn a_job_that_has_to_stop_leaves_no_leader_behind() {
    let world = World::new();
    let options = [&["--node", "one", "--ttl", "18s", "--grace", "3s"][..], &ANY].concat();
    let running = world.start(world.run(&options, "slow=2500"));
    let port = port(&running);
    let job = world.start_after(0);
    let said = leader(port);
    assert_eq!((&said["is_leader"], &said["epoch"]), (&json!(true), &json!(job.epoch)), "{said}");
    assert!(world.output(&mut world.election("resign", &[])).status.success());
    world.first("term");
    let said = leader(port);
    assert_eq!((&said["is_leader"], &said["name"]), (&json!(false), &json!("")), "{said}");
    assert!(alive(job.pid), "it is still stopping");
    // The row is kept for it meanwhile.
    assert_eq!(holder(&world)["leader"], "one");
    let next = world.start_after(job.epoch);
    leader_until("the next leadership", port, |said| said["epoch"] == next.epoch);
    world.assert_exclusive();
}

/// Whoever asks more often than every grace, and stops at the first no, has stopped in time.
#[test]
fn another_leads_only_after_askers_had_time_to_notice() {
    let world = World::new();
    let options = ["--ttl", "12s", "--grace", "1s"];
    let (mut first, one) = world.serve("one", &options);
    leader_until("a leader", one, |said| said["is_leader"] == true);
    let (_second, two) = world.serve("two", &options);
    world.listed(2);
    let hands_over = |from: SocketAddr, to: SocketAddr, tell: &dyn Fn()| {
        let mut believed = Instant::now();
        assert_eq!(leader(from)["is_leader"], true);
        tell();
        eventually("the other as the leader", || {
            let asked = Instant::now();
            let answer = try_ask(from, "GET", "/leader").ok();
            if answer.is_some_and(|answer| answer.json()["is_leader"] == true) {
                believed = asked;
            }
            (leader(to)["is_leader"] == true).then_some(())
        });
        let (took, grace) = (believed.elapsed(), Duration::from_secs(1));
        assert!(took >= grace, "another led {took:?} after the last yes");
        assert!(took < grace * 6, "and that was released, not run out: {took:?}");
    };
    hands_over(one, two, &|| {
        assert!(world.output(&mut world.election("resign", &[])).status.success());
    });
    hands_over(two, one, &|| {
        assert!(world.output(&mut world.election("resign", &[])).status.success());
    });
    hands_over(one, two, &|| first.send(Signal::TERM));
    assert_eq!(first.exit(), Some(128 + 15), "{}", first.messages());
}

#[test]
fn told_twice_it_leaves_at_once() {
    let world = World::new();
    let options = ["--ttl", "60s", "--grace", "10s"];
    let (mut only, port) = world.serve("only", &options);
    leader_until("a leader", port, |said| said["is_leader"] == true);
    let told = Instant::now();
    only.send(Signal::INT);
    leader_until("its resignation", port, |said| said["is_leader"] == false);
    // Signals within a second are one request.
    eventually("another second", || (told.elapsed() > Duration::from_millis(1_100)).then_some(()));
    only.send(Signal::INT);
    eventually("the end of it", || (!only.is_running()).then_some(()));
    assert!(told.elapsed() < Duration::from_secs(8), "{:?}", told.elapsed());
    assert_eq!(only.exit(), Some(128 + 2), "{}", only.messages());
    // It has released what it held; and a follower has nothing to release.
    let (_leader, port) = world.serve("leader", &options);
    leader_until("a leader", port, |said| said["is_leader"] == true);
    let (mut follower, port) = world.serve("follower", &options);
    leader_until("a leader", port, |said| said["name"] == "leader");
    follower.send(Signal::TERM);
    assert_eq!(follower.exit(), Some(128 + 15), "{}", follower.messages());
}

/// The whole process stands still: nobody answers, and a probe counts that as a failure. Then it
/// goes on, and says at once that it does not lead.
#[test]
fn a_stopped_process_resumes_without_leadership() {
    let world = World::new();
    let (first, one) = world.serve("one", &["--ttl", "2s"]);
    let said = leader_until("a leader", one, |said| said["is_leader"] == true);
    let (_second, two) = world.serve("two", &["--ttl", "2s"]);
    crate::process::freeze(first.pid());
    let mut asking = super::client::connect(one).expect("the system accepts for it");
    std::io::Write::write_all(&mut asking, b"GET /leader HTTP/1.1\r\nConnection: close\r\n\r\n")
        .expect("the system takes it");
    let next = leader_until("the heir", two, |said| said["is_leader"] == true);
    assert!(next["epoch"].as_u64() > said["epoch"].as_u64(), "{next} after {said}");
    crate::process::thaw(first.pid());
    let answer = super::client::rest(&mut asking).expect("an answer after all");
    let answer = super::client::Answer::of(&answer).expect("an answer").json();
    assert_eq!(
        answer["is_leader"], false,
        "asked while it led, answered when it did not: {answer}"
    );
    leader_until("the other as the leader", one, |said| said["name"] == "two");
    until(one, "/livez", 200);
    assert_eq!(get(one, "/readyz").status, 200);
}
