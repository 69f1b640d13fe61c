//! Elections as they should be: first, planned, after a crash.

use crate::cluster::{DOWN_AFTER, Nodes, place_of};
use election_testing::process::eventually;
use election_tokio::now;
use std::time::Duration;

/// Which nodes are killed, and when, is the same for every size.
fn a_primary_that_is_killed_is_replaced(count: usize) {
    let (mut nodes, mut leader) = Nodes::started(count);
    let mut took = Vec::new();
    for _ in 0..3 {
        nodes.all_follow(&leader);
        let old = place_of(&leader.node);
        let killed = now().as_nanos();
        nodes.kill(old);
        leader = nodes.leader_after(leader.epoch);
        took.push(Duration::from_nanos(leader.first - killed));
        nodes.start(old);
        nodes.follows(old, leader.epoch);
    }
    println!("{count} nodes: replaced after {took:?}, down_after {DOWN_AFTER:?}");
    nodes.check();
}

#[test]
fn three_elect_and_replace_a_primary_that_is_killed() {
    a_primary_that_is_killed_is_replaced(3);
}

#[test]
fn five_elect_and_replace_a_primary_that_is_killed() {
    a_primary_that_is_killed_is_replaced(5);
}

#[test]
fn leadership_is_handed_over_and_given_up() {
    let (mut nodes, leader) = Nodes::started(3);
    nodes.all_follow(&leader);
    let (old, heir) = (place_of(&leader.node), (place_of(&leader.node) + 2) % 3);
    eventually("a handover", || {
        (nodes.order(old, &format!("hand_over n{}", heir + 1)) == "ok").then_some(())
    });
    let next = nodes.leader_after(leader.epoch);
    assert_eq!(place_of(&next.node), heir, "the one that was named");
    assert!(nodes.order(old, "hand_over n2").contains("does not lead"));
    assert!(nodes.order(heir, "hand_over n9").contains("not another member"));
    // A node that leaves says so, and nobody waits for it.
    nodes.all_follow(&next);
    let asked = now().as_nanos();
    nodes.order(heir, "withdraw");
    let last = nodes.leader_after(next.epoch);
    assert_eq!(nodes.exit(heir), Some(0));
    let took = Duration::from_nanos(last.first.saturating_sub(asked));
    assert!(took < DOWN_AFTER / 2, "nobody waits until it counts as down: {took:?}");
    nodes.check();
}

#[test]
fn the_newest_data_win() {
    let mut nodes = Nodes::new(3);
    nodes.position(0, "1:5");
    nodes.position(1, "2:1");
    nodes.position(2, "1:9");
    (0..3).for_each(|node| nodes.start(node));
    let leader = nodes.leader_after(0);
    assert_eq!(leader.node, "n2", "the newest history, whatever its offset");
    nodes.check();
}

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

/// A pair of nodes with data, and a witness in a third place.
#[test]
fn a_witness_makes_the_majority() {
    let mut nodes = Nodes::new(3).witness(0);
    (0..3).for_each(|node| nodes.start(node));
    let leader = nodes.leader_after(0);
    assert_ne!(leader.node, "n1", "a witness never leads");
    nodes.all_follow(&leader);
    nodes.kill(place_of(&leader.node));
    let next = nodes.leader_after(leader.epoch);
    assert!(next.node != "n1" && next.node != leader.node);
    nodes.check();
}

#[test]
fn a_pause_keeps_the_others_from_taking_over() {
    let (mut nodes, leader) = Nodes::started(3);
    nodes.all_follow(&leader);
    let old = place_of(&leader.node);
    let other = (old + 1) % 3;
    assert_eq!(nodes.order(other, "pause"), "ok");
    nodes.kill(old);
    // It knows that nobody leads, and does nothing about it.
    let why = eventually("the reason", || {
        let why = nodes.order(other, "why");
        why.contains("paused").then_some(why)
    });
    println!("{why}");
    // Restarts forget no pause: the last primary alone may be elected again.
    nodes.kill(other);
    nodes.start(other);
    nodes.start(old);
    let back = nodes.leader_after(leader.epoch);
    assert_eq!(back.node, leader.node);
    // A further pause is one only if a majority has recorded it, whatever was recorded before.
    let third = (old + 2) % 3;
    [old, third].into_iter().for_each(|node| nodes.kill(node));
    let why = nodes.order(other, "pause 7200000");
    assert!(why.contains("neither paused nor resumed"), "{why}");
    nodes.start(third);
    eventually("a majority", || (nodes.order(other, "resume") == "ok").then_some(()));
    assert_ne!(nodes.leader_after(back.epoch).node, leader.node);
    nodes.check();
}

/// A pause for a while ends by itself, on a node that only knows of it.
#[test]
fn a_pause_for_a_while_ends_by_itself() {
    const LASTS: Duration = Duration::from_secs(6);
    let (mut nodes, leader) = Nodes::started(3);
    nodes.all_follow(&leader);
    let old = place_of(&leader.node);
    let paused = now().as_nanos();
    assert_eq!(nodes.order(old, &format!("pause {}", LASTS.as_millis())), "ok");
    nodes.kill(old);
    let next = nodes.leader_after(leader.epoch);
    let waited = Duration::from_nanos(next.first - paused);
    println!("paused for {LASTS:?}, replaced after {waited:?}, down_after {DOWN_AFTER:?}");
    assert!(waited >= LASTS, "{waited:?}");
    assert!(waited < LASTS + DOWN_AFTER, "not a minute later: {waited:?}");
    nodes.check();
}
