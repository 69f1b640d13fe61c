//! How a throw-away server is started.

use super::kind::Kind;
use rustix::process::getuid;
use std::{
    ffi::OsString,
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

/// The server refuses to be root, and its user must own the directory.
pub(super) fn give_to_postgres(directory: &Path) {
    if getuid().is_root() {
        run(Command::new("chown").arg("-R").arg("postgres:").arg(directory));
    }
}

/// Where MariaDB keeps temporary tables. Every server that starts removes those it finds there, so
/// two servers that share a place crash each other.
pub(super) fn own_tmp(directory: &Path) -> PathBuf {
    let tmp = directory.join("tmp");
    fs::create_dir_all(&tmp).expect("a writable directory");
    tmp
}

/// An authority, and a certificate for the server.
pub(super) fn certify(kind: Kind, directory: &Path) {
    let openssl = |arguments: &[&str]| {
        run(Command::new(found("openssl")).current_dir(directory).args(arguments));
    };
    let key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
    let authority = ["req", "-x509", "-days", "2", "-subj", "/CN=election test authority"];
    openssl(&[&authority[..], &key, &["-keyout", "ca.key", "-out", "ca.pem"]].concat());
    let names = "subjectAltName=IP:127.0.0.1,IP:::ffff:127.0.0.1";
    let request = ["req", "-subj", "/CN=127.0.0.1", "-addext", names];
    openssl(&[&request[..], &key, &["-keyout", "server.key", "-out", "server.csr"]].concat());
    let sign = ["x509", "-req", "-in", "server.csr", "-CA", "ca.pem", "-CAkey", "ca.key"];
    let sign = [&sign[..], &["-days", "2", "-copy_extensions", "copy", "-out", "server.pem"]];
    openssl(&sign.concat());
    if kind == Kind::Postgres && getuid().is_root() {
        // The server refuses a key that is not its user's.
        run(Command::new("chown").arg("postgres:").arg(directory.join("server.key")));
    }
}

/// Keeps the file of a server's clock in another directory than the server's.
pub(super) fn keep_clock(directory: &Path, elsewhere: &Path) {
    let file = elsewhere.join("clock");
    fs::write(&file, "+0").expect("a writable directory");
    symlink(file, directory.join("clock")).expect("a writable directory");
}

/// In one step, or the server could read half of it.
pub(super) fn set_clock(directory: &Path, lie: &str) {
    let file = directory.join("clock");
    let file = fs::canonicalize(&file).unwrap_or(file);
    let next = file.with_extension("next");
    fs::write(&next, lie).expect("a writable directory");
    fs::rename(next, file).expect("a writable directory");
}

/// The program, under a wall clock of its own if the server was created with one.
fn with_clock(directory: &Path, program: PathBuf) -> Vec<OsString> {
    let clock = directory.join("clock");
    if !clock.exists() {
        return vec![program.into()];
    }
    let settings = clock_environment(&clock).into_iter().map(|(name, value)| {
        let mut setting = OsString::from(name);
        setting.push("=");
        setting.push(value);
        setting
    });
    ["env".into()].into_iter().chain(settings).chain([program.into()]).collect()
}

/// Makes a program take its wall clock's offset from a file.
pub(super) fn clock_environment(file: &Path) -> Vec<(&'static str, OsString)> {
    let places = fs::read_dir("/usr/lib").into_iter().flatten().flatten();
    let library = places.map(|place| place.path().join("faketime/libfaketimeMT.so.1"));
    let library = library.into_iter().find(|library| library.exists());
    let library = library.expect("libfaketime; on Debian: apt-get install libfaketime");
    vec![
        ("FAKETIME_NO_CACHE", "1".into()),
        // Elapsed time stays true: only the time of day may lie.
        ("FAKETIME_DONT_FAKE_MONOTONIC", "1".into()),
        ("FAKETIME_TIMESTAMP_FILE", file.into()),
        ("LD_PRELOAD", library.into()),
    ]
}

/// The file beside a MariaDB server's data that holds more options of its own, one a line.
pub(super) const OPTIONS: &str = "options";

/// The path on which a server finds the programs that it starts: first its own directory.
fn with_programs_of(directory: &Path) -> OsString {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let places = [directory.to_owned()].into_iter().chain(std::env::split_paths(&path));
    std::env::join_paths(places).expect("directories without colons")
}

pub(super) fn launch(kind: Kind, directory: &Path, port: u16) -> Child {
    let log = fs::OpenOptions::new().create(true).append(true).open(directory.join("log"));
    let log = log.expect("a log file");
    // The server must not outlive the test, however the test ends.
    let with_us = ["--pdeathsig", "KILL"];
    let mut server = match kind {
        Kind::Postgres => {
            let program = with_clock(directory, postgres_binaries().join("postgres"));
            let mut postgres = as_postgres_user(&with_us);
            postgres.args(program);
            postgres.arg("-D").arg(directory.join("data")).arg("-p").arg(port.to_string());
            postgres.args(["-c", "listen_addresses=127.0.0.1", "-k"]);
            postgres.arg(directory);
            if directory.join("server.pem").exists() {
                for (setting, file) in
                    [("ssl_cert_file", "server.pem"), ("ssl_key_file", "server.key")]
                {
                    let file = directory.join(file);
                    postgres.arg("-c").arg(format!("{setting}={}", file.display()));
                }
                postgres.args(["-c", "ssl=on"]);
            }
            postgres
        }
        Kind::MariaDb => {
            let mut mariadbd = Command::new("setpriv");
            mariadbd.args(with_us).arg("--").args(with_clock(directory, found("mariadbd")));
            mariadbd.env("TMPDIR", own_tmp(directory)).arg("--no-defaults");
            mariadbd.arg(format!("--datadir={}", directory.join("data").display()));
            mariadbd.arg(format!("--socket={}", directory.join("socket").display()));
            mariadbd.arg(format!("--port={port}")).arg("--bind-address=127.0.0.1");
            if getuid().is_root() {
                mariadbd.arg("--user=root");
            }
            let options = fs::read_to_string(directory.join(OPTIONS)).unwrap_or_default();
            mariadbd.args(options.lines()).env("PATH", with_programs_of(directory));
            if directory.join("server.pem").exists() {
                for (option, file) in [("cert", "server.pem"), ("key", "server.key")] {
                    let file = directory.join(file);
                    mariadbd.arg(format!("--ssl-{option}={}", file.display()));
                }
            }
            mariadbd
        }
    };
    let errors = log.try_clone().expect("a second handle");
    server.stdin(Stdio::null()).stdout(log).stderr(errors);
    server.spawn().expect("a server that can be started")
}

/// A PostgreSQL command, as an ordinary user even if the tests run as root.
pub(super) fn as_postgres(program: &Path, options: &[&str]) -> Command {
    let mut command = as_postgres_user(options);
    command.arg(program);
    command
}

fn as_postgres_user(options: &[&str]) -> Command {
    let mut command = Command::new("setpriv");
    command.args(options);
    if getuid().is_root() {
        command.args(["--reuid=postgres", "--regid=postgres", "--init-groups", "--reset-env"]);
    }
    command.arg("--");
    command
}

/// Debian keeps PostgreSQL's programs out of the path, in one directory per version.
pub(super) fn postgres_binaries() -> PathBuf {
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let debian = versions.map(|version| version.path().join("bin"));
    let newest = debian.filter(|bin| bin.join("postgres").exists()).max();
    newest.unwrap_or_else(|| found("postgres").parent().map(Path::to_path_buf).unwrap_or_default())
}

/// A program on the path, or where Debian puts servers.
pub(super) fn found(program: &str) -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let places = std::env::split_paths(&path).chain([PathBuf::from("/usr/sbin")]);
    let program_in = |place: PathBuf| Some(place.join(program)).filter(|file| file.exists());
    places.into_iter().find_map(program_in).unwrap_or_else(|| {
        let packages = "postgresql mariadb-server pgbouncer etcd-server etcd-client";
        panic!("{program} is not installed; on Debian: apt-get install {packages}")
    })
}

pub(super) fn run(command: &mut Command) {
    let output = command.output().expect("a program that can be started");
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    assert!(output.status.success(), "{command:?}: {said}");
}
