//! Every process of the job: all descendants of the guard, wherever they have moved since.
//!
//! Process groups do not serve: `timeout`, `setsid`, daemons and shells with job control leave
//! them. No process can leave its line of descent while a [subreaper](super::reaper) lives.

use rustix::{
    io::Errno,
    process::{
        Pid, PidfdFlags, Signal, getpid, kill_process, kill_process_group, pidfd_open,
        pidfd_send_signal,
    },
};
use std::{collections::BTreeSet, fmt, fs, io};

/// One particular process: its id and its start time, since ids are reused.
pub(super) type Key = (i32, u64);

/// A process as `/proc` shows it.
#[derive(Clone, Debug)]
pub(super) struct Process {
    pub(super) pid: i32,
    parent: i32,
    pub(super) group: i32,
    state: char,
    threads: u32,
    name: String,
    started: u64,
}

impl Process {
    pub(super) fn of(pid: i32) -> Option<Self> {
        let text = fs::read(format!("/proc/{pid}/stat")).ok()?;
        Self::parse(pid, &String::from_utf8_lossy(&text))
    }

    fn parse(pid: i32, text: &str) -> Option<Self> {
        // The name may contain anything, even parentheses.
        let (name, rest) = text.rsplit_once(')')?;
        let (_, name) = name.split_once('(')?;
        let fields: Vec<&str> = rest.split_whitespace().collect();
        Some(Self {
            pid,
            state: fields.first()?.chars().next()?,
            parent: fields.get(1)?.parse().ok()?,
            group: fields.get(2)?.parse().ok()?,
            threads: fields.get(17)?.parse().ok()?,
            started: fields.get(19)?.parse().ok()?,
            name: name.to_owned(),
        })
    }

    pub(super) fn key(&self) -> Key {
        (self.pid, self.started)
    }

    /// Whether the process can still do something. A dead process only waits to be reaped, but a
    /// process of which only the first thread has ended looks the same.
    fn lives(&self) -> bool {
        match self.state {
            'X' => false,
            'Z' => self.threads > 1,
            _ => true,
        }
    }

    /// Whether the process can act by itself, unlike one that was stopped or waits in the kernel.
    pub(super) fn acts(&self) -> bool {
        matches!(self.state, 'R' | 'S' | 'I')
    }

    /// Sends the process a signal. A process that is gone needs none.
    pub(super) fn send(&self, signal: Signal) -> Result<(), Errno> {
        let Some(pid) = Pid::from_raw(self.pid) else { return Ok(()) };
        match pidfd_open(pid, PidfdFlags::empty()) {
            // Now the id cannot pass to another process unseen.
            Ok(process) => match Self::of(self.pid) {
                Some(now) if now.key() == self.key() => pidfd_send_signal(process, signal),
                _ => Ok(()),
            },
            Err(Errno::SRCH) => Ok(()),
            Err(_) => kill_process(pid, signal),
        }
    }
}

impl fmt::Display for Process {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.name.escape_debug();
        write!(f, "process {} ({name}, state {})", self.pid, self.state)
    }
}

/// All processes, from one look.
struct Snapshot(Vec<Process>);

impl Snapshot {
    fn take() -> io::Result<Self> {
        let pids = fs::read_dir("/proc")?
            .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
        Ok(Self(pids.filter_map(Process::of).collect()))
    }

    fn below(&self, root: i32, but: &BTreeSet<Key>) -> Vec<Process> {
        let mut known = BTreeSet::from([root]);
        // A parent may have a higher number than its child.
        loop {
            let before = known.len();
            for process in &self.0 {
                if known.contains(&process.parent) && !but.contains(&process.key()) {
                    known.insert(process.pid);
                }
            }
            if known.len() == before {
                break;
            }
        }
        known.remove(&root);
        let left = self.0.iter().filter(|process| known.contains(&process.pid) && process.lives());
        left.cloned().collect()
    }

    /// The process groups that no other process is in.
    fn groups_of(&self, processes: &[Process]) -> BTreeSet<i32> {
        let pids: BTreeSet<i32> = processes.iter().map(|process| process.pid).collect();
        let mut groups: BTreeSet<i32> = processes.iter().map(|process| process.group).collect();
        for other in self.0.iter().filter(|process| !pids.contains(&process.pid)) {
            groups.remove(&other.group);
        }
        groups
    }
}

/// The living descendants of one process, except for some and their descendants.
///
/// # Errors
/// If `/proc` cannot be read.
pub(super) fn below(root: i32, but: &BTreeSet<Key>) -> io::Result<Vec<Process>> {
    Ok(Snapshot::take()?.below(root, but))
}

/// The children of a process, dead ones included.
pub(super) fn children(parent: i32) -> io::Result<BTreeSet<Key>> {
    let snapshot = Snapshot::take()?.0;
    Ok(snapshot.iter().filter(|each| each.parent == parent).map(Process::key).collect())
}

