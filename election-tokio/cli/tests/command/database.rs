//! Databases that go away or do not answer.

use super::{
    process::{self, eventually, gone},
    world::World,
};
use election_testing::{Kind, LinkState, Proxy, Server};
use rusqlite::Connection;
use std::{fs, time::Duration};

/// Another process in the middle of a write transaction, which ends with this: this one.
pub(crate) struct Writer(Connection);

impl Writer {
    /// Takes the database's write lock, unless somebody else has it for long.
    pub(crate) fn begin(world: &World) -> Option<Self> {
        let connection = Connection::open(world.database()).expect("a database");
        connection.busy_timeout(Duration::from_millis(300)).expect("a bound");
        connection.execute_batch("BEGIN IMMEDIATE").ok().map(|()| Self(connection))
    }

    /// Takes a lock under which nobody can even read. For that the database, which must be there,
    /// gets a journal of the older kind.
    pub(crate) fn exclude(world: &World) -> Self {
        let connection = Connection::open(world.database()).expect("a database");
        let lock = "PRAGMA journal_mode = DELETE; BEGIN EXCLUSIVE";
        connection.execute_batch(lock).expect("the lock");
        Self(connection)
    }
}

/// Stops an elector, though not while it writes: that would block everybody, as is documented.
#[track_caller]
pub(crate) fn freeze(world: &World, pid: i32) {
    let writer = eventually("the write lock", || Writer::begin(world));
    process::freeze(pid);
    drop(writer);
}

/// The leader cannot renew: its job is stopped in time, and the next one starts when the lock is
/// gone.
#[test]
fn a_write_lock_that_outlasts_the_lease_stops_the_job_in_time() {
    let world = World::new();
    let options = ["--ttl", "2s"];
    let first = world.candidate("first", &options, "ignore-term");
    let job = world.start_after(0);
    let _second = world.candidate("second", &options, "ignore-term");
    world.listed(2);
    let writer = Writer::begin(&world).expect("the write lock");
    let row = world.row();
    let free = election_tokio::now() + row.remaining;
    gone("the job", job.pid);
    assert!(election_tokio::now() < free, "the job outlived the lease");
    assert_eq!(world.notes("term").len(), 1, "it was not told first");
    first.says("another process is writing");
    first.says("did not stop in time");
    drop(writer);
    world.start_after(job.epoch);
    world.assert_exclusive();
}

#[test]
fn a_database_that_is_removed_ends_leadership_until_it_is_back() {
    let world = World::new();
    let options = ["--ttl", "2s", "--quiet"];
    let first = world.candidate("first", &options, "ignore-term");
    let job = world.start_after(0);
    let second = world.candidate("second", &options, "ignore-term");
    world.listed(2);
    let directory = world.database().parent().expect("a directory").to_owned();
    let away = world.path().join("away");
    fs::rename(&directory, &away).expect("a directory of our own");
    let free = election_tokio::now() + Duration::from_secs(2);
    gone("the job", job.pid);
    assert!(election_tokio::now() < free, "the job outlived its lease");
    for each in [&first, &second] {
        each.says("its directory was moved or removed while in use");
    }
    assert_eq!(world.notes("start").len(), 1, "somebody leads without a database");
    fs::rename(&away, &directory).expect("a directory of our own");
    world.start_after(job.epoch);
    // Of an outage the quiet tell the end, too.
    for each in [&first, &second] {
        each.says("the database answers again");
        assert!(!each.messages().contains("INFO elected"), "{}", each.messages());
    }
    world.assert_exclusive();
}

/// A user who can read the database can hold a lock that costs the lease. A database that the
/// command creates belongs to its owner alone.
#[test]
fn a_file_that_everybody_can_open_is_warned_of_once() {
    use std::os::unix::fs::PermissionsExt as _;
    let world = World::new();
    let rights = |path: &std::path::Path, mode| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("a file of our own");
    };
    world.url();
    rights(world.path(), 0o755);
    let warnings = || {
        let output = world.output(&mut world.election("run", &["--", "true"]));
        assert!(output.status.success(), "{output:?}");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        said.matches("everybody on this machine can open").count()
    };
    assert_eq!(warnings(), 0, "made just now");
    rights(&world.database(), 0o644);
    assert_eq!(warnings(), 1);
    for look in [&["status"][..], &["list"], &["check"], &["check", "-q"], &["resign"]] {
        let output = world.output(&mut world.election(look[0], &look[1..]));
        assert!(output.stderr.is_empty(), "who only looks can lose no lease: {output:?}");
    }
    rights(&world.database(), 0o602);
    assert_eq!(warnings(), 1, "who can only write can hold a lock, too");
    rights(world.path(), 0o700);
    assert_eq!(warnings(), 0, "nobody else gets there");
}

/// A process that opens a database without its log, while another still writes into that log, opens
/// another database. A process that had it open notices at its next look, and saves the contents of
/// the log by closing it.
#[test]
fn a_leader_notices_that_the_log_was_taken_away() {
    let world = World::new();
    let options = ["--ttl", "3s"];
    let first = world.candidate("first", &options, "");
    world.start_after(0);
    for suffix in ["-wal", "-shm"] {
        let mut name = world.database().into_os_string();
        name.push(suffix);
        fs::remove_file(name).expect("a log beside the database");
    }
    first.says("removed or replaced");
    let second = world.candidate("second", &options, "");
    second.says("following leader=first");
    world.assert_exclusive();
}

/// A leadership that ends without warning has no grace: the job is killed at once. That is not the
/// job's own end, and the elector goes on.
#[test]
fn a_row_that_is_lost_costs_the_job_and_not_the_elector() {
    let world = World::new();
    let mut only = world.candidate("only", &["--ttl", "3s"], "wait");
    let job = world.start_after(0);
    let writer = Writer::begin(&world).expect("the write lock");
    writer.0.execute_batch("DELETE FROM election_leader; COMMIT").expect("the lock");
    gone("the job", job.pid);
    let next = world.start_after(job.epoch);
    assert_eq!(next.elector, only.pid());
    assert!(only.is_running(), "the elector has ended with the job");
    only.says("reason=replaced");
    world.assert_exclusive();
}

/// It is the calls of an elector that have a tenth of `--ttl`, not the first connection.
#[test]
fn a_trial_uses_a_connection_that_was_slow_to_open() {
    let (world, server) = (World::new(), Server::start(Kind::Postgres));
    let link = Proxy::to(server.port());
    let slow = LinkState::Slow(Duration::from_millis(20));
    link.set(slow, slow);
    let url = server.url().replace(&server.port().to_string(), &link.port().to_string());
    let run =
        world.bare(&["run", "--store", &url, "--ttl", "2s", "--name", "test", "--try", "true"]);
    assert_eq!(world.start(run).exit(), Some(0));
}
