//! Figures of a quorum on sockets, with the floor of each beside it.
//!
//! ```sh
//! cargo bench -p election-tokio --features tls --bench quorum
//! ```
//!
//! Three nodes, or five, each on a thread and a runtime of its own, with ballots on the disk that the
//! temporary directory is on.

mod support;

use election_driver::conformance::{self, certificates::Authority};
use election_tokio::{
    Cluster, Member,
    core::{NodeId, quorum::Position},
    tls::Tls,
};
use std::{
    fs::{self, File},
    future::Future,
    io::Write as _,
    path::Path,
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};
use support::shown;
use tokio::runtime::{Handle as Runtime, Runtime as Running};

/// Nodes on threads of their own.
struct Nodes {
    members: Vec<Member>,
    runtimes: Vec<Runtime>,
    /// The kernel's numbers of the threads.
    threads: Vec<i32>,
    stop: Vec<mpsc::Sender<()>>,
}

struct Place {
    place: conformance::Place,
    count: usize,
    down_after: Duration,
    /// What each node proves who it is with, if they do.
    proofs: Vec<Tls>,
}

/// Whether members prove to each other who speaks.
#[derive(Clone, Copy)]
enum Proof {
    Plain,
    Tls,
}

impl Proof {
    fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Tls => "TLS",
        }
    }
}

impl Place {
    fn new(count: usize, down_after: Duration, proof: Proof) -> Self {
        let proofs = match proof {
            Proof::Plain => Vec::new(),
            Proof::Tls => {
                let authority = Authority::new();
                (0..count).map(|node| authority.credentials(&authority.member(node))).collect()
            }
        };
        Self { place: conformance::Place::new(count), count, down_after, proofs }
    }

    fn cluster(&self, node: usize) -> Cluster {
        let builder = self.place.builder(node).down_after(self.down_after);
        let builder = match self.proofs.get(node).cloned() {
            None => builder,
            Some(proof) => builder.tls(proof),
        };
        builder.position(Position::default()).build().expect("a cluster")
    }

    fn start(&self) -> Nodes {
        let mut nodes = Nodes {
            members: Vec::new(),
            runtimes: Vec::new(),
            threads: Vec::new(),
            stop: Vec::new(),
        };
        for node in 0..self.count {
            let (member, runtime, thread, stop) = on_a_thread(self.cluster(node));
            nodes.members.push(member);
            nodes.runtimes.push(runtime);
            nodes.threads.push(thread);
            nodes.stop.push(stop);
        }
        nodes
    }
}

fn on_a_thread(cluster: Cluster) -> (Member, Runtime, i32, mpsc::Sender<()>) {
    let (started, start) = mpsc::channel();
    let (stop, stopped) = mpsc::channel();
    thread::spawn(move || {
        let runtime: Running =
            tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let member = runtime.block_on(cluster.start()).expect("a node");
        let id = rustix::thread::gettid().as_raw_nonzero().get();
        started.send((member, runtime.handle().clone(), id)).expect("a listener");
        runtime.block_on(async {
            let (sender, receiver) = tokio::sync::oneshot::channel::<()>();
            thread::spawn(move || {
                let _ = stopped.recv();
                drop(sender);
            });
            let _ = receiver.await;
        });
        // Everything of this node ends at once, as when its process is killed.
        runtime.shutdown_background();
    });
    let (member, runtime, id) = start.recv().expect("a node");
    (member, runtime, id, stop)
}

impl Nodes {
    fn wait<T>(&self, node: usize, future: impl Future<Output = T>) -> T {
        self.runtimes[node].block_on(future)
    }

    /// Who leads; waits until somebody does.
    fn leader(&self) -> usize {
        loop {
            let leads = |node: &usize| self.members[*node].handle().is_leader();
            if let Some(leader) = (0..self.members.len()).find(leads) {
                return leader;
            }
            thread::sleep(Duration::from_micros(50));
        }
    }

    /// Waits until the others could take over.
    fn settle(&self, leader: usize) {
        let ready = || {
            let peers = self.members[leader].peers();
            peers
                .iter()
                .all(|peer| peer.connected && peer.status.heard.is_some_and(|it| it.is_fresh))
                && self.members.iter().all(|member| member.status().boots_until.is_none())
        };
        while !ready() {
            thread::sleep(Duration::from_millis(1));
        }
    }
}

fn main() {
    if std::env::args().any(|argument| argument == "--test") {
        return; // `cargo test` builds it, and does not measure
    }
    for proof in [Proof::Plain, Proof::Tls] {
        first_leader(proof);
        handover(proof);
        crash(proof);
        for count in [3, 5] {
            idle(count, proof);
        }
    }
}

