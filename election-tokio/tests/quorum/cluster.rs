//! A cluster of processes, and what a test does to it.

use crate::{
    checker::Tenure,
    journal::{Entry, Reader},
    role,
    runtimes::{Process, RUNTIMES, again},
};
use election_testing::{
    free_port,
    process::eventually,
    router::{Router, address},
};
use std::{
    cell::{Ref, RefCell},
    io::Write as _,
    path::{Path, PathBuf},
    process::{ChildStdin, Stdio},
    time::Duration,
};
use tempfile::TempDir;

/// When a silent peer counts as down; short, and long enough for a busy machine.
pub(crate) const DOWN_AFTER: Duration = Duration::from_secs(2);

/// Nodes `n1` to `nN`, on [every runtime](RUNTIMES) in turn.
pub(crate) struct Nodes {
    /// First, so that they end before their files do.
    running: Vec<Option<Running>>,
    place: TempDir,
    addresses: Vec<String>,
    positions: Vec<String>,
    ballots: Vec<PathBuf>,
    lives: Vec<u32>,
    journal: RefCell<Reader>,
    extra: Vec<(&'static str, String)>,
    /// What a process is started with, before its own command line.
    wrapper: Vec<Vec<String>>,
    /// Of the nodes that have a certificate, its folder.
    certificates: Vec<Option<PathBuf>>,
    /// Where a node is told that another is, if not at its own address.
    routes: Vec<(usize, usize, String)>,
}

struct Running {
    process: Process,
    orders: ChildStdin,
}

impl Nodes {
    pub(crate) fn new(count: usize) -> Self {
        Self::at((0..count).map(|_| format!("127.0.0.1:{}", free_port())).collect())
    }

    /// One on each host.
    pub(crate) fn on(router: &Router) -> Self {
        let hosts = 0..router.count();
        let mut nodes =
            Self::at(hosts.clone().map(|host| format!("{}:7400", address(host))).collect());
        for host in hosts {
            let words = router.within(host);
            nodes.wrap(host, &words.each_ref().map(String::as_str));
        }
        nodes
    }

    pub(crate) fn at(addresses: Vec<String>) -> Self {
        let place = TempDir::with_prefix("quorum-").expect("a temporary directory");
        let count = addresses.len();
        let ballots =
            (0..count).map(|node| place.path().join(format!("n{}", node + 1)).join("ballot"));
        Self {
            ballots: ballots.collect(),
            place,
            addresses,
            positions: vec!["1:0".to_owned(); count],
            running: (0..count).map(|_| None).collect(),
            lives: vec![0; count],
            journal: RefCell::default(),
            extra: Vec::new(),
            wrapper: vec![Vec::new(); count],
            certificates: vec![None; count],
            routes: Vec::new(),
        }
    }

    /// A started cluster, and who leads it.
    pub(crate) fn started(count: usize) -> (Self, Tenure) {
        let mut nodes = Self::new(count);
        (0..count).for_each(|node| nodes.start(node));
        let leader = nodes.leader_after(0);
        (nodes, leader)
    }

    pub(crate) fn position(&mut self, node: usize, position: &str) {
        position.clone_into(&mut self.positions[node]);
    }

    pub(crate) fn set_ballot(&mut self, node: usize, path: PathBuf) {
        self.ballots[node] = path;
    }

    pub(crate) fn ballot(&self, node: usize) -> &Path {
        &self.ballots[node]
    }

    pub(crate) fn environment(&mut self, name: &'static str, value: &str) {
        self.extra.push((name, value.to_owned()));
    }

    pub(crate) fn wrap(&mut self, node: usize, words: &[&str]) {
        self.wrapper[node] = words.iter().map(|word| (*word).to_owned()).collect();
    }

    pub(crate) fn path(&self) -> &Path {
        self.place.path()
    }

    /// From its next start on, the node has the certificate in this folder, or none.
    pub(crate) fn set_certificate(&mut self, node: usize, folder: Option<PathBuf>) {
        self.certificates[node] = folder;
    }

    pub(crate) fn address(&self, node: usize) -> &str {
        &self.addresses[node]
    }

    pub(crate) fn count(&self) -> usize {
        self.addresses.len()
    }

    /// Has one node reach another at this address.
    pub(crate) fn route(&mut self, from: usize, to: usize, address: &str) {
        self.routes.push((from, to, address.to_owned()));
    }

    /// The members as this node is told.
    fn members(&self, node: usize) -> String {
        let member = |(peer, address): (usize, &String)| {
            let routed = self.routes.iter().find(|(from, to, _)| (*from, *to) == (node, peer));
            let address = routed.map_or(address, |(_, _, address)| address);
            format!("n{}={address}", peer + 1)
        };
        self.addresses.iter().enumerate().map(member).collect::<Vec<_>>().join(",")
    }

