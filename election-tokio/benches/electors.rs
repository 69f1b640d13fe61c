//! What many electors on a shared store cost, beside one with a connection of its own.
//!
//! `cargo bench -p election-tokio --bench electors --all-features -- 1000` starts throw-away servers and prints two
//! lines for each database. The first: the 1st percentile of the trust left, beside that of one alone; processor time of so many leaders, and of so many followers; the time from a resignation to the next
//! leader, of one among so many and of one alone. The second: when a process is killed that leads a tenth of them,
//! how much memory each took there, and how long after the kill another leads.
#![allow(clippy::unwrap_used)]

use election_driver::{SharedStore, SqlStore, conformance::inside::Client};
use election_testing::{Kind, Server};
use election_tokio::{Election, Handle, MySqlStore, PgStore, SqliteStore, Store, now};
use std::{
    io::{BufRead as _, BufReader},
    process::{Command, Stdio},
    time::Duration,
};

const TTL: Duration = Duration::from_secs(15);
/// Two of the electors' intervals.
const SPAN: Duration = Duration::from_secs(10);
const HANDOVERS: usize = 21;
/// Before each handover, so that no wake-up is held back by the one before.
const PAUSE: Duration = Duration::from_millis(150);
/// In the process that is killed: the database's URL.
const VICTIM: &str = "ELECTORS_VICTIM";

fn main() {
    let n = std::env::args().filter_map(|word| word.parse().ok()).next().unwrap_or(1000);
    tokio::runtime::Runtime::new().unwrap().block_on(all(n));
}

async fn all(n: usize) {
    if let Ok(url) = std::env::var(VICTIM) {
        return match url.split(':').next().unwrap() {
            "postgres" => be_killed(PgStore::connect(&url).unwrap(), n).await,
            "mysql" => be_killed(MySqlStore::connect(&url).unwrap(), n).await,
            _ => be_killed(SqliteStore::open(&url).unwrap(), n).await,
        };
    }
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("e.db").into_os_string().into_string().unwrap();
    measure("sqlite", &file, SqliteStore::open(&file).unwrap(), n).await;
    let server = Server::start(Kind::Postgres);
    measure("postgres", &server.url(), PgStore::connect(&server.url()).unwrap(), n).await;
    let server = Server::start(Kind::MariaDb);
    measure("mariadb", &server.url(), MySqlStore::connect(&server.url()).unwrap(), n).await;
}

async fn measure<C: Client>(name: &str, url: &str, mut store: SqlStore<C>, n: usize) {
    store.ensure_schema().await.unwrap();
    let [a, b] = ["a", "b"].map(|node| start("alone", node, store.clone()));
    let alone = handover(&a, &b).await;
    b.shutdown().await;
    a.elected().await.unwrap();
    let single = trust(&[&a]).await;
    a.shutdown().await;

    let leaders = many(&Election::share(store.clone()), "a", n);
    for leader in &leaders {
        leader.elected().await.unwrap();
    }
    let left = trust(&leaders.iter().collect::<Vec<_>>()).await;
    let leading = used().await;
    let followers = many(&Election::share(store.clone()), "b", n);
    for follower in &followers {
        follower.watch().until(|status| status.leader.is_some()).await;
    }
    let following = used().await - leading;
    let among = handover(&leaders[n / 2], &followers[n / 2]).await;
    println!(
        "electors {name} n={n} trust_p99={:.2} leaders={:.2}% followers={:.2}% \
         handover={among:.1?} alone={alone:.1?} ratio={:.2}",
        left / single,
        100.0 * leading,
        100.0 * following,
        among.as_secs_f64() / alone.as_secs_f64(),
    );
    end(leaders).await;
    end(followers).await;
    killed(name, url, store, n).await;
}

/// A process that leads a tenth is killed while another leads the rest.
async fn killed<C: Client>(name: &str, url: &str, store: SqlStore<C>, n: usize) {
    let tenth = (n / 10).max(1);
    let mut victim = Command::new(std::env::current_exe().unwrap());
    victim.arg(tenth.to_string()).env(VICTIM, url).stdout(Stdio::piped());
    let mut victim = victim.spawn().unwrap();
    let mut memory = String::new(); // it leads them all
    BufReader::new(victim.stdout.take().unwrap()).read_line(&mut memory).unwrap();
    let heirs = many(&Election::share(store), "b", n);
    for heir in &heirs[..tenth] {
        heir.watch().until(|status| status.leader.is_some()).await;
    }
    for heir in &heirs[tenth..] {
        heir.elected().await.unwrap();
    }
    let at = now();
    victim.kill().unwrap();
    victim.wait().unwrap();
    let mut gaps = Vec::new();
    for heir in &heirs[..tenth] {
        gaps.push(heir.elected().await.unwrap().since().since(at));
    }
    gaps.sort();
    println!(
        "electors {name} n={n} killed={tenth} memory={}kB ttl={TTL:?} p99={:.2?} last={:.2?}",
        memory.trim_end(),
        gaps[tenth * 99 / 100],
        gaps[tenth - 1],
    );
    end(heirs).await;
}

async fn be_killed<C: Client>(store: SqlStore<C>, n: usize) {
    let before = resident();
    let leaders = many(&Election::share(store), "a", n);
    for leader in &leaders {
        leader.elected().await.unwrap();
    }
    println!("{:.1}", (resident() - before) / n as f64);
    std::future::pending::<()>().await; // until it is killed
}

fn start(name: &str, node: &str, store: impl Store) -> Handle {
    Election::builder(name).node(node).ttl(TTL).store(store).build().unwrap().start()
}

fn many(store: &SharedStore, node: &str, n: usize) -> Vec<Handle> {
    (0..n).map(|number| start(&format!("tenant-{number}"), node, store.clone())).collect()
}

async fn end(handles: Vec<Handle>) {
    handles.iter().for_each(Handle::withdraw);
    for handle in handles {
        handle.shutdown().await;
    }
}

/// The median time from a resignation to the next leader.
async fn handover(a: &Handle, b: &Handle) -> Duration {
    let mut times = Vec::new();
    for _ in 0..HANDOVERS {
        for each in [a, b] {
            each.watch().until(|status| status.leader.is_some()).await;
        }
        tokio::time::sleep(PAUSE).await;
        let (leader, heir) = if a.is_leader() { (a, b) } else { (b, a) };
        let began = now();
        leader.resign().await.unwrap();
        times.push(heir.elected().await.unwrap().since().since(began));
    }
    times.sort();
    times[HANDOVERS / 2]
}

/// The 1st percentile of the trust left, in seconds.
async fn trust(handles: &[&Handle]) -> f64 {
    let (end, mut left) = (now() + SPAN, Vec::new());
    while now() < end {
        for handle in handles {
            left.push(handle.lease().map_or(Duration::ZERO, |lease| lease.remaining()));
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    left.sort();
    left[left.len() / 100].as_secs_f64()
}

/// This process's memory, in kB.
fn resident() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

/// The share of a processor that this process uses.
async fn used() -> f64 {
    let began = processor();
    tokio::time::sleep(SPAN).await;
    (processor() - began) / SPAN.as_secs_f64()
}

/// Processor time of this process so far, in seconds.
fn processor() -> f64 {
    let used = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    used.tv_sec as f64 + used.tv_nsec as f64 / 1e9
}
