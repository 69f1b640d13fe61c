//! A timer fires on many machines, and one of them runs the job.

use super::world::{Candidate, World};

const ONCE: [&str; 5] = ["--ttl", "2s", "--try", "--at-least-for", "4s"];

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
    // Epochs are at least the milliseconds of the database's clock.
    let next = world.start_after(epoch).epoch;
    assert!(next >= epoch + 4_000, "{} ms later", next - epoch);
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
        assert!(said.contains("the job was never started, so the lease is released"), "{said}");
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
