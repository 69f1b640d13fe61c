//! Networks that fail between hosts: each node in a network namespace of its own, and a router
//! between them that can be told whom not to forward to whom.
//!
//! As root, or where users may make namespaces. Where that is impossible the tests fail: a skipped
//! test proves nothing.

use crate::cluster::{DOWN_AFTER, Nodes, place_of};
use election_driver::conformance::process::{eventually, within};
use std::{
    env, fs,
    process::{Child, Command, Stdio},
};

const WITHIN: &str = "QUORUM_ROUTER";

/// The router, seen from within its namespace, and a namespace for each node.
pub(crate) struct Router {
    hosts: Vec<Child>,
}

/// Runs this test once more where networks and mounts are its own. Within, `true`; outside, `false`
/// once the test has passed there.
pub(crate) fn moved(test: &str) -> bool {
    if env::var_os(WITHIN).is_some() {
        return true;
    }
    let mut again = Command::new("unshare");
    again.args(["-Urnm", "--"]).arg(env::current_exe().expect("this binary"));
    again.args([test, "--exact", "--nocapture", "--test-threads=1"]).env(WITHIN, "1");
    let status = again.status().expect("unshare, of the package util-linux");
    assert!(status.success(), "in a network namespace (needs user namespaces): {status}");
    false
}

pub(crate) fn ip(words: &str) {
    let output = Command::new("ip").args(words.split(' ')).output();
    let output = output.expect("ip, of the package iproute2");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "ip {words}: {said}");
}

fn address(node: usize) -> String {
    format!("10.9.{node}.2")
}

impl Router {
    pub(crate) fn new(count: usize) -> Self {
        ip("link set lo up");
        fs::write("/proc/sys/net/ipv4/ip_forward", "1").expect("a router");
        let mut router = Self { hosts: Vec::new() };
        for node in 0..count {
            let mut host = Command::new("setpriv");
            host.args(["--pdeathsig", "KILL", "--", "unshare", "-n", "sleep", "infinity"]);
            let host = host.stdin(Stdio::null()).spawn().expect("a namespace");
            let own = fs::read_link("/proc/self/ns/net").expect("our namespace");
            let net = format!("/proc/{}/ns/net", host.id());
            eventually("a namespace", || fs::read_link(&net).ok().filter(|net| *net != own));
            let pid = host.id();
            router.hosts.push(host);
            ip(&format!("link add name h{node} type veth peer name e0 netns {pid}"));
            ip(&format!("addr add 10.9.{node}.1/24 dev h{node}"));
            ip(&format!("link set h{node} up"));
            for words in [
                "link set lo up".to_owned(),
                format!("addr add {}/24 dev e0", address(node)),
                "link set e0 up".to_owned(),
                format!("route add default via 10.9.{node}.1"),
            ] {
                let target = format!("--net={net}");
                let mut enter = Command::new("nsenter");
                enter.arg(target).arg("ip").args(words.split(' '));
                assert!(enter.status().expect("nsenter").success(), "ip {words}");
            }
        }
        router
    }

    /// A cluster of a node on each host.
    pub(crate) fn nodes(&self) -> Nodes {
        let addresses = (0..self.hosts.len()).map(|node| format!("{}:7400", address(node)));
        let mut nodes = Nodes::at(addresses.collect());
        for (node, host) in self.hosts.iter().enumerate() {
            nodes.wrap(node, &["nsenter", &format!("--net=/proc/{}/ns/net", host.id())]);
        }
        nodes
    }

    /// What one sends to the other is thrown away, and nobody is told.
    pub(crate) fn cut_way(&self, from: usize, to: usize) {
        ip(&format!("rule add from {} to {} blackhole", address(from), address(to)));
    }

    fn cut(&self, one: usize, other: usize) {
        self.cut_way(one, other);
        self.cut_way(other, one);
    }

    pub(crate) fn heal_way(&self, from: usize, to: usize) {
        ip(&format!("rule del from {} to {} blackhole", address(from), address(to)));
    }

    fn heal(&self, one: usize, other: usize) {
        self.heal_way(one, other);
        self.heal_way(other, one);
    }
}

impl Drop for Router {
    fn drop(&mut self) {
        for host in &mut self.hosts {
            let _ = host.kill();
            let _ = host.wait();
        }
    }
}

fn started(router: &Router) -> (Nodes, crate::checker::Tenure) {
    let mut nodes = router.nodes();
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
