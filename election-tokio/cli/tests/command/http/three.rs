//! What the members of a cluster answer.

use super::client::{get, leader, leader_until, port, until};
use crate::{
    members::{DOWN_AFTER, IDS, Members, NAME, leads},
    process::eventually,
    world::Candidate,
};
use rustix::process::Signal;
use serde_json::json;
use std::{
    fs,
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
        said["error"] == "this member hears 0 of the 2 others, which is no majority"
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

/// One of three links is cut: the leader lives, and this member hears the third one only.
#[test]
fn who_does_not_hear_the_leader_does_not_say_that_nobody_leads() {
    let members = Members::with("preferred = \"n1\"", ["", "", ""]);
    let (mut all, _, _) = members.led();
    for member in &mut all {
        member.send(Signal::TERM);
        member.exit();
    }
    // A member sends at the addresses in its own file.
    let text = fs::read_to_string(members.file()).expect("a file of our own");
    let start = |id: &str, cut: Option<usize>| {
        let whole = text.clone();
        let text = cut.map_or(whole, |cut| {
            let mut nowhere: SocketAddr = members.address(cut).parse().expect("an address");
            nowhere.set_port(nowhere.port() + 5);
            text.replace(members.address(cut), &nowhere.to_string())
        });
        let file = members.world.path().join(format!("{id}.toml"));
        fs::write(&file, text).expect("a file of our own");
        let mut serve = members.bare(&["serve", "--node", id, "--cluster"]);
        let serving = members.world.start({
            serve.arg(file).args(ANY);
            serve
        });
        let port = port(&serving);
        (serving, port)
    };
    let [(_n1, one), (_n2, two)] = [start("n1", Some(2)), start("n2", None)];
    leader_until("the preferred one", two, |said| said["name"] == "n1");
    let (_n3, three) = start("n3", Some(0));
    eventually("what n3 cannot know", || {
        let answer = get(three, "/leader");
        let why = answer.json()["error"].as_str()?.to_owned();
        let words = "n2 supports a member that this one does not hear; look at the network";
        (answer.status == 503 && why.contains(words)).then_some(())
    });
    assert_eq!(leader(three)["name"], "", "it cannot know");
    assert_eq!(get(three, "/readyz").status, 503);
    assert_eq!(get(three, "/livez").status, 200, "a restart does not help");
    let mut status = members.bare(&["status", "--exit-code", "--node", "n3", "--cluster"]);
    let status = members.world.output(status.arg(members.world.path().join("n3.toml")));
    let said =
        String::from_utf8_lossy(&status.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("it is not known who leads: n2 supports a member"), "{said}");
    assert_eq!(status.status.code(), Some(125), "it cannot know");
    for port in [one, two] {
        assert_eq!((get(port, "/readyz").status, &leader(port)["name"]), (200, &json!("n1")));
    }
}

/// Of four, one that only the leader reaches: it hears no majority, and knows who leads all the same.
/// But it cannot vote: without a ballot it has to hear others than the leader first.
#[test]
fn who_hears_the_leader_knows_it_and_may_be_unready() {
    let members = Members::new();
    let place = |name: &str| members.world.path().join(name);
    let [own, nowhere] = [5, 6].map(|further| {
        let mut address: SocketAddr = members.address(0).parse().expect("an address");
        address.set_port(address.port() + further);
        address.to_string()
    });
    let start = |id: &str| {
        // The address of n4 as n2 and n3 have it is nobody's.
        let fourth = if ["n2", "n3"].contains(&id) { &nowhere } else { &own };
        let addresses = [members.address(0), members.address(1), members.address(2), fourth];
        let mut text = format!("election = {:?}\ndown_after = \"2s\"\npreferred = \"n1\"\n", *NAME);
        for (each, address) in ["n1", "n2", "n3", "n4"].iter().zip(addresses) {
            text += &format!("[[member]]\nid = \"{each}\"\naddress = \"{address}\"\n");
        }
        let file = place(&format!("{id}.toml"));
        fs::write(&file, text).expect("a file of our own");
        let mut serve = members.bare(&["serve", "--node", id, "--cluster"]);
        serve.arg(file).arg("--ballot").arg(place(&format!("{id}.ballot")));
        serve.arg("--socket").arg(place(&format!("{id}.sock"))).args(ANY);
        members.world.start(serve)
    };
    let all = ["n1", "n2", "n3", "n4"].map(start);
    let last = port(&all[3]);
    let said = leader_until("who leads", last, |said| said["name"] != "");
    assert_eq!((&said["name"], &said["node"]), (&json!("n1"), &json!("n4")), "{said}");
    let why = "it has no ballot, and must hear 1 more of the others";
    eventually("why it is not ready", || {
        let said = get(last, "/readyz");
        assert_eq!(said.status, 503, "{said:?}");
        said.body.contains(why).then_some(())
    });
    let peer = |name: &str| {
        format!("election_heartbeats_heard_total{{name={:?},peer=\"{name}\"}} ", *NAME)
    };
    let heard = |name: &str| {
        let body = get(last, "/metrics").body;
        let line = body.lines().find_map(|line| line.strip_prefix(&peer(name))).map(str::to_owned);
        line.expect("a counter")
    };
    assert_ne!(heard("n1"), "0");
    assert_eq!([heard("n2"), heard("n3")], ["0", "0"], "it hears nobody else");
}
