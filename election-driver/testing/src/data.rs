//! The data of a server with an empty database `election`, before anybody has used it.
//!
//! To create them takes a server longer than most checks take, and each check has a server of its
//! own. So the first that are created are kept beside what cargo builds, and copied for the next
//! server. `cargo clean` removes them.

use super::{
    kind::Kind,
    launch::{as_postgres, found, own_tmp, postgres_binaries, run},
};
use rustix::process::getuid;
use std::{
    fs,
    hash::{DefaultHasher, Hash as _, Hasher as _},
    io::Write as _,
    path::{Path, PathBuf},
    process::Command,
};

/// The users that PostgreSQL accepts without a password. `pg_upgrade` comes over the socket.
const TRUSTED: &str = "local all postgres trust
host replication postgres 127.0.0.1/32 trust
host all postgres,election 127.0.0.1/32 trust
host all all 127.0.0.1/32 scram-sha-256
";

/// In the file, so that `ALTER SYSTEM` can override it. Shared memory in the server's own files:
/// what a killed server leaves in /dev/shm stays there.
const SETTINGS: &[u8] = b"fsync = off\ndynamic_shared_memory_type = mmap\n";

/// What the administrator of a new server does first, and in which database.
pub(super) fn first_orders(kind: Kind) -> &'static [(&'static str, &'static str)] {
    match kind {
        Kind::Postgres => &[
            ("postgres", "CREATE ROLE election LOGIN PASSWORD 'election'"),
            ("postgres", "CREATE DATABASE election OWNER election"),
        ],
        Kind::MariaDb => &[(
            "mysql",
            "CREATE DATABASE election; \
             CREATE USER election@'127.0.0.1' IDENTIFIED BY 'election'; \
             GRANT ALL ON election.* TO election@'127.0.0.1'",
        )],
    }
}

/// Creates the data of a server in this directory, which is the server's own. It has not taken its
/// [first orders](first_orders) yet.
pub(super) fn create(kind: Kind, directory: &Path) {
    let data = directory.join("data");
    match kind {
        Kind::Postgres => {
            run(&mut init_postgres(&data));
            fs::write(data.join("pg_hba.conf"), TRUSTED).expect("a file of our own");
            let settings = fs::OpenOptions::new().append(true).open(data.join("postgresql.conf"));
            settings.and_then(|mut file| file.write_all(SETTINGS)).expect("a file of our own");
        }
        Kind::MariaDb => run(init_mariadb(&data).env("TMPDIR", own_tmp(directory))),
    }
}

/// Where the data of servers of this kind are kept once they have taken their first orders: in the
/// directory that cargo builds in, if this program lies there.
pub(super) fn kept(kind: Kind) -> Option<PathBuf> {
    let program = std::env::current_exe().ok()?;
    let target = program.ancestors().find(|place| place.join("CACHEDIR.TAG").exists())?;
    let nowhere = Path::new("");
    let (server, command) = match kind {
        Kind::Postgres => (postgres_binaries().join("postgres"), init_postgres(nowhere)),
        Kind::MariaDb => (found("mariadbd"), init_mariadb(nowhere)),
    };
    let installed = fs::metadata(&server).ok()?;
    let mut hasher = DefaultHasher::new();
    (server, installed.len(), installed.modified().ok()?).hash(&mut hasher);
    command.get_args().for_each(|argument| argument.hash(&mut hasher));
    (first_orders(kind), TRUSTED, SETTINGS).hash(&mut hasher);
    Some(target.join("election-servers").join(format!("{:016x}", hasher.finish())))
}

/// Keeps the data of a server that has ended in order.
pub(super) fn keep(data: &Path, kept: &Path) {
    let Some(place) = kept.parent() else { return };
    fs::create_dir_all(place).expect("a directory that cargo builds in");
    let beside = tempfile::Builder::new().tempdir_in(place).expect("a directory beside it");
    let copied = beside.path().join("data");
    copy(data, &copied);
    // All at once, or another check would copy half of it. That one may also have been first.
    let _ = fs::rename(copied, kept);
}

/// A copy that takes room only for what has been written.
pub(super) fn copy(from: &Path, to: &Path) {
    run(Command::new("cp").args(["-a", "--sparse=always"]).arg(from).arg(to));
}

fn init_postgres(data: &Path) -> Command {
    let mut initdb = as_postgres(&postgres_binaries().join("initdb"), &[]);
    initdb.args(["-A", "trust", "-U", "postgres", "-E", "UTF8", "--no-sync", "-D"]).arg(data);
    initdb
}

fn init_mariadb(data: &Path) -> Command {
    let mut install = Command::new(found("mariadb-install-db"));
    install.args(["--no-defaults", "--auth-root-authentication-method=normal", "--skip-test-db"]);
    if getuid().is_root() {
        install.arg("--user=root");
    }
    install.arg(format!("--datadir={}", data.display()));
    install
}
