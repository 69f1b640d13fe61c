//! What it costs to allow for steps of the database's clock: `clock_step` 0 beside one of an hour, on
//! each database, in the same run.
//!
//! `cargo bench -p election-tokio --all-features --bench modes` starts throw-away servers and prints
//! one table. It is not a criterion benchmark: it prints counts, the tail of latencies, and ratios to
//! the ttl or to the other mode. Times after a crash count from the last renewal of whoever crashed,
//! since that is what both modes promise about. `-- crash` and the like run one part alone: crash,
//! resign, idle or renewals.
#![allow(clippy::unwrap_used)]

mod support;

use election_driver::core::{
    Candidate, Epoch, Incarnation, Namespace, NodeId,
    lease::{Answer, Query, Registration},
};
use election_testing::{Kind, Server};
use election_tokio::{
    Election, Handle, MySqlStore, Notifications, Pause, PgStore, SqliteStore, Store, StoreError,
};
use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};
use support::shown;
use uuid::Uuid;

const TTL: Duration = Duration::from_secs(3);
const STEPS: [Duration; 2] = [Duration::ZERO, Duration::from_secs(3600)];
const CRASHES: usize = 8;
const RESIGNATIONS: usize = 20;
/// How long an idle follower is watched.
const IDLE: Duration = Duration::from_secs(60);
const RENEWALS: u32 = 300;
const TURNS: usize = 15;

fn main() {
    tokio::runtime::Runtime::new().unwrap().block_on(all());
}

async fn all() {
    let directory = tempfile::tempdir().unwrap();
    let (postgres, mariadb) = (Server::start(Kind::Postgres), Server::start(Kind::MariaDb));
    let mut sqlite = SqliteStore::open(directory.path().join("e.db")).unwrap();
    let mut on_postgres = PgStore::connect(&postgres.url()).unwrap();
    let mut on_mariadb = MySqlStore::connect(&mariadb.url()).unwrap();
    sqlite.ensure_schema().await.unwrap();
    on_postgres.ensure_schema().await.unwrap();
    on_mariadb.ensure_schema().await.unwrap();

    let parts: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let asked = |part: &str| parts.is_empty() || parts.iter().any(|word| word == part);
    // Elections that only wait for leases to run out do not disturb each other.
    if asked("crash") {
        println!("last renewal of a leader that crashed to the next leader, in ttls of {TTL:?}:");
        tokio::join!(
            crashes("sqlite", &sqlite),
            crashes("postgres", &on_postgres),
            crashes("mariadb", &on_mariadb)
        );
    }
    if asked("idle") {
        println!("statements of an idle follower, per ttl of {TTL:?}:");
        tokio::join!(
            idles("sqlite", &sqlite),
            idles("postgres", &on_postgres),
            idles("mariadb", &on_mariadb)
        );
    }
    // These want the machine for themselves.
    if asked("resign") {
        println!("resignation to the next leader:");
        resigns("sqlite", &sqlite).await;
        resigns("postgres", &on_postgres).await;
        resigns("mariadb", &on_mariadb).await;
    }
    if asked("renewals") {
        println!("renewals per second on one connection, medians of {TURNS} turns:");
        renewals("sqlite", &mut sqlite).await;
        renewals("postgres", &mut on_postgres).await;
        renewals("mariadb", &mut on_mariadb).await;
    }
}

/// A store that counts what it is asked.
#[derive(Clone)]
struct Counted<S> {
    store: S,
    asked: Arc<AtomicU64>,
}

impl<S: Store> Store for Counted<S> {
    async fn answer(
        &mut self,
        registration: &Registration,
        query: &Query,
    ) -> Result<Answer, StoreError> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        self.store.answer(registration, query).await
    }

    fn notifications(&mut self, registration: &Registration, pause: Pause) -> Notifications {
        self.store.notifications(registration, pause)
    }
}

fn name(part: &str, step: Duration) -> String {
    format!("{part}, clock step {} h", step.as_secs() / 3600)
}

fn election<S: Store>(part: &str, step: Duration, node: &str, store: S) -> Election<S> {
    let builder = Election::builder(name(part, step)).node(node).ttl(TTL).clock_step(step);
    builder.store(store).build().unwrap()
}

fn registration(election: &str) -> Registration {
    let incarnation = Incarnation::new(Uuid::from_u128(1));
    let candidate = Candidate { id: NodeId::new("outside").unwrap(), incarnation };
    Registration { namespace: Namespace::new(election).unwrap(), candidate, label: None }
}

async fn follows(handle: &Handle) {
    handle.watch().until(|status| status.leader.as_ref().is_some_and(|who| !who.own)).await;
}

async fn crashes<S: Store + Clone + Sync>(database: &str, store: &S) {
    let [none, some] = STEPS.map(|step| crash(step, store));
    let (none, some) = tokio::join!(none, some);
    for (step, mut shares) in STEPS.into_iter().zip([none, some]) {
        shares.sort_by(f64::total_cmp);
        let (least, median) = (shares[0], shares[shares.len() / 2]);
        println!(
            "  {:32} median {median:.3}, from {least:.3} to {:.3} ({} crashes)",
            name(database, step),
            shares[shares.len() - 1],
            shares.len()
        );
    }
}

