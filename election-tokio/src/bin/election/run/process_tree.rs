//! Every process of the job: all descendants of the guard, wherever they have moved since.
//!
//! Process groups do not serve: `timeout`, `setsid`, daemons and shells with job control leave
//! them. No process can leave its line of descent while a [subreaper](super::reaper) lives.
//!
//! The kernel lists the children of each thread (`/proc/PID/task/TID/children`). So the work depends
//! on the size of the job, not of the machine, and no process is absent because `/proc` does not show
//! it to this user (`hidepid`, systemd's `ProtectProc=`): one that is not dumpable, or whose program
//! may not be read. Such a process is still listed by its parent, and a signal reaches it.
//!
//! A walk is a help, not a proof. The proof that nothing is left is that this process has no children
//! any more ([`Reaped::Childless`](super::reaper::Reaped)); rounds of killing go on until then. Races:
//!
//! * *A process forks while its list is read, or ends, and others are left out of it.* The next round
//!   finds them, at the latest as children of this process, once their parent is dead.
//! * *A process that `/proc` does not show has children.* Its list cannot be read. It is killed first,
//!   and its children are this process's then.
//! * *This process's own list* lacks nobody: a child leaves it only when this process reaps, which it
//!   does not do meanwhile; what is adopted comes behind its end, before its dead parent can be reaped.
//!   All children belong to the main thread, since that starts and adopts them.
//! * *A number is used anew between list and signal.* The signal goes to a pidfd, and only if start
//!   time or, where that is not shown, parent are still the same.
//! * *A read fails* (EIO, no free descriptor). A child that cannot be looked at counts as alive. If the
//!   list of the root itself cannot be read, the caller kills a process group, and waits all the same.
//! * *A kernel without these lists* (`CONFIG_PROC_CHILDREN`): all of `/proc` is read for them. Where
//!   `/proc` also hides processes, the command refuses to start ([`is_visible`]).

use rustix::{
    io::Errno,
    process::{
        Pid, PidfdFlags, Signal, getpid, kill_process, kill_process_group, pidfd_open,
        pidfd_send_signal, test_kill_process,
    },
};
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt, fs,
    io::{self, ErrorKind},
    path::Path,
    time::Duration,
};

/// One particular process: its id and its start time, since ids are reused. The time is 0 of a process
/// that `/proc` does not show.
pub(super) type Key = (i32, u64);

/// A process as `/proc` shows it, or as its parent lists it.
#[derive(Clone, Debug)]
pub(super) struct Process {
    pub(super) pid: i32,
    parent: i32,
    /// 0 if it is not known, or in another PID namespace.
    pub(super) group: i32,
    session: i32,
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