fn first_leader(proof: Proof) {
    let mut times = Vec::new();
    for _ in 0..100 {
        let place = Place::new(3, Duration::from_secs(5), proof);
        let began = Instant::now();
        let nodes = place.start();
        nodes.leader();
        times.push(began.elapsed());
    }
    shown(&format!("first leader of three, from the first start, {}", proof.name()), times);
}

/// What a ballot costs on this disk, by itself.
fn save(place: &Path) -> Duration {
    let directory = File::open(place).expect("a directory");
    let (temporary, path) = (place.join("floor.new"), place.join("floor"));
    let began = Instant::now();
    let mut file = File::create(&temporary).expect("a file");
    file.write_all(&[0; 128]).expect("room");
    file.sync_all().expect("a disk");
    fs::rename(&temporary, &path).expect("our own files");
    directory.sync_all().expect("a disk");
    began.elapsed()
}

fn handover(proof: Proof) {
    let place = Place::new(3, Duration::from_secs(5), proof);
    let nodes = place.start();
    let mut leader = nodes.leader();
    let (mut times, mut saves) = (Vec::new(), Vec::new());
    while times.len() < 200 {
        nodes.settle(leader);
        let heir = (leader + 1) % 3;
        let to = NodeId::new(&format!("n{}", heir + 1)).expect("an id");
        let began = Instant::now();
        let handed = nodes.wait(leader, nodes.members[leader].hand_over(&to));
        if handed.is_err() {
            thread::sleep(Duration::from_millis(5)); // it has just resigned, and stays out
            continue;
        }
        let lease = nodes.wait(heir, nodes.members[heir].handle().elected()).expect("a node");
        times.push(began.elapsed());
        drop(lease);
        leader = heir;
        // In turn, so that both meet the same disk and the same load.
        saves.push(save(place.place.ballot(0).parent().expect("a directory")));
    }
    shown(&format!("handover of three, from the order, {}", proof.name()), times);
    shown("  the floor: one ballot on this disk (two are in a row)", saves);
}

fn crash(proof: Proof) {
    let down_after = Duration::from_secs(1);
    let mut times = Vec::new();
    for _ in 0..20 {
        let place = Place::new(3, down_after, proof);
        let mut nodes = place.start();
        let leader = nodes.leader();
        nodes.settle(leader);
        let began = Instant::now();
        drop(nodes.stop.remove(leader));
        let killed = nodes.members.remove(leader);
        while killed.handle().is_leader() {
            thread::yield_now();
        }
        nodes.leader();
        times.push(began.elapsed());
    }
    let name = proof.name();
    shown(&format!("a crash, until another leads; down_after {down_after:?}, {name}"), times);
}

fn number(text: &str, name: &str) -> u64 {
    let line = text.lines().find(|line| line.starts_with(name)).expect("a line");
    line.split_whitespace().nth(1).expect("a number").parse().expect("a number")
}

/// Time on a processor, and how often it was given up.
fn used(thread: i32) -> (Duration, u64) {
    let read = |name: &str| fs::read_to_string(format!("/proc/self/task/{thread}/{name}"));
    let ran = read("schedstat").expect("a thread");
    let ran = ran.split_whitespace().next().expect("a number").parse().expect("nanoseconds");
    let status = read("status").expect("a thread");
    (Duration::from_nanos(ran), number(&status, "voluntary_ctxt_switches:"))
}

fn idle(count: usize, proof: Proof) {
    let place = Place::new(count, Duration::from_secs(5), proof);
    let nodes = place.start();
    let leader = nodes.leader();
    nodes.settle(leader);
    let span = Duration::from_secs(10);
    let before: Vec<_> = nodes.threads.iter().map(|thread| used(*thread)).collect();
    let began = Instant::now();
    thread::sleep(span);
    let lasted = began.elapsed().as_secs_f64();
    let after = nodes.threads.iter().map(|thread| used(*thread));
    for (node, ((ran, switches), (until, then))) in before.into_iter().zip(after).enumerate() {
        let share = (until - ran).as_secs_f64() / lasted * 100.0;
        #[allow(clippy::cast_precision_loss)]
        let per_second = (then - switches) as f64 / lasted;
        let heard = 5.0 * (count - 1) as f64;
        let role = if node == leader { "leader" } else { "follower" };
        println!(
            "idle, {}, a {role} of {count}: {share:.3} % of a core, {per_second:.1} wake-ups a second \
             ({heard:.0} heartbeats heard, 5 sent to all)",
            proof.name()
        );
    }
}
