//! Observers that outlive whom they ask.

use super::{
    control::{parsed, text},
    members::{IDS, Members},
    process::eventually,
    world::Candidate,
};
use rustix::process::Signal;
use serde_json::Value;

/// The first line behind `count` others of which this holds.
#[track_caller]
fn sees(observer: &Candidate, what: &str, count: usize, holds: impl Fn(&Value) -> bool) -> usize {
    eventually(what, || {
        let found = parsed(&observer.printed()).iter().skip(count).position(&holds);
        found.map(|place| count + place + 1)
    })
}

#[test]
fn an_observer_goes_on_with_another_member() {
    let members = Members::new();
    let (mut all, job, first) = members.led();
    let mut command = members.bare(&["observe", "--json", "--cluster"]);
    command.arg(members.file());
    let mut observer = members.world.start(command);
    let mut seen = sees(&observer, "the leader", 0, |line| line["epoch"] == job.epoch);
    // An alert is no change of leadership, whatever else it says.
    for (order, paused) in [("pause", true), ("resume", false)] {
        text(&members.ask(order, IDS[first], &[]));
        for node in IDS {
            members.until("the order", node, |status| status["pause"]["paused"] == paused);
        }
    }
    let lines = parsed(&observer.printed());
    assert_eq!(lines.len(), seen, "{lines:?}");
    let mut keys: Vec<_> = lines[seen - 1].as_object().expect("an object").keys().collect();
    keys.sort();
    assert_eq!(keys, ["epoch", "label", "leader", "name", "timestamp"]);
    // One of these two it has asked.
    all[first].kill();
    let next = members.world.start_after(job.epoch);
    seen = sees(&observer, "the next leader", seen, |line| line["epoch"] == next.epoch);
    for each in &mut all {
        each.kill();
    }
    // Once, however long it lasts.
    seen = sees(&observer, "that nobody answers", seen, |line| {
        line["unknown"].as_str().is_some_and(|why| why.contains("no member answers"))
    });
    assert!(observer.is_running());
    let _all: Vec<_> = IDS.iter().map(|node| members.start(node, "")).collect();
    let last = members.world.start_after(next.epoch);
    sees(&observer, "the last leader", seen, |line| line["epoch"] == last.epoch);
    let lines = parsed(&observer.printed());
    let silent = |line: &&Value| {
        line["unknown"].as_str().is_some_and(|why| why.contains("no member answers"))
    };
    assert_eq!(lines.iter().filter(silent).count(), 1, "{lines:?}");
    let said = observer.messages();
    assert_eq!(said.matches("\"event\":\"waiting\"").count(), 1, "{said}");
    // No state is told twice in a row.
    let states = lines.iter().map(|line| (&line["leader"], &line["epoch"], &line["unknown"]));
    let states: Vec<_> = states.collect();
    assert!(states.windows(2).all(|pair| pair[0] != pair[1]), "{states:?}");
    observer.send(Signal::INT);
    assert_eq!(observer.exit(), Some(0), "{said}");
}

/// Who names a member wants that one's view.
#[test]
fn a_member_that_was_named_is_waited_for() {
    let members = Members::new();
    let (mut all, job, first) = members.led();
    let other = (first + 1) % 3;
    let command = members.command("observe", IDS[other], &["--json"]);
    let mut observer = members.world.start(command);
    let seen = sees(&observer, "the leader", 0, |line| line["epoch"] == job.epoch);
    all[other].kill();
    let seen = sees(&observer, "its end", seen, |line| line["unknown"].is_string());
    let why = format!("no member answers: {}; waiting for one", IDS[other]);
    observer.says(&why);
    assert!(observer.is_running());
    let _again = members.start(IDS[other], "");
    sees(&observer, "the leader again", seen, |line| line["epoch"] == job.epoch);
    observer.send(Signal::INT);
    assert_eq!(observer.exit(), Some(0));
}
