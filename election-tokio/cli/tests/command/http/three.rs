//! What the members of a cluster answer.

use super::client::{get, leader, leader_until, port, until};
use crate::{
    members::{DOWN_AFTER, IDS, Members, NAME, leads},
    world::Candidate,
};
use rustix::process::Signal;
use serde_json::json;
use std::{
    net::SocketAddr,
    time::{Duration, Instant},
};

/// Any free port, at an address of these tests' own: other tests stop a server at 127.0.0.1, and
/// expect to find its port free when they start it again.
pub(super) const ANY: [&str; 2] = ["--http", "127.77.0.1:0"];

impl Members {
    /// A member with a job, and where it answers.
    pub(super) fn answering(&self, node: &str, job: &str) -> (Candidate, SocketAddr) {
        let running = self.world.start(self.run(node, &ANY, job));
        let port = port(&running);
        (running, port)
    }

    /// All three, settled; the place of the leader.
    pub(super) fn all_answering(&self, job: &str) -> (Vec<Candidate>, Vec<SocketAddr>, usize) {
        let (all, ports): (Vec<_>, Vec<_>) =
            IDS.iter().map(|node| self.answering(node, job)).unzip();
        let first = leads(&all, &self.world.start_after(0));
        IDS.iter().for_each(|node| self.settled(node));
        (all, ports, first)
    }
}

#[test]
fn a_failover_is_seen_by_those_who_ask() {
    let members = Members::new();
    let (mut all, mut ports, first) = members.all_answering("");
    let job = members.world.start_after(0);
    for (place, port) in ports.iter().enumerate() {
        let said = leader(*port);
        assert_eq!(said["name"], IDS[first], "{said}");
        assert_eq!((&said["epoch"], &said["election"]), (&json!(job.epoch), &json!(*NAME)));
        assert_eq!(
            (&said["is_leader"], &said["node"]),
            (&json!(place == first), &json!(IDS[place]))
        );
        assert_eq!(said["label"], members.address(first), "what it announces: {said}");
        assert_eq!(said["trusted_ms"].is_u64(), place == first, "{said}");
        let status = members.status(IDS[place]);
        assert_eq!((&status["leader"], &status["epoch"]), (&said["name"], &said["epoch"]));
        until(*port, "/readyz", 200);
        assert_eq!(get(*port, "/livez").status, 200);
    }
    let killed = Instant::now();
    all[first].kill();
    let [one, other] = [(first + 1) % 3, (first + 2) % 3];
    let next =
        leader_until("another leader", ports[one], |said| said["epoch"].as_u64() > Some(job.epoch));
    let took = killed.elapsed();
    assert!(took < DOWN_AFTER + Duration::from_secs(2), "{took:?}");
    leader_until("the same", ports[other], |said| said["name"] == next["name"]);
    assert_ne!(next["name"], IDS[first]);
    (all[first], ports[first]) = members.answering(IDS[first], "");
    leader_until("whom it follows", ports[first], |said| said["name"] == next["name"]);
    members.world.assert_exclusive();
}

/// Where nobody can know who leads, nobody says so.
#[test]
fn a_member_alone_is_alive_and_not_ready() {
    let members = Members::new();
    let (mut first, one) = members.answering("n1", "");
    let answers = |port: SocketAddr, known: u16| {
        until(port, "/readyz", known);
        until(port, "/leader", known);
        assert_eq!(get(port, "/livez").status, 200);
    };
    answers(one, 503);
    // The port is open, and nobody is told who leads, before it has joined the election.
    let said = leader_until("why it cannot know", one, |said| {
        said["error"] == "this member hears 0 of the 2 others, which is not a majority"
    });
    assert_eq!((&said["name"], &said["is_leader"]), (&json!(""), &json!(false)), "{said}");
    let (mut second, two) = members.answering("n2", "");
    let (mut third, three) = members.answering("n3", "");
    for port in [one, two, three] {
        answers(port, 200);
        leader_until("a leader", port, |said| said["name"] != "");
    }
    // Whoever is left hears no majority, whether it led or not.
    let name = leader(one)["name"].clone();
    let (killed, left) = match name == "n1" {
        true => ([&mut second, &mut third], one),
        false if name == "n2" => ([&mut first, &mut third], two),
        false => ([&mut first, &mut second], three),
    };
    killed.into_iter().for_each(Candidate::kill);
    leader_until("the end of its leadership", left, |said| said["is_leader"] == false);
    answers(left, 503);
}

/// A witness has no job and is never elected; it knows who leads all the same.
#[test]
fn a_witness_knows_who_leads() {
    let members = Members::with("", ["", "", "witness = true"]);
    let _data = [members.start("n1", ""), members.start("n2", "")];
    for command in ["run", "serve"] {
        let mut witness = members.world.start(members.command(command, "n3", &ANY));
        let port = port(&witness);
        let said = leader_until("a leader", port, |said| said["name"] != "");
        assert!(said["name"] != "n3" && said["is_leader"] == false, "{said}");
        until(port, "/readyz", 200);
        witness.send(Signal::TERM);
        assert_eq!(witness.exit(), Some(128 + 15), "{}", witness.messages());
    }
}
