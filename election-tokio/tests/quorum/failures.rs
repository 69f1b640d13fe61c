//! Nodes that are stopped, restarted, or gone in numbers.

use crate::cluster::{DOWN_AFTER, Nodes, place_of};
use election_testing::process::{eventually, freeze, thaw, within};
use election_tokio::now;
use std::time::Duration;

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

/// A restart so quick that the others have not missed the primary yet: it must not make them believe
/// that the old life goes on.
#[test]
fn a_primary_that_restarts_at_once_is_replaced() {
    let (mut nodes, leader) = Nodes::started(3);
    nodes.all_follow(&leader);
    let old = place_of(&leader.node);
    nodes.kill(old);
    nodes.start(old);
    let next = nodes.leader_after(leader.epoch);
    nodes.all_follow(&next);
    nodes.check();
}

/// The kernel closes the connections of a process that is killed: its peers know at once, and do not
/// have to miss it first.
#[test]
fn the_end_of_a_connection_is_told() {
    let (mut nodes, leader) = Nodes::started(3);
    nodes.all_follow(&leader);
    let old = place_of(&leader.node);
    let gone = (old + 1) % 3;
    let order = format!("hears n{}", gone + 1);
    eventually("a peer", || (nodes.order(old, &order) == "fresh").then_some(()));
    nodes.kill(gone);
    eventually("a peer without a connection", || {
        let heard = nodes.order(old, &order);
        assert_ne!(heard, "silent", "only its silence has told of its end");
        (heard == "gone").then_some(())
    });
    nodes.check();
}

/// A new life is spoken to at once, though the old one was heard a moment ago.
#[test]
fn a_replica_that_restarts_follows_at_once() {
    const LONG: Duration = Duration::from_secs(20);
    let mut nodes = Nodes::new(3);
    nodes.environment(crate::role::DOWN_AFTER, &LONG.as_millis().to_string());
    (0..3).for_each(|node| nodes.start(node));
    let leader = nodes.leader_after(0);
    nodes.all_follow(&leader);
    let back = (place_of(&leader.node) + 1) % 3;
    nodes.kill(back);
    nodes.start(back);
    nodes.follows(back, leader.epoch);
    let started = nodes.said(back, "started").pop().expect("a start");
    let follows = nodes.said(back, "follows").remove(0);
    let took = Duration::from_nanos(follows.at - started.at);
    println!("follows after {took:?}, down_after {LONG:?}");
    assert!(took < LONG / 2, "{took:?}");
    nodes.check();
}

#[test]
fn all_at_once() {
    let (mut nodes, mut leader) = Nodes::started(3);
    for _ in 0..2 {
        (0..3).for_each(|node| nodes.kill(node));
        (0..3).for_each(|node| nodes.start(node));
        leader = nodes.leader_after(leader.epoch);
        nodes.all_follow(&leader);
    }
    nodes.check();
}

/// A minority leads nobody, and says what it waits for; with one more it is a majority again.
#[test]
fn two_of_three_gone() {
    let (mut nodes, leader) = Nodes::started(3);
    nodes.all_follow(&leader);
    let old = place_of(&leader.node);
    let others = [(old + 1) % 3, (old + 2) % 3];
    for other in others {
        nodes.kill(other);
    }
    eventually("the end of its belief", || nodes.said(old, "lost").pop());
    let acted = nodes.tenures();
    let why = eventually("the reason", || {
        let why = nodes.order(old, "why");
        why.contains("votes").then_some(why)
    });
    println!("{why}");
    let again = within(2 * DOWN_AFTER, || nodes.tenures() != acted);
    assert!(!again, "a single node of three leads nobody");
    nodes.start(others[0]);
    nodes.leader_after(leader.epoch);
    nodes.check();
}

/// Two processes under one id: the ballot of the first keeps the second from starting.
#[test]
fn a_ballot_belongs_to_one_process() {
    let (mut nodes, leader) = Nodes::started(3);
    let mut twin = Nodes::at((0..3).map(|node| nodes.address(node).to_owned()).collect());
    twin.set_ballot(0, nodes.ballot(0).to_owned());
    twin.start(0);
    assert_eq!(twin.exit(0), Some(125));
    let said = twin.said(0, "error").pop().expect("a reason").about;
    assert!(said.contains("keeps this ballot"), "{said}");
    // With a ballot of its own it finds the port taken.
    twin.set_ballot(0, twin.path().join("other").join("ballot"));
    twin.start(0);
    assert_eq!(twin.exit(0), Some(125));
    let said = twin.said(0, "error").pop().expect("a reason").about;
    assert!(said.contains("port") && said.contains(nodes.address(0)), "{said}");
    nodes.all_follow(&leader);
    nodes.kill(place_of(&leader.node));
    nodes.leader_after(leader.epoch);
    nodes.check();
}

/// Nodes with different lists of members could elect two primaries: they say so and do not vote.
#[test]
fn different_lists_elect_nobody_at_a_first_start() {
    let mut nodes = Nodes::new(3);
    let mut other =
        Nodes::at((0..3).map(|node| nodes.address(node).to_owned()).collect()).witness(1);
    nodes.start(0);
    other.start(2);
    nodes.start(1);
    let said = eventually("an alert", || {
        nodes.said(0, "alert").into_iter().find(|entry| entry.about.starts_with("members_differ"))
    });
    println!("{}", said.about);
    assert!(nodes.tenures().is_empty() && other.tenures().is_empty());
    other.kill(2);
    nodes.start(2);
    nodes.leader_after(0);
    nodes.check();
}

/// Once ballots tell which list is meant, those who have it elect beside one that has another.
#[test]
fn members_whose_ballots_confirm_their_list_elect() {
    let (mut nodes, leader) = Nodes::started(3);
    nodes.all_follow(&leader);
    let first = place_of(&leader.node);
    let odd = (first + 1) % 3;
    // It follows before its promise is on the disk.
    eventually("a ballot", || nodes.ballot(odd).exists().then_some(()));
    nodes.kill(odd);
    let right = (odd + 1) % 3;
    let mut other =
        Nodes::at((0..3).map(|node| nodes.address(node).to_owned()).collect()).witness(right);
    other.set_ballot(odd, nodes.ballot(odd).to_owned());
    other.start(odd);
    eventually("an alert", || {
        let said = nodes.said(right, "alert");
        said.into_iter().find(|entry| entry.about.starts_with("members_differ"))
    });
    nodes.kill(first);
    nodes.start(first);
    nodes.leader_after(leader.epoch);
    assert!(other.tenures().is_empty());
    nodes.check();
}

/// After a change of the list nobody votes until all were stopped and the new list is confirmed.
#[test]
fn a_new_list_is_confirmed_once() {
    let (mut nodes, leader) = Nodes::started(3);
    nodes.all_follow(&leader);
    (0..3).for_each(|node| nodes.kill(node));
    let ballots: Vec<_> = (0..3).map(|node| nodes.ballot(node).to_owned()).collect();
    let mut more = Nodes::new(5);
    for (node, ballot) in ballots.into_iter().enumerate() {
        more.set_ballot(node, ballot);
    }
    (0..5).for_each(|node| more.start(node));
    eventually("an alert", || {
        more.said(0, "alert").into_iter().find(|entry| entry.about.starts_with("members_changed"))
    });
    assert!(more.tenures().is_empty());
    (0..5).for_each(|node| more.kill(node));
    more.environment(crate::role::NEW_PEERS, "1");
    (0..5).for_each(|node| more.start(node));
    let next = more.leader_after(leader.epoch);
    assert!(next.epoch > leader.epoch, "epochs go on");
    more.check();
}
