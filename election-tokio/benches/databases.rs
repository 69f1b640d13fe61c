//! The cost of elections on real databases, beside the cost of the databases themselves.
//!
//! `cargo bench -p election-tokio --bench databases --features etcd,mysql,postgres,sqlite,tls` starts
//! throw-away servers (with default settings, except for `fsync=off` where the table says so) and
//! prints one table. It is not a criterion benchmark: it measures counts, ratios to a floor from
//! the same run, and the tail of latencies. `-- renewals` and the like run one part alone:
//! statements, renewals, resign or etcd. (Crashes are in the bench `modes`.)
#![allow(clippy::unwrap_used)]

use election_driver::core::{
    Candidate, Incarnation, Namespace, NodeId,
    lease::{Answer, ConfigBuilder, Query, Registration},
};
use election_testing::{Etcd, Kind, Server};
use election_tokio::{
    Election, EtcdRegister, MySqlStore, PgStore, RegisterStore, SqliteStore, Store,
};
use sqlx::{Connection as _, Executor as _, postgres::PgListener};
use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    time::{Duration, Instant},
};
use tokio::sync::mpsc;
use uuid::Uuid;

const TTL: Duration = Duration::from_secs(15);
/// The pause before each handover: nobody is busy with the previous one any more, and wake-ups, which
/// take effect every 100 ms at most, are not held back by it.
const PAUSE: Duration = Duration::from_millis(150);

macro_rules! renewals {
    ($connection:ty, $url:expr, $name:expr, $store:expr) => {{
        let mut bare = <$connection>::connect($url).await.unwrap();
        bare.execute("CREATE TABLE IF NOT EXISTS bare (id BIGINT PRIMARY KEY, n BIGINT)")
            .await
            .unwrap();
        bare.execute("DELETE FROM bare").await.unwrap();
        bare.execute("INSERT INTO bare VALUES (1, 0)").await.unwrap();
        let update = async || {
            sqlx::query("UPDATE bare SET n = n + 1 WHERE id = 1").execute(&mut bare).await.unwrap();
        };
        renewals($name, $store, 300, update).await;
    }};
}

/// Renewals on one connection, beside the least that the database can be asked.
async fn renewals<S: Store>(name: &str, store: &mut S, times: u16, mut bare: impl AsyncFnMut()) {
    let who = registration(name, 2);
    let (seen, clock_step) = (election_driver::core::Epoch::NONE, Duration::ZERO);
    let attempt = Query::Attempt { seen, ttl: TTL, clock_step };
    let Answer::Won { epoch, .. } = store.answer(&who, &attempt).await.unwrap() else {
        panic!("nobody else is there")
    };
    let (mut ours, mut theirs, mut ordinal) = (Vec::new(), Vec::new(), 0);
    for _ in 0..15 {
        let began = Instant::now();
        for _ in 0..times {
            bare().await;
        }
        theirs.push(f64::from(times) / began.elapsed().as_secs_f64());
        let began = Instant::now();
        for _ in 0..times {
            ordinal += 1;
            let renew = Query::Renew { epoch, ordinal, ttl: TTL, clock_step, leads: true };
            let answer = store.answer(&who, &renew).await.unwrap();
            assert!(matches!(answer, Answer::Renewed { .. }), "{answer:?}");
        }
        ours.push(f64::from(times) / began.elapsed().as_secs_f64());
    }
    let mut ratios = ours.iter().zip(&theirs).map(|(a, b)| a / b).collect::<Vec<_>>();
    let median = |figures: &mut Vec<f64>| {
        figures.sort_by(f64::total_cmp);
        figures[figures.len() / 2]
    };
    let (ratio, ours, theirs) = (median(&mut ratios), median(&mut ours), median(&mut theirs));
    println!("  {name:20} {ours:8.0}/s beside {theirs:8.0}/s: {ratio:.2}");
}

/// One put after the other at etcd's JSON gateway, on one connection.
struct Puts(BufReader<TcpStream>);

impl Puts {
    fn to(etcd: &Etcd) -> Self {
        let host = etcd.hosts_from(0).split(',').next().unwrap().to_owned();
        let stream = TcpStream::connect(host).unwrap();
        stream.set_nodelay(true).unwrap();
        Self(BufReader::new(stream))
    }

    fn put(&mut self) {
        let body = r#"{"key":"YmFyZQ==","value":"YmFyZQ=="}"#;
        let length = body.len();
        let head = "POST /v3/kv/put HTTP/1.1\r\nhost: etcd\r\ncontent-length:";
        let request = format!("{head} {length}\r\n\r\n{body}");
        self.0.get_mut().write_all(request.as_bytes()).unwrap();
        let (mut line, mut length) = (String::new(), 0);
        while line != "\r\n" {
            line.clear();
            self.0.read_line(&mut line).unwrap();
            if let Some(said) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = said.trim().parse().unwrap();
            }
        }
        self.0.read_exact(&mut vec![0; length]).unwrap();
    }
}

