//! Looking at processes, sending them signals one by one, and waiting for what they do.

use rustix::process::{Pid, Signal, kill_process};
use std::{
    fs,
    time::{Duration, Instant},
};

pub use election_driver::conformance::PATIENCE;

/// Waits until `look` finds what it looks for, and returns that.
///
/// # Panics
/// If it does not come in forty seconds; the message says what was awaited.
#[track_caller]
pub fn eventually<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(began.elapsed() < PATIENCE, "waited {PATIENCE:?} for this in vain: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Whether something comes true in this time, for events that may also not happen.
pub fn within(patience: Duration, mut true_by_now: impl FnMut() -> bool) -> bool {
    let began = Instant::now();
    loop {
        if true_by_now() {
            return true;
        }
        if began.elapsed() >= patience {
            return false;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// The fields of `/proc/PID/stat` from the state on: the name before may hold spaces.
#[must_use]
pub fn stat(pid: i32) -> Option<Vec<String>> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, rest) = text.rsplit_once(')')?;
    Some(rest.split_whitespace().map(str::to_owned).collect())
}

fn state(pid: i32) -> Option<char> {
    stat(pid)?.first()?.chars().next()
}

/// Whether a process can still do anything: it exists and is no zombie.
#[must_use]
pub fn alive(pid: i32) -> bool {
    state(pid).is_some_and(|state| !matches!(state, 'Z' | 'X'))
}

/// Every process on this machine, as far as `/proc` shows them.
///
/// # Panics
/// If there is no `/proc`.
#[must_use]
pub fn every_pid() -> Vec<i32> {
    let entries = fs::read_dir("/proc").expect("a /proc file system");
    entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect()
}

/// The children of this process.
#[must_use]
pub fn children(parent: i32) -> Vec<i32> {
    let parent = parent.to_string();
    let mut pids = every_pid();
    pids.retain(|pid| stat(*pid).is_some_and(|stat| stat.get(1) == Some(&parent)));
    pids
}

/// The arguments of a process, or nothing once it is gone.
fn arguments(pid: i32) -> Vec<String> {
    let text = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    text.split(|byte| *byte == 0).map(|each| String::from_utf8_lossy(each).into_owned()).collect()
}

/// The guard that an elector has started, as soon as there is one.
#[must_use]
pub fn guard_of(elector: i32) -> Option<i32> {
    children(elector).into_iter().find(|pid| plays(*pid, "__guard"))
}

/// Whether a process is the command in one of the roles that it gives itself.
#[must_use]
pub fn plays(pid: i32, role: &str) -> bool {
    arguments(pid).get(1).is_some_and(|first| first == role)
}

/// Sends a signal to one process that this test has started; a process that is gone needs none.
pub fn send(pid: i32, signal: Signal) {
    if let Some(pid) = Pid::from_raw(pid) {
        let _ = kill_process(pid, signal);
    }
}

/// Stops a process (SIGSTOP) and waits until it stands still.
///
/// # Panics
/// If it does not.
#[track_caller]
pub fn freeze(pid: i32) {
    send(pid, Signal::STOP);
    eventually("the process to stand still", || (state(pid) == Some('T')).then_some(()));
}

/// Lets a stopped process go on.
pub fn thaw(pid: i32) {
    send(pid, Signal::CONT);
}

/// Waits until a process has ended.
///
/// # Panics
/// If it does not.
#[track_caller]
pub fn gone(what: &str, pid: i32) {
    eventually(&format!("the end of {what} ({pid})"), || (!alive(pid)).then_some(()));
}

/// Whether a process was started with this variable in its environment. For a dead one, no.
#[must_use]
pub fn carries(pid: i32, name: &str, value: &str) -> bool {
    let mark = format!("{name}={value}");
    let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    environment.split(|byte| *byte == 0).any(|each| each == mark.as_bytes())
}
