//! Leadership that a script holds.

use super::{
    process::eventually,
    world::{Candidate, World},
};
use election_testing::{Kind, Server};
use rustix::process::Signal;
use serde_json::Value;
use std::{
    fs,
    io::Write as _,
    os::{fd::OwnedFd, unix::net::UnixStream},
    process::Stdio,
};

const LONG: [&str; 4] = ["--ttl", "60s", "--grace", "2s"];

/// An `election hold` whose standard input is this test's.
fn holder(world: &World, node: &str, options: &[&str]) -> Candidate {
    let options = [&["--node", node], options].concat();
    world.start_with(world.election("hold", &options), Stdio::piped())
}

#[test]
fn a_lease_is_free_as_soon_as_standard_input_ends() {
    let world = World::new();
    let mut first = holder(&world, "first", &LONG);
    let line = first.prints("leads");
    let epoch = world.row().epoch;
    assert_eq!(line, format!("default: first leads under epoch {epoch}\n"));
    let mut second = holder(&world, "second", &[&LONG[..], &["--json"]].concat());
    world.listed(2);
    drop(first.stdin());
    assert_eq!(first.exit(), Some(0));
    // Not after the ttl, nor after the grace: a test does not wait for a minute.
    let line: Value = serde_json::from_str(&second.prints("leader")).expect("JSON");
    assert_eq!((&line["name"], &line["leader"]), (&"default".into(), &"second".into()));
    assert!(line["epoch"].as_u64() > Some(epoch.get()), "{line}");
    drop(second.stdin());
    assert_eq!(second.exit(), Some(0));
    assert!(world.row().live_holder().is_none(), "the lease was not released");
}

#[test]
fn who_cannot_hold_it_waits_or_says_so() {
    let world = World::new();
    let first = holder(&world, "first", &LONG);
    first.prints("lead");
    for (options, code) in [
        (&["--try"][..], 124),
        (&["--try", "--conflict-exit-code", "75"], 75),
        (&["--wait", "300ms", "--conflict-exit-code", "75"], 75),
    ] {
        let mut late = holder(&world, "late", &[&LONG[..], options].concat());
        assert_eq!(late.exit(), Some(code), "{options:?}");
        assert_eq!(late.printed(), "");
    }
    // Whoever wanted it is gone before it could be had.
    let mut gone = holder(&world, "gone", &LONG);
    world.listed(2);
    drop(gone.stdin());
    assert_eq!(gone.exit(), Some(124));
    gone.says("not elected before the end of standard input: first");
}

/// What ended the wait is the end of standard input, whatever else was wrong.
#[test]
fn a_wait_ended_by_its_input_is_not_called_too_long() {
    let world = World::new();
    let nobody = ["hold", "--name", "e", "--store", "postgres://u@127.0.0.1:1/x"];
    let mut gone = world.start_with(world.bare(&nobody), Stdio::piped());
    gone.says("waiting for the database");
    drop(gone.stdin());
    assert_eq!(gone.exit(), Some(124));
    let said = gone.messages();
    let cause = "not elected before the end of standard input: waiting for the database: ";
    assert!(said.contains(cause) && said.contains("nothing is listening there"), "{said}");
    assert!(!said.contains("in time") && !said.contains("never reached"), "{said}");
}

/// An output that is full, because nobody reads it.
fn full() -> (UnixStream, Stdio) {
    let (reader, mut writer) = UnixStream::pair().expect("a pair of sockets");
    writer.set_nonblocking(true).expect("a socket of our own");
    while writer.write_all(&[b'x'; 4096]).is_ok() {}
    writer.set_nonblocking(false).expect("a socket of our own");
    (reader, OwnedFd::from(writer).into())
}

/// Whether a thread of this process waits in a call whose first argument is standard output.
fn writes(pid: i32) -> bool {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).expect("a living process").flatten();
    let mut calls =
        threads.filter_map(|thread| fs::read_to_string(thread.path().join("syscall")).ok());
    calls.any(|call| call.split(' ').nth(1) == Some("0x1"))
}

#[test]
fn a_holder_whose_output_is_full_ends_all_the_same() {
    for (ends, code) in [("input", 0), ("signal", 128 + 15), ("loss", 120)] {
        let world = World::new();
        let (_reader, output) = full();
        let mut command = world.election("hold", &LONG);
        command.stdin(Stdio::piped()).stdout(output).stderr(Stdio::null());
        let mut holder = Candidate::of(command);
        eventually("a leader that waits to say so", || writes(holder.pid()).then_some(()));
        match ends {
            "input" => drop(holder.stdin()),
            "signal" => holder.send(Signal::TERM),
            _ => assert!(world.output(&mut world.election("resign", &[])).status.success()),
        }
        assert_eq!(holder.exit(), Some(code), "{ends}");
        assert_eq!(world.row().live_holder().is_some(), ends == "loss", "{ends}");
    }
}

/// Whoever works under it can only see the process end, and needs time to stop.
#[test]
fn a_holder_that_is_asked_to_resign_leaves_the_lease_to_run_out() {
    let world = World::new();
    let mut holder = holder(&world, "only", &LONG);
    holder.prints("lead");
    let output = world.output(&mut world.election("resign", &[]));
    assert!(output.status.success(), "{output:?}");
    assert_eq!(holder.exit(), Some(120));
    assert!(world.row().live_holder().is_some(), "the lease was released");
    holder.says("leaving without releasing it");
    let epoch = world.row().epoch;
    holder.says(&format!("event=not_released epoch={epoch} reason=resign_requested"));
}

#[test]
fn a_holder_whose_database_is_gone_says_what_cost_it_the_lease() {
    let world = World::new();
    let mut server = Server::start(Kind::Postgres);
    let hold = world.on(&server.url(), "hold", &["--ttl", "2s"]);
    let mut holder = world.start_with(hold, Stdio::piped());
    holder.says("event=elected");
    server.kill();
    assert_eq!(holder.exit(), Some(120));
    let said = holder.messages();
    let line = said.lines().find(|line| line.contains("event=not_released")).expect("its line");
    assert!(
        line.contains("reason=expired cause=") && line.contains("nothing is listening"),
        "{line}"
    );
}

/// Whoever works under it learns only from its end that leadership is over.
#[test]
fn hold_does_not_wait_for_hooks_after_a_loss() {
    let world = World::new();
    let hook = ["--on-lose", "sleep 1000", "--hook-timeout", "1h"];
    let mut holder = holder(&world, "only", &[&LONG[..], &hook].concat());
    holder.prints("lead");
    let output = world.output(&mut world.election("resign", &[]));
    assert!(output.status.success(), "{output:?}");
    assert_eq!(holder.exit(), Some(120));
}