/// How many ttls after its last renewal a leader that has crashed is succeeded, sorted.
async fn crash<S: Store + Clone>(step: Duration, store: &S) -> Vec<f64> {
    let elector = |number: usize| {
        let election = election("crash", step, &number.to_string(), store.clone());
        let (handle, driver) = election.into_parts();
        (handle, tokio::spawn(driver))
    };
    let (who, mut outside) = (registration(&name("crash", step)), store.clone());
    let mut leader = elector(0);
    leader.0.elected().await.unwrap();
    let mut shares = Vec::new();
    for number in 1..=CRASHES {
        let heir = elector(number);
        follows(&heir.0).await;
        leader.1.abort();
        let Answer::Seen(row) = outside.answer(&who, &Query::Observe).await.unwrap() else {
            panic!("a row")
        };
        let seen = Instant::now();
        let age = (row.ttl + step).saturating_sub(row.remaining);
        heir.0.elected().await.unwrap();
        shares.push((seen.elapsed() + age).as_secs_f64() / TTL.as_secs_f64());
        leader = heir;
    }
    leader.0.shutdown().await;
    shares
}

async fn idles<S: Store + Clone + Sync>(database: &str, store: &S) {
    let [none, some] = STEPS.map(|step| idle(step, store));
    let (none, some) = tokio::join!(none, some);
    println!(
        "  {database:10} {none:.2} without a clock step, {some:.2} with one: {:.2}",
        some / none
    );
}

/// The questions of a follower while nothing happens, in each ttl.
async fn idle<S: Store + Clone>(step: Duration, store: &S) -> f64 {
    let leader = election("idle", step, "leader", store.clone()).start();
    leader.elected().await.unwrap();
    let asked = Arc::new(AtomicU64::new(0));
    let counted = Counted { store: store.clone(), asked: asked.clone() };
    let follower = election("idle", step, "follower", counted).start();
    follows(&follower).await;
    let before = asked.load(Ordering::Relaxed);
    tokio::time::sleep(IDLE).await;
    let during = asked.load(Ordering::Relaxed) - before;
    follower.shutdown().await;
    leader.shutdown().await;
    during as f64 * TTL.as_secs_f64() / IDLE.as_secs_f64()
}

async fn resigns<S: Store + Clone>(database: &str, store: &S) {
    for step in STEPS {
        let pair = ["a", "b"].map(|node| election("resign", step, node, store.clone()).start());
        let first = futures_lite::future::or(
            async { pair[0].elected().await.map(|_| 0).unwrap() },
            async { pair[1].elected().await.map(|_| 1).unwrap() },
        );
        let (mut leader, mut times): (usize, _) = (first.await, Vec::new());
        for _ in 0..RESIGNATIONS {
            let follower = &pair[1 - leader];
            follows(follower).await;
            let began = Instant::now();
            let (resigned, _) = tokio::join!(pair[leader].resign(), async {
                follower.elected().await.unwrap();
                times.push(began.elapsed());
            });
            resigned.unwrap();
            leader = 1 - leader;
        }
        for handle in &pair {
            handle.shutdown().await;
        }
        shown(&format!("  {}", name(database, step)), times);
    }
}

async fn renewals<S: Store>(database: &str, store: &mut S) {
    let mut leads = Vec::new();
    for step in STEPS {
        let who = registration(&name("renewals", step));
        let attempt = Query::Attempt { seen: Epoch::NONE, ttl: TTL * 60, clock_step: step };
        let Answer::Won { epoch, .. } = store.answer(&who, &attempt).await.unwrap() else {
            panic!("nobody else is there")
        };
        leads.push((who, epoch, step, Vec::new()));
    }
    for turn in 0..TURNS {
        for (who, epoch, step, rates) in &mut leads {
            let began = Instant::now();
            for nth in 1..=RENEWALS {
                let ordinal = turn as u64 * u64::from(RENEWALS) + u64::from(nth);
                let (ttl, clock_step) = (TTL * 60, *step);
                let renew = Query::Renew { epoch: *epoch, ordinal, ttl, clock_step, leads: true };
                let answer = store.answer(who, &renew).await.unwrap();
                assert!(matches!(answer, Answer::Renewed { .. }), "{answer:?}");
            }
            rates.push(f64::from(RENEWALS) / began.elapsed().as_secs_f64());
        }
    }
    let [none, some] = [0, 1].map(|mode: usize| {
        let rates = &mut leads[mode].3;
        rates.sort_by(f64::total_cmp);
        rates[TURNS / 2]
    });
    println!(
        "  {database:10} {none:.0} without a clock step, {some:.0} with one: {:.2}",
        some / none
    );
}
