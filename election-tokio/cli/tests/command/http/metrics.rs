//! What Prometheus reads. How its text is written is the exporter's affair.

use super::{
    client::{get, leader_until, metric, port},
    three::ANY,
};
use crate::{
    members::{IDS, Members, NAME},
    process::eventually,
    world::World,
};

#[test]
fn a_lease_is_counted_as_prometheus_reads_it() {
    let world = World::new();
    // A name that has to be escaped.
    let named = ["--name", "a \"b\" \\c", "--ttl", "3s"];
    let shown = "name=\"a \\\"b\\\" \\\\c\"}";
    let (_first, one) = world.serve("one", &named);
    let epoch = leader_until("a leader", one, |said| said["is_leader"] == true)["epoch"].as_f64();
    let (_second, two) = world.serve("two", &named);
    leader_until("a leader", two, |said| said["name"] == "one");
    let renewed = "op=\"renew\",outcome=\"renewed\"}";
    eventually("a renewal", || {
        metric(one, "election_attempts_total", renewed).filter(|it| *it > 0.0)
    });
    for (port, status) in [(one, 1.0), (two, 0.0)] {
        for (name, wanted) in [
            ("leader_election_master_status", Some(status)),
            ("election_epoch", epoch),
            ("election_transitions_total", Some(1.0)),
        ] {
            assert_eq!(metric(port, name, shown), wanted, "{name}");
        }
        let text = get(port, "/metrics").body;
        assert!(text.contains("# TYPE election_attempt_duration_seconds histogram\n"), "{text}");
        assert!(text.contains("# HELP election_attempt_duration_seconds "), "{text}");
    }
    let trust = metric(one, "election_trust_remaining_seconds", shown).expect("a leader's trust");
    assert!(trust > 0.0 && trust < 3.0, "{trust}");
}

#[test]
fn a_member_counts_what_it_hears_and_saves() {
    let members = Members::new();
    let all: Vec<_> =
        IDS.iter().map(|node| members.world.start(members.command("serve", node, &ANY))).collect();
    let ports: Vec<_> = all.iter().map(port).collect();
    let named = format!("name={:?}", *NAME);
    let leader = leader_until("a leader", ports[0], |said| said["name"] != "");
    for (port, node) in ports.iter().zip(IDS) {
        let other = if node == "n1" { "n2" } else { "n1" };
        let of = |name: &str| metric(*port, name, &named);
        eventually("heartbeats", || {
            // A follower may have heard of nobody yet who leads.
            let leads = of("leader_election_master_status")? > 0.5;
            let right = of("election_epoch") == leader["epoch"].as_f64();
            let peer = format!("peer=\"{other}\"");
            let heard = metric(*port, "election_heartbeats_heard_total", &peer)?;
            (right && leads == (leader["name"] == node) && heard >= 2.0).then_some(())
        });
        assert_eq!(of("election_failover_paused"), Some(0.0));
        // Whoever leads has kept its vote for itself; a follower's may not have been needed.
        if leader["name"] == node {
            let saved = metric(*port, "election_saves_total", "outcome=\"durable\"");
            assert!(saved >= Some(1.0), "{saved:?}");
        }
    }
}
