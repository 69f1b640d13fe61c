//! A directory of a world's own, and a small disk in it that nobody else sees: a file system in
//! memory, mounted in a mount namespace of the test's own, so that it can be filled up.
//!
//! As root, or where users may make namespaces. Where that is impossible the tests fail: a skipped
//! test proves nothing.

use crate::{database::Engine, role::TTL};
use election_testing::Server;
use std::{
    env, fs,
    os::unix::fs::{MetadataExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
    process::Command,
};
use tempfile::TempDir;

const HOME: &str = "CHAOS_HOME";
/// Mounts the disk; then an ordinary user becomes itself again, since no server wants to be root.
const MOUNT: &str = "mount -t tmpfs -o size=$SIZE,mode=0755 tmpfs \"$CHAOS_HOME/disk\"; \
                     if [ $OWNER != 0 ]; then \
                       exec unshare -U --map-user=$OWNER --map-group=$OWNERS \"$@\"; \
                     fi; exec \"$@\"";

/// The directory, seen from within.
pub(crate) struct Home(PathBuf);

impl Home {
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    pub(crate) fn disk(&self) -> PathBuf {
        self.0.join("disk")
    }

    pub(crate) fn clock(&self) -> PathBuf {
        self.0.join("clock")
    }

    /// The directory for temporary files of electors and jobs.
    pub(crate) fn scratch(&self) -> PathBuf {
        self.0.join("tmp")
    }
}

/// Runs this test once more, in a home of its own. Within, returns that; outside, nothing once the
/// test has passed there.
pub(crate) fn moved(test: &str, engine: Engine) -> Option<Home> {
    if let Some(home) = env::var_os(HOME) {
        return Some(Home(home.into()));
    }
    let place = TempDir::with_prefix_in("chaos-", "/dev/shm").or_else(|_| TempDir::new());
    let place = place.expect("a temporary directory");
    let home = Home(place.path().to_owned());
    // A server that is another user finds its way to its data.
    fs::set_permissions(home.path(), fs::Permissions::from_mode(0o755)).expect("our own");
    for directory in [home.disk(), home.scratch()] {
        fs::create_dir(directory).expect("a directory of our own");
    }
    let itself = fs::metadata("/proc/self").expect("a /proc file system");
    let mut again = Command::new("unshare");
    again.arg(if itself.uid() == 0 { "-m" } else { "-Urm" });
    again.args(["sh", "-euc", MOUNT, "sh"]);
    again.arg(env::current_exe().expect("this binary"));
    again.args([test, "--exact", "--nocapture", "--test-threads=1"]);
    again.env(HOME, home.path()).env("TMPDIR", home.disk());
    again.env("OWNER", itself.uid().to_string()).env("OWNERS", itself.gid().to_string());
    match engine {
        Engine::Sqlite => {
            fs::write(home.clock(), "+0").expect("a directory of our own");
            again.env("SIZE", "16m").envs(Server::clock_environment(&home.clock()));
        }
        Engine::Postgres | Engine::MariaDb => {
            again.env("SIZE", "400m");
        }
        Engine::Etcd | Engine::Galera => {
            // Each member reserves room for its log.
            again.env("SIZE", if engine == Engine::Etcd { "800m" } else { "1600m" });
            if env::var_os(TTL).is_none() {
                again.env(TTL, "3000"); // they may take seconds to go on without one of them
            }
        }
    }
    let status = again.status().expect("unshare, of the package util-linux");
    assert!(status.success(), "in a mount namespace (needs root, or user namespaces): {status}");
    None
}
