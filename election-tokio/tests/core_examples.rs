//! Runs the examples of election-core as their readers do: several processes of each, of which one is
//! killed, stopped or told to leave.
//!
//! Cargo builds the examples along with the tests of the workspace, unless only this test was asked
//! for.
#![allow(clippy::unwrap_used)]

use election_driver::conformance::Place;
use election_testing::{
    Program,
    process::{eventually, freeze, thaw},
};
use rusqlite::Connection;
use rustix::process::Signal;
use std::{fs, io::Write as _, mem, path::Path, time::Duration};
use tempfile::TempDir;

/// What only a leader does, and when, by the clock that all processes of a machine share.
#[derive(Clone, Debug)]
struct Act {
    at: u64,
    node: String,
    epoch: u64,
}

impl Act {
    fn read(line: &str) -> Option<Self> {
        let (said, epoch) = line.split_once(" under epoch ")?;
        let (at, rest) = said.split_once(' ')?;
        let (node, _) = rest.split_once(':').or_else(|| rest.split_once(' '))?;
        Some(Self { at: at.parse().ok()?, node: node.to_owned(), epoch: epoch.parse().ok()? })
    }
}

/// When a line was said.
fn instant(line: &str) -> Duration {
    Duration::from_nanos(line.split(' ').next().unwrap().parse().unwrap())
}

/// A process, and all that it has said so far.
struct Actor {
    program: Program,
    lines: Vec<String>,
    read: usize,
}

impl Actor {
    fn start(example: &str, arguments: &[&str]) -> Self {
        Self { program: Program::start(example, arguments), lines: Vec::new(), read: 0 }
    }

    fn listen(&mut self) -> &[String] {
        self.lines.extend(self.program.lines.try_iter());
        &self.lines
    }

    /// The next line that contains these words.
    #[track_caller]
    fn says(&mut self, words: &str) -> String {
        eventually(words, || {
            let read = self.read;
            let found = self.listen()[read..].iter().position(|line| line.contains(words))?;
            self.read += found + 1;
            Some(self.lines[self.read - 1].clone())
        })
    }

    /// The next act.
    #[track_caller]
    fn acts(&mut self) -> Act {
        Act::read(&self.says(" under epoch ")).unwrap()
    }

    fn pid(&self) -> i32 {
        self.program.process.id().try_into().unwrap()
    }

    /// Kills it, if it has not ended by itself.
    fn kill(&mut self) {
        if self.program.process.try_wait().unwrap().is_none() {
            self.program.send(Signal::KILL);
            self.program.ends();
        }
    }

    /// All that it has ever done; it has ended.
    fn done(mut self) -> Vec<Act> {
        self.lines.extend(self.program.lines.iter());
        self.lines.iter().filter_map(|line| Act::read(line)).collect()
    }
}

/// At every instant at most one acts, and each term is one node's.
fn assert_one_at_a_time(actors: impl IntoIterator<Item = Actor>) {
    let mut acts: Vec<Act> = actors.into_iter().flat_map(Actor::done).collect();
    acts.sort_by_key(|act| act.at);
    for pair in acts.windows(2) {
        let (before, after) = (&pair[0], &pair[1]);
        let same = before.epoch == after.epoch && before.node == after.node;
        assert!(same || before.epoch < after.epoch, "{before:?}, then {after:?}");
    }
}

fn start_lease(file: &Path, node: &str, pieces: &str) -> Actor {
    Actor::start("sqlite_lease", &[file.to_str().unwrap(), node, pieces])
}

/// A leader that is killed is succeeded when its lease has run out, one that leaves at once.
#[test]
fn sqlite_lease_after_a_kill() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("jobs.db");
    let mut alice = start_lease(&file, "alice", "1000000");
    let first = alice.acts().epoch;
    let mut bob = start_lease(&file, "bob", "3");
    bob.says("Followed");
    alice.acts();
    alice.kill();
    let second = bob.acts().epoch;
    assert!(second > first);
    assert!(bob.program.ends().success());
    let mut carol = start_lease(&file, "carol", "2");
    let third = carol.acts().epoch;
    assert!(third > second);
    assert!(carol.program.ends().success());

    let entries = Connection::open(&file).unwrap();
    let count = |epoch: u64| {
        let epoch = i64::try_from(epoch).unwrap();
        let count = "SELECT count(*) FROM work WHERE epoch = ?1";
        entries.query_row(count, [epoch], |row| row.get::<_, i64>(0)).unwrap()
    };
    assert_eq!((count(second), count(third)), (3, 2));
    assert_one_at_a_time([alice, bob, carol]);
}

/// A leader that stands still for longer than its lease does nothing more in its term.
#[test]
fn sqlite_lease_after_a_stop() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("jobs.db");
    let mut alice = start_lease(&file, "alice", "1000000");
    let first = alice.acts().epoch;
    let mut bob = start_lease(&file, "bob", "1000000");
    bob.says("Followed");
    stop_between_transactions(&alice, &file);
    let second = bob.acts().epoch;
    assert!(second > first);
    thaw(alice.pid());
    alice.says("Lost");
    alice.says("Followed");
    bob.kill();
    // She has told the core that her work had stopped: otherwise she could not lead again.
    eventually("her next term", || (alice.acts().epoch > second).then_some(()));
    alice.kill();
    assert_one_at_a_time([alice, bob]);
}

