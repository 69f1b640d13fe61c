//! Members that are restarted one by one, as the guide says: the next one when this one is ready.

use super::client::{get, leader_until, until};
use crate::{
    members::{IDS, Members, leads},
    process::eventually,
    world::Candidate,
};
use rustix::process::Signal;
use std::{
    fs,
    time::{Duration, Instant},
};

/// Long enough that nobody takes the wait for it for a slow machine.
const DOWN_AFTER: Duration = Duration::from_secs(6);

fn members() -> Members {
    let members = Members::new();
    let text = fs::read_to_string(members.file()).expect("a file of our own");
    fs::write(members.file(), text.replace("\"2s\"", "\"6s\"")).expect("a file of our own");
    members
}

/// Of three restarts, the last is that of the leader. Whoever follows it was the first, and has just
/// said that it is ready.
#[test]
fn a_rolling_restart_leaves_a_majority_that_votes() {
    let members = members();
    let (mut all, mut ports, first) = members.all_answering("");
    let mut epoch = members.world.start_after(0).epoch;
    for place in [first + 1, first + 2, first].map(|place| place % 3) {
        let stopped = Instant::now();
        all[place].send(Signal::TERM);
        all[place].exit();
        if place == first {
            let next = members.world.start_after(epoch);
            let took = stopped.elapsed();
            println!("nobody led for {took:?}");
            assert!(took < DOWN_AFTER, "nobody led for {took:?}");
            epoch = next.epoch;
        }
        (all[place], ports[place]) = members.answering(IDS[place], "");
        until(ports[place], "/readyz", 200);
        let status = members.status(IDS[place]);
        assert!(status["boots_ms"].is_null() && status["unready"].is_null(), "{status}");
    }
    assert_eq!(members.world.notes("start").len(), 2, "only the leader's restart moved the job");
    members.world.assert_exclusive();
}

/// No primary tells what their last lives may have promised.
#[test]
fn members_without_a_leader_say_why_they_are_not_ready() {
    let members = members();
    let (mut all, _, _) = members.all_answering("");
    let before = members.world.start_after(0).epoch;
    all.iter_mut().for_each(Candidate::kill);
    let (all, ports): (Vec<_>, Vec<_>) = IDS.iter().map(|node| members.answering(node, "")).unzip();
    let why = "it has just started, and may have promised its vote before (for ";
    let said = eventually("a member that has joined", || {
        let said = get(ports[2], "/readyz");
        assert_eq!(said.status, 503, "before anybody votes: {said:?}");
        said.body.contains(why).then_some(said.body)
    });
    assert!(said.starts_with("not ready: "), "{said}");
    let alive = get(ports[2], "/livez");
    assert_eq!(alive.status, 200, "a restart does not help");
    assert!(alive.body.starts_with(&format!("alive but not ready: {why}")), "{alive:?}");
    let status = members.ask("status", "n3", &[]);
    let status = String::from_utf8_lossy(&status.stdout).into_owned();
    let flat = status.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains(&format!("ready no: {why}")), "{status}");
    for port in &ports {
        until(*port, "/readyz", 200);
        leader_until("a leader", *port, |said| said["name"] != "");
    }
    leads(&all, &members.world.start_after(before));
    for each in &all {
        each.says("not ready: it has just started");
        each.says("ready: able to vote");
    }
}
