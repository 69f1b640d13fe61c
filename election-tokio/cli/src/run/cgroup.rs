//! A control group for the job, where the system permits one.
//!
//! The kernel kills a control group at once and as a whole, even one that forks faster than anybody
//! can look. Creating one takes version 2, `cgroup.kill` (Linux 5.14) and the right to write below
//! this process's own group: root has it, and users to whom systemd has delegated it. Without a
//! control group, [`process_tree`] finds the same processes one by one.

use super::process_tree::{self, Process};
use rustix::io::Errno;
use std::{
    fs, io,
    path::{Path, PathBuf},
    thread::sleep,
    time::Duration,
};

/// The group of one guard's job.
#[derive(Clone, Debug)]
pub(super) struct Cgroup(PathBuf);

const PREFIX: &str = "election-";

impl Cgroup {
    /// Creates a group for the job of this guard; `None` if that is not possible.
    ///
    /// # Errors
    /// If processes live on in the group of a guard that was killed together with its elector.
    pub(super) fn make() -> Result<Option<Self>, String> {
        let Some((parent, family)) = own().zip(family()) else { return Ok(None) };
        clear(&parent, &family)?;
        let own = Process::of(process_tree::own_pid()).map(|own| own.key());
        Ok(own.and_then(|(pid, started)| {
            Self::create(parent.join(format!("{family}{pid}-{started}")))
        }))
    }

    fn create(path: PathBuf) -> Option<Self> {
        let group = Self(path);
        fs::create_dir(&group.0).ok()?;
        if group.0.join("cgroup.kill").exists() {
            return Some(group);
        }
        group.remove();
        None
    }

    /// Kills what is in the group, until nothing is; `false` if that does not happen.
    fn ends(&self) -> bool {
        const PATIENCE: u32 = 1_000;
        (0..PATIENCE).any(|_| {
            self.kill();
            let over = !self.is_populated();
            if !over {
                sleep(Duration::from_millis(1));
            }
            over
        })
    }

    /// The group at a path that its guard has reported.
    pub(super) fn at(path: &str) -> Self {
        Self(path.into())
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    /// Moves this process into the group at a path.
    pub(super) fn enter(path: &Path) -> io::Result<()> {
        fs::write(path.join("cgroup.procs"), "0")
    }

    /// Kills every process in the group.
    pub(super) fn kill(&self) {
        let _ = fs::write(self.0.join("cgroup.kill"), "1"); // otherwise one by one
    }

    /// Removes the group and what the job has created below it, now that it is empty.
    pub(super) fn remove(&self) {
        remove(&self.0);
    }

    /// Whether a living process is in the group, whatever its ancestry. A group that cannot be asked is
    /// not taken for empty, unless it is gone.
    pub(super) fn is_populated(&self) -> bool {
        match fs::read_to_string(self.0.join("cgroup.events")) {
            Ok(events) => events.lines().any(|line| line == "populated 1"),
            Err(error) => {
                let is_removed = error.raw_os_error() == Some(Errno::NODEV.raw_os_error());
                error.kind() != io::ErrorKind::NotFound && !is_removed
            }
        }
    }
}

/// The prefix of the groups that guards of this PID namespace create: process ids mean nothing in
/// another namespace.
fn family() -> Option<String> {
    let namespace = fs::read_link("/proc/self/ns/pid").ok()?;
    let digits = |c: char| c.is_ascii_digit();
    let number: String = namespace.to_str()?.chars().filter(|c| digits(*c)).collect();
    Some(format!("{PREFIX}{number}-"))
}

/// Ends and removes the groups of guards that were killed together with their electors: nobody else is
/// left to end what they have started.
fn clear(parent: &Path, family: &str) -> Result<(), String> {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let guard = name.to_str().and_then(|name| {
            let (pid, started) = name.strip_prefix(family)?.split_once('-')?;
            Some((pid.parse().ok()?, started.parse().ok()?))
        });
        let Some(guard) = guard else { continue };
        if process_tree::is_gone(guard) {
            let group = Cgroup(entry.path());
            if !group.ends() {
                return Err(format!(
                    "processes of an earlier job, whose elector and guard were killed, cannot be \
                     killed; end the processes in {}/cgroup.procs first",
                    group.0.display()
                ));
            }
            group.remove();
        }
    }
    Ok(())
}

/// The kernel removes no group that is in use, so this takes nothing away from anybody.
fn remove(group: &Path) {
    for entry in fs::read_dir(group).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            remove(&entry.path());
        }
    }
    let _ = fs::remove_dir(group);
}

/// The directory of this process's own group.
fn own() -> Option<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    own_of(&mounts, &groups)
}

/// The same, from `/proc/self/mountinfo` and `/proc/self/cgroup`.
fn own_of(mounts: &str, groups: &str) -> Option<PathBuf> {
    let group = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
    mounts.lines().find_map(|line| {
        let (mount, system) = line.split_once(" - ")?;
        let mut fields = mount.split(' ').skip(3);
        let (root, point) = (fields.next()?, fields.next()?);
        if !system.starts_with("cgroup2 ") || point.contains('\\') {
            return None;
        }
        let inside = Path::new(group).strip_prefix(root).ok()?;
        Some(Path::new(point).join(inside))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "\
        25 30 0:23 / /proc rw,nosuid - proc proc rw\n\
        31 23 0:27 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n";

    #[test]
    fn the_own_group_is_found_below_the_mount() {
        let own = |groups| own_of(MOUNTS, groups);
        let service = own("0::/system.slice/cron.service\n");
        assert_eq!(service, Some("/sys/fs/cgroup/system.slice/cron.service".into()));
        assert_eq!(own("12:cpu:/x\n0::/\n"), Some("/sys/fs/cgroup/".into()));
        assert_eq!(own("12:cpu:/x\n"), None);
    }

    #[test]
    fn a_mount_of_a_part_shows_only_what_is_in_it() {
        let mounts = "31 23 0:27 /docker/1 /sys/fs/cgroup ro - cgroup2 cgroup ro\n";
        assert_eq!(own_of(mounts, "0::/docker/1/a\n"), Some("/sys/fs/cgroup/a".into()));
        assert_eq!(own_of(mounts, "0::/docker/2\n"), None);
    }
}
