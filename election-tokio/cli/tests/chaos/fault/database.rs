//! Faults of the database: its server, its locks, its rows and its clock.

use super::Wound;
use crate::{
    cast,
    database::Database,
    journal::{Excuse, Waives},
    plan::Hit,
    world::World,
};
use election_testing::Kind;
use election_tokio::now;
use std::time::Duration;

/// How far the clock is set ahead: many leases, but not so far that the resulting epochs stay ahead
/// of the clock for the rest of a long run.
const AHEAD: i64 = 20;

/// On MariaDB that is forgotten at every start.
const FEW_CONNECTIONS: &str = "SET GLOBAL max_connections = 40";

fn is_postgres(world: &mut World) -> bool {
    world.database.server().is_some_and(|server| server.kind() == Kind::Postgres)
}

/// Whether it is several servers, each with a clock of its own.
fn has_clocks(world: &World) -> bool {
    matches!(world.database, Database::Galera(..))
}

pub(super) fn kill(world: &mut World, _: &Hit) -> Option<Wound> {
    world.database.server()?.kill();
    Wound::until_done(is_up)
}

pub(super) fn terminate(world: &mut World, _: &Hit) -> Option<Wound> {
    world.database.server()?.terminate();
    Wound::until_done(is_up)
}

/// Starts the database's server if it has ended, and looks whether it answers. Of several, each has to write: one
/// that stood still says of itself what was true before.
pub(super) fn is_up(world: &mut World) -> bool {
    if let Database::Galera(cluster, _) = &mut world.database {
        cluster.mend();
        return (0..3).all(|at| {
            let write = format!("REPLACE INTO resource VALUES ({}, 0, 0)", at + 2);
            cluster.node(at).try_administer("election", &write).is_ok()
        });
    }
    let Some(server) = world.database.server() else { return true };
    if server.ended().is_some() {
        server.restart();
    }
    let hello = if server.kind() == Kind::Postgres { "SELECT 1" } else { FEW_CONNECTIONS };
    world.database.administer(hello).is_some()
}

pub(super) fn freeze(world: &mut World, _: &Hit) -> Option<Wound> {
    world.database.server()?.freeze();
    Wound::until_done(|world| {
        world.database.server().into_iter().for_each(|server| server.thaw());
        !has_clocks(world) || is_up(world)
    })
}

/// As `pg_terminate_backend` and `KILL` do, and administrators.
pub(super) fn end_sessions(world: &mut World, _: &Hit) -> Option<Wound> {
    end_every_session(world);
    Some(Wound::Once)
}

fn end_every_session(world: &mut World) {
    if is_postgres(world) {
        world.database.administer(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'election'",
        );
        return;
    }
    let list = "SELECT id FROM information_schema.processlist WHERE user = 'bare'";
    let ids = world.database.administer(list).unwrap_or_default();
    for id in ids.lines() {
        world.database.administer(&format!("KILL {id}")); // gone by now: as well
    }
}

pub(super) fn lock_row(world: &mut World, _: &Hit) -> Option<Wound> {
    let name = cast::name(cast::locked(world.elections));
    let row = format!("SELECT epoch FROM election_leader WHERE ns = '{name}' FOR UPDATE");
    let lock = world.database.lock(&format!("BEGIN; {row}"));
    Wound::until(move |_| drop(lock))
}

/// SQLite has one lock for all: another process writes for long.
pub(super) fn lock_writes(world: &mut World, _: &Hit) -> Option<Wound> {
    let lock = world.database.lock("BEGIN IMMEDIATE");
    Wound::until(move |_| drop(lock))
}

pub(super) fn lock_table(world: &mut World, _: &Hit) -> Option<Wound> {
    let script = match world.database.server().map(|server| server.kind()) {
        None => "BEGIN EXCLUSIVE",
        Some(Kind::Postgres) => "BEGIN; LOCK TABLE election_leader IN ACCESS EXCLUSIVE MODE",
        Some(Kind::MariaDb) => "LOCK TABLES election_leader WRITE, election_candidate WRITE",
    };
    let lock = world.database.lock(script);
    Wound::until(move |_| drop(lock))
}

/// Another client takes every connection, and those of the electors are ended.
pub(super) fn exhaust(world: &mut World, _: &Hit) -> Option<Wound> {
    world.database.administer(FEW_CONNECTIONS); // PostgreSQL does not understand it, and has its own
    let port = world.database.server()?.port();
    let hoard = Hoard::on(world.database.url(&[port]));
    end_every_session(world);
    Wound::until(move |_| drop(hoard))
}

/// Takes connections until it is dropped.
struct Hoard(Option<std::sync::mpsc::Sender<()>>, Option<std::thread::JoinHandle<()>>);

