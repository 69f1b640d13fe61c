//! Every process that the job consists of: whatever descends from the guard, wherever it has
//! moved to since.
//!
//! Process groups are no such thing: `timeout`, `setsid`, daemons and shells with job control
//! leave them. Descent cannot be left while a [subreaper](super::reaper) lives.

use rustix::{
    io::Errno,
    process::{Pid, PidfdFlags, Signal, getpid, kill_process, pidfd_open, pidfd_send_signal},
};
use std::{collections::BTreeSet, fmt, fs};

/// A process as `/proc` shows it.
#[derive(Clone, Debug)]
pub(super) struct Process {
    pub(super) pid: i32,
    parent: i32,
    pub(super) group: i32,
    state: char,
    name: String,
    /// When it was started. With the number it names one process and no other.
    started: u64,
}

impl Process {
    pub(super) fn of(pid: i32) -> Option<Self> {
        let text = fs::read(format!("/proc/{pid}/stat")).ok()?;
        let text = String::from_utf8_lossy(&text);
        // The name may hold anything, parentheses included.
        let (name, rest) = text.rsplit_once(')')?;
        let (_, name) = name.split_once('(')?;
        let fields: Vec<&str> = rest.split_whitespace().collect();
        Some(Self {
            pid,
            state: fields.first()?.chars().next()?,
            parent: fields.get(1)?.parse().ok()?,
            group: fields.get(2)?.parse().ok()?,
            started: fields.get(19)?.parse().ok()?,
            name: name.to_owned(),
        })
    }

    /// Whether it can still do something. The dead only wait to be buried.
    fn lives(&self) -> bool {
        !matches!(self.state, 'Z' | 'X')
    }

    /// Sends it a signal. One that is gone needs none.
    fn send(&self, signal: Signal) -> Result<(), Errno> {
        let Some(pid) = Pid::from_raw(self.pid) else { return Ok(()) };
        match pidfd_open(pid, PidfdFlags::empty()) {
            // Now the number cannot pass to another process unseen.
            Ok(process) => match Self::of(self.pid) {
                Some(now) if now.started == self.started => pidfd_send_signal(process, signal),
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

/// The living descendants of one process, but for some children and what descends from them.
pub(super) fn below(root: i32, but: &BTreeSet<i32>) -> Vec<Process> {
    let mut all: Vec<Process> = pids().into_iter().filter_map(Process::of).collect();
    let mut known = BTreeSet::from([root]);
    // A parent may have a higher number than its child.
    loop {
        let before = known.len();
        for process in &all {
            if known.contains(&process.parent) && !but.contains(&process.pid) {
                known.insert(process.pid);
            }
        }
        if known.len() == before {
            break;
        }
    }
    all.retain(|process| process.pid != root && known.contains(&process.pid) && process.lives());
    all
}

/// The children of a process, dead ones included.
pub(super) fn children(parent: i32) -> BTreeSet<i32> {
    let processes = pids().into_iter().filter_map(Process::of);
    processes.filter(|process| process.parent == parent).map(|process| process.pid).collect()
}

/// Sends a signal to every one of them. Returns those that this user may not send it to.
pub(super) fn send(processes: Vec<Process>, signal: Signal) -> Vec<Process> {
    let refuses = |process: &Process| process.send(signal) == Err(Errno::PERM);
    processes.into_iter().filter(refuses).collect()
}

/// Some processes, for people.
pub(super) fn list(processes: &[Process]) -> String {
    const MOST: usize = 5;
    let mut text: Vec<String> = processes.iter().take(MOST).map(Process::to_string).collect();
    if processes.len() > MOST {
        text.push(format!("{} more", processes.len() - MOST));
    }
    text.join(", ")
}

/// Makes sure that `/proc` speaks of the same processes as the kernel does to this one.
pub(super) fn is_visible() -> Result<(), String> {
    let own = fs::read_link("/proc/self");
    if own.is_ok_and(|own| own.as_os_str() == own_pid().to_string().as_str()) {
        return Ok(());
    }
    Err("/proc does not show the processes of this PID namespace, so that the job's could not be \
         found; mount it anew (unshare --mount-proc)"
        .to_owned())
}

/// This process.
pub(super) fn own_pid() -> i32 {
    getpid().as_raw_pid()
}

fn pids() -> Vec<i32> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect()
}
