//! Places that every user can reach, for tests that run the command as another user.

use super::world::World;
use rustix::process::geteuid;
use std::{
    ffi::OsStr,
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt as _,
    path::Path,
    process::Command,
};
use tempfile::TempDir;

/// Copies a program. Another process does it: a child that another thread of this one has just started
/// may keep the copy open for writing, and then nobody can execute it.
#[track_caller]
pub(crate) fn copy(from: impl AsRef<OsStr>, to: &Path, mode: u32) {
    let mut install = Command::new("install");
    install.args(["-m", &format!("{mode:o}")]).arg(from.as_ref()).arg(to);
    assert!(install.status().expect("install").success(), "no copy at {}", to.display());
}

/// A directory of this mode, and the command in it. Not in memory: there, set-user-ID bits usually do not
/// count.
#[track_caller]
pub(crate) fn programs(mode: u32) -> TempDir {
    let programs = tempfile::tempdir_in("/var/tmp").expect("a temporary directory");
    permit(programs.path(), mode);
    copy(env!("CARGO_BIN_EXE_election"), &programs.path().join("election"), 0o755);
    programs
}

/// A world in which everybody can write, and such a directory.
#[track_caller]
pub(crate) fn open() -> (World, TempDir) {
    let world = World::new();
    world.url(); // makes the directory of the database
    for directory in [world.path(), &world.path().join("data")] {
        permit(directory, 0o777);
    }
    (world, programs(0o777))
}

/// A program as a user without rights.
pub(crate) fn as_nobody(program: &Path) -> Command {
    match geteuid().is_root() {
        true => as_user(65_534, program),
        false => Command::new(program),
    }
}

/// A program as any user. Without root this asks `sudo` for it.
pub(crate) fn as_user(user: u32, program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(if geteuid().is_root() { "setpriv" } else { "sudo" });
    if !geteuid().is_root() {
        command.args(["-n", "setpriv"]);
    }
    let [user, group] = ["reuid", "regid"].map(|id| format!("--{id}={user}"));
    command.args([&user, &group, "--clear-groups"]).arg(program);
    command
}

#[track_caller]
pub(crate) fn permit(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).expect("our own");
}
