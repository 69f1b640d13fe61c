//! Connections that look open and carry nothing, and ports where somebody else answers.

use crate::cluster::{DOWN_AFTER, Nodes};
use election_testing::{Proxy, process::eventually};
use std::{
    net::{TcpListener, TcpStream},
    thread,
    time::Instant,
};

/// The port of an address.
fn port(address: &str) -> u16 {
    let (_, port) = address.rsplit_once(':').expect("a port");
    port.parse().expect("a number")
}

/// A cluster in which one node reaches another over a link of the test's own, and the other way.
fn linked() -> (Nodes, [Proxy; 2]) {
    let mut nodes = Nodes::new(3);
    let links = [(0, 1), (1, 0)].map(|(from, to)| {
        let link = Proxy::to(port(nodes.address(to)));
        nodes.route(from, to, &format!("127.0.0.1:{}", link.port()));
        link
    });
    (0..3).for_each(|node| nodes.start(node));
    let leader = nodes.leader_after(0);
    nodes.all_follow(&leader);
    for (node, order) in [(0, "hears n2"), (1, "hears n1")] {
        eventually("both to hear each other", || {
            (nodes.order(node, order) == "fresh").then_some(())
        });
    }
    (nodes, links)
}

/// The kernel says that all is well and the peer is heard, but the peer only greets: so it hears
/// nothing.
#[test]
fn a_connection_on_which_a_peer_does_not_hear_us_is_made_anew() {
    let (mut nodes, [link, _back]) = linked();
    assert_eq!(link.abandon(), 1);
    eventually("silence", || (nodes.order(1, "hears n1") == "silent").then_some(()));
    let silent = Instant::now();
    eventually("the link again", || (nodes.order(1, "hears n1") == "fresh").then_some(()));
    let took = silent.elapsed();
    println!("heard again after {took:?}, down_after {DOWN_AFTER:?}");
    assert!(took < 3 * DOWN_AFTER, "{took:?}");
    nodes.logged(0, "unreachable", &["peer=\"n2\"", "has not heard"]);
    nodes.logged(0, "reachable", &["peer=\"n2\""]);
    nodes.check();
}

/// Neither hears the other, and neither is told: both make their connections anew.
#[test]
fn connections_that_carry_nothing_either_way_are_made_anew() {
    let (mut nodes, links) = linked();
    assert!(links.iter().all(|link| link.abandon() == 1));
    for link in &links {
        eventually("another connection", || (link.made() > 1).then_some(()));
    }
    for (node, order) in [(0, "hears n2"), (1, "hears n1")] {
        eventually("a peer", || (nodes.order(node, order) == "fresh").then_some(()));
    }
    nodes.check();
}

/// Whoever accepts at a member's address and is no member is not taken for one, whether it hangs up
/// or keeps silent.
#[test]
fn somebody_else_at_a_members_address_is_reported() {
    for keeps in [false, true] {
        let mut nodes = Nodes::new(3);
        let other = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = other.local_addr().expect("its address").to_string();
        nodes.route(0, 2, &address);
        thread::spawn(move || {
            let mut kept = Vec::new();
            kept.extend(other.incoming().flatten().filter(|_| keeps).map(Some::<TcpStream>));
        });
        (0..2).for_each(|node| nodes.start(node));
        let said = nodes.logged(0, "unreachable", &["peer=\"n3\"", &address]);
        println!("{}", said.about);
        assert!(!nodes.said(0, "log").iter().any(|it| it.about.starts_with("reachable")));
        nodes.check();
    }
}
