//! Killing a job, round after round, until its processes are gone.

use super::process_tree::{Key, Kinship, Process, exists, own_pid};
use rustix::process::{Pid, Signal, kill_process_group};
use std::{
    collections::BTreeSet,
    io::{self, ErrorKind},
    time::Duration,
};

/// How many rounds in a row may find a new process before process groups are killed that are not known
/// to be the job's alone.
const PATIENCE: u32 = 200;

/// Rounds of killing: with hardly a pause while new processes turn up, and longer and longer pauses for
/// processes that cannot be killed.
#[derive(Debug, Default)]
pub(super) struct Killing {
    known: BTreeSet<Key>,
    rounds: u32,
    /// How many rounds in a row have found a new process.
    outrun: u32,
}

impl Killing {
    /// Kills the descendants that [`below`](super::process_tree::below) would find. Returns the pause
    /// until the next round.
    ///
    /// # Errors
    /// As there.
    pub(super) fn round(&mut self, root: i32, but: &BTreeSet<Key>) -> io::Result<Duration> {
        let mut found = Kinship::look()?.below(root, but)?;
        let own = Process::of(own_pid()).ok_or(ErrorKind::NotFound)?;
        let parent = Process::of(own.parent).map_or(0, |parent| parent.group);
        // All at once and with those that were born since; one by one they might never be caught.
        let groups = groups_of(&found, &own, parent, self.is_outrun());
        for group in groups.into_iter().filter_map(Pid::from_raw) {
            let _ = kill_process_group(group, Signal::KILL);
        }
        found.retain(Process::lives);
        for process in &found {
            let _ = process.send(Signal::KILL);
        }
        Ok(self.pause(&found))
    }

    fn pause(&mut self, found: &[Process]) -> Duration {
        let found: BTreeSet<Key> = found.iter().map(Process::key).collect();
        let new = !found.is_subset(&self.known);
        self.known = found;
        self.rounds = if new { 0 } else { (self.rounds + 1).min(8) };
        self.outrun = if new { self.outrun + 1 } else { 0 };
        Duration::from_millis(1 << self.rounds)
    }

    /// Whether processes are born faster than they are killed.
    pub(super) fn is_outrun(&self) -> bool {
        self.outrun >= PATIENCE
    }
}

/// The process groups that can be killed as a whole. Nobody else can join a session that the job has
/// begun, and nobody else joins a group that it has begun. Who has begun a group whose first process is
/// gone, is not known; it is killed only if nothing else helps (`outrun`), and it is not the group of
/// this process or its `parent`, which a job can join.
fn groups_of(found: &[Process], own: &Process, parent: i32, outrun: bool) -> BTreeSet<i32> {
    let pids: BTreeSet<i32> = found.iter().map(|process| process.pid).collect();
    let is_the_jobs = |process: &&Process| {
        let group = process.group;
        let begun = process.session != own.session || pids.contains(&group);
        group > 0 && group != own.group && (begun || outrun && group != parent && !exists(group))
    };
    found.iter().filter(is_the_jobs).map(|process| process.group).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_with_somebody_else_in_it_is_not_killed_as_a_whole() {
        let own = Process::fake(100, 99, 100, 'S', 1);
        let found = [
            Process::fake(101, 100, 100, 'S', 1), // in this process's group
            Process::fake(102, 100, 102, 'Z', 1), // has begun one
            Process::fake(103, 102, 102, 'S', 1),
            Process::fake(104, 100, 1, 'S', 1), // in that of another, which lives
            Process::fake(105, 100, i32::MAX, 'S', 1), // in a session that the job has begun
        ];
        let groups = |parent, outrun| groups_of(&found, &own, parent, outrun);
        assert_eq!(groups(99, false), BTreeSet::from([102, i32::MAX]));
        assert_eq!(groups(99, true), BTreeSet::from([102, i32::MAX]));
        let gone = i32::MAX - 1;
        let mut leaderless = [Process::fake(106, 100, 1, 'S', 1)];
        leaderless[0].group = gone;
        assert!(groups_of(&leaderless, &own, 99, false).is_empty());
        assert_eq!(groups_of(&leaderless, &own, 99, true), BTreeSet::from([gone]));
        assert!(groups_of(&leaderless, &own, gone, true).is_empty());
    }

    #[test]
    fn killing_slows_down_only_when_nobody_new_turns_up() {
        let (one, two) = (Process::fake(1, 0, 1, 'D', 1), Process::fake(2, 0, 1, 'D', 1));
        let mut killing = Killing::default();
        let mut pause = |found: &[Process]| killing.pause(found).as_millis();
        assert_eq!(pause(std::slice::from_ref(&one)), 1);
        assert_eq!(pause(std::slice::from_ref(&one)), 2);
        for _ in 0..20 {
            pause(std::slice::from_ref(&one));
        }
        assert_eq!(pause(std::slice::from_ref(&one)), 256);
        assert_eq!(pause(&[one, two]), 1);
    }
}
