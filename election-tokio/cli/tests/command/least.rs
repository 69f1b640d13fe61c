//! A timer fires on many machines, and one of them runs the job.

use super::{
    control::parsed,
    process::eventually,
    world::{Candidate, World, block_on},
};
use election_testing::{Kind, Server};
use election_tokio::{PgStore, core::Namespace};
use rustix::process::Signal;
use std::{fs, time::Duration};

const LEAST: u64 = 4_000;
const ONCE: [&str; 5] = ["--ttl", "2s", "--try", "--at-least-for", "4s"];

/// The epoch of a later job. Epochs are at least the milliseconds of the database's clock.
#[track_caller]
fn next(world: &World, epoch: u64) -> u64 {
    let next = world.start_after(epoch).epoch;
    assert!(next >= epoch + LEAST, "{} ms later", next - epoch);
    next
}

#[test]
fn one_runs_and_nobody_who_comes_while_the_lease_lasts() {
    let world = World::new();
    let tries = |node: &str| world.candidate(node, &ONCE, "exit=0");
    let all: Vec<Candidate> = (0..4).map(|n| tries(&format!("n{n}"))).collect();
    let mut codes: Vec<_> = all.into_iter().map(|mut each| each.exit()).collect();
    codes.sort_unstable();
    assert_eq!(codes, [Some(0), Some(124), Some(124), Some(124)]);
    let epoch = world.start_after(0).epoch;
    let mut late = tries("late");
    assert_eq!(late.exit(), Some(124), "{}", late.messages());
    late.says("somebody else leads");
    assert_eq!(world.notes("start").len(), 1);
    // Who waits gets its turn when the lease is over.
    let mut waits = world.candidate("waits", &["--ttl", "2s"], "exit=0");
    assert_eq!(waits.exit(), Some(0));
    next(&world, epoch);
    world.assert_exclusive();
}

/// Nothing has run, and on another machine it might be able to.
#[test]
fn a_job_that_could_not_be_started_keeps_nobody_out() {
    let world = World::new();
    let options = ["--ttl", "60s", "--try", "--at-least-for", "10m", "--"];
    for (job, code) in [("no-such-program", 127), ("/tmp", 126)] {
        let output = world.output(&mut world.election("run", &[&options[..], &[job]].concat()));
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{said}");
        assert!(said.contains("the job was never started, so the lease is given back"), "{said}");
        assert!(world.row().live_holder().is_none(), "{said}");
    }
    // A job that has run may exit with the same code.
    let run = [&options[..], &["sh", "-c", "exit 127"]].concat();
    let output = world.output(&mut world.election("run", &run));
    assert_eq!(output.status.code(), Some(127), "{output:?}");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("event=release_deferred") && !said.contains("never started"), "{said}");
    assert!(world.row().live_holder().is_some(), "{said}");
}

/// Who looks for the process would look in vain, and who asks it to resign asks nobody.
#[test]
fn that_a_lease_is_kept_for_nobody_is_said() {
    let world = World::new();
    let options = ["--ttl", "60s", "--at-least-for", "50s"];
    let look = |command: &str| {
        let output = world.output(&mut world.election(command, &[]));
        // That it was asked changes nothing.
        let code = if command == "resign" { 1 } else { 0 };
        assert_eq!(output.status.code(), Some(code), "{output:?}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let runs = world.candidate("first", &options, "");
    world.start_after(0);
    world.listed(1);
    assert!(!look("status").contains("may have ended"), "{}", look("status"));
    runs.send(Signal::TERM);
    runs.says("event=release_deferred");
    world.listed(0);
    let words = ["s more", "not on the list of candidates", "may have ended", "--at-least-for"];
    for command in ["status", "resign"] {
        let said = look(command);
        assert!(said.contains("first") && words.iter().all(|each| said.contains(each)), "{said}");
    }
    assert_eq!(world.notes("start").len(), 1);
}

/// A ttl may be longer. Who comes to the next turn of a timer must not find the lease taken still.
#[test]
fn a_lease_that_its_holder_leaves_in_time_lasts_no_longer() {
    let world = World::new();
    let options = ["--ttl", "60s", "--at-least-for", "4s"];
    let mut first = world.candidate("first", &options, "exit=0");
    assert_eq!(first.exit(), Some(0));
    first.says("event=release_deferred");
    let epoch = world.start_after(0).epoch;
    let left = world.row().clamped_remaining();
    assert!(left <= Duration::from_millis(LEAST), "{left:?}");
    let mut second = world.candidate("second", &options, "exit=0");
    assert_eq!(second.exit(), Some(0));
    next(&world, epoch);
}

#[test]
fn the_log_says_for_how_long_the_lease_lasts() {
    let world = World::new();
    let options = ["--ttl", "600s", "--at-least-for", "300s", "--json"];
    let mut first = world.candidate("first", &options, "exit=0");
    assert_eq!(first.exit(), Some(0));
    let lines = parsed(&first.messages());
    let lasts = lines.iter().find(|line| line["event"] == "release_deferred").expect("the line");
    let left = lasts["lasts_ms"].as_u64().expect("a number");
    assert!((100_000..=300_000).contains(&left), "{lasts}");
}

#[test]
fn the_lease_lasts_after_a_crash_and_after_a_request_to_resign() {
    let world = World::new();
    let mut first = world.candidate("first", &ONCE, "");
    let killed = world.start_after(0).epoch;
    first.kill();
    let options = ["--ttl", "2s", "--at-least-for", "4s"];
    let second = world.candidate("second", &options, "");
    let asked = next(&world, killed);
    let resigned = world.output(&mut world.election("resign", &[]));
    assert!(resigned.status.success(), "{resigned:?}");
    second.says("event=release_deferred");
    assert_eq!(world.notes("stop").len(), 1, "{}", second.messages());
    let _third = world.candidate("third", &options, "");
    next(&world, asked);
    drop(second);
    world.assert_exclusive();
}

/// ShedLock#231: hosts whose clocks differ. A job that ends sooner than they differ ran twice.
#[test]
fn it_does_not_matter_how_far_the_machines_clocks_differ() {
    let server = Server::start(Kind::Postgres);
    let store = || PgStore::connect(&server.url()).expect("a URL");
    block_on(store().ensure_schema()).expect("a writable database");
    let world = World::new();
    let tries = |seconds: &str| {
        let clock = world.path().join(format!("clock{seconds}"));
        fs::write(&clock, seconds).expect("a directory of our own");
        let mut command = world.bare(&["run", "--store", &server.url(), "--name", "test"]);
        // A slow machine has a second to connect.
        command.args(["--ttl", "8s", "--try", "--at-least-for", "8s", "--", "true"]);
        command.envs(Server::clock_environment(&clock));
        world.start(command).exit()
    };
    assert_eq!(tries("+0"), Some(0));
    assert_eq!(["+3", "-3", "+3600"].map(tries), [Some(124); 3]);
    let name = Namespace::new("test").expect("a name");
    eventually("the end of the lease", || {
        let row = block_on(store().leader(&name)).expect("a database that answers");
        row.live_term().is_none().then_some(())
    });
    assert_eq!(tries("-3600"), Some(0));
}
