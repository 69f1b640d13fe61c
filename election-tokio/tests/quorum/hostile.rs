//! Whoever else reaches the ports: connections by the thousand that say nothing, make no sense, or begin
//! handshakes that never end.

use crate::cluster::{DOWN_AFTER, Nodes, place_of};
use election_core::Random;
use election_driver::conformance::certificates::{Authority, client};
use election_testing::process::eventually;
use election_tokio::now;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::{
    fs,
    io::{Read as _, Write as _},
    net::TcpStream,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

/// How many connections are made before a test ends.
const MADE: usize = 10_000;

/// How many of them each attacker holds open.
const HELD: usize = 1_000;

const SEED: u64 = 0x5EED;

/// What is done with each connection, with room for those that are kept.
pub(crate) type Visit = fn(TcpStream, &mut Random, &mut Vec<TcpStream>);

/// A thread for each visit to each port, again and again, until it is told to stop.
pub(crate) struct Flood {
    over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
    made: Arc<AtomicUsize>,
}

impl Flood {
    pub(crate) fn on(nodes: &Nodes, visits: &[Visit]) -> Self {
        let maximum = getrlimit(Resource::Nofile).maximum;
        let all = Rlimit { current: maximum, maximum };
        setrlimit(Resource::Nofile, all).expect("as many files as there may be");
        let (over, made) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let attacker = |node: usize, visit: Visit| {
            let (over, made) = (over.clone(), made.clone());
            let address = nodes.address(node).to_owned();
            thread::spawn(move || {
                let (mut random, mut held) = (Random::new(SEED + node as u64), Vec::new());
                while !over.load(Ordering::Relaxed) {
                    // The node may be down, or its backlog full.
                    let Ok(stream) = TcpStream::connect(&address) else { continue };
                    visit(stream, &mut random, &mut held);
                    made.fetch_add(1, Ordering::Relaxed);
                }
            })
        };
        let each =
            (0..nodes.count()).flat_map(|node| visits.iter().map(move |visit| (node, *visit)));
        let threads = each.map(|(node, visit)| attacker(node, visit)).collect();
        Self { over, threads, made }
    }

    fn made(&self) -> usize {
        self.made.load(Ordering::Relaxed)
    }

    pub(crate) fn ends(self) -> usize {
        self.over.store(true, Ordering::Relaxed);
        self.threads.into_iter().for_each(|thread| thread.join().expect("an attacker"));
        self.made.load(Ordering::Relaxed)
    }
}

/// Says nothing, and keeps the connection.
pub(crate) fn silence(stream: TcpStream, _: &mut Random, held: &mut Vec<TcpStream>) {
    if held.len() == HELD {
        held.clear();
    }
    held.push(stream);
}

/// Sends what no member sends.
pub(crate) fn noises(mut stream: TcpStream, random: &mut Random, _: &mut Vec<TcpStream>) {
    let _ = stream.set_read_timeout(Some(Duration::from_millis(20)));
    let bytes = noise(random);
    let piece = 1 + usize::try_from(random.up_to(200)).expect("a small number");
    for piece in bytes.chunks(piece) {
        if stream.write_all(piece).is_err() {
            break;
        }
    }
    // Until the node has hung up, or for a moment.
    let _ = stream.read(&mut [0; 16]);
}

/// A client's first flight, whole and in order.
fn greeting() -> Vec<u8> {
    let mut bytes = Vec::new();
    client(None).write_tls(&mut bytes).expect("memory");
    bytes
}

/// Begins a handshake, and keeps the connection.
fn dawdles(mut stream: TcpStream, random: &mut Random, held: &mut Vec<TcpStream>) {
    let _ = stream.write_all(&greeting()[..50]);
    silence(stream, random, held);
}

/// Has the member answer a greeting, which is what costs it most, and goes.
fn hurries(mut stream: TcpStream, _: &mut Random, _: &mut Vec<TcpStream>) {
    let _ = stream.set_read_timeout(Some(DOWN_AFTER));
    let _ = stream.write_all(&greeting());
    let _ = stream.read(&mut [0; 64]);
}

fn noise(random: &mut Random) -> Vec<u8> {
    let byte = |random: &mut Random| u8::try_from(random.up_to(255)).expect("a byte");
    let stranger = b"*5\r\n$2\r\nhb\r\n$1\r\n7\r\n$2\r\nzz\r\n$7\r\nreplica\r\n$1\r\n0\r\n";
    let mut bytes = match random.up_to(7) {
        0 => (0..random.up_to(3_000)).map(|_| byte(random)).collect(),
        1 => b"*0\r\n".to_vec(),
        2 => b"*99999999999\r\n$".to_vec(),
        3 => b"GET / HTTP/1.1\r\nHost: election\r\n\r\n".to_vec(),
        4 => format!("*5\r\n$2\r\nHB\r\n${}\r\n", u64::MAX).into_bytes(),
        5 => vec![b'*'; 100_000],
        _ => stranger.to_vec(),
    };
    for _ in 0..random.up_to(3) {
        let place = usize::try_from(random.up_to(bytes.len() as u64)).expect("a place");
        if let Some(at) = bytes.get_mut(place) {
            *at = byte(random);
        }
    }
    let whole = bytes.len() as u64;
    bytes.truncate(usize::try_from(random.up_to(whole)).expect("a length"));
    bytes
}

/// Resident memory in KiB.
fn memory(pid: i32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("a process");
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).expect("its memory");
    line.split_whitespace().nth(1).expect("a number").parse().expect("a number")
}

fn descriptors(pid: i32) -> usize {
    fs::read_dir(format!("/proc/{pid}/fd")).expect("a process").count()
}

/// Under such a flood the leader keeps its pace, nodes hold few descriptors and little memory, a member
/// that was restarted finds back, and a leader that was killed is replaced.
fn costs_nobody_the_leadership(secured: bool, visits: &[Visit]) {
    println!("seed {SEED:#x}");
    let authority = Authority::new();
    let (mut nodes, leader) = if secured {
        let (nodes, _, leader) = Nodes::secured(3, &authority);
        (nodes, leader)
    } else {
        let (nodes, leader) = Nodes::started(3);
        nodes.all_follow(&leader);
        (nodes, leader)
    };
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
    let flood = Flood::on(&nodes, visits);
    while flood.made() < MADE {
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
    let made = flood.ends();
    println!(
        "{made} connections; least trust left: {calm} ms calm, {flooded} ms flooded; descriptors \
         {held:?}; memory {before:?} KiB, then {after:?}; a member found back after {followed:?}, the \
         leader was replaced after {took:?}, down_after {DOWN_AFTER:?}"
    );
    assert!(flooded > calm / 4, "{flooded} ms of trust left, {calm} ms when it is calm");
    assert!(held.iter().all(|held| *held < 200), "{held:?} descriptors");
    for (before, after) in before.iter().zip(&after) {
        assert!(after - before.min(after) < 16 * 1024, "{before} KiB, then {after}");
    }
    nodes.check();
}

#[test]
fn strangers_cost_nobody_the_leadership() {
    costs_nobody_the_leadership(false, &[silence, noises]);
}

#[test]
fn handshakes_that_never_end_cost_nobody_the_leadership() {
    costs_nobody_the_leadership(true, &[dawdles]);
}

#[test]
fn handshakes_without_number_cost_nobody_the_leadership() {
    costs_nobody_the_leadership(true, &[hurries]);
}
