//! Guards and jobs that take longer to start than a lease lasts.
//!
//! What makes a start slow here is the dynamic loader: it looks for the C library in a directory
//! of the test's, finds a pipe of that name, and waits for somebody to write. It reads a library
//! for another kind of machine from it, and looks elsewhere.

use super::{
    process::{alive, children, eventually, plays, send},
    world::{Candidate, World},
};
use rustix::{
    fs::{CWD, FileType, Mode, mknodat},
    process::Signal,
};
use std::{
    fs::{self, OpenOptions},
    io::Write as _,
    path::PathBuf,
};

const TTL: [&str; 2] = ["--ttl", "2s"];

struct SlowStarts(PathBuf);

impl SlowStarts {
    /// A directory for the loader to look into. Nothing is slow yet.
    fn in_place_of(world: &World) -> Self {
        let directory = world.path().join("lib");
        fs::create_dir_all(&directory).expect("a directory of our own");
        Self(directory)
    }

    fn pipe(&self) -> PathBuf {
        self.0.join("libc.so.6")
    }

    /// From now on nothing starts that looks there.
    fn begin(&self) {
        let mode = Mode::RUSR | Mode::WUSR;
        mknodat(CWD, self.pipe(), FileType::Fifo, mode, 0).expect("a pipe of our own");
    }

    /// Lets the one go on that waits.
    fn pass_one(&self) {
        let mut header = [0; 64];
        header[..7].copy_from_slice(b"\x7fELF\x01\x01\x01"); // 32 bits, which this is not
        let pipe = OpenOptions::new().write(true).open(self.pipe());
        pipe.and_then(|mut pipe| pipe.write_all(&header)).expect("somebody who waits");
    }

    fn end(&self) {
        fs::remove_file(self.pipe()).expect("a pipe of our own");
    }
}

/// A process that has not come to read its own command line has the one it was started with.
#[track_caller]
fn child_of(parent: i32, role: &str) -> i32 {
    eventually(&format!("a {role}"), || children(parent).into_iter().find(|pid| plays(*pid, role)))
}

/// Waits for as many renewals as fit into a lease and a half.
#[track_caller]
fn outlast_the_lease(world: &World, leader: &mut Candidate, epoch: u64) {
    let renewals = world.row().renewals;
    eventually("renewals for a lease and a half", || {
        assert!(leader.is_running(), "it has ended: {}", leader.messages());
        let row = world.row();
        assert_eq!(row.epoch.get(), epoch, "leadership was lost: {}", leader.messages());
        (row.renewals >= renewals + 5).then_some(())
    });
}

/// A candidate that takes over from another once everything that it starts is slow.
fn elected_when_slow(world: &World, slow: &SlowStarts, options: &[&str], job: &str) -> Candidate {
    let mut first = world.candidate("first", &["--ttl", "60s"], "");
    world.start_after(0);
    let mut run = world.run(&[&["--node", "second"][..], &TTL, options].concat(), job);
    let second = world.start({
        run.env("LD_LIBRARY_PATH", &slow.0);
        run
    });
    world.listed(2);
    slow.begin();
    first.send(Signal::TERM);
    assert_eq!(first.exit(), Some(0));
    second
}

#[test]
fn a_leader_whose_job_starts_slowly_goes_on_leading() {
    let world = World::new();
    let slow = SlowStarts::in_place_of(&world);
    let mut second = elected_when_slow(&world, &slow, &[], "code=5");
    let guard = child_of(second.pid(), "__guard");
    let epoch = world.row().epoch.get();
    outlast_the_lease(&world, &mut second, epoch);
    slow.pass_one();
    let exec = child_of(guard, "__exec");
    outlast_the_lease(&world, &mut second, epoch);
    slow.pass_one();
    // The job is a program with a loader of its own.
    eventually("the job in the place of what was to become it", || {
        (alive(exec) && !plays(exec, "__exec")).then_some(())
    });
    outlast_the_lease(&world, &mut second, epoch);
    assert_eq!(world.notes("start").len(), 1, "it was not slow");
    slow.pass_one();
    let job = world.start_after(world.first("start").epoch);
    assert_eq!((job.pid, job.epoch), (exec, epoch));
    slow.end();
    second.send(Signal::TERM);
    assert_eq!(second.exit(), Some(5), "{}", second.messages());
    let said = second.messages();
    for wrong in ["killed", "leadership lost", "guard"] {
        assert!(!said.contains(wrong), "{said}");
    }
    world.assert_exclusive();
}

/// Killing the process that is still to become the job ends the job, and nobody else is blamed.
#[test]
fn a_job_killed_while_it_starts_reports_that_signal() {
    let world = World::new();
    let slow = SlowStarts::in_place_of(&world);
    let mut second = elected_when_slow(&world, &slow, &[], "");
    let guard = child_of(second.pid(), "__guard");
    slow.pass_one();
    let exec = child_of(guard, "__exec");
    send(exec, Signal::KILL);
    assert_eq!(second.exit(), Some(128 + 9));
    slow.end();
    second.says("the job has ended");
    assert!(!second.messages().contains("in time"), "{}", second.messages());
    assert!(world.row().live_holder().is_none(), "the lease was not released");
}

/// The guard is late, and the lease is over: nothing starts, and it is leadership that was lost.
#[test]
fn a_guard_that_starts_after_the_lease_starts_nothing() {
    let world = World::new();
    let slow = SlowStarts::in_place_of(&world);
    let mut second = elected_when_slow(&world, &slow, &["--on-lost", "stop"], "");
    child_of(second.pid(), "__guard");
    let writer = eventually("the write lock", || super::database::Writer::begin(&world));
    second.says("leadership lost");
    assert_eq!(second.exit(), Some(120), "{}", second.messages());
    drop(writer);
    slow.end();
    assert_eq!(world.notes("start").len(), 1);
}
