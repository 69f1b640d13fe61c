//! The elector as process 1 of its PID namespace, as in a container that has no other init.

use super::{
    job,
    process::{alive, children, eventually, every_pid, send},
    tree::unshared,
    world::{Candidate, World},
};
use rustix::process::Signal;
use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
};

const NAMESPACES: [&str; 4] = ["--pid", "--fork", "--mount-proc", "--kill-child"];

/// The command as process 1, and the number of that process out here.
fn first(world: &World, command: &Command) -> (Candidate, i32) {
    let outer = world.start(unshared(world, &NAMESPACES, command));
    let inner = eventually("process 1", || children(outer.pid()).into_iter().next());
    (outer, inner)
}

/// What a health check does that leaves a process behind: nobody of the elector's has started that,
/// and process 1 becomes its parent. Returns its number out here.
fn stranger(world: &World, inner: i32) -> i32 {
    let release = world.path().join("release");
    let _ = fs::remove_file(&release);
    let orphan = "while [ ! -e release ]; do sleep 0.01; done";
    let mut enter = Command::new("nsenter");
    enter.args(["--target", &inner.to_string(), "--user", "--preserve-credentials", "--pid"]);
    enter.args(["--mount", "--wd=/proc/self/cwd", "--", "sh", "-c", "sh -c \"$0\" a-stranger &"]);
    enter.arg(orphan).current_dir(world.path()).env(job::PLACE, world.path());
    enter.stdin(Stdio::null()).stdout(Stdio::null());
    assert!(enter.status().expect("nsenter, of the package util-linux").success());
    let orphan = eventually("an orphan", || {
        let named = |pid: &i32| {
            let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            line.ends_with(b"\0a-stranger\0") && job::is_of(*pid, world.path())
        };
        every_pid().into_iter().find(|pid| named(pid) && children(inner).contains(pid))
    });
    fs::write(release, "").expect("a file of our own");
    orphan
}

/// It leaves no zombie.
#[track_caller]
fn is_buried(what: &str, pid: i32) {
    eventually(&format!("the burial of a stranger {what}"), || {
        (!Path::new(&format!("/proc/{pid}")).exists()).then_some(())
    });
}

#[test]
fn process_one_buries_strangers_whatever_it_does() {
    let world = World::new();
    let mut leader = world.candidate("leader", &["--ttl", "60s"], "");
    world.start_after(0);
    let run = world.run(&["--node", "follower", "--ttl", "60s"], "");
    let (mut follower, inner) = first(&world, &run);
    world.listed(2);
    is_buried("of one that waits", stranger(&world, inner));
    leader.send(Signal::TERM);
    assert_eq!(leader.exit(), Some(0));
    let job = eventually("a job in the namespace", || {
        world.notes("start").into_iter().find(|note| note.rest.contains("follower"))
    });
    assert!(job.epoch > 0);
    is_buried("of one with a job", stranger(&world, inner));
    send(inner, Signal::TERM);
    assert_eq!(follower.exit(), Some(0), "{}", follower.messages());
    assert!(world.row().live_holder().is_none(), "the lease was not released");
    for command in ["serve", "hold"] {
        let options = ["--node", command, "--ttl", "60s", "--grace", "100ms"];
        let mut election = world.election(command, &options);
        if command == "serve" {
            election.args(["--http", "127.77.0.1:0"]);
        }
        let (mut outer, inner) = first(&world, &election);
        outer.says("event=elected");
        is_buried(command, stranger(&world, inner));
        send(inner, Signal::TERM);
        assert_eq!(outer.exit(), Some(128 + 15), "{}", outer.messages());
    }
}

#[test]
fn a_database_that_is_waited_for_keeps_nobody_from_the_grave() {
    let world = World::new();
    let mute = super::server::Mute::start();
    let (mut outer, inner) = first(&world, &world.run_on(&mute.urls()[0], &[], ""));
    outer.says("waiting for the database");
    is_buried("of one without a database", stranger(&world, inner));
    send(inner, Signal::TERM);
    assert_eq!(outer.exit(), Some(128 + 15));
}

/// The kernel keeps signals from process 1 that it has not asked for.
#[test]
fn sigterm_ends_process_one_and_the_exit_code_is_the_jobs() {
    let world = World::new();
    let (mut outer, inner) = first(&world, &world.run(&["--ttl", "60s"], "code=7"));
    let job = world.start_after(0);
    let pid = children(inner).into_iter().flat_map(children).next().expect("the job");
    send(inner, Signal::TERM);
    assert_eq!(outer.exit(), Some(7), "{}", outer.messages());
    assert!(!alive(pid), "the job of epoch {} outlives its elector", job.epoch);
    assert!(world.row().live_holder().is_none(), "the lease was not released");
    let killed = world.election("run", &["--", "sh", "-c", "kill -9 $$"]);
    // It ends by itself, and may have done so before anybody asks for its number.
    let mut killed = world.start(unshared(&world, &NAMESPACES, &killed));
    assert_eq!(killed.exit(), Some(128 + 9), "{}", killed.messages());
}

/// Nobody has given it a process group of its own, so it sees none.
#[test]
fn process_one_passes_signals_on() {
    let world = World::new();
    let job = "trap 'exit 9' HUP; touch up; while :; do sleep 0.01; done";
    let mut run = world.election("run", &["--", "sh", "-c", job]);
    run.current_dir(world.path());
    let mut unshared = unshared(&world, &NAMESPACES, &run);
    unshared.current_dir(world.path());
    let mut outer = world.start(unshared);
    let inner = eventually("process 1", || children(outer.pid()).into_iter().next());
    eventually("a job", || world.path().join("up").exists().then_some(()));
    send(inner, Signal::HUP);
    assert_eq!(outer.exit(), Some(9), "{}", outer.messages());
}
