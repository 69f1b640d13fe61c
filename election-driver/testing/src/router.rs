//! Networks of a test's own: each host in a network namespace, and a router between them that can be
//! told whom not to forward to whom.
//!
//! As root, or where users may make namespaces. Where that is impossible the tests fail: a skipped
//! test proves nothing.

use crate::process::eventually;
use std::{
    env, fs,
    process::{Child, Command, Stdio},
};

const WITHIN: &str = "TEST_ROUTER";

/// The router, seen from within its namespace, and a namespace for each node.
pub struct Router {
    hosts: Vec<Child>,
}

/// Runs this test once more where networks and mounts are its own. Within, `true`; outside, `false`
/// once the test has passed there.
pub fn moved(test: &str) -> bool {
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

/// Runs `ip` with these words, separated by spaces.
pub fn ip(words: &str) {
    let output = Command::new("ip").args(words.split(' ')).output();
    let output = output.expect("ip, of the package iproute2");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "ip {words}: {said}");
}

/// Where this node is reached.
pub fn address(node: usize) -> String {
    format!("10.9.{node}.2")
}

impl Router {
    /// Hosts, all of which reach each other.
    pub fn new(count: usize) -> Self {
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

    /// How many hosts there are.
    pub fn count(&self) -> usize {
        self.hosts.len()
    }

    /// What a process of this host is started with, before its own command line.
    pub fn within(&self, node: usize) -> [String; 2] {
        ["nsenter".to_owned(), format!("--net=/proc/{}/ns/net", self.hosts[node].id())]
    }

    /// Cuts both ways.
    pub fn cut(&self, one: usize, other: usize) {
        self.cut_way(one, other);
        self.cut_way(other, one);
    }

    /// Undoes [`cut`](Self::cut).
    pub fn heal(&self, one: usize, other: usize) {
        self.heal_way(one, other);
        self.heal_way(other, one);
    }

    /// What one sends to the other is thrown away, and nobody is told.
    pub fn cut_way(&self, from: usize, to: usize) {
        ip(&format!("rule add from {} to {} blackhole", address(from), address(to)));
    }

    /// Undoes [`cut_way`](Self::cut_way).
    pub fn heal_way(&self, from: usize, to: usize) {
        ip(&format!("rule del from {} to {} blackhole", address(from), address(to)));
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
