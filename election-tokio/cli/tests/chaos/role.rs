//! The roles of this binary when it is started again: a job, the process that a job leaves running
//! beside it, or an elector of the library in a process of its own, which can be killed and
//! stopped.
//!
//! The test harness takes no arguments of ours, so everything comes in the environment.

mod etcd;

use crate::{
    cast::{self, clock_step, name, ttl},
    journal::{Kind, Pen},
};
use election_tokio::{Election, Handle, Lease, MySqlStore, PgStore, SqliteStore, Store, now};
use sqlx::{AssertSqlSafe, pool::PoolOptions};
use std::{
    env,
    path::PathBuf,
    process::{Command, Stdio},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::{
    signal::unix::{SignalKind, signal},
    time::{MissedTickBehavior, interval, sleep},
};

/// Which role.
pub(crate) const ROLE: &str = "CHAOS_ROLE";
/// The directory that holds the journal. It marks every process of a world.
pub(crate) const PLACE: &str = "CHAOS_PLACE";
/// The number of the elector's process.
pub(crate) const LIFE: &str = "CHAOS_LIFE";
/// What marks everything that comes from that process.
pub(crate) const MARK: &str = "CHAOS_MARK";
pub(crate) const NODE: &str = "CHAOS_NODE";
pub(crate) const URL: &str = "CHAOS_URL";
pub(crate) const TTL: &str = "CHAOS_TTL_MS";
/// In how many elections a process of the library takes part.
pub(crate) const ELECTIONS: &str = "CHAOS_ELECTIONS";

/// How often a job says that it lives, and a leader of the library where a lease lasts for a second.
const BEAT: Duration = Duration::from_millis(5);
/// How often it writes into the database.
const WRITE: Duration = Duration::from_millis(20);
/// How long a fenced transaction thinks before it writes and commits in one message: a process that
/// is stopped meanwhile sends that first when it goes on, before it looks at any clock. (On SQLite
/// no message is on its way to anybody.)
const THOUGHT: Duration = Duration::from_millis(8);
/// Servers number their rows each by itself: only the cluster's number of the transaction tells which came first.
const COMMIT_IN_TURN: &str = "; COMMIT; UPDATE work SET turn = substring_index(wsrep_last_written_gtid(), '-', -1) \
                              WHERE id = last_insert_id()";
/// How long a connection may take.
const CONNECTION: Duration = Duration::from_secs(1);

/// How many times less often leaders say something where they are many. They look as often.
const SPARSE: usize = 10;

/// The command line that starts this binary in the role that [`ROLE`] names.
pub(crate) fn command_line() -> Vec<String> {
    let exe = env::current_exe().expect("this binary");
    let exe = exe.into_os_string().into_string().expect("a path in UTF-8");
    let harness = ["role::a_role", "--exact", "--nocapture", "--test-threads=1", "--quiet"];
    [exe].into_iter().chain(harness.map(str::to_owned)).collect()
}

pub(crate) fn journal_in(place: &std::path::Path) -> PathBuf {
    place.join("journal")
}

/// In a role, the role; as a test, the test that nobody plays one by accident.
#[test]
fn a_role() {
    let Ok(role) = env::var(ROLE) else {
        assert!(env::var_os(PLACE).is_none(), "a place without a role");
        return;
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.expect("a runtime");
    match role.as_str() {
        "job" => runtime.block_on(job()),
        "child" => runtime.block_on(child()),
        "library" => runtime.block_on(library()),
        other => panic!("no role {other:?}"),
    }
    // Nothing that a runtime waits for may hold up the end.
    std::process::exit(0);
}

fn variable(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| panic!("{name} is not set"))
}

fn number(name: &str) -> u64 {
    cast::number(name).unwrap_or_else(|| panic!("{name} is not set"))
}

fn index(name: &str) -> usize {
    usize::try_from(number(name)).expect("a small number")
}

fn pen() -> Pen {
    Pen::at(&journal_in(variable(PLACE).as_ref()), index(NODE), index(LIFE))
}

fn pace(time: Duration) -> tokio::time::Interval {
    let mut pace = interval(time);
    pace.set_missed_tick_behavior(MissedTickBehavior::Delay);
    pace
}

/// What `election run` starts. It starts another process that leaves its group and its session,
/// and takes its time when it is told to end, or more than it has.
async fn job() {
    let (mut pen, epoch) = (pen(), number("ELECTION_EPOCH"));
    let mut say = |kind| pen.write(kind, epoch, now().as_nanos());
    say(Kind::Start);
    let mut told = signal(SignalKind::terminate()).expect("a signal handler");
    let line = command_line();
    let mut child = Command::new("setsid");
    child.args(&line).env(ROLE, "child").stdin(Stdio::null()).stdout(Stdio::null());
    std::mem::forget(child.spawn().expect("setsid, of the package util-linux")); // nobody waits
    let (refusals, mut refused) = tokio::sync::mpsc::unbounded_channel();
    tokio::spawn(guarded_writes(epoch, refusals));
    let mut beat = pace(BEAT);
    loop {
        tokio::select! {
            _ = beat.tick() => say(Kind::Beat),
            Some(()) = refused.recv() => say(Kind::Refused),
            _ = told.recv() => break,
        }
    }
    say(Kind::Told);
    let delay = match epoch % 4 {
        0 => Duration::ZERO,
        1 => Duration::from_millis(30),
        2 => Duration::from_millis(120),
        _ => Duration::MAX, // it does not listen
    };
    let end = sleep(delay);
    tokio::pin!(end);
    loop {
        tokio::select! {
            _ = beat.tick() => say(Kind::Beat),
            () = &mut end => break,
        }
    }
    say(Kind::End);
}

/// It ignores SIGTERM, so that nothing but its death ends it.
async fn child() {
    let (mut pen, epoch) = (pen(), number("ELECTION_EPOCH"));
    let _deaf = signal(SignalKind::terminate()).expect("a signal handler");
    let mut beat = pace(BEAT * 2);
    loop {
        beat.tick().await;
        pen.write(Kind::Child, epoch, now().as_nanos());
    }
}

/// Writes to a resource that refuses a lower epoch than it has seen, and tells of refusals.
async fn guarded_writes(epoch: u64, refusals: tokio::sync::mpsc::UnboundedSender<()>) {
    let update = format!(
        "UPDATE resource SET epoch = {epoch}, writes = writes + 1 WHERE id = 1 AND epoch <= {epoch}"
    );
    macro_rules! write {
        ($pool:ty) => {{
            let options = PoolOptions::new().max_connections(1).acquire_timeout(CONNECTION);
            let pool: $pool = options.connect_lazy(&one_of(&variable(URL))).expect("a URL");
            let mut pace = pace(WRITE);
            loop {
                pace.tick().await;
                let done = sqlx::query(AssertSqlSafe(update.clone())).execute(&pool).await;
                if done.is_ok_and(|done| done.rows_affected() == 0) {
                    let _ = refusals.send(());
                }
            }
        }};
    }
    match variable(URL).split(':').next() {
        Some("sqlite") => write!(sqlx::SqlitePool),
        Some("postgres") => write!(sqlx::PgPool),
        Some("etcd") => etcd::guarded_writes(epoch, refusals).await,
        _ => write!(sqlx::MySqlPool),
    }
}

/// An elector of the library, whose leader work says that it lives and writes under the fence. With more
/// elections than one it shares its store among them.
async fn library() {
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))
        .expect("a kernel with death signals");
    let url = variable(URL);
    macro_rules! lead {
        ($store:expr, $pool:ty, $begin:expr, $commit:expr) => {{
            let store = $store.expect("a URL");
            let handles = match index(ELECTIONS) {
                1 => vec![take_part(0, store)],
                many => {
                    let store = Election::share(store);
                    in_turn(many, |election| take_part(election, store.clone()))
                }
            };
            let options = PoolOptions::new().max_connections(1).acquire_timeout(CONNECTION);
            let pool: $pool = options.connect_lazy(&one_of(&url)).expect("a URL");
            lead_until_told(&handles, async |election, lease: &Lease| {
                let mut transaction = pool.begin_with($begin).await.ok()?;
                lease.fence(&mut transaction).await.ok()?;
                sleep(THOUGHT).await;
                let insert = format!(
                    "INSERT INTO work (election, epoch, seen) \
                     SELECT {election}, {}, epoch FROM resource WHERE id = 1{}",
                    lease.epoch(),
                    $commit
                );
                sqlx::raw_sql(AssertSqlSafe(insert)).execute(&mut *transaction).await.ok()?;
                transaction.commit().await.ok()
            })
            .await;
        }};
    }
    match url.split(':').next() {
        Some("sqlite") => {
            let path = url.trim_start_matches("sqlite:");
            lead!(SqliteStore::open(path), sqlx::SqlitePool, "BEGIN IMMEDIATE", "");
        }
        Some("postgres") => lead!(PgStore::connect(&url), sqlx::PgPool, "BEGIN", "; COMMIT"),
        Some("etcd") => etcd::library(&url).await,
        _ => {
            let commit = if url.contains(',') { COMMIT_IN_TURN } else { "; COMMIT" };
            lead!(MySqlStore::connect(&url), sqlx::MySqlPool, "BEGIN", commit);
        }
    }
}