fn main() {
    tokio::runtime::Runtime::new().unwrap().block_on(all());
}

async fn all() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("e.db");
    let (postgres, mariadb) = (Server::start(Kind::Postgres), Server::start(Kind::MariaDb));
    let durable = durable();
    let mut sqlite = SqliteStore::open(&file).unwrap();
    let mut on_postgres = PgStore::connect(&postgres.url()).unwrap();
    let mut on_durable = PgStore::connect(&durable.url()).unwrap();
    let mut on_mariadb = MySqlStore::connect(&mariadb.url()).unwrap();
    sqlite.ensure_schema().await.unwrap();
    on_postgres.ensure_schema().await.unwrap();
    on_durable.ensure_schema().await.unwrap();
    on_mariadb.ensure_schema().await.unwrap();

    let parts: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let asked = |part: &str| parts.is_empty() || parts.iter().any(|word| word == part);

    if asked("statements") {
        println!("statements, counted on the server (and per election of three queries):");
        println!("  postgres  {}", counted(&on_postgres, || transactions(&postgres)).await);
        println!("  mariadb   {}", counted(&on_mariadb, || executions(&mariadb)).await);
    }
    if asked("renewals") {
        println!("renewals one by one on one connection, beside a bare single-row UPDATE:");
        let url = format!("sqlite:{}", file.display());
        renewals!(sqlx::SqliteConnection, &url, "sqlite", &mut sqlite);
        // Without the disk's time, the rest is the processor's, on both sides.
        renewals!(sqlx::PgConnection, &postgres.url(), "postgres, fsync=off", &mut on_postgres);
        renewals!(sqlx::PgConnection, &durable.url(), "postgres", &mut on_durable);
        renewals!(sqlx::MySqlConnection, &mariadb.url(), "mariadb", &mut on_mariadb);
    }
    if asked("resign") {
        println!("resign to new leader, PostgreSQL with fsync=off:");
        let floor = notified(&postgres).await;
        println!("  floor: a notification and a statement  {}", distribution(floor));
        handovers(&on_postgres).await;
        println!("the same on SQLite, where a watch on the file wakes the follower:");
        handovers(&sqlite).await;
    }
    if asked("etcd") {
        let etcd = Etcd::start();
        etcd.wait_until_led();
        println!("renewals on three members of etcd, beside a bare put at the same gateway:");
        let mut on_etcd = RegisterStore::new(EtcdRegister::connect(&etcd.url()).unwrap());
        let mut puts = Puts::to(&etcd);
        renewals("etcd", &mut on_etcd, 50, async || puts.put()).await;
        println!("resign to new leader, where a watch on the key wakes the follower:");
        handovers(&on_etcd).await;
    }
}

async fn handovers<S: Store + Clone>(store: &S) {
    // The node that resigned learns at its next poll whom to follow; only then is its turn again.
    let short = Duration::from_millis(300);
    for (ttl, jitter, rounds) in
        [(short, Some(Duration::ZERO), 100), (short, None, 100), (TTL, None, 6)]
    {
        let (jitter, times) = handed_over(store, ttl, jitter, rounds).await;
        println!("  ttl {ttl:?}, wake jitter {jitter:?}  {}", distribution(times));
    }
}

fn registration(election: &str, number: u128) -> Registration {
    let incarnation = Incarnation::new(Uuid::from_u128(number));
    let candidate = Candidate { id: NodeId::new("bench").unwrap(), incarnation };
    Registration { namespace: Namespace::new(election).unwrap(), candidate, label: None }
}

fn distribution(mut times: Vec<Duration>) -> String {
    times.sort();
    let at = |percent: usize| times[(times.len() - 1) * percent / 100];
    format!("p50 {:?}, p99 {:?}, worst {:?} of {}", at(50), at(99), at(100), times.len())
}

/// The cost of a won attempt, a renewal and a resignation, a hundred of each.
async fn counted<S: Store + Clone>(store: &S, count: impl Fn() -> u64) -> String {
    const TIMES: u64 = 100;
    let who = registration("counted", 1);
    let mut costs = Vec::new();
    for rounds in [0, TIMES] {
        let mut own = store.clone();
        own.answer(&who, &Query::Observe).await.unwrap(); // connects
        let before = count();
        for _ in 0..rounds {
            let attempt = Query::Attempt {
                seen: election_driver::core::Epoch::NONE,
                ttl: TTL,
                clock_step: Duration::ZERO,
            };
            let Answer::Won { epoch, .. } = own.answer(&who, &attempt).await.unwrap() else {
                panic!("nobody else is there")
            };
            let renew = Query::Renew {
                epoch,
                ordinal: 1,
                ttl: TTL,
                clock_step: Duration::ZERO,
                leads: true,
            };
            own.answer(&who, &renew).await.unwrap();
            own.answer(&who, &Query::Resign { epoch }).await.unwrap();
        }
        drop(own);
        let mut after = count();
        while {
            tokio::time::sleep(Duration::from_millis(1_100)).await;
            count() != after
        } {
            after = count();
        }
        costs.push(after - before);
    }
    // Both figures include the counting itself.
    let each = (costs[1].saturating_sub(costs[0])) as f64 / TIMES as f64;
    format!("{each:.2} for attempt, renewal and resignation")
}

