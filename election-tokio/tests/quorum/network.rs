//! Networks that fail between hosts: each node in a network namespace of its own.

use crate::cluster::{DOWN_AFTER, Nodes, place_of};
use election_testing::{
    process::{eventually, within},
    router::{Router, moved},
};

fn started(router: &Router) -> (Nodes, crate::checker::Tenure) {
    let mut nodes = Nodes::on(router);
    (0..nodes.count()).for_each(|node| nodes.start(node));
    let leader = nodes.leader_after(0);
    nodes.all_follow(&leader);
    (nodes, leader)
}

/// A primary in the minority stops by itself before the majority elects; when the network heals it
/// follows.
#[test]
fn a_primary_in_the_minority() {
    if !moved("network::a_primary_in_the_minority") {
        return;
    }
    let router = Router::new(3);
    let (nodes, leader) = started(&router);
    let old = place_of(&leader.node);
    let others = [(old + 1) % 3, (old + 2) % 3];
    others.iter().for_each(|other| router.cut(old, *other));
    let next = nodes.leader_after(leader.epoch);
    assert_ne!(next.node, leader.node);
    others.iter().for_each(|other| router.heal(old, *other));
    nodes.follows(old, next.epoch);
    assert_eq!(nodes.tenures().len(), 2, "the new primary stays: {:?}", nodes.tenures());
    nodes.check();
}

/// Two do not hear each other, and the third hears both: one primary stays.
#[test]
fn a_bridge() {
    if !moved("network::a_bridge") {
        return;
    }
    let router = Router::new(3);
    let (nodes, leader) = started(&router);
    let old = place_of(&leader.node);
    let (end, middle) = ((old + 1) % 3, (old + 2) % 3);
    router.cut(old, end);
    eventually("the end of following", || nodes.said(end, "vacant").pop());
    let flips = within(3 * DOWN_AFTER, || nodes.tenures().len() > 1);
    assert!(!flips, "{:?}", nodes.tenures());
    println!("n{} in the middle", middle + 1);
    router.heal(old, end);
    nodes.check();
}

/// A primary that is heard but hears nobody cannot keep the others from electing.
#[test]
fn a_primary_that_hears_nobody() {
    if !moved("network::a_primary_that_hears_nobody") {
        return;
    }
    let router = Router::new(3);
    let (nodes, leader) = started(&router);
    let old = place_of(&leader.node);
    let others = [(old + 1) % 3, (old + 2) % 3];
    others.iter().for_each(|other| router.cut_way(*other, old));
    let next = nodes.leader_after(leader.epoch);
    assert_ne!(next.node, leader.node);
    others.iter().for_each(|other| router.heal_way(*other, old));
    nodes.follows(old, next.epoch);
    nodes.check();
}

/// One way to one replica is lost: nobody else notices.
#[test]
fn one_way_to_a_replica() {
    if !moved("network::one_way_to_a_replica") {
        return;
    }
    let router = Router::new(3);
    let (nodes, leader) = started(&router);
    let old = place_of(&leader.node);
    let deaf = (old + 1) % 3;
    router.cut_way(old, deaf);
    eventually("the end of following", || nodes.said(deaf, "vacant").pop());
    let flips = within(2 * DOWN_AFTER, || nodes.tenures().len() > 1);
    assert!(!flips, "{:?}", nodes.tenures());
    router.heal_way(old, deaf);
    eventually("following again", || {
        let follows = nodes.said(deaf, "follows");
        let vacant = nodes.said(deaf, "vacant").pop()?;
        follows.into_iter().find(|entry| entry.at > vacant.at)
    });
    nodes.check();
}
