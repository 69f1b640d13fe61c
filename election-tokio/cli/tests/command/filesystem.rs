//! SQLite files below FUSE: each mount has locks and caches of its own, so two of them would elect
//! two leaders.

use super::{members::refused, place, process::eventually, world::World};
use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// A mount of FUSE, until the end of the test.
struct Mount(PathBuf);

impl Mount {
    /// `None`, loudly, where the kernel has no FUSE; `.ci/test` says so, too.
    fn by(program: &str, options: &[&str], at: PathBuf) -> Option<Self> {
        if !Path::new("/dev/fuse").exists() {
            eprintln!("no /dev/fuse here: {program} was not tried");
            return None;
        }
        fs::create_dir(&at).expect("a directory of our own");
        let mut mount = Command::new(program);
        mount.args(options).arg(&at).stdin(Stdio::null());
        let mounted = mount.status().unwrap_or_else(|error| panic!("{program}: {error}"));
        assert!(mounted.success(), "{program}: {mounted}");
        Some(Self(at))
    }

    fn bindfs(from: &Path, at: PathBuf) -> Option<Self> {
        Self::by("bindfs", &[from.to_str().expect("UTF-8")], at)
    }

    /// Over a pipe to the server, without a network.
    fn sshfs(from: &Path, at: PathBuf) -> Option<Self> {
        let from = format!("here:{}", from.display());
        let server = "ssh_command=/bin/sh -c /usr/lib/openssh/sftp-server --";
        Self::by("sshfs", &[&from, "-o", server], at)
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let unmounted = Command::new("fusermount3").args(["-u", "-z"]).arg(&self.0).status();
        if !unmounted.is_ok_and(|it| it.success()) {
            eprintln!("{} stays mounted", self.0.display());
        }
    }
}

#[test]
fn a_file_below_fuse_is_refused() {
    let world = World::new();
    let data = world.path().join("data");
    fs::create_dir(&data).expect("a directory of our own");
    for (name, mount) in [
        ("fuse", Mount::bindfs(&data, world.path().join("bindfs"))),
        ("fuse.sshfs", Mount::sshfs(&data, world.path().join("sshfs"))),
    ] {
        let Some(mount) = mount else { continue };
        let url = format!("sqlite:{}/e.db", mount.0.display());
        let on = format!("/e.db is on {name}, which is not a known local file system");
        let words = ["--store", &on, "two processes could lead", "sqlite:PATH?filesystem=trusted"];
        for command in [&["run", "--try"][..], &["status"]] {
            let mut asked = world.bare(command);
            asked.args(["--store", &url, "--name", "x"]);
            if command[0] == "run" {
                asked.args(["--", "true"]);
            }
            refused(&world.output(&mut asked), 125, &words);
        }
        assert!(!data.join("e.db").exists(), "nothing was made");
    }
}

#[test]
fn a_trusted_filesystem_is_used_and_named_to_the_job() {
    let world = World::new();
    let data = world.path().join("data");
    fs::create_dir(&data).expect("a directory of our own");
    let Some(_mount) = Mount::bindfs(&data, world.path().join("mounted")) else { return };
    let mut run = world.bare(&["run", "--name", "x", "--store"]);
    // A relative path, which the job's own questions get as an absolute one.
    run.args(["sqlite:mounted/e.db?filesystem=trusted", "--", "sh", "-c"]);
    run.arg("cd / && \"$0\" check && echo \"$ELECTION_STORE\" > \"$1\"");
    run.args([env!("CARGO_BIN_EXE_election"), world.path().join("told").to_str().expect("UTF-8")]);
    let output = world.output(&mut run);
    assert!(output.status.success(), "{output:?}");
    let told = eventually("the job's word", || fs::read_to_string(world.path().join("told")).ok());
    assert!(told.ends_with("/mounted/e.db?filesystem=trusted\n"), "{told}");
}

/// Who may not enter a directory needs the right to, and no trust in a file system.
#[test]
fn a_directory_without_access_is_no_unknown_filesystem() {
    let world = World::new();
    let programs = place::programs(0o755);
    let shut = programs.path().join("shut");
    fs::create_dir(&shut).expect("a directory of our own");
    fs::set_permissions(&shut, Permissions::from_mode(0o000)).expect("a directory of our own");
    let mut status = place::as_nobody(&programs.path().join("election"));
    status.args(["status", "--name", "x", "--store"]);
    let output = world.output(status.arg(format!("sqlite:{}/e.db", shut.display())));
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(125), "{output:?}");
    assert!(
        said.contains("grant write access (chmod, chown)") && !said.contains("filesystem=trusted"),
        "{said}"
    );
}
