//! Strangers who cannot prove anything, and make members work: handshakes by the thousand that never
//! end, and handshakes as fast as they come.

use crate::{
    cluster::{DOWN_AFTER, Nodes, place_of},
    hostile::{descriptors, memory},
};
use election_driver::conformance::certificates::{Authority, client};
use election_testing::process::eventually;
use election_tokio::now;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

/// How many handshakes are begun before a test ends.
const BEGUN: usize = 10_000;
/// How many of them each attacker holds open.
const HELD: usize = 1_000;

/// A thread for each port that does the same again and again, until it is told to stop.
struct Flood {
    over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
    begun: Arc<AtomicUsize>,
}

impl Flood {
    /// `visit` is given each connection, with room for what it wants to keep.
    fn on(nodes: &Nodes, visit: fn(TcpStream, &mut Vec<TcpStream>)) -> Self {
        let maximum = getrlimit(Resource::Nofile).maximum;
        let all = Rlimit { current: maximum, maximum };
        setrlimit(Resource::Nofile, all).expect("as many files as there may be");
        let (over, begun) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let attacker = |node| {
            let (over, begun) = (over.clone(), begun.clone());
            let address = nodes.address(node).to_owned();
            thread::spawn(move || {
                let mut held = Vec::new();
                while !over.load(Ordering::Relaxed) {
                    // The node may be down, or its backlog full.
                    let Ok(stream) = TcpStream::connect(&address) else { continue };
                    visit(stream, &mut held);
                    begun.fetch_add(1, Ordering::Relaxed);
                }
            })
        };
        let threads = (0..nodes.count()).map(attacker).collect();
        Self { over, threads, begun }
    }

    fn begun(&self) -> usize {
        self.begun.load(Ordering::Relaxed)
    }

    fn ends(self) -> usize {
        self.over.store(true, Ordering::Relaxed);
        self.threads.into_iter().for_each(|thread| thread.join().expect("an attacker"));
        self.begun.load(Ordering::Relaxed)
    }
}

/// A client's first flight, whole and in order.
fn greeting() -> Vec<u8> {
    let mut bytes = Vec::new();
    client(None).write_tls(&mut bytes).expect("memory");
    bytes
}

/// Begins a handshake, and keeps the connection.
fn dawdles(mut stream: TcpStream, held: &mut Vec<TcpStream>) {
    let _ = stream.write_all(&greeting()[..50]);
    if held.len() == HELD {
        held.clear();
    }
    held.push(stream);
}

/// Has the member answer a greeting, which is what costs it most, and goes.
fn hurries(mut stream: TcpStream, _: &mut Vec<TcpStream>) {
    let _ = stream.set_read_timeout(Some(DOWN_AFTER));
    let _ = stream.write_all(&greeting());
    let _ = stream.read(&mut [0; 64]);
}

/// Under such a flood the leader keeps its pace, nodes hold few descriptors and little memory, a member
/// that was restarted finds back, and a leader that was killed is replaced.
fn costs_nobody_the_leadership(what: &str, visit: fn(TcpStream, &mut Vec<TcpStream>)) {
    let authority = Authority::new();
    let (mut nodes, _folders, leader) = Nodes::secured(3, &authority);
    let old = place_of(&leader.node);
    let follower = (old + 1) % 3;
    nodes.order(old, "least");
    let calm = nodes.tenures()[0].last;
    eventually("a second of leadership", || {
        (nodes.tenures()[0].last >= calm + 1_000_000_000).then_some(())
    });
    let calm: u64 = nodes.order(old, "least").parse().expect("milliseconds");
    let pids: Vec<_> = (0..3).map(|node| nodes.pid(node)).collect();
    let before: Vec<_> = pids.iter().map(|pid| memory(*pid)).collect();

    let flood = Flood::on(&nodes, visit);
    while flood.begun() < BEGUN {
        thread::yield_now();
        assert_eq!(nodes.tenures().len(), 1, "leadership moved: {:?}", nodes.tenures());
    }
    let flooded: u64 = nodes.order(old, "least").parse().expect("milliseconds");
    let held: Vec<_> = pids.iter().map(|pid| descriptors(*pid)).collect();
    let after: Vec<_> = pids.iter().map(|pid| memory(*pid)).collect();
    nodes.kill(follower);
    nodes.start(follower);
    let restarted = now();
    nodes.follows(follower, leader.epoch);
    let followed = now().since(restarted);
    nodes.still_leads(&leader);
    let killed = now().as_nanos();
    nodes.kill(old);
    let next = nodes.leader_after(leader.epoch);
    let took = Duration::from_nanos(next.first - killed);
    let begun = flood.ends();
    println!(
        "{begun} handshakes begun, {what}; least trust left: {calm} ms calm, {flooded} ms flooded; \
         descriptors {held:?}; memory {before:?} KiB, then {after:?}; a member found back after \
         {followed:?}, the leader was replaced after {took:?}, down_after {DOWN_AFTER:?}"
    );
    assert!(flooded > calm / 4, "{flooded} ms of trust left, {calm} ms when it is calm");
    assert!(held.iter().all(|held| *held < 200), "{held:?} descriptors");
    for (before, after) in before.iter().zip(&after) {
        assert!(after - before.min(after) < 16 * 1024, "{before} KiB, then {after}");
    }
    nodes.check();
}

#[test]
fn handshakes_that_never_end() {
    costs_nobody_the_leadership("and never ended", dawdles);
}

#[test]
fn handshakes_as_fast_as_they_come() {
    costs_nobody_the_leadership("and answered", hurries);
}
