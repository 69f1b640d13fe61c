//! Networks that fail between hosts: each node in a network namespace of its own.

use crate::cluster::{Nodes, place_of};
use election_testing::router::{Router, moved};

/// A primary in the minority stops by itself before the majority elects; when the network heals it
/// follows.
#[test]
fn a_primary_in_the_minority() {
    if !moved("network::a_primary_in_the_minority") {
        return;
    }
    let router = Router::new(3);
    let mut nodes = Nodes::on(&router);
    (0..nodes.count()).for_each(|node| nodes.start(node));
    let leader = nodes.leader_after(0);
    nodes.all_follow(&leader);
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
