//! A control group for the job, where the system permits one.
//!
//! The kernel kills a control group at once and as a whole, also one that forks faster than
//! anybody can look. Making one takes version 2, `cgroup.kill` (Linux 5.14) and the right to write
//! below this process's own group, which root has, and whom systemd has delegated to. Everybody
//! else does without: [`tree`](super::tree) finds the same processes one by one.

use super::tree::Process;
use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// The group of one guard's job.
#[derive(Debug)]
pub(super) struct Cgroup(PathBuf);

const PREFIX: &str = "election-";

impl Cgroup {
    /// Makes the group of this guard; `None` where that is not possible.
    pub(super) fn make(guard: i32) -> Option<Self> {
        let group = Self::of(guard)?;
        group.clear_siblings();
        fs::create_dir(&group.0).ok()?;
        if group.0.join("cgroup.kill").exists() {
            return Some(group);
        }
        group.remove();
        None
    }

    /// Where the group of this guard is, if it has one.
    pub(super) fn of(guard: i32) -> Option<Self> {
        let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
        let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
        Some(Self(own(&mounts, &groups)?.join(format!("{PREFIX}{guard}"))))
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    /// Moves this process into the group at a path.
    pub(super) fn enter(path: &Path) -> io::Result<()> {
        fs::write(path.join("cgroup.procs"), "0")
    }

    /// Kills whatever is in it.
    pub(super) fn kill(&self) {
        let _ = fs::write(self.0.join("cgroup.kill"), "1"); // none there: then one by one
    }

    /// Removes it and what the job has made below it, now that nothing is in it any more.
    pub(super) fn remove(&self) {
        remove(&self.0);
    }

    /// Removes what guards have left behind that were killed together with their electors.
    fn clear_siblings(&self) {
        let entries = self.0.parent().map(fs::read_dir);
        for entry in entries.into_iter().flatten().flatten().flatten() {
            let name = entry.file_name();
            let guard = name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.parse().ok());
            if guard.is_some_and(|guard| Process::of(guard).is_none()) {
                remove(&entry.path());
            }
        }
    }
}

/// The kernel removes no group that is in use, so nothing can be taken from anybody here.
fn remove(group: &Path) {
    for entry in fs::read_dir(group).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            remove(&entry.path());
        }
    }
    let _ = fs::remove_dir(group);
}

/// The directory of this process's own group, from `/proc/self/mountinfo` and `/proc/self/cgroup`.
fn own(mounts: &str, groups: &str) -> Option<PathBuf> {
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
        let own = |groups| own(MOUNTS, groups);
        let service = own("0::/system.slice/cron.service\n");
        assert_eq!(service, Some("/sys/fs/cgroup/system.slice/cron.service".into()));
        assert_eq!(own("12:cpu:/x\n0::/\n"), Some("/sys/fs/cgroup/".into()));
        assert_eq!(own("12:cpu:/x\n"), None);
    }

    #[test]
    fn a_mount_of_a_part_shows_only_what_is_in_it() {
        let mounts = "31 23 0:27 /docker/1 /sys/fs/cgroup ro - cgroup2 cgroup ro\n";
        assert_eq!(own(mounts, "0::/docker/1/a\n"), Some("/sys/fs/cgroup/a".into()));
        assert_eq!(own(mounts, "0::/docker/2\n"), None);
    }
}
