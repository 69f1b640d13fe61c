//! Leaving the election, with a database that helps and one that does not.

use super::{
    database::Writer,
    process::{eventually, send, within},
    world::World,
};
use election_testing::{Kind, Server};
use rustix::process::Signal;
use std::time::{Duration, Instant};

/// So long that the lease does not run out in a test.
const LONG: [&str; 2] = ["--ttl", "60s"];

/// `docker stop` gives ten seconds, and the lease is of no more use to anybody here.
#[test]
fn who_cannot_reach_the_database_leaves_within_seconds() {
    for kind in [Kind::Postgres, Kind::MariaDb] {
        let world = World::new();
        let server = Server::start(kind);
        let url = server.url();
        let mut leader = world.start(world.run_on(&url, &LONG, "code=5"));
        world.start_after(0);
        let mut follower = world.start(world.run_on(&url, &LONG, ""));
        follower.says("following");
        server.freeze();
        for (who, code) in [(&mut leader, 5), (&mut follower, 128 + 15)] {
            let told = Instant::now();
            who.send(Signal::TERM);
            assert_eq!(who.exit(), Some(code));
            let took = told.elapsed();
            // Two seconds, and what a busy machine adds.
            assert!(took < Duration::from_secs(6), "{took:?}: {}", who.messages());
        }
        assert_eq!(world.notes("stop").len(), 1, "the job was not told");
        leader.says("did not answer within 2s");
        follower.says("event=left");
        leader.says("leaving the lease to expire; others can lead within 1m");
        assert!(!leader.messages().contains("leadership released"), "{}", leader.messages());
        server.thaw();
    }
}

/// A server that is restarted refuses everybody for a moment.
#[test]
fn a_server_that_is_back_in_time_gets_the_release() {
    for kind in [Kind::Postgres, Kind::MariaDb] {
        let world = World::new();
        let mut server = Server::start(kind);
        let options = [&LONG[..], &["--leave-timeout", "60s"]].concat();
        let mut leader = world.start(world.run_on(&server.url(), &options, "code=5"));
        let job = world.start_after(0);
        server.kill();
        leader.send(Signal::TERM);
        leader.says("the job has ended");
        let left = within(Duration::from_millis(500), || !leader.is_running());
        assert!(!left, "{}", leader.messages());
        server.restart();
        assert_eq!(leader.exit(), Some(5));
        leader.says("leadership released");
        // Not after the ttl: a test does not wait for a minute.
        let _second = world.start(world.run_on(&server.url(), &LONG, ""));
        world.start_after(job.epoch);
        world.assert_exclusive();
    }
}

/// The time to leave begins when nothing of the job is left.
#[test]
fn a_job_that_uses_its_grace_is_not_cut_short_by_it() {
    let world = World::new();
    let options = ["--ttl", "60s", "--grace", "10s", "--leave-timeout", "0s"];
    let mut leader = world.candidate("leader", &options, "slow=1500 code=5");
    world.start_after(0);
    let told = Instant::now();
    leader.send(Signal::TERM);
    assert_eq!(leader.exit(), Some(5));
    assert!(told.elapsed() >= Duration::from_millis(1_500), "{:?}", told.elapsed());
    assert_eq!(world.notes("stop").len(), 1, "the job was cut short");
}

#[test]
fn the_time_to_leave_can_be_in_the_file() {
    let world = World::new();
    let config = world.path().join("election.toml");
    std::fs::write(&config, "leave-timeout = \"100ms\"\n").expect("a file of our own");
    let config = ["--config", config.to_str().expect("a path in UTF-8")];
    let mut leader = world.candidate("leader", &[LONG, config].concat(), "code=6");
    world.start_after(0);
    let _writer = Writer::begin(&world).expect("the write lock");
    leader.send(Signal::TERM);
    assert_eq!(leader.exit(), Some(6));
    leader.says("did not answer within 100ms");
}

/// `timeout election run …` signals its child, and then the whole group that this is in.
#[test]
fn a_signal_that_comes_twice_at_once_does_not_cost_the_release() {
    let mut hits = 0;
    for _ in 0..20 {
        let world = World::new();
        let options = [&LONG[..], &["--leave-timeout", "60s"]].concat();
        let mut leader = world.candidate("leader", &options, "code=6");
        world.start_after(0);
        let writer = Writer::begin(&world).expect("the write lock");
        let told = Instant::now();
        leader.send(Signal::TERM);
        // The lease cannot be released yet, and then comes the echo.
        leader.says("the job has ended");
        leader.send(Signal::TERM);
        // On a machine that is too busy this was no burst.
        let hit = told.elapsed() < Duration::from_millis(900);
        let stays = !within(Duration::from_millis(500), || !leader.is_running());
        drop(writer);
        assert_eq!(leader.exit(), Some(6));
        if hit {
            assert!(stays, "it left at the echo: {}", leader.messages());
            leader.says("leadership released");
            assert!(world.row().live_holder().is_none(), "the lease was not released");
            let heard = world.notes("term").len();
            assert_eq!(heard, 1, "the job was told {heard} times");
            hits += 1;
            if hits == 2 {
                return;
            }
        }
    }
    panic!("the machine is too busy for a burst");
}

/// The lease cannot be released while another process writes. A user who does not want to wait says
/// so, by any signal.
#[test]
fn who_insists_ends_an_elector_that_cannot_release() {
    for signal in [Signal::TERM, Signal::HUP] {
        let world = World::new();
        let options = [&LONG[..], &["--leave-timeout", "600s"]].concat();
        let mut candidate = world.candidate("one", &options, "code=6");
        let job = world.start_after(0);
        let _writer = Writer::begin(&world).expect("the write lock");
        let told = Instant::now();
        // A hangup is for the job, as long as there is one.
        let first = if signal == Signal::TERM { candidate.pid() } else { job.pid };
        send(first, Signal::TERM);
        candidate.says("the job has ended");
        eventually("its end", || {
            candidate.send(signal);
            (!candidate.is_running()).then_some(())
        });
        let took = told.elapsed();
        assert!(signal == Signal::HUP || took >= Duration::from_secs(1), "within the burst");
        assert_eq!(candidate.exit(), Some(6));
        candidate.says("a second time: leaving the lease to expire");
    }
}

/// The release of an earlier term says nothing about this one.
#[test]
fn a_second_term_that_is_not_released_is_not_said_to_be() {
    let world = World::new();
    let options = ["--ttl", "3s", "--leave-timeout", "60s"];
    let mut leader = world.candidate("leader", &options, "code=6");
    let first = world.start_after(0);
    assert!(world.output(&mut world.election("resign", &[])).status.success());
    leader.says("event=released");
    world.start_after(first.epoch);
    let _writer = Writer::begin(&world).expect("the write lock");
    leader.send(Signal::TERM);
    assert_eq!(leader.exit(), Some(6));
    let said = leader.messages();
    assert_eq!(said.matches("event=released").count(), 1, "{said}");
    assert!(said.contains("event=not_released"), "{said}");
}