/// Kills the descendants that [`below`] would find. Returns them.
///
/// # Errors
/// As there.
pub(super) fn kill(root: i32, but: &BTreeSet<Key>) -> io::Result<Vec<Process>> {
    let snapshot = Snapshot::take()?;
    let left = snapshot.below(root, but);
    // All at once and with those that were born since; one by one they might never be caught.
    for group in snapshot.groups_of(&left).into_iter().filter_map(Pid::from_raw) {
        let _ = kill_process_group(group, Signal::KILL);
    }
    for process in &left {
        let _ = process.send(Signal::KILL);
    }
    Ok(left)
}

/// Sends a signal to each process. Returns those that this user may not signal.
pub(super) fn send(processes: Vec<Process>, signal: Signal) -> Vec<Process> {
    let refuses = |process: &Process| process.send(signal) == Err(Errno::PERM);
    processes.into_iter().filter(refuses).collect()
}

/// Some processes, in words for people.
pub(super) fn list(processes: &[Process]) -> String {
    const MOST: usize = 5;
    let mut text: Vec<String> = processes.iter().take(MOST).map(Process::to_string).collect();
    if processes.len() > MOST {
        text.push(format!("{} more", processes.len() - MOST));
    }
    text.join(", ")
}

/// How long to wait between two rounds of killing: hardly at all while new processes turn up, and
/// longer and longer for processes that cannot be killed.
#[derive(Debug, Default)]
pub(super) struct KillBackoff {
    known: BTreeSet<Key>,
    rounds: u32,
}

impl KillBackoff {
    /// Notes the processes of a round. Returns whether any was new, and the pause.
    pub(super) fn round(&mut self, found: &[Process]) -> (bool, std::time::Duration) {
        let found: BTreeSet<Key> = found.iter().map(Process::key).collect();
        let new = !found.is_subset(&self.known);
        self.known = found;
        self.rounds = if new { 0 } else { (self.rounds + 1).min(8) };
        (new, std::time::Duration::from_millis(1 << self.rounds))
    }
}

/// Checks that `/proc` shows the same process ids as the kernel uses for this process.
pub(super) fn is_visible() -> Result<(), String> {
    let own = fs::read_link("/proc/self");
    if own.is_ok_and(|own| own.as_os_str() == own_pid().to_string().as_str()) {
        return Ok(());
    }
    Err("/proc does not show the processes of this PID namespace, so the job's processes could not \
         be found; mount it again (unshare --mount-proc)"
        .to_owned())
}

/// This process.
pub(super) fn own_pid() -> i32 {
    getpid().as_raw_pid()
}

/// This process's group; 0 if that belongs to an outer PID namespace, as that of a first process whom
/// nobody has given a group (`unshare --pid --fork`). So it is not asked for by `getpgrp`, whose answer
/// rustix takes to be no 0.
pub(super) fn own_group() -> i32 {
    Process::of(own_pid()).map_or(0, |own| own.group)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(pid: i32, parent: i32, group: i32, state: char, threads: u32) -> Process {
        let text = format!(
            "{pid} (a (b) c) {state} {parent} {group} 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 {threads} 0 77 0"
        );
        Process::parse(pid, &text).unwrap()
    }

    #[test]
    fn descent_is_found_whatever_the_numbers() {
        let snapshot = Snapshot(vec![
            process(5, 9, 5, 'S', 1),
            process(9, 100, 9, 'S', 1),
            process(100, 1, 100, 'S', 1),
            process(101, 100, 9, 'Z', 1),
            process(102, 100, 9, 'Z', 2),
            process(103, 1, 5, 'S', 1),
            process(104, 100, 104, 'S', 1),
        ]);
        let pids = |but: &[Key]| -> Vec<i32> {
            let left = snapshot.below(100, &but.iter().copied().collect());
            left.iter().map(|process| process.pid).collect()
        };
        assert_eq!(pids(&[]), [5, 9, 102, 104]);
        assert_eq!(pids(&[(9, 77)]), [102, 104]);
        assert_eq!(pids(&[(9, 78)]), [5, 9, 102, 104], "another one of the same number");
        let left = snapshot.below(100, &BTreeSet::new());
        let shared = "a group with somebody else in it is not killed as a whole";
        assert_eq!(snapshot.groups_of(&left), BTreeSet::from([104]), "{shared}");
    }

    #[test]
    fn killing_slows_down_only_when_nobody_new_turns_up() {
        let (one, two) = (process(1, 0, 1, 'D', 1), process(2, 0, 1, 'D', 1));
        let mut backoff = KillBackoff::default();
        let pause = |(new, pause): (bool, std::time::Duration)| (new, pause.as_millis());
        assert_eq!(pause(backoff.round(std::slice::from_ref(&one))), (true, 1));
        assert_eq!(pause(backoff.round(std::slice::from_ref(&one))), (false, 2));
        for _ in 0..20 {
            backoff.round(std::slice::from_ref(&one));
        }
        assert_eq!(pause(backoff.round(std::slice::from_ref(&one))), (false, 256));
        assert_eq!(pause(backoff.round(&[one, two])), (true, 1));
    }
}
