//! Whoever else reaches the ports: thousands of silent connections, and bytes that make no sense.

use crate::cluster::{DOWN_AFTER, Nodes, place_of};
use election_core::Random;
use election_testing::process::{eventually, freeze, thaw};
use election_tokio::now;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::{
    fs,
    io::{ErrorKind, Read as _, Write as _},
    net::TcpStream,
    ops::Range,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

/// How many silent connections the ports are made to take.
const SILENT: usize = 10_000;
const SEED: u64 = 0x5EED;

/// Threads that attack every port until they are told to stop.
pub(crate) struct Attack {
    over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
    /// Connections made, by silence and by noise.
    silent: Arc<AtomicUsize>,
    noisy: Arc<AtomicUsize>,
}

impl Attack {
    /// On these nodes.
    pub(crate) fn on(nodes: &Nodes, attacked: Range<usize>) -> Self {
        let maximum = getrlimit(Resource::Nofile).maximum;
        let all = Rlimit { current: maximum, maximum };
        setrlimit(Resource::Nofile, all).expect("as many files as there may be");
        let over = Arc::new(AtomicBool::new(false));
        let (silent, noisy) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let mut threads = Vec::new();
        for node in attacked {
            let address = nodes.address(node).to_owned();
            let (stop, count) = (over.clone(), silent.clone());
            let port = address.clone();
            threads.push(thread::spawn(move || say_nothing(&port, &stop, &count)));
            let (stop, count) = (over.clone(), noisy.clone());
            let random = Random::new(SEED + node as u64);
            threads.push(thread::spawn(move || make_noise(&address, random, &stop, &count)));
        }
        Self { over, threads, silent, noisy }
    }

    pub(crate) fn ends(self) -> (usize, usize) {
        self.over.store(true, Ordering::Relaxed);
        for thread in self.threads {
            thread.join().expect("an attacker");
        }
        (self.silent.load(Ordering::Relaxed), self.noisy.load(Ordering::Relaxed))
    }
}

/// Connects, says nothing, and keeps every connection that it is left.
fn say_nothing(address: &str, over: &AtomicBool, count: &AtomicUsize) {
    let mut held = Vec::new();
    while !over.load(Ordering::Relaxed) {
        match TcpStream::connect(address) {
            Ok(stream) if held.len() < 2_000 => {
                held.push(stream);
                count.fetch_add(1, Ordering::Relaxed);
            }
            Ok(_) => held.clear(),
            // The node may be down, or its backlog full.
            Err(_) => thread::yield_now(),
        }
    }
}

/// Connects and sends what no member sends.
fn make_noise(address: &str, mut random: Random, over: &AtomicBool, count: &AtomicUsize) {
    while !over.load(Ordering::Relaxed) {
        let Ok(mut stream) = TcpStream::connect(address) else { continue };
        let _ = stream.set_read_timeout(Some(Duration::from_millis(20)));
        count.fetch_add(1, Ordering::Relaxed);
        let bytes = noise(&mut random);
        let piece = 1 + usize::try_from(random.up_to(200)).expect("a small number");
        for piece in bytes.chunks(piece) {
            if stream.write_all(piece).is_err() {
                break;
            }
        }
        // Until the node has hung up, or for a moment.
        let _ = stream.read(&mut [0; 16]);
    }
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
pub(crate) fn memory(pid: i32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("a process");
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).expect("its memory");
    line.split_whitespace().nth(1).expect("a number").parse().expect("a number")
}

pub(crate) fn descriptors(pid: i32) -> usize {
    fs::read_dir(format!("/proc/{pid}/fd")).expect("a process").count()
}

/// Nodes elect and go on leading while thousands of strangers reach every port.
#[test]
fn strangers_cost_nobody_the_leadership() {
    println!("seed {SEED:#x}");
    let (mut nodes, leader) = Nodes::started(3);
    nodes.all_follow(&leader);
    let old = place_of(&leader.node);
    nodes.order(old, "least");
    let calm = nodes.tenures()[0].last;
    while nodes.tenures()[0].last < calm + 1_000_000_000 {
        thread::yield_now();
    }
    let calm = nodes.order(old, "least");
    let pids: Vec<_> = (0..3).map(|node| nodes.pid(node)).collect();
    let before: Vec<_> = pids.iter().map(|pid| memory(*pid)).collect();

    let attack = Attack::on(&nodes, 0..3);
    while attack.silent.load(Ordering::Relaxed) < SILENT {
        thread::yield_now();
        assert_eq!(nodes.tenures().len(), 1, "leadership moved: {:?}", nodes.tenures());
    }
    let attacked = nodes.order(old, "least");
    let held: Vec<_> = pids.iter().map(|pid| descriptors(*pid)).collect();
    let after: Vec<_> = pids.iter().map(|pid| memory(*pid)).collect();
    assert!(held.iter().all(|held| *held < 200), "{held:?} descriptors");
    for (before, after) in before.iter().zip(&after) {
        assert!(after - before.min(after) < 16 * 1024, "{before} KiB, then {after}");
    }
    let killed = now().as_nanos();
    nodes.kill(old);
    let next = nodes.leader_after(leader.epoch);
    let took = Duration::from_nanos(next.first - killed);
    let (silent, noisy) = attack.ends();
    println!(
        "{silent} silent connections and {noisy} noisy ones; least trust left: {calm} ms calm, \
         {attacked} ms attacked; descriptors {held:?}; memory {before:?} KiB, then {after:?}; \
         replaced after {took:?}, down_after {DOWN_AFTER:?}"
    );
    nodes.check();
}

/// A frame that any member could send, in the name of one that does not run.
const GREETING: &[u8] = b"*5\r\n$2\r\nHB\r\n$1\r\n0\r\n$2\r\nn3\r\n$7\r\nreplica\r\n$1\r\n0\r\n";

/// Two of three, so that the third's name is free.
fn pair() -> Nodes {
    let mut nodes = Nodes::new(3);
    (0..2).for_each(|node| nodes.start(node));
    eventually("a port", || TcpStream::connect(nodes.address(0)).ok());
    nodes
}

/// A stranger who has said this, and waits.
fn stranger(nodes: &Nodes, said: &[u8]) -> TcpStream {
    let mut stream = TcpStream::connect(nodes.address(0)).expect("a port");
    stream.set_nonblocking(false).expect("our own socket");
    stream.write_all(said).expect("a connection");
    stream.set_nonblocking(true).expect("our own socket");
    stream
}

/// Whether the node has hung up. It never says anything.
fn is_over(mut stream: &TcpStream) -> bool {
    match stream.read(&mut [0; 1]) {
        Ok(count) => count == 0,
        Err(error) => error.kind() != ErrorKind::WouldBlock,
    }
}

#[test]
fn who_talks_nonsense_is_hung_up_on() {
    let nodes = pair();
    let nonsense: [&[u8]; 4] = [b"GET / HTTP/1.1\r\n\r\n", b"*0\r\n", b"*1\r\n$2\r\nno\r\n", b"\0"];
    for said in nonsense {
        let began = Instant::now();
        let stream = stranger(&nodes, said);
        eventually("the end", || is_over(&stream).then_some(()));
        assert!(began.elapsed() < DOWN_AFTER, "at once, not for its silence");
    }
    nodes.check();
}

#[test]
fn a_name_holds_four_connections_and_silence_ends_them() {
    let nodes = pair();
    let began = Instant::now();
    let streams: Vec<_> = (0..10).map(|_| stranger(&nodes, GREETING)).collect();
    let over = || streams.iter().filter(|stream| is_over(stream)).count();
    eventually("room for four", || (over() >= 6).then_some(()));
    assert!(began.elapsed() < DOWN_AFTER, "it does not wait for their silence");
    eventually("the end of silent ones", || (over() == 10).then_some(()));
    assert!(began.elapsed() >= DOWN_AFTER, "not before they have been silent");
    // Nor does one stay that never says whose it is, or only the half of it.
    for said in [&b""[..], &GREETING[..20]] {
        let stream = stranger(&nodes, said);
        eventually("the end of a silent one", || is_over(&stream).then_some(()));
    }
    nodes.check();
}

/// A process that only greets in the name of a member that speaks: no member dials it. It is named,
/// with its address, whatever else reaches the port.
#[test]
fn a_twin_is_reported_with_its_address() {
    println!("seed {SEED:#x}");
    let (nodes, leader) = Nodes::started(3);
    nodes.all_follow(&leader);
    for flooded in [false, true] {
        let (node, name) = if flooded { (0, "n2") } else { (1, "n3") };
        let attack = flooded.then(|| Attack::on(&nodes, node..node + 1));
        let connect = || TcpStream::connect(nodes.address(node)).expect("a port");
        let mut twin = connect();
        // In lower case it is a greeting, and not a frame of kevy-elect.
        let greeting = String::from_utf8_lossy(GREETING).replace("HB", "hb").replace("n3", name);
        eventually("a report", || {
            // Before it has greeted it is one of the flood, and may have to go.
            if twin.write_all(greeting.as_bytes()).is_err() {
                twin = connect();
            }
            let own = twin.local_addr().expect("its address").to_string();
            let said = nodes.said(node, "log").into_iter();
            let mut said = said.filter(|entry| entry.about.starts_with("duplicate_id "));
            said.find(|entry| entry.about.contains(&own) && entry.about.contains(name))
        });
        attack.map(Attack::ends);
    }
    assert_eq!(nodes.tenures().len(), 1, "{:?}", nodes.tenures());
    nodes.check();
}

/// Strangers who speak once in the leader's name while a follower stands still, and keep their
/// connections open or close them, do not keep it from hearing the leader ever after.
#[test]
fn who_spoke_once_in_a_members_name_does_not_silence_it() {
    for stays in [true, false] {
        let (mut nodes, leader) = Nodes::started(3);
        nodes.all_follow(&leader);
        let [leads, deaf, other] = match place_of(&leader.node) {
            0 => [0, 1, 2],
            1 => [1, 2, 0],
            _ => [2, 0, 1],
        };
        let pid = nodes.pid(deaf);
        freeze(pid);
        let node = format!("n{}", deaf + 1);
        nodes.logged(leads, "unreachable", &[&node]); // as long as that has been silent for it
        let frame = format!(
            "*5\r\n$2\r\nHB\r\n$1\r\n1\r\n$2\r\n{}\r\n$7\r\nreplica\r\n$1\r\n0\r\n",
            leader.node
        );
        let mut strangers: Vec<_> = (0..3)
            .map(|_| {
                let mut stream = TcpStream::connect(nodes.address(deaf)).expect("a port");
                stream.write_all(frame.as_bytes()).expect("room for a frame");
                stream
            })
            .collect();
        if !stays {
            strangers.clear();
        }
        thaw(pid);
        nodes.all_follow(&leader);
        // Now only the two can elect, and each needs the other.
        nodes.kill(other);
        nodes.order(leads, "resign");
        let next = nodes.leader_after(leader.epoch);
        nodes.all_follow(&next);
        nodes.check();
    }
}
