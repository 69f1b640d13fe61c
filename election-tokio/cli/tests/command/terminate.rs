//! Ends on request, and jobs that end by themselves.

use super::{
    process::{alive, eventually, freeze, within},
    world::{Candidate, World, below},
};
use rustix::process::Signal;
use std::{
    fs,
    process::Command,
    time::{Duration, Instant},
};

/// So long that nothing in these tests can be explained by a lease that ran out.
const LONG: [&str; 4] = ["--ttl", "60s", "--grace", "500ms"];

/// The job may use its grace; the next starts at once when it has ended, and never before.
#[test]
fn leadership_is_handed_over_promptly_but_never_early() {
    let world = World::new();
    let candidate =
        |number: usize| world.candidate(&format!("n{number}"), &["--ttl", "60s"], "slow=50 code=7");
    let mut leading = candidate(0);
    let mut job = world.start_after(0);
    for number in 1..=3 {
        let next = candidate(number);
        world.listed(2);
        leading.send(Signal::TERM);
        assert_eq!(leading.exit(), Some(7), "the job's own exit code");
        let stop = world.notes("stop").pop().expect("a job that was told");
        assert_eq!(stop.epoch, job.epoch);
        leading = next;
        job = world.start_after(job.epoch);
        assert!(job.at > stop.at, "{job:?} before {stop:?}");
        // One poll at most: an interval (a third of the ttl) with its jitter.
        assert!(job.at - stop.at < 29_000_000_000, "{job:?} long after {stop:?}");
    }
    world.assert_exclusive();
}

#[test]
fn a_job_that_ignores_sigterm_is_killed_then_replaced() {
    let world = World::new();
    let mut first = world.candidate("first", &LONG, "ignore-term parent");
    let job = world.start_after(0);
    let grandchild = world.first("grandchild");
    let second = world.candidate("second", &LONG, "");
    world.listed(2);
    let began = Instant::now();
    first.send(Signal::TERM);
    world.first("term");
    let next = world.start_after(job.epoch);
    assert!(!alive(job.pid) && !alive(grandchild.pid), "two jobs at once");
    assert!(began.elapsed() >= Duration::from_millis(500), "its grace was cut short");
    assert_eq!(next.elector, second.pid());
    assert_eq!(first.exit(), Some(128 + 9));
    world.assert_exclusive();
}

/// The guard is the second line: here the elector does nothing at the hard stop, because it
/// stands still. It may come to do so before it could tell the guard; then once more.
#[test]
fn the_guard_knows_of_a_hard_stop_that_came_early() {
    for _ in 0..5 {
        let world = World::new();
        let first = world.candidate("first", &LONG, "ignore-term");
        let job = world.start_after(0);
        first.send(Signal::TERM);
        world.first("term");
        first.says("resigning");
        freeze(first.pid());
        // Long before the lease of 60 s ends.
        if within(Duration::from_secs(6), || !alive(job.pid)) {
            return;
        }
    }
    panic!("the guard does not know of an early hard stop");
}

#[test]
fn a_job_that_ends_passes_on_its_code_and_the_lease() {
    let world = World::new();
    for (words, code) in [("exit=0", 0), ("exit=7", 7), ("die=9", 137), ("die=6", 134)] {
        let mut candidate = world.candidate("one", &LONG, words);
        assert_eq!(candidate.exit(), Some(code), "{words}");
        assert!(world.row().live_holder().is_none(), "{words}: the lease was not released");
    }
    assert_eq!(world.notes("start").len(), 4);
    world.assert_exclusive();
}

#[test]
fn signals_reach_the_job() {
    let world = World::new();
    let mut candidate = world.candidate("one", &LONG, "code=5");
    world.start_after(0);
    for signal in [
        Signal::HUP,
        Signal::QUIT,
        Signal::USR1,
        Signal::USR2,
        Signal::ALARM,
        Signal::WINCH,
        Signal::INT,
    ] {
        candidate.send(signal);
        let number = signal.as_raw().to_string();
        eventually(&format!("signal {number} at the job"), || {
            world.notes("signal").into_iter().find(|note| note.rest == number)
        });
        assert!(candidate.is_running(), "signal {number} ended the elector itself");
    }
    // SIGINT asked this process to leave too. The job has ignored it and is told no more than
    // that, until its grace is over.
    assert_eq!(candidate.exit(), Some(128 + 9));
}

#[test]
fn a_follower_ends_at_once() {
    let world = World::new();
    let _leader = world.candidate("leader", &LONG, "");
    world.start_after(0);
    for signal in [Signal::TERM, Signal::INT, Signal::HUP, Signal::QUIT] {
        let mut follower: Candidate = world.candidate("follower", &LONG, "");
        world.listed(2);
        let began = Instant::now();
        follower.send(signal);
        assert_eq!(follower.exit(), Some(128 + signal.as_raw()));
        let took = began.elapsed();
        assert!(took < Duration::from_secs(10), "{signal:?} took {took:?}");
        world.listed(1);
    }
    assert_eq!(world.notes("start").len(), 1);
}

