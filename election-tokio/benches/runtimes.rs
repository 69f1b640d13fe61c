//! What a service gets on each runtime: how soon another candidate leads after a resignation, and
//! what it costs to ask who leads.
//!
//! `cargo bench -p election-tokio --all-features --bench runtimes` starts a throw-away PostgreSQL
//! and prints one table. The three runtimes take turns in one process, so their figures can be
//! compared with each other. It is not a criterion benchmark: it prints the tail of latencies, and
//! the ratio of `is_leader` to a bare reading of its clock.
#![allow(clippy::unwrap_used)]

use election_driver::{Handle, Runtime, core::lease::ConfigBuilder};
use election_testing::{Kind, Server};
use election_tokio::{PgStore, SqliteStore, now};
use futures_lite::future::{or, zip};
use std::{
    hint::black_box,
    time::{Duration, Instant},
};

/// Resignations in a turn, and turns.
const ROUNDS: usize = 40;
const TURNS: usize = 3;

/// The pause before each resignation: nobody is busy with the previous one any more.
const PAUSE: Duration = Duration::from_millis(20);

/// The two candidates of an election on one runtime.
macro_rules! pair {
    ($adapter:path, $store:expr) => {{
        use $adapter as adapter;
        ["a", "b"].map(|node| {
            let election = adapter::Election::builder(stringify!($adapter)).node(node);
            // Without the random pause that keeps many followers from coming all at once.
            let timed = |config: ConfigBuilder| config.wake_jitter(Duration::ZERO);
            election.config(timed).store($store.clone()).build().unwrap().start()
        })
    }};
}

#[derive(Default)]
struct Figures {
    on_sqlite: Vec<Duration>,
    on_postgres: Vec<Duration>,
    /// Nanoseconds for a call of `is_leader`, and for a reading of the clock.
    asked: Vec<(f64, f64)>,
}

fn main() {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::start(Kind::Postgres);
    let sqlite = SqliteStore::open(directory.path().join("e.db")).unwrap();
    let postgres = PgStore::connect(&server.url()).unwrap();
    let tokio = tokio::runtime::Runtime::new().unwrap();
    tokio.block_on(prepared(&sqlite, &postgres));
    let mut runtimes = ["tokio", "async-std", "smol"].map(|name| (name, Figures::default()));
    for _ in 0..TURNS {
        let [(_, on_tokio), (_, on_async_std), (_, on_smol)] = &mut runtimes;
        tokio.block_on(async {
            on_tokio.add(pair!(election_tokio, sqlite), pair!(election_tokio, postgres)).await;
        });
        async_std::task::block_on(async {
            let pair = pair!(election_async_std, sqlite);
            on_async_std.add(pair, pair!(election_async_std, postgres)).await;
        });
        smol::block_on(async {
            let pair = pair!(election_async_std::smol, sqlite);
            on_smol.add(pair, pair!(election_async_std::smol, postgres)).await;
        });
    }
    println!("resign -> the other candidate leads, {} times each:", ROUNDS * TURNS);
    for (name, figures) in &mut runtimes {
        println!("  {name:10} sqlite    {}", distribution(&mut figures.on_sqlite));
        println!("  {name:10} postgres  {}", distribution(&mut figures.on_postgres));
    }
    println!("is_leader() beside a reading of its clock, medians:");
    for (name, figures) in &mut runtimes {
        figures.asked.sort_by(|a, b| (a.0 / a.1).total_cmp(&(b.0 / b.1)));
        let (asked, clock) = figures.asked[figures.asked.len() / 2];
        println!("  {name:10} {asked:.0} ns beside {clock:.0} ns: {:.2}", asked / clock);
    }
}

async fn prepared(sqlite: &SqliteStore, postgres: &PgStore) {
    sqlite.clone().ensure_schema().await.unwrap();
    postgres.clone().ensure_schema().await.unwrap();
}

impl Figures {
    async fn add<R: Runtime>(&mut self, on_sqlite: [Handle<R>; 2], on_postgres: [Handle<R>; 2]) {
        handed_over(&on_sqlite, &mut self.on_sqlite).await;
        handed_over(&on_postgres, &mut self.on_postgres).await;
        self.asked.extend((0..5).map(|_| asked(&on_sqlite)));
        for handle in on_sqlite.iter().chain(&on_postgres) {
            handle.shutdown().await;
        }
    }
}

async fn handed_over<R: Runtime>(pair: &[Handle<R>; 2], times: &mut Vec<Duration>) {
    let [a, b] = pair;
    let first = async |handle: &Handle<R>, nth| handle.elected().await.map(|_| nth).unwrap();
    let mut leader: usize = or(first(a, 0), first(b, 1)).await;
    for _ in 0..ROUNDS {
        let follower = &pair[1 - leader];
        follower.watch().until(|status| status.leader.as_ref().is_some_and(|who| !who.own)).await;
        smol::Timer::after(PAUSE).await; // it needs no runtime
        let began = Instant::now();
        let (resigned, led) =
            zip(pair[leader].resign(), async { follower.elected().await.map(|_| began.elapsed()) })
                .await;
        resigned.unwrap();
        times.push(led.unwrap());
        leader = 1 - leader;
    }
}

fn asked<R: Runtime>(pair: &[Handle<R>; 2]) -> (f64, f64) {
    let leader = pair.iter().find(|handle| handle.is_leader()).expect("one of them leads");
    let each = |what: &dyn Fn()| {
        const TIMES: u32 = 200_000;
        let began = Instant::now();
        (0..TIMES).for_each(|_| what());
        began.elapsed().as_secs_f64() * 1e9 / f64::from(TIMES)
    };
    let asked = each(&|| {
        black_box(black_box(leader).is_leader());
    });
    let clock = each(&|| {
        black_box(now());
    });
    (asked, clock)
}

fn distribution(times: &mut [Duration]) -> String {
    times.sort();
    let at = |percent: usize| times[(times.len() - 1) * percent / 100];
    format!("p50 {:?}, p99 {:?}, worst {:?}", at(50), at(99), at(100))
}
