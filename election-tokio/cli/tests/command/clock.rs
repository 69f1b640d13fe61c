//! Wall clocks that lie: nobody asks a client's clock what time it is.

use super::{
    members::{DOWN_AFTER, IDS, Members, leads},
    process::eventually,
    world::{World, block_on},
};
use election_testing::{Kind, Server};
use election_tokio::{PgStore, core::Namespace};
use std::{
    fs,
    path::Path,
    time::{Duration, Instant},
};

/// kubernetes#125761: the wall clock was set ahead by an hour and the lease was gone.
/// ShedLock#231: hosts whose clocks differ.
#[test]
fn the_clients_wall_clock_moves_by_an_hour_and_nothing_happens() {
    let server = Server::start(Kind::Postgres);
    let store = || PgStore::connect(&server.url()).expect("a URL");
    block_on(store().ensure_schema()).expect("a writable database");
    let world = World::new();
    let clock = world.path().join("clock");
    let set = |seconds: &str| {
        let next = world.path().join("clock.next");
        fs::write(&next, seconds).expect("a directory of our own");
        fs::rename(next, &clock).expect("a directory of our own");
    };
    set("+0");
    let mut command = world.bare(&["run", "--store", &server.url(), "--ttl", "1s"]);
    command.args(["--name", "test", "--", "sleep", "infinity"]);
    for (name, value) in Server::clock_environment(&clock) {
        command.env(name, value);
    }
    let _elector = world.start(command);
    let name = Namespace::new("test").expect("a name");
    let row = || block_on(store().leader(&name)).expect("a database that answers");
    let epoch = eventually("a leader", || row().live_term()).epoch;
    for moved in ["+3600", "-3600", "+0"] {
        set(moved);
        let renewals = row().renewals;
        eventually("three more renewals", || (row().renewals > renewals + 3).then_some(()));
        assert_eq!(row().live_term().expect("a leader").epoch, epoch, "{moved}");
    }
}

/// A file's clock is that of whoever writes to it.
#[test]
fn two_processes_on_one_file_may_be_half_an_hour_apart() {
    let world = World::new();
    let ahead = world.path().join("clock");
    fs::write(&ahead, "+1800").expect("a directory of our own");
    let options = |node| ["--node", node, "--ttl", "1s", "--clock-step", "1h"];
    let start = |node: &'static str, ahead: Option<&Path>| {
        let mut command = world.run(&options(node), "");
        if let Some(clock) = ahead {
            command.envs(Server::clock_environment(clock));
        }
        world.start(command)
    };
    let mut epoch = 0;
    let mut leader = start("first", None);
    for (node, clock) in [("second", Some(&*ahead)), ("third", None)] {
        let started = world.start_after(epoch).epoch;
        epoch = started;
        let heir = start(node, clock);
        heir.says("event=following");
        let renewals = world.row().renewals;
        eventually("three more renewals", || (world.row().renewals > renewals + 3).then_some(()));
        assert_eq!(world.row().epoch.get(), epoch, "the same term");
        leader.kill();
        leader = heir;
    }
    world.start_after(epoch);
    world.assert_exclusive();
}

#[test]
fn a_pause_is_counted_alike_where_wall_clocks_are_years_apart() {
    const PAUSE: Duration = Duration::from_secs(8);
    let members = Members::new();
    let start = |place: usize| {
        let clock = members.world.path().join(format!("clock{place}"));
        fs::write(&clock, ["+0", "+31536000", "-31536000"][place]).expect("a directory of our own");
        let mut command = members.run(IDS[place], &[], "");
        command.envs(Server::clock_environment(&clock));
        members.world.start(command)
    };
    let mut all = (0..3).map(start).collect::<Vec<_>>();
    let job = members.world.start_after(0);
    let first = leads(&all, &job);
    IDS.iter().for_each(|node| members.settled(node));
    let [one, other] = [(first + 1) % 3, (first + 2) % 3];
    let ordered = Instant::now();
    let said = members.ask("pause", IDS[one], &["--for", "8s"]);
    assert!(said.status.success(), "{said:?}");
    // One node is down for a part of it.
    all[other].kill();
    all[other] = start(other);
    members.until("the pause", IDS[other], |status| status["pause"]["paused"] == true);
    members.settled(IDS[other]);
    all[first].kill();
    let next = members.world.start_after(job.epoch);
    let took = ordered.elapsed();
    assert_ne!(leads(&all, &next), first);
    assert!((PAUSE..PAUSE + 2 * DOWN_AFTER).contains(&took), "{took:?}");
}
