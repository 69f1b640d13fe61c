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
        Pid, PidfdFlags, Signal, getpid, kill_process, pidfd_open, pidfd_send_signal,
        test_kill_process,
    },
};
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt, fs,
    io::{self, ErrorKind},
    path::Path,
};

/// One particular process: its id and its start time, since ids are reused. The time is 0 of a process
/// that `/proc` does not show.
pub(super) type Key = (i32, u64);

/// A process as `/proc` shows it, or as its parent lists it.
#[derive(Clone, Debug)]
pub(super) struct Process {
    pub(super) pid: i32,
    pub(super) parent: i32,
    /// 0 if it is not known, or in another PID namespace.
    pub(super) group: i32,
    pub(super) session: i32,
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
    pub(super) fn lives(&self) -> bool {
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

/// Whether the process of this key has ended. One that only cannot be looked at has not.
pub(super) fn is_gone((pid, started): Key) -> bool {
    match Process::of(pid) {
        Some(now) => now.started != started || !now.lives(),
        None => !exists(pid),
    }
}

/// Who is whose child. Dead children count until they are reaped.
pub(super) enum Kinship {
    /// The kernel lists them.
    Listed,
    /// All processes that `/proc` shows, by their parents.
    Scanned(BTreeMap<i32, Vec<i32>>),
}

impl Kinship {
    pub(super) fn look() -> io::Result<Self> {
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
    pub(super) fn below(&self, root: i32, but: &BTreeSet<Key>) -> io::Result<Vec<Process>> {
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
            Err(error) if is_over(&error) => {} // with the thread
            Err(error) => return Err(error),
        }
    }
    Ok(children)
}

/// Whether what should be read about a process is gone with it.
fn is_over(error: &io::Error) -> bool {
    error.kind() == ErrorKind::NotFound || error.raw_os_error() == Some(Errno::SRCH.raw_os_error())
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

/// Checks that `/proc` shows the same process ids as the kernel uses for this process, and either every
/// process or the children of each.
pub(crate) fn is_visible() -> Result<(), String> {
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

/// The parent of this process, by the numbers that `/proc` shows; `getppid` knows none outside of this
/// PID namespace.
pub(super) fn parent() -> Option<i32> {
    let text = fs::read("/proc/self/stat").ok()?;
    Process::parse(0, &String::from_utf8_lossy(&text)).map(|own| own.parent)
}

/// This process's group; 0 if that belongs to an outer PID namespace, as that of a first process whom
/// nobody has given a group (`unshare --pid --fork`). So it is not asked for by `getpgrp`, whose answer
/// rustix takes to be no 0.
pub(super) fn own_group() -> i32 {
    Process::of(own_pid()).map_or(0, |own| own.group)
}

#[cfg(test)]
impl Process {
    /// Of a session of its own if its group's number is high.
    pub(super) fn fake(pid: i32, parent: i32, group: i32, state: char, threads: u32) -> Self {
        let session = if group > 200 { group } else { 1 };
        let text = format!(
            "{pid} (a (b) c) {state} {parent} {group} {session} 0 -1 0 0 0 0 0 0 0 0 0 20 0 {threads} 0 77 0"
        );
        Self::parse(pid, &text).unwrap()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::process::kill_process_group;
    use std::{
        os::unix::process::{CommandExt as _, ExitStatusExt as _},
        process::{Child, Command},
        time::{Duration, Instant},
    };

    /// A shell in a group of its own, which ends with the test.
    struct Shell(Child);

    impl Shell {
        fn pid(&self) -> i32 {
            Pid::from_child(&self.0).as_raw_pid()
        }
    }

    impl Drop for Shell {
        fn drop(&mut self) {
            let _ = kill_process_group(Pid::from_child(&self.0), Signal::KILL);
            let _ = self.0.wait();
        }
    }

    /// Real ones, since both ways to find them read `/proc`.
    /// As the kernel says it: no such file once the process was buried, no such process before that.
    #[test]
    fn a_process_that_ends_while_it_is_read_is_over() {
        for (errno, over) in [(Errno::NOENT, true), (Errno::SRCH, true), (Errno::IO, false)] {
            assert_eq!(is_over(&errno.into()), over, "{errno}");
        }
    }

    #[test]
    fn descent_is_found_by_lists_and_by_reading_all() {
        let mut shell = Command::new("sh");
        shell.args(["-c", "sleep 600 & sh -c 'sleep 600; :' & wait"]).process_group(0);
        let shell = Shell(shell.spawn().unwrap());
        let root = shell.pid();
        let pids = |kinship: Kinship, but: &BTreeSet<Key>| -> BTreeSet<i32> {
            let found = kinship.below(root, but).unwrap();
            found.iter().map(|process| process.pid).collect()
        };
        let none = BTreeSet::new();
        // As soon as all have started, and are shown by their last names.
        let began = Instant::now();
        let all = loop {
            assert!(began.elapsed() < Duration::from_secs(40), "they have not started in time");
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
    }

    /// Its number belongs to another process by now.
    #[test]
    fn a_signal_spares_a_process_that_started_later() {
        let shell = Command::new("sh").args(["-c", "exec sleep 600"]).process_group(0).spawn();
        let mut shell = Shell(shell.unwrap());
        let now = Process::of(shell.pid()).unwrap();
        let before = Process { started: now.started - 1, ..now.clone() };
        before.send(Signal::KILL).unwrap();
        now.send(Signal::TERM).unwrap();
        let status = shell.0.wait().unwrap();
        assert_eq!(status.signal(), Some(Signal::TERM.as_raw()), "{status}");
    }

    #[test]
    fn what_is_dead_but_for_a_thread_lives() {
        let lives = |state, threads| Process::fake(7, 1, 7, state, threads).lives();
        assert_eq!(
            [lives('Z', 1), lives('Z', 2), lives('X', 1), lives('D', 1)],
            [false, true, false, true]
        );
    }
}
