//! Observers that outlive whom they ask.

use super::{
    control::parsed,
    members::{IDS, Members},
    process::eventually,
    world::Candidate,
};
use rustix::process::Signal;
use serde_json::Value;
use std::{fs::File, path::PathBuf, process::Command};

/// An observer, and where its words go.
struct Observer {
    process: Candidate,
    place: PathBuf,
}

impl Observer {
    fn start(members: &Members, mut command: Command) -> Self {
        let place = members.world.path().join("observed");
        let create = |name: &str| File::create(place.with_extension(name)).expect("our own file");
        command.stdout(create("out")).stderr(create("err"));
        Self { process: Candidate::of(command), place }
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.place.with_extension(name)).expect("a file of our own")
    }

    /// The first line behind `count` others of which this holds.
    #[track_caller]
    fn sees(&self, what: &str, count: usize, holds: impl Fn(&Value) -> bool) -> usize {
        eventually(what, || {
            let lines = parsed(&self.read("out"));
            let found = lines.iter().skip(count).position(&holds);
            found.map(|place| count + place + 1)
        })
    }
}

fn all_here(members: &Members) -> Command {
    let mut command = members.bare(&["observe", "--json", "--cluster"]);
    command.arg(members.file());
    command
}

#[test]
fn an_observer_goes_on_with_another_member() {
    let members = Members::new();
    let (mut all, job, first) = members.led();
    let mut observer = Observer::start(&members, all_here(&members));
    let mut seen = observer.sees("the leader", 0, |line| line["epoch"] == job.epoch);
    // One of these two it has asked.
    all[first].kill();
    let next = members.world.start_after(job.epoch);
    seen = observer.sees("the next leader", seen, |line| line["epoch"] == next.epoch);
    for each in &mut all {
        each.kill();
    }
    // Once, however long it lasts.
    seen = observer.sees("that nobody answers", seen, |line| {
        line["unknown"].as_str().is_some_and(|why| why.contains("no member answers"))
    });
    assert!(observer.process.is_running());
    let _all: Vec<_> = IDS.iter().map(|node| members.start(node, "")).collect();
    let last = members.world.start_after(next.epoch);
    observer.sees("the last leader", seen, |line| line["epoch"] == last.epoch);
    let lines = parsed(&observer.read("out"));
    let silent = |line: &&Value| {
        line["unknown"].as_str().is_some_and(|why| why.contains("no member answers"))
    };
    assert_eq!(lines.iter().filter(silent).count(), 1, "{lines:?}");
    let said = observer.read("err");
    assert_eq!(said.matches("\"event\":\"waiting\"").count(), 1, "{said}");
    // No state is told twice in a row.
    let states = lines.iter().map(|line| (&line["leader"], &line["epoch"], &line["unknown"]));
    let states: Vec<_> = states.collect();
    assert!(states.windows(2).all(|pair| pair[0] != pair[1]), "{states:?}");
    observer.process.send(Signal::INT);
    assert_eq!(observer.process.exit(), Some(0), "{said}");
}

/// Who names a member wants that one's view.
#[test]
fn a_member_that_was_named_is_waited_for() {
    let members = Members::new();
    let (mut all, job, first) = members.led();
    let other = (first + 1) % 3;
    let command = members.command("observe", IDS[other], &["--json"]);
    let mut observer = Observer::start(&members, command);
    let seen = observer.sees("the leader", 0, |line| line["epoch"] == job.epoch);
    all[other].kill();
    let seen = observer.sees("its end", seen, |line| line["unknown"].is_string());
    let why = format!("no member answers: {}; waiting until one does", IDS[other]);
    eventually("that it waits", || observer.read("err").contains(&why).then_some(()));
    assert!(observer.process.is_running());
    let _again = members.start(IDS[other], "");
    observer.sees("the leader again", seen, |line| line["epoch"] == job.epoch);
    observer.process.send(Signal::INT);
    assert_eq!(observer.process.exit(), Some(0));
}