fn transactions(server: &Server) -> u64 {
    let sum = "SELECT xact_commit FROM pg_stat_database WHERE datname = 'election'";
    server.administer("postgres", sum).parse().unwrap()
}

fn executions(server: &Server) -> u64 {
    let status = server.administer("mysql", "SHOW GLOBAL STATUS LIKE 'Com_stmt_execute'");
    status.split_whitespace().last().unwrap().parse().unwrap()
}

/// A server that writes every commit to the disk.
fn durable() -> Server {
    let postgres = Server::start(Kind::Postgres);
    postgres.administer("election", "ALTER SYSTEM SET fsync = on");
    postgres.administer("election", "SELECT pg_reload_conf()");
    while postgres.administer("election", "SHOW fsync").trim() != "on" {}
    postgres
}

/// The least time that a handover by notification can take: the waiting task gets a notification of
/// an UPDATE and runs a statement of its own. Another task signals and is signalled, as with
/// electors: the cost of waking a thread is in both figures.
async fn notified(server: &Server) -> Vec<Duration> {
    let mut listener = PgListener::connect(&server.url()).await.unwrap();
    listener.listen("floor").await.unwrap();
    let mut one = sqlx::PgConnection::connect(&server.url()).await.unwrap();
    one.execute("CREATE TABLE IF NOT EXISTS bare (id BIGINT PRIMARY KEY, n BIGINT)").await.unwrap();
    one.execute("INSERT INTO bare VALUES (1, 0) ON CONFLICT DO NOTHING").await.unwrap();
    let mut other = sqlx::PgConnection::connect(&server.url()).await.unwrap();
    let (release, mut released) = mpsc::unbounded_channel();
    let (take, mut taken) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        while released.recv().await.is_some() {
            let notify = "WITH done AS (UPDATE bare SET n = n + 1 RETURNING n) \
                          SELECT pg_notify('floor', n::text) FROM done";
            one.execute(sqlx::query(notify)).await.unwrap();
        }
    });
    tokio::spawn(async move {
        while listener.recv().await.is_ok() {
            other.execute(sqlx::query("UPDATE bare SET n = n + 1")).await.unwrap();
            if take.send(()).is_err() {
                break;
            }
        }
    });
    let mut times = Vec::new();
    for _ in 0..300 {
        tokio::time::sleep(PAUSE).await;
        let began = Instant::now();
        release.send(()).unwrap();
        taken.recv().await.unwrap();
        times.push(began.elapsed());
    }
    times
}

async fn handed_over<S: Store + Clone>(
    store: &S,
    ttl: Duration,
    jitter: Option<Duration>,
    rounds: usize,
) -> (Duration, Vec<Duration>) {
    let election = |node: &str| {
        let builder = Election::builder(format!("handed over {ttl:?} {jitter:?}")).node(node);
        let timed = |config: ConfigBuilder| match jitter {
            Some(jitter) => config.ttl(ttl).wake_jitter(jitter),
            None => config.ttl(ttl),
        };
        builder.config(timed).store(store.clone()).build().unwrap()
    };
    let pair = [election("a"), election("b")];
    let jitter = pair[0].config().wake_jitter();
    let pair = pair.map(Election::start);
    let mut leader = usize::from(
        !futures_lite::future::or(
            async { pair[0].elected().await.map(|_| true).unwrap() },
            async { pair[1].elected().await.map(|_| false).unwrap() },
        )
        .await,
    );
    let mut times = Vec::new();
    while times.len() < rounds {
        let follower = &pair[1 - leader];
        follower.watch().until(|status| status.leader.as_ref().is_some_and(|who| !who.own)).await;
        tokio::time::sleep(PAUSE).await;
        let began = Instant::now();
        let taken = async {
            follower.elected().await.unwrap();
            Some(began.elapsed())
        };
        // If the follower was held up for a whole ttl, it is not on the list, and nobody else is there.
        let kept = async {
            pair[leader].resign().await.unwrap();
            pair[leader].elected().await.unwrap();
            None
        };
        if let Some(time) = futures_lite::future::or(taken, kept).await {
            times.push(time);
            leader = 1 - leader;
        }
    }
    for handle in &pair {
        handle.shutdown().await;
    }
    (jitter, times)
}
