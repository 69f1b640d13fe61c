//! Nodes that are not ready yet, and nodes that were stopped.

use crate::cluster::{Nodes, place_of};
use election_testing::process::{eventually, freeze, thaw};
use election_tokio::now;

/// A node that does not know how far its data have come votes for nobody, and is not elected.
#[test]
fn a_node_that_still_reads_its_data_waits() {
    let mut nodes = Nodes::new(3);
    for node in 0..3 {
        nodes.position(node, "later");
        nodes.start(node);
    }
    let waits = eventually("a reason", || {
        let why = nodes.order(0, "why");
        why.contains("how far").then_some(why)
    });
    println!("{waits}");
    assert!(nodes.tenures().is_empty());
    for node in [1, 2, 0] {
        nodes.order(node, "position 3");
    }
    nodes.leader_after(0);
    nodes.check();
}

/// A primary that stood still for longer than anybody trusts it finds out before it acts. What it
/// had begun before reaches the resource afterwards, and is refused by its epoch.
#[test]
fn a_primary_that_stood_still_neither_acts_nor_writes() {
    let (nodes, mut leader) = Nodes::started(3);
    let mut rounds = 0;
    while !nodes.journal().said.iter().any(|entry| entry.kind == "refused") {
        assert!(rounds < 20, "no write was on its way in twenty rounds");
        rounds += 1;
        nodes.all_follow(&leader);
        let old = place_of(&leader.node);
        freeze(nodes.pid(old));
        let next = nodes.leader_after(leader.epoch);
        eventually("a write of the new primary", || {
            (nodes.journal().checker.served() >= next.epoch).then_some(())
        });
        let resumed = now().as_nanos();
        thaw(nodes.pid(old));
        nodes.follows(old, next.epoch);
        let tenures = nodes.tenures();
        let stopped = tenures.iter().find(|tenure| tenure.epoch == leader.epoch);
        assert!(stopped.is_some_and(|it| it.last < resumed), "it acted after it had stood still");
        leader = next;
    }
    println!("refused in round {rounds}");
    nodes.check();
}