    /// Starts a node. It dies with the thread that started it.
    pub(crate) fn start(&mut self, node: usize) {
        self.lives[node] += 1;
        let runtime = RUNTIMES[node % RUNTIMES.len()];
        let mut command = again(runtime, &self.wrapper[node]);
        command
            .env(role::NODE, format!("n{}", node + 1))
            .env(role::MEMBERS, self.members(node))
            .env(role::PLACE, self.place.path())
            .env(role::BALLOT, &self.ballots[node])
            .env(role::LIFE, self.lives[node].to_string())
            .env(role::DOWN_AFTER, DOWN_AFTER.as_millis().to_string())
            .env(role::POSITION, &self.positions[node])
            .envs(self.extra.iter().map(|(name, value)| (*name, value)))
            .envs(self.certificates[node].iter().map(|folder| (role::CERTIFICATES, folder)))
            .stdin(Stdio::piped())
            .stdout(Stdio::null());
        let mut child = command.spawn().expect("this binary once more");
        let orders = child.stdin.take().expect("a pipe");
        self.running[node] = Some(Running { process: Process(child), orders });
    }

    pub(crate) fn is_running(&self, node: usize) -> bool {
        self.running[node].is_some()
    }

    /// Kills a node (SIGKILL) and waits for its end.
    pub(crate) fn kill(&mut self, node: usize) {
        drop(self.running[node].take().expect("a running node"));
    }

    pub(crate) fn pid(&self, node: usize) -> i32 {
        let running = self.running[node].as_ref().expect("a running node");
        i32::try_from(running.process.0.id()).expect("a pid")
    }

    /// Gives a node an order and waits for the answer.
    pub(crate) fn order(&mut self, node: usize, order: &str) -> String {
        let before = self.answers(node).len();
        let running = self.running[node].as_mut().expect("a running node");
        writeln!(running.orders, "{order}").expect("a node that listens");
        let answer = eventually("an answer", || self.answers(node).get(before).cloned());
        let (_, answer) = answer.split_once(": ").expect("an answer to an order");
        answer.to_owned()
    }

    fn answers(&self, node: usize) -> Vec<String> {
        self.said(node, "answer").into_iter().map(|entry| entry.about).collect()
    }

    /// The journal as it is now.
    pub(crate) fn journal(&self) -> Ref<'_, Reader> {
        self.journal.borrow_mut().catch_up(&role::journal_in(self.place.path()));
        self.journal.borrow()
    }

    /// Waits until a node has logged this event, with all these words.
    #[track_caller]
    pub(crate) fn logged(&self, node: usize, event: &str, words: &[&str]) -> Entry {
        eventually(event, || {
            let fits = |entry: &Entry| {
                let (name, about) = entry.about.split_once(' ').unwrap_or_default();
                name == event && words.iter().all(|word| about.contains(word))
            };
            self.said(node, "log").into_iter().find(fits)
        })
    }

    /// What a node has said of this kind, in its present life.
    pub(crate) fn said(&self, node: usize, kind: &str) -> Vec<Entry> {
        let id = format!("n{}", node + 1);
        let own = |it: &&Entry| it.node == id && it.life == self.lives[node] && it.kind == kind;
        self.journal().said.iter().filter(own).cloned().collect()
    }

    pub(crate) fn tenures(&self) -> Vec<Tenure> {
        self.journal().checker.tenures()
    }

    /// Waits until somebody acts under an epoch after this one.
    #[track_caller]
    pub(crate) fn leader_after(&self, epoch: u64) -> Tenure {
        eventually("a leader", || self.tenures().into_iter().find(|tenure| tenure.epoch > epoch))
    }

    /// Waits until a node says that it follows under this epoch or a later one.
    #[track_caller]
    pub(crate) fn follows(&self, node: usize, epoch: u64) {
        eventually("a follower", || {
            self.said(node, "follows").into_iter().find(|entry| entry.epoch() >= epoch)
        });
    }

    /// Waits until everybody who runs and does not lead follows.
    #[track_caller]
    pub(crate) fn all_follow(&self, leader: &Tenure) {
        let others = (0..self.count()).filter(|node| self.is_running(*node));
        for node in others.filter(|node| format!("n{}", node + 1) != leader.node) {
            self.follows(node, leader.epoch);
        }
    }

    /// Nothing that must not happen has happened.
    #[track_caller]
    pub(crate) fn check(&self) {
        let wrong = self.journal().checker.violations();
        assert!(wrong.is_empty(), "{wrong:#?}");
    }
}

/// The place of a node in the list.
pub(crate) fn place_of(node: &str) -> usize {
    node[1..].parse::<usize>().expect("n and a number") - 1
}