impl Hoard {
    fn on(url: String) -> Self {
        let (stop, stopped) = std::sync::mpsc::channel::<()>();
        let (full, filled) = std::sync::mpsc::channel::<()>();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.expect("a runtime").block_on(async {
                match url.starts_with("postgres") {
                    true => hoard::<sqlx::PgConnection>(&url, &full, &stopped).await,
                    false => hoard::<sqlx::MySqlConnection>(&url, &full, &stopped).await,
                }
            });
        });
        let _ = filled.recv(); // it may end without a word
        Self(Some(stop), Some(thread))
    }
}

async fn hoard<C: sqlx::Connection>(
    url: &str,
    full: &std::sync::mpsc::Sender<()>,
    stopped: &std::sync::mpsc::Receiver<()>,
) {
    use std::sync::mpsc::RecvTimeoutError;
    let mut taken = Vec::new();
    // The runtime is this thread's own, and has nothing else to do.
    let mut pause = Duration::ZERO;
    while stopped.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
        let connection = tokio::time::timeout(Duration::from_millis(500), C::connect(url)).await;
        pause = match connection {
            Ok(Ok(connection)) => {
                taken.push(connection);
                Duration::ZERO
            }
            Ok(Err(_)) | Err(_) => {
                let _ = full.send(()); // nobody waits for it any more: as well
                Duration::from_millis(10)
            }
        };
    }
}

impl Drop for Hoard {
    fn drop(&mut self) {
        drop(self.0.take());
        if let Some(thread) = self.1.take() {
            let _ = thread.join();
        }
    }
}

pub(super) fn read_only(world: &mut World, _: &Hit) -> Option<Wound> {
    let (on, off) = match world.database.server()?.kind() {
        Kind::Postgres => (
            "ALTER ROLE election SET default_transaction_read_only = on",
            "ALTER ROLE election RESET default_transaction_read_only",
        ),
        Kind::MariaDb => ("SET GLOBAL read_only = 1", "SET GLOBAL read_only = 0"),
    };
    world.database.administer(on);
    end_every_session(world);
    Wound::until_done(move |world| {
        let healed = world.database.administer(off).is_some();
        if healed && is_postgres(world) {
            end_every_session(world); // a session keeps what it has begun with
        }
        healed
    })
}

/// And back again: the leases that were taken meanwhile seem to last for long then.
pub(super) fn clock_forward(world: &mut World, _: &Hit) -> Option<Wound> {
    step_forward(world, AHEAD);
    world.ahead_until = u64::MAX;
    Wound::until(|world| step_back(world, 0))
}

/// The other way round. Leases that ran seem to last for long; at the end, all are over at once.
pub(super) fn clock_back(world: &mut World, _: &Hit) -> Option<Wound> {
    step_back(world, -AHEAD);
    Wound::until(|world| step_forward(world, 0))
}

fn step_forward(world: &mut World, to: i64) {
    let from = now().as_nanos();
    if !has_clocks(world) {
        world.excuse(Waives::Exclusion, from, from + lease());
    }
    world.database.set_clock(to);
}

fn step_back(world: &mut World, to: i64) {
    world.database.set_clock(to);
    world.ahead_until = now().as_nanos() + AHEAD.unsigned_abs() * 1_000_000_000;
}

/// The database begins to forget what it has committed. This lasts until it is [over](forgot), or
/// for a lease.
pub(super) fn forgets(world: &mut World) -> u64 {
    forgets_since(world, now().as_nanos())
}

/// The same, where it shows only afterwards.
pub(super) fn forgets_since(world: &mut World, from: u64) -> u64 {
    world.excuse(Waives::Exclusion, from, from + lease());
    let mut until = world.ahead_until;
    if has_clocks(world) {
        until = until.min(from + AHEAD.unsigned_abs() * 1_000_000_000); // other clocks are right
    }
    if until > from && until < u64::MAX {
        world.excuse(Waives::Order, from, until);
    }
    from
}

/// What was forgotten since then is known to everybody within a lease from now.
pub(super) fn forgot(world: &mut World, from: u64) {
    let until = now().as_nanos() + lease();
    let own = |excuse: &&mut Excuse| excuse.waives == Waives::Exclusion && excuse.from == from;
    world.history.excuses.iter_mut().filter(own).for_each(|excuse| excuse.to = until);
}

fn lease() -> u64 {
    u64::try_from(cast::ttl().as_nanos()).unwrap_or(u64::MAX)
}

pub(super) fn delete_rows(world: &mut World, _: &Hit) -> Option<Wound> {
    let from = forgets(world);
    if world.database.server().is_some_and(|server| server.kind() == Kind::MariaDb) {
        world.database.administer("DELETE FROM election_fence");
    }
    world.database.administer("DELETE FROM election_leader");
    forgot(world, from);
    Some(Wound::Once)
}