    /// A process that this parent lists; `None` if it is gone.
    fn listed(pid: i32, parent: i32) -> Option<Self> {
        Self::of(pid).or_else(|| {
            exists(pid).then(|| {
                let (state, name) = ('?', "hidden".to_owned());
                Self { pid, parent, group: 0, session: 0, state, threads: 1, name, started: 0 }
            })
        })
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
            session: fields.get(3)?.parse().ok()?,
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

    /// Whether the process is seen to act by itself, unlike one that was stopped or waits in the kernel.
    pub(super) fn acts(&self) -> bool {
        matches!(self.state, 'R' | 'S' | 'I')
    }

    /// Whether the process of this number is still this one.
    fn is_still(&self) -> bool {
        match Self::of(self.pid) {
            Some(now) => now.key() == self.key(),
            None => children_of(self.parent).is_ok_and(|children| children.contains(&self.pid)),
        }
    }

    /// Sends the process a signal. A process that is gone needs none.
    pub(super) fn send(&self, signal: Signal) -> Result<(), Errno> {
        let Some(pid) = Pid::from_raw(self.pid) else { return Ok(()) };
        match pidfd_open(pid, PidfdFlags::empty()) {
            // Now the id cannot pass to another process unseen.
            Ok(process) if self.is_still() => pidfd_send_signal(process, signal),
            Ok(_) | Err(Errno::SRCH) => Ok(()),
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

/// Whether any process has this number, shown or not.
pub(super) fn exists(pid: i32) -> bool {
    Pid::from_raw(pid).is_some_and(|pid| test_kill_process(pid) != Err(Errno::SRCH))
}

/// Who is whose child. Dead children count until they are reaped.
enum Kinship {
    /// The kernel lists them.
    Listed,
    /// All processes that `/proc` shows, by their parents.
    Scanned(BTreeMap<i32, Vec<i32>>),
}

impl Kinship {
    fn look() -> io::Result<Self> {
        if is_listed() { Ok(Self::Listed) } else { Self::scan() }
    }

    fn scan() -> io::Result<Self> {
        let mut all = BTreeMap::<i32, Vec<i32>>::new();
        let pids = fs::read_dir("/proc")?
            .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
        for process in pids.filter_map(Process::of) {
            all.entry(process.parent).or_default().push(process.pid);
        }
        Ok(Self::Scanned(all))
    }

    fn children(&self, parent: i32) -> io::Result<Vec<i32>> {
        match self {
            Self::Listed => children_of(parent),
            Self::Scanned(all) => Ok(all.get(&parent).cloned().unwrap_or_default()),
        }
    }

    /// All descendants, dead ones included.
    fn below(&self, root: i32, but: &BTreeSet<Key>) -> io::Result<Vec<Process>> {
        let mut found: Vec<Process> = Vec::new();
        let mut known = BTreeSet::from([root]);
        let (mut parent, mut children, mut next) = (root, self.children(root)?, 0);
        loop {
            for pid in children {
                let process = Process::listed(pid, parent);
                // Another parent that is unknown: the number was used anew.
                let process = process.filter(|process| known.contains(&process.parent));
                let Some(process) = process.filter(|process| !but.contains(&process.key())) else {
                    continue;
                };
                if known.insert(pid) {
                    found.push(process);
                }
            }
            let Some(process) = found.get(next) else { return Ok(found) };
            (parent, next) = (process.pid, next + 1);
            children = self.children(parent).unwrap_or_default();
        }
    }
}

fn is_listed() -> bool {
    Path::new("/proc/thread-self/children").exists()
}

/// What the kernel lists as the children of a process's threads.
fn children_of(parent: i32) -> io::Result<Vec<i32>> {
    let mut children = Vec::new();
    for thread in fs::read_dir(format!("/proc/{parent}/task"))? {
        match fs::read_to_string(thread?.path().join("children")) {
            Ok(list) => children.extend(list.split_whitespace().flat_map(str::parse::<i32>)),
            Err(error) if error.kind() == ErrorKind::NotFound => {} // the thread has ended
            Err(error) => return Err(error),
        }
    }
    Ok(children)
}

/// The living descendants of one process, except for some and their descendants.
///
/// # Errors
/// If it cannot be read who its children are.
pub(super) fn below(root: i32, but: &BTreeSet<Key>) -> io::Result<Vec<Process>> {
    let mut found = Kinship::look()?.below(root, but)?;
    found.retain(Process::lives);
    Ok(found)
}

/// The children of this process, dead ones included.
pub(super) fn own_children() -> io::Result<BTreeSet<Key>> {
    let children = Kinship::look()?.children(own_pid())?;
    let listed = children.into_iter().filter_map(|pid| Process::listed(pid, own_pid()));
    Ok(listed.map(|process| process.key()).collect())
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
    /// Kills the descendants that [`below`] would find. Returns the pause until the next round.
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

/// Checks that `/proc` shows the same process ids as the kernel uses for this process, and either every
/// process or the children of each.
pub(super) fn is_visible() -> Result<(), String> {
    let own = fs::read_link("/proc/self");
    if !own.is_ok_and(|own| own.as_os_str() == own_pid().to_string().as_str()) {
        return Err(
            "/proc does not show the processes of this PID namespace, so the job's processes \
                    could not be found; mount it again (unshare --mount-proc)"
                .to_owned(),
        );
    }
    // The first process of all is another user's.
    if !is_listed() && Process::of(1).is_none() {
        return Err("/proc hides processes, and this kernel does not list the children of a process, so \
                    the job's processes could not be found; use a kernel with CONFIG_PROC_CHILDREN, or \
                    mount /proc without hidepid= (systemd: without ProtectProc=)"
            .to_owned());
    }
    Ok(())
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
    use std::os::unix::process::CommandExt as _;

    fn process(pid: i32, parent: i32, group: i32, state: char, threads: u32) -> Process {
        let session = if group > 200 { group } else { 1 };
        let text = format!(
            "{pid} (a (b) c) {state} {parent} {group} {session} 0 -1 0 0 0 0 0 0 0 0 0 20 0 {threads} 0 77 0"
        );
        Process::parse(pid, &text).unwrap()
    }

    /// Real ones, since both ways to find them read `/proc`.
    #[test]
    fn descent_is_found_by_lists_and_by_reading_all() {
        let mut shell = std::process::Command::new("sh")
            .args(["-c", "sleep 600 & sh -c 'sleep 600; :' & wait"])
            .process_group(0)
            .spawn()
            .unwrap();
        let root = i32::try_from(shell.id()).unwrap();
        let pids = |kinship: Kinship, but: &BTreeSet<Key>| -> BTreeSet<i32> {
            let found = kinship.below(root, but).unwrap();
            found.iter().map(|process| process.pid).collect()
        };
        let none = BTreeSet::new();
        // As soon as all have started, and are shown by their last names.
        let all = loop {
            let all = pids(Kinship::Listed, &none);
            if all.len() == 3 && all == pids(Kinship::scan().unwrap(), &none) {
                break all;
            }
            std::thread::sleep(Duration::from_millis(1));
        };
        let direct: BTreeSet<i32> = children_of(root).unwrap().into_iter().collect();
        let deeper = *all.difference(&direct).next().unwrap();
        let between = Process::of(Process::of(deeper).unwrap().parent).unwrap();
        let but = BTreeSet::from([between.key()]);
        let rest: BTreeSet<i32> =
            all.iter().copied().filter(|pid| ![deeper, between.pid].contains(pid)).collect();
        assert_eq!(pids(Kinship::Listed, &but), rest);
        assert_eq!(pids(Kinship::scan().unwrap(), &but), rest);
        let another = BTreeSet::from([(between.pid, between.started + 1)]);
        assert_eq!(pids(Kinship::Listed, &another), all, "another one of the same number");
        kill_process_group(Pid::from_raw(root).unwrap(), Signal::KILL).unwrap();
        shell.wait().unwrap();
    }

    #[test]
    fn a_group_with_somebody_else_in_it_is_not_killed_as_a_whole() {
        let own = process(100, 99, 100, 'S', 1);
        let found = [
            process(101, 100, 100, 'S', 1), // in this process's group
            process(102, 100, 102, 'Z', 1), // has begun one
            process(103, 102, 102, 'S', 1),
            process(104, 100, 1, 'S', 1), // in that of another, which lives
            process(105, 100, i32::MAX, 'S', 1), // in a session that the job has begun
        ];
        let groups = |parent, outrun| groups_of(&found, &own, parent, outrun);
        assert_eq!(groups(99, false), BTreeSet::from([102, i32::MAX]));
        assert_eq!(groups(99, true), BTreeSet::from([102, i32::MAX]));
        let gone = i32::MAX - 1;
        let leaderless = [Process { group: gone, session: 1, ..process(106, 100, 1, 'S', 1) }];
        assert!(groups_of(&leaderless, &own, 99, false).is_empty());
        assert_eq!(groups_of(&leaderless, &own, 99, true), BTreeSet::from([gone]));
        assert!(groups_of(&leaderless, &own, gone, true).is_empty());
    }

    #[test]
    fn what_is_dead_but_for_a_thread_lives() {
        let lives = |state, threads| process(7, 1, 7, state, threads).lives();
        assert_eq!(
            [lives('Z', 1), lives('Z', 2), lives('X', 1), lives('D', 1)],
            [false, true, false, true]
        );
    }

    #[test]
    fn killing_slows_down_only_when_nobody_new_turns_up() {
        let (one, two) = (process(1, 0, 1, 'D', 1), process(2, 0, 1, 'D', 1));
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
