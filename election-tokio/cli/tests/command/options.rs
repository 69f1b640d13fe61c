//! The guarantees of the options of `run`.

use super::{database, members::refused, world::World};
use rustix::process::Signal;
use std::time::{Duration, Instant};

const LONG: [&str; 4] = ["--ttl", "60s", "--grace", "2s"];

#[test]
fn who_waits_for_a_time_gives_up_in_time() {
    let world = World::new();
    let leader = world.candidate("leader", &LONG, "");
    world.start_after(0);
    let began = Instant::now();
    let mut waiting = world.candidate("waiting", &["--ttl", "60s", "--wait", "700ms"], "");
    assert_eq!(waiting.exit(), Some(124));
    let took = began.elapsed();
    assert!(took >= Duration::from_millis(700), "gave up after {took:?}");
    assert!(took < Duration::from_secs(10), "gave up after {took:?}");
    waiting.says("not elected in time");
    world.listed(1);
    // A wait counts until the first election only.
    leader.send(Signal::TERM);
    let job = world.start_after(0);
    let patient = world.candidate("patient", &["--ttl", "1s", "--wait", "20s"], "");
    let first = world.start_after(job.epoch);
    assert_eq!(first.elector, patient.pid());
    world.assert_exclusive();
}

#[test]
fn what_is_missing_on_the_command_line_is_told() {
    let world = World::new();
    for (arguments, words) in [
        (
            &["--at-least-for", "--", "true"][..],
            &["--at-least-for <TIME>", "the time is missing"][..],
        ),
        (&["--ttl", "--try", "--", "true"], &["--ttl <TIME>", "the time is missing", "15s"]),
        (&["--ttl", "-3s", "--", "true"], &["--ttl <TIME>", "cannot be negative"]),
        (&["--", ""], &["the job's command is empty", "after --"]),
        (&["--", "", "more"], &["the job's command is empty"]),
    ] {
        refused(&world.output(&mut world.election("run", arguments)), 125, words);
    }
    assert!(!world.database().exists(), "nobody was elected for that");
}

/// The parser gives them to the job, whose business they may be.
#[test]
fn options_behind_the_job_are_told_to_be_the_jobs() {
    let world = World::new();
    let run =
        |arguments: &[&str]| world.output(&mut world.bare(&[&["run"][..], arguments].concat()));
    let words = |option: &str| {
        let stands = format!("{option} comes after the job's name, so it is passed to the job");
        let remedy = format!("put options before --, as in: election run {option} ... -- CMD");
        [stands, remedy]
    };
    for (arguments, option) in [
        (&["--", "echo", "hi", "--name", "x", "--store", "sqlite:e.db"][..], "--store"),
        (&["--name", "x", "--", "echo", "--store=sqlite:e.db"], "--store"),
        (&["--", "echo", "--name", "x", "--store-file=url"], "--store-file"),
        (&["echo", "--cluster", "c.toml"], "--cluster"),
        (&["--store", "sqlite:e.db", "echo", "--name", "x"], "--name"),
        (&["--store", "sqlite:e.db", "--", "echo", "--name=x"], "--name"),
    ] {
        let [stands, remedy] = words(option);
        refused(&run(arguments), 125, &[&stands, &remedy]);
    }
    let file = world.path().join("c.toml");
    let listed = "[[member]]\nid = \"n1\"\naddress = \"127.0.0.1:7401\"\n";
    std::fs::write(&file, format!("election = \"x\"\n{listed}")).expect("a file of our own");
    let cluster = file.to_str().expect("UTF-8");
    let member = |job: &[&str]| run(&[&["--cluster", cluster, "--"], job].concat());
    let [stands, remedy] = words("--node");
    refused(&member(&["echo", "--node", "n1"]), 125, &[&stands, &remedy]);
    refused(&member(&["echo", "n1"]), 125, &["which member of the cluster? Name it with --node"]);
    // These are only alike.
    let other = run(&["--", "echo", "--stores", "--name", "x", "store"]);
    refused(&other, 125, &["no database is named; use --store"]);
    let none = run(&["--store", "sqlite:e.db", "--", "echo", "--store", "x"]);
    refused(&none, 125, &["no election is named; use --name"]);
    assert!(!world.path().join("e.db").exists(), "nobody was elected for that");
}

#[test]
fn a_resign_request_makes_another_lead() {
    let world = World::new();
    let mut first = world.candidate("first", &LONG, "ignore-term");
    let job = world.start_after(0);
    let second = world.candidate("second", &LONG, "");
    world.listed(2);
    let began = Instant::now();
    let output = world.output(&mut world.election("resign", &[]));
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && stdout.contains("first"), "{output:?}");
    let next = world.start_after(job.epoch);
    assert_eq!(next.elector, second.pid());
    assert_eq!(world.notes("term").len(), 1, "the job was not asked first");
    // It stays out until it has seen another leader.
    first.says("following leader=second");
    assert!(first.is_running(), "it is to campaign again");
    second.send(Signal::TERM);
    assert_eq!(world.start_after(next.epoch).elector, first.pid());
    // All were told by the file that was written, not by their next poll, 20 s later.
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    world.assert_exclusive();
}

#[test]
fn who_is_to_stop_on_loss_exits_with_120() {
    let world = World::new();
    let options = [&LONG[..], &["--on-lost", "stop"]].concat();
    let mut only = world.candidate("only", &options, "code=3");
    world.start_after(0);
    let output = world.output(&mut world.election("resign", &[]));
    assert!(output.status.success(), "{output:?}");
    assert_eq!(only.exit(), Some(120));
    assert_eq!(world.notes("stop").len(), 1, "the job was not asked first");
    assert!(world.row().live_holder().is_none(), "the lease was not released");
}

#[test]
fn a_job_with_options_of_its_own_gets_them_all() {
    let world = World::new();
    let script = "test \"$*\" = '--ttl -x -- --name y'";
    let job = ["sh", "-c", script, "sh", "--ttl", "-x", "--", "--name", "y"];
    for separator in [&["--"][..], &[]] {
        let arguments = [separator, &job].concat();
        let output = world.output(&mut world.election("run", &arguments));
        assert_eq!(output.status.code(), Some(0), "{output:?}");
    }
}

#[test]
fn a_quiet_candidate_says_only_what_went_wrong() {
    let world = World::new();
    let output = world.output(&mut world.election("run", &["--quiet", "--", "true"]));
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    let output = world.output(&mut world.election("run", &["-q", "--", "no-such-program"]));
    assert!(String::from_utf8_lossy(&output.stderr).contains("no-such-program"), "{output:?}");
}

/// They count for the first election only: a node that has led waits to lead again.
#[test]
fn who_only_tried_and_lost_what_it_led_waits_for_another_turn() {
    let world = World::new();
    let mut first = world.candidate("first", &["--ttl", "1s", "--try"], "");
    let job = world.start_after(0);
    database::freeze(&world, first.pid());
    let mut second = world.candidate("second", &["--ttl", "1s"], "");
    let next = world.start_after(job.epoch);
    super::process::thaw(first.pid());
    first.says("following leader=second");
    second.send(Signal::TERM);
    second.exit();
    assert_eq!(world.start_after(next.epoch).elector, first.pid(), "{}", first.messages());
    assert!(first.is_running());
}