/// An echo is the same signal; another one is for the job too.
#[test]
fn another_signal_within_a_burst_reaches_the_job() {
    let world = World::new();
    let mut candidate = world.candidate("one", &LONG, "ignore-term");
    world.start_after(0);
    candidate.send(Signal::TERM);
    candidate.says("resigning");
    candidate.send(Signal::INT);
    let number = Signal::INT.as_raw().to_string();
    eventually("the other signal at the job", || {
        world.notes("signal").into_iter().find(|note| note.rest == number)
    });
    assert_eq!(candidate.exit(), Some(128 + 9));
}

/// When it is needed it would be too late.
#[test]
fn a_standby_says_at_once_that_its_job_cannot_be_started() {
    let world = World::new();
    let _leader = world.candidate("leader", &LONG, "");
    world.start_after(0);
    let run = world.election("run", &["--ttl", "60s", "--node", "standby", "--", "/no/program"]);
    let standby = world.start(run);
    standby.says("following");
    let said = standby.messages();
    let words = ["no such file", "could not be started now"];
    assert!(words.iter().all(|each| said.contains(each)), "{said}");
}

/// The same command, of a process that ignores a signal.
fn ignoring(signal: &str, run: &Command) -> Command {
    let mut shell = Command::new("bash");
    shell.args(["-c", &format!("trap '' {signal}; exec \"$@\""), "-"]);
    below(shell, run)
}

/// Whoever has started it so may not know why it does not end.
#[test]
fn a_sigterm_that_was_ignored_from_the_start_is_warned_of() {
    let world = World::new();
    for (signal, is_told) in [("TERM", true), ("HUP", false)] {
        let run = world.election("run", &["--", "true"]);
        let output = world.output(&mut ignoring(signal, &run));
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}");
        assert_eq!(said.contains("SIGTERM was ignored"), is_told, "{said}");
    }
}

/// As `nohup` starts it.
#[test]
fn a_signal_that_was_ignored_from_the_start_ends_nobody() {
    let world = World::new();
    let mut leader = world.candidate("leader", &LONG, "");
    world.start_after(0);
    let run = world.run(&[&LONG[..], &["--node", "follower"]].concat(), "");
    let mut follower = world.start(ignoring("HUP", &run));
    world.listed(2);
    let status =
        fs::read_to_string(format!("/proc/{}/status", follower.pid())).expect("its status");
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).expect("a mask");
    let ignored = u64::from_str_radix(ignored.trim(), 16).expect("a mask");
    assert_eq!(ignored >> (Signal::HUP.as_raw() - 1) & 1, 1, "{ignored:x}");
    follower.send(Signal::HUP);
    follower.send(Signal::TERM);
    assert_eq!(follower.exit(), Some(128 + 15), "{}", follower.messages());
    leader.send(Signal::TERM);
    assert_eq!(leader.exit(), Some(0));
}

/// Whoever starts a process hands on the signals that it blocks itself.
#[test]
fn signals_blocked_by_the_starter_end_elector_and_job() {
    let world = World::new();
    let mask = world.path().join("mask");
    let job = "grep SigBlk /proc/self/status > mask.new; mv mask.new mask; sleep 600";
    let run =
        world.election("run", &[&LONG[..], &["--name", "default", "--", "sh", "-c", job]].concat());
    let block = "use POSIX; sigprocmask(SIG_BLOCK, POSIX::SigSet->new(1 .. 31)); exec @ARGV";
    let mut blocking = Command::new("perl");
    blocking.args(["-e", block]);
    let mut candidate = world.start(below(blocking, &run));
    let mask = eventually("the job's mask", || fs::read_to_string(&mask).ok());
    let mask = mask.split_whitespace().nth(1).expect("a mask");
    assert_eq!(u64::from_str_radix(mask, 16), Ok(0), "signals that the job does not hear");
    candidate.send(Signal::TERM);
    assert_eq!(candidate.exit(), Some(128 + 15), "{}", candidate.messages());
}

/// At once are killed only those that nobody has told to end.
#[test]
fn who_outlives_the_told_job_has_the_rest_of_the_time() {
    let world = World::new();
    let job = "sh -c 'trap \"sleep 0.3; touch done; exit\" TERM; touch up; \
               while :; do sleep 0.01; done' & trap 'exit 3' TERM; \
               while [ ! -e up ]; do sleep 0.01; done; touch ready; while :; do sleep 0.01; done";
    let mut run = world.election("run", &["--ttl", "60s", "--", "sh", "-c", job]);
    run.current_dir(world.path());
    let mut leader = world.start(run);
    eventually("the job", || world.path().join("ready").exists().then_some(()));
    leader.send(Signal::TERM);
    assert_eq!(leader.exit(), Some(3), "{}", leader.messages());
    assert!(world.path().join("done").exists(), "it was killed at once");
}
