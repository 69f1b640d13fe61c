//! The same figures of etcd, where it is installed (Debian: `apt install etcd-server`), to set those
//! of the bench `quorum` beside.
//!
//! ```sh
//! cargo bench -p election-tokio --bench etcd
//! ```
//!
//! Three processes on loopback, plain, with data on the disk that the temporary directory is on. What
//! is measured is etcd's own leader, elected by Raft: the least that any election held in etcd waits
//! for. An election timeout of one second with heartbeats of 40 ms stands beside a `down_after` of one
//! second, and the defaults (1 s, 100 ms) beside the idle figures.

mod support;

use std::{
    fs,
    io::{Read as _, Write as _},
    net::{TcpListener, TcpStream},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};
use support::shown;
use tempfile::TempDir;

struct Etcd {
    /// Ports for clients.
    ports: Vec<u16>,
    running: Vec<Option<Child>>,
    _place: TempDir,
}

impl Etcd {
    fn start(settings: &[&str]) -> Self {
        let free = || TcpListener::bind("127.0.0.1:0").expect("a free port");
        let free: Vec<_> = (0..6).map(|_| free()).collect();
        let port = |socket: &TcpListener| socket.local_addr().expect("an address").port();
        let ports: Vec<_> = free.iter().map(port).collect();
        drop(free);
        let (clients, peers) = ports.split_at(3);
        let url = |port: u16| format!("http://127.0.0.1:{port}");
        let all: Vec<_> = (0..3).map(|node| format!("n{node}={}", url(peers[node]))).collect();
        let place = TempDir::new().expect("a temporary directory");
        let running = (0..3).map(|node| {
            let child = Command::new("etcd")
                .args(["--name", &format!("n{node}"), "--initial-cluster", &all.join(",")])
                .args(["--initial-advertise-peer-urls", &url(peers[node])])
                .args(["--listen-peer-urls", &url(peers[node])])
                .args(["--advertise-client-urls", &url(clients[node])])
                .args(["--listen-client-urls", &url(clients[node])])
                .arg("--data-dir")
                .arg(place.path().join(format!("n{node}")))
                .args(settings)
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn();
            Some(child.expect("etcd"))
        });
        Self { running: running.collect(), ports: clients.to_vec(), _place: place }
    }

    /// Asks a node; nothing while it does not answer.
    fn ask(&self, node: usize, path: &str, body: &str) -> Option<String> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.ports[node])).ok()?;
        stream.set_read_timeout(Some(Duration::from_secs(5))).ok()?;
        let length = body.len();
        let request = format!(
            "POST {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: \
             {length}\r\n\r\n{body}"
        );
        stream.write_all(request.as_bytes()).ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        Some(answer)
    }

    /// A node that says it leads.
    fn leader(&self) -> Option<usize> {
        let leads = |node: &usize| {
            let answer = self.ask(*node, "/v3/maintenance/status", "{}").unwrap_or_default();
            let number = |name: &str| {
                let rest = answer.split_once(&format!("\"{name}\":\""))?.1;
                Some(rest.split_once('"')?.0.to_owned())
            };
            number("member_id").is_some_and(|id| number("leader") == Some(id))
        };
        (0..3).filter(|node| self.running[*node].is_some()).find(leads)
    }

    fn a_leader(&self) -> usize {
        loop {
            if let Some(leader) = self.leader() {
                return leader;
            }
            thread::yield_now();
        }
    }

    fn id(&self, node: usize) -> String {
        let answer = self.ask(node, "/v3/maintenance/status", "{}").expect("a node");
        let rest = answer.split_once("\"member_id\":\"").expect("an id").1;
        rest.split_once('"').expect("an id").0.to_owned()
    }
}

impl Drop for Etcd {
    fn drop(&mut self) {
        for child in self.running.iter_mut().flatten() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn first_leader() {
    let times = (0..10).map(|_| {
        let began = Instant::now();
        Etcd::start(&[]).a_leader();
        began.elapsed()
    });
    shown("etcd: first leader of three, from the first start", times.collect());
}

fn handover() {
    let etcd = Etcd::start(&[]);
    let mut leader = etcd.a_leader();
    let ids: Vec<_> = (0..3).map(|node| etcd.id(node)).collect();
    let mut times = Vec::new();
    while times.len() < 50 {
        let heir = (leader + 1) % 3;
        let body = format!("{{\"targetID\":\"{}\"}}", ids[heir]);
        let began = Instant::now();
        etcd.ask(leader, "/v3/maintenance/transfer-leadership", &body).expect("an answer");
        while etcd.leader() != Some(heir) {
            thread::yield_now();
        }
        times.push(began.elapsed());
        leader = heir;
    }
    shown("etcd: handover of three, from the order", times);
}

fn crash() {
    let mut times = Vec::new();
    for _ in 0..10 {
        let mut etcd = Etcd::start(&["--heartbeat-interval", "40", "--election-timeout", "1000"]);
        let leader = etcd.a_leader();
        // Until all know it.
        while (0..3).any(|node| {
            let answer = etcd.ask(node, "/v3/maintenance/status", "{}").unwrap_or_default();
            !answer.contains("\"leader\":\"")
        }) {
            thread::yield_now();
        }
        let began = Instant::now();
        let mut child = etcd.running[leader].take().expect("a process");
        child.kill().expect("our child");
        child.wait().expect("our child");
        etcd.a_leader();
        times.push(began.elapsed());
    }
    shown("etcd: a crash, until another leads; election timeout 1s", times);
}

/// Time on a processor, and how often it was given up, of all threads of a process.
fn used(pid: u32) -> (Duration, u64) {
    let (mut ran, mut switches) = (0, 0);
    for thread in fs::read_dir(format!("/proc/{pid}/task")).expect("a process").flatten() {
        let read = |name: &str| fs::read_to_string(thread.path().join(name)).unwrap_or_default();
        let first = read("schedstat");
        ran += first.split_whitespace().next().and_then(|it| it.parse::<u64>().ok()).unwrap_or(0);
        let status = read("status");
        let line = status.lines().find(|line| line.starts_with("voluntary_ctxt_switches:"));
        let count = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
        switches += count.unwrap_or(0);
    }
    (Duration::from_nanos(ran), switches)
}

fn idle() {
    let etcd = Etcd::start(&[]);
    let leader = etcd.a_leader();
    let pids: Vec<_> = etcd.running.iter().flatten().map(Child::id).collect();
    let before: Vec<_> = pids.iter().map(|pid| used(*pid)).collect();
    let began = Instant::now();
    thread::sleep(Duration::from_secs(10));
    let lasted = began.elapsed().as_secs_f64();
    for (node, (pid, (ran, switches))) in pids.into_iter().zip(before).enumerate() {
        let (until, then) = used(pid);
        let share = until.saturating_sub(ran).as_secs_f64() / lasted * 100.0;
        #[allow(clippy::cast_precision_loss)]
        let per_second = then.saturating_sub(switches) as f64 / lasted;
        let role = if node == leader { "leader" } else { "follower" };
        println!(
            "etcd: idle, a {role} of 3: {share:.3} % of a core, {per_second:.1} wake-ups a second"
        );
    }
}

fn main() {
    if std::env::args().any(|argument| argument == "--test") {
        return; // `cargo test` builds it, and does not measure
    }
    if Command::new("etcd").arg("--version").output().is_err() {
        eprintln!("there is no etcd here to measure; install it (Debian: apt install etcd-server)");
        std::process::exit(1);
    }
    first_leader();
    handover();
    crash();
    idle();
}