/// A process that stops within a transaction keeps its lock, and nobody can win before it goes on.
fn stop_between_transactions(actor: &Actor, file: &Path) {
    let database = Connection::open(file).unwrap();
    database.busy_timeout(Duration::ZERO).unwrap();
    eventually("a stop between two transactions", || {
        freeze(actor.pid());
        let free = database.execute_batch("BEGIN IMMEDIATE; ROLLBACK");
        if free.is_err() {
            thaw(actor.pid());
        }
        free.ok()
    });
}

/// The member that acts under a later epoch, and that epoch.
#[track_caller]
fn primary(members: &mut [Actor; 3], after: u64) -> (usize, u64) {
    eventually("a primary", || {
        (0..).zip(&mut *members).find_map(|(place, member)| {
            let acts = member.listen().iter().filter_map(|line| Act::read(line));
            Some((place, acts.map(|act| act.epoch).find(|epoch| *epoch > after)?))
        })
    })
}

const NAMES: [&str; 3] = ["a", "b", "c"];

/// The addresses and the directories of three members.
struct Cluster {
    place: Place,
    directory: TempDir,
}

impl Cluster {
    fn new() -> Self {
        let (place, directory) = (Place::new(3), tempfile::tempdir().unwrap());
        for name in NAMES {
            fs::create_dir(directory.path().join(name)).unwrap();
        }
        Self { place, directory }
    }

    fn start(&self, member: usize) -> Actor {
        let name = NAMES[member];
        let home = self.directory.path().join(name);
        let list = [0, 1, 2].map(|at| format!("{}={}", NAMES[at], self.place.address(at)));
        let mut arguments = vec![home.to_str().unwrap(), name];
        arguments.extend(list.iter().map(String::as_str));
        Actor::start("tcp_quorum", &arguments)
    }

    /// All members, at their first start, and the primary with its epoch once all others follow it.
    #[track_caller]
    fn start_all(&self) -> ([Actor; 3], usize, u64) {
        let mut members = [0, 1, 2].map(|member| self.start(member));
        for member in &mut members {
            member.says("begins with Nothing");
        }
        let (first, epoch) = primary(&mut members, 0);
        self.all_follow(&mut members, first);
        (members, first, epoch)
    }

    #[track_caller]
    fn all_follow(&self, members: &mut [Actor; 3], primary: usize) {
        let label = format!("label: Some(\"{}\")", self.place.address(primary));
        for follower in (0..3).filter(|each| *each != primary) {
            members[follower].says(&label);
        }
    }
}

/// The primary is killed, another member takes over, and the killed one comes back with its ballot.
#[test]
fn tcp_quorum_after_a_kill() {
    let cluster = Cluster::new();
    let (mut members, killed, first) = cluster.start_all();
    members[killed].kill();
    let (heir, _) = primary(&mut members, first);
    assert_ne!(heir, killed);

    let gone = mem::replace(&mut members[killed], cluster.start(killed));
    let ballot = members[killed].says("begins with Ballot");
    assert!(ballot.contains(&format!("voted_for: Some(\"{}\")", NAMES[killed])), "{ballot}");
    cluster.all_follow(&mut members, heir);

    members.iter_mut().for_each(Actor::kill);
    assert_one_at_a_time(members.into_iter().chain([gone]));
}

/// A primary that stands still until another one leads does nothing more in its term, and says that
/// it has lost it.
#[test]
fn tcp_quorum_after_a_stop() {
    let cluster = Cluster::new();
    let (mut members, stopped, first) = cluster.start_all();
    freeze(members[stopped].pid());
    let (heir, _) = primary(&mut members, first);
    assert_ne!(heir, stopped);
    thaw(members[stopped].pid());
    members[stopped].says("Lost");
    members.iter_mut().for_each(Actor::kill);
    assert_one_at_a_time(members);
}

/// A primary that leaves says so before it closes its connections: nobody waits until its support has
/// run out, which takes five seconds.
#[test]
fn tcp_quorum_after_a_farewell() {
    let cluster = Cluster::new();
    let (mut members, leaving, first) = cluster.start_all();
    let mut input = members[leaving].program.process.stdin.take().unwrap();
    writeln!(input, "leave").unwrap();
    assert!(members[leaving].program.ends().success());
    let left = instant(&members[leaving].says("Withdrawn"));
    let (heir, _) = primary(&mut members, first);
    let elected = instant(&members[heir].says("Elected"));
    assert!(elected - left < Duration::from_secs(3), "{left:?}, then {elected:?}");
    members.iter_mut().for_each(Actor::kill);
    assert_one_at_a_time(members);
}