/// The same for the application's own connections, whose client knows no lists: the first server.
fn one_of(url: &str) -> String {
    let Some((first, others)) = url.split_once(',') else { return url.to_owned() };
    format!("{first}/{}", others.rsplit('/').next().unwrap_or_default())
}

fn take_part(election: usize, store: impl Store) -> Handle {
    let elector = Election::builder(name(election)).node(format!("n{}", variable(NODE)));
    let elector = elector.ttl(ttl()).clock_step(clock_step(&variable(URL)));
    elector.store(store).build().expect("a ttl").start()
}

/// Each of three nodes begins with another third, which it then leads.
fn in_turn(many: usize, start: impl Fn(usize) -> Handle) -> Vec<Handle> {
    let first = index(NODE) * many / 3;
    let mut handles: Vec<Handle> = (0..many).map(|at| start((first + at) % many)).collect();
    handles.rotate_right(first);
    handles
}

/// Leads until SIGTERM; SIGUSR1 makes it resign.
async fn lead_until_told(handles: &[Handle], write: impl AsyncFn(usize, &Lease) -> Option<()>) {
    let mut told = signal(SignalKind::terminate()).expect("a signal handler");
    let mut asked = signal(SignalKind::user_defined1()).expect("a signal handler");
    let pen = Arc::new(Mutex::new(pen()));
    // Three that lead many write as often as one that leads one.
    let (sparse, pause) = if handles.len() > 1 { (SPARSE, WRITE * 3) } else { (1, WRITE) };
    for (election, handle) in handles.iter().enumerate() {
        tokio::spawn(tell_changes(election, handle.clone()));
        let (handle, pen) = (handle.clone(), pen.clone());
        tokio::spawn(async move {
            while let Ok(lease) = handle.elected().await {
                beats(election, &lease, &pen, sparse).await;
            }
        });
    }
    let writes = async {
        let mut pace = pace(pause);
        for turn in 0.. {
            pace.tick().await;
            let mut each = (turn..turn + handles.len()).map(|election| election % handles.len());
            let led = each.find_map(|election| Some((election, handles[election].lease()?)));
            let Some((election, lease)) = led else { continue };
            // Nothing but the fence and the hard stop holds it back.
            tokio::select! {
                biased;
                _ = write(election, &lease) => {}
                () = lease.hard_stop() => {}
            }
        }
    };
    let orders = async {
        loop {
            tokio::select! {
                _ = asked.recv() => {
                    for handle in handles {
                        let handle = handle.clone();
                        tokio::spawn(async move { handle.resign().await });
                    }
                }
                _ = told.recv() => break,
            }
        }
        handles.iter().for_each(Handle::withdraw); // together, so that they are asked together
        for handle in handles {
            handle.shutdown().await;
        }
    };
    tokio::select! {
        () = writes => {}
        () = orders => {}
    }
}

async fn tell_changes(election: usize, handle: Handle) {
    let mut changes = handle.changes();
    while let Ok(Some(change)) = changes.next().await {
        eprintln!("{} ms: {}: {change:?}", now().as_nanos() / 1_000_000, name(election));
    }
}

/// Looks often, and writes about one of so many looks; also the last one that was good.
async fn beats(election: usize, lease: &Lease, pen: &Mutex<Pen>, sparse: usize) {
    let write = |at: u64| {
        let mut pen = pen.lock().unwrap_or_else(PoisonError::into_inner);
        pen.write_of(election, Kind::Lead, lease.epoch().get(), at);
    };
    let (mut pace, mut unwritten) = (pace(ttl() / 200), None);
    for look in 0.. {
        if lease.until_lost(pace.tick()).await.is_err() {
            break;
        }
        // A process that is stopped here has read the clock before.
        let at = now().as_nanos();
        if lease.check().is_ok() {
            unwritten = Some(at);
            if look % sparse == 0 {
                unwritten.take().into_iter().for_each(&write);
            }
        }
    }
    unwritten.into_iter().for_each(write);
}
