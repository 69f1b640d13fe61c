//! What the HTTP port answers while an election is held in a database.

use super::{
    client::{get, leader, leader_until, port, try_ask, until},
    three::ANY,
};
use crate::{
    process::eventually,
    server::apply_schema,
    world::{Candidate, World},
};
use election_testing::{Kind, Server};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::{
    net::SocketAddr,
    time::{Duration, Instant},
};

impl World {
    /// `election serve` at a port of its own.
    pub(super) fn serve(&self, node: &str, options: &[&str]) -> (Candidate, SocketAddr) {
        let options = [&["--node", node][..], &ANY, options].concat();
        let serving = self.start(self.election("serve", &options));
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
    let options = [&ANY[..], &["--node", "one", "--ttl", "9s"]].concat();
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
    // Whoever leads out of contact knows that for as long as it may believe it, and has to say so:
    // nobody else leads yet. Nobody is called a leader longer.
    server.freeze();
    until(port, "/readyz", 503);
    let answer = get(port, "/leader");
    let said = answer.json();
    assert_eq!((answer.status, &said["is_leader"]), (200, &json!(true)), "{said}");
    assert!(said.get("error").is_none(), "it knows who leads: {said}");
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
