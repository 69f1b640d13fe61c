//! Throw-away database servers: real ones, started in a temporary directory, killed and frozen at
//! will, never the machine's own.
//!
//! They listen on a port of the loopback address that is theirs alone, and die with the process
//! that started them.

use super::{
    data,
    kind::Kind,
    launch::{
        as_postgres, certify, clock_environment, found, give_to_postgres, keep_clock, launch,
        postgres_binaries, run, set_clock,
    },
    process::{children, send},
};
use election_driver::conformance::free_port;
use rustix::process::Signal;
use std::{
    ffi::OsString,
    fs,
    net::TcpStream,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    thread,
    time::{Duration, Instant},
};
use tempfile::TempDir;

/// The extras of a server.
enum Extra {
    Nothing,
    /// Data that are no copy of another server's.
    Data,
    Certificate,
    /// With its file in this directory, if not in the server's own.
    Clock(Option<PathBuf>),
}

/// A running server with an empty database `election`, user `election`, password `election`.
pub struct Server {
    kind: Kind,
    directory: TempDir,
    port: u16,
    process: Child,
}

/// How long a server may take to start or stop before something is wrong.
const PATIENCE: Duration = Duration::from_secs(60);

impl Server {
    /// Creates a server and waits until it answers.
    ///
    /// # Panics
    /// If the server is not installed or does not start; the message says what to install, or
    /// quotes the server.
    #[must_use]
    pub fn start(kind: Kind) -> Self {
        Self::start_as(kind, Extra::Nothing)
    }

    /// Like [`start`](Self::start), with data that are no copy: PostgreSQL's servers are of one
    /// cluster otherwise, by their own names.
    #[must_use]
    pub fn start_of_its_own(kind: Kind) -> Self {
        Self::start_as(kind, Extra::Data)
    }

    /// Like [`start`](Self::start), with a certificate that the server's own authority
    /// ([`authority`](Self::authority)) has signed, for 127.0.0.1 also in its IPv6 spelling
    /// ([`distant_url`](Self::distant_url)). Clients may still connect in the clear.
    #[must_use]
    pub fn start_encrypted(kind: Kind) -> Self {
        Self::start_as(kind, Extra::Certificate)
    }

    /// Like [`start`](Self::start), with a wall clock of its own that
    /// [`set_clock`](Self::set_clock) moves.
    ///
    /// # Panics
    /// As there, or if libfaketime is not installed.
    #[must_use]
    pub fn start_with_clock(kind: Kind) -> Self {
        Self::start_as(kind, Extra::Clock(None))
    }

    /// Like [`start_with_clock`](Self::start_with_clock), with the clock's file in this directory,
    /// so that it can be moved while the server's disk is full.
    ///
    /// # Panics
    /// As there.
    #[must_use]
    pub fn start_with_clock_in(kind: Kind, directory: &Path) -> Self {
        Self::start_as(kind, Extra::Clock(Some(directory.to_owned())))
    }

    /// Moves the wall clock of a server that was started
    /// [with one](Self::start_with_clock) to this many seconds from the machine's.
    ///
    /// # Panics
    /// If its file cannot be written.
    pub fn set_clock(&self, seconds: i64) {
        set_clock(self.directory.path(), &format!("{seconds:+}"));
    }

    /// Lets the wall clock of such a server run this many times as fast as the machine's, counted
    /// from the server's start: it jumps at once to where it would be.
    ///
    /// # Panics
    /// As there.
    pub fn slew_clock(&self, rate: &str) {
        set_clock(self.directory.path(), &format!("+0 x{rate}"));
    }

    /// The environment under which any program takes the offset of its wall clock, in seconds like
    /// `+3600`, from this file.
    ///
    /// # Panics
    /// If libfaketime is not installed.
    #[must_use]
    pub fn clock_environment(file: &Path) -> Vec<(&'static str, OsString)> {
        clock_environment(file)
    }

    fn start_as(kind: Kind, extra: Extra) -> Self {
        let directory = directory();
        if kind == Kind::Postgres {
            give_to_postgres(directory.path());
        }
        let kept = data::kept(kind).filter(|_| !matches!(extra, Extra::Data));
        let copied = kept.as_deref().filter(|kept| kept.exists());
        match copied {
            Some(kept) => data::copy(kept, &directory.path().join("data")),
            None => data::create(kind, directory.path()),
        }
        match extra {
            Extra::Nothing | Extra::Data => {}
            Extra::Certificate => certify(kind, directory.path()),
            Extra::Clock(elsewhere) => {
                if let Some(elsewhere) = elsewhere {
                    keep_clock(directory.path(), &elsewhere);
                }
                set_clock(directory.path(), "+0");
            }
        }
        let port = free_port();
        let process = launch(kind, directory.path(), port);
        let mut server = Self { kind, directory, port, process };
        server.wait_until_up();
        if copied.is_none() {
            server.take_first_orders(kept.as_deref());
        }
        server
    }

    /// Keeps what they leave behind for other servers, if that has a place.
    fn take_first_orders(&mut self, kept: Option<&Path>) {
        for (database, order) in data::first_orders(self.kind) {
            self.administer(database, order);
        }
        if let Some(kept) = kept {
            self.terminate();
            data::keep(&self.data(), kept);
            self.restart();
        }
    }

    /// Starts a MariaDB server on a copy of these data, in a directory that has been prepared, and
    /// does not wait until it answers.
    pub(super) fn start_on(directory: TempDir, data: &Path) -> Self {
        let (kind, port) = (Kind::MariaDb, free_port());
        data::copy(data, &directory.path().join("data"));
        let process = launch(kind, directory.path(), port);
        Self { kind, directory, port, process }
    }

    /// The same with a wall clock of its own.
    pub(super) fn start_with_clock_on(directory: TempDir, data: &Path) -> Self {
        set_clock(directory.path(), "+0");
        Self::start_on(directory, data)
    }

    /// Runs a server that has ended once more, for as long as it runs by itself, and returns its log.
    pub(super) fn run_to_its_end(&mut self) -> String {
        self.relaunch();
        self.process.wait().expect("a child of this process");
        fs::read_to_string(self.directory.path().join("log")).unwrap_or_default()
    }

    /// A standby of this PostgreSQL server that follows it and answers reads, until it is
    /// [promoted](Self::promote).
    ///
    /// # Panics
    /// If it cannot be created, as on MariaDB.
    #[must_use]
    pub fn standby(&self) -> Self {
        let directory = directory();
        give_to_postgres(directory.path());
        let mut backup = as_postgres(&postgres_binaries().join("pg_basebackup"), &[]);
        backup.args(["-h", "127.0.0.1", "-p", &self.port.to_string(), "-U", "postgres"]);
        backup.args(["-R", "-X", "stream", "-c", "fast", "--no-sync", "-D"]);
        run(backup.arg(directory.path().join("data")));
        Self::launched(self.kind, directory)
    }

    /// Starts a server on the data in this directory, and waits until it answers.
    fn launched(kind: Kind, directory: TempDir) -> Self {
        let port = free_port();
        let process = launch(kind, directory.path(), port);
        let mut server = Self { kind, directory, port, process };
        server.wait_until_up();
        server
    }

    /// What `pg_upgrade` makes of a PostgreSQL server that has [ended in order](Self::terminate): a new
    /// cluster with its data.
    ///
    /// # Panics
    /// If `pg_upgrade` fails; the message quotes it.
    #[must_use]
    pub fn upgraded(&self) -> Self {
        let directory = directory();
        give_to_postgres(directory.path());
        data::create(self.kind, directory.path());
        let binaries = postgres_binaries();
        let mut upgrade = as_postgres(&binaries.join("pg_upgrade"), &[]);
        upgrade.arg("-b").arg(&binaries).arg("-B").arg(&binaries);
        upgrade.arg("-d").arg(self.data()).arg("-D").arg(directory.path().join("data"));
        upgrade.args(["-p", &free_port().to_string(), "-P", &free_port().to_string()]);
        run(upgrade.args(["-U", "postgres"]).current_dir(directory.path()));
        Self::launched(self.kind, directory)
    }

    /// Promotes a standby to primary, and waits until it is.
    ///
    /// # Panics
    /// If it is not a standby.
    pub fn promote(&self) {
        self.administer("postgres", "SELECT pg_promote()");
    }

    /// The URL of the empty database.
    #[must_use]
    pub fn url(&self) -> String {
        self.url_as("election", "election")
    }

    /// The same URL, written so that it does not look like this machine's own: an IPv4 address in
    /// IPv6 spelling.
    #[must_use]
    pub fn distant_url(&self) -> String {
        self.url().replace("127.0.0.1", "[::ffff:127.0.0.1]")
    }

    /// The same for another user. PostgreSQL asks every user but `election` and its administrator,
    /// `postgres`, for a password; MariaDB asks every user.
    #[must_use]
    pub fn url_as(&self, user: &str, password: &str) -> String {
        let scheme = match self.kind {
            Kind::Postgres => "postgres",
            Kind::MariaDb => "mysql",
        };
        format!("{scheme}://{user}:{password}@127.0.0.1:{}/election", self.port)
    }

    /// The certificate of the authority that signed an encrypted server's own.
    #[must_use]
    pub fn authority(&self) -> PathBuf {
        self.directory.path().join("ca.pem")
    }

    /// The kind of server.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// The port on 127.0.0.1.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Kills every process of the server (SIGKILL), unless it has ended.
    ///
    /// # Panics
    /// If the kernel refuses.
    pub fn kill(&mut self) {
        if self.ended().is_some() {
            return;
        }
        // Stopped first, so that the parent cannot fork another while its children are counted.
        send(self.pid(), Signal::STOP);
        for pid in self.processes() {
            send(pid, Signal::KILL);
        }
        self.process.wait().expect("a child of this process");
        // The shared memory of libfaketime outlives a killed process.
        for kind in ["faketime_shm", "sem.faketime_sem"] {
            let _ = fs::remove_file(format!("/dev/shm/{kind}_{}", self.process.id()));
        }
    }

    /// Shuts the server down in order, as an administrator who does not wait for clients does, and
    /// waits until it has ended.
    ///
    /// # Panics
    /// If it does not end.
    pub fn terminate(&mut self) {
        let signal = match self.kind {
            Kind::Postgres => Signal::INT, // "fast"; on SIGTERM it waits for its clients
            Kind::MariaDb => Signal::TERM,
        };
        send(self.pid(), signal);
        let deadline = Instant::now() + PATIENCE;
        while self.ended().is_none() {
            assert!(Instant::now() < deadline, "{:?} does not end:\n{}", self.kind, self.log());
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// The exit status of the server, if it has ended.
    ///
    /// # Panics
    /// If the kernel does not know.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.process.try_wait().expect("a child of this process")
    }

    /// Copies the server's data as they are on the disk at one moment, as a disk snapshot does.
    ///
    /// # Panics
    /// If there is no room for the copy.
    pub fn copy_data(&self, to: &Path) {
        self.freeze();
        run(Command::new("cp").arg("-a").arg(self.data()).arg(to));
        self.thaw();
    }

    /// Replaces the server's data by such a copy. The server has to have been [killed](Self::kill).
    ///
    /// # Panics
    /// If that is not possible.
    pub fn restore_data(&mut self, from: &Path) {
        fs::remove_dir_all(self.data()).expect("a directory of our own");
        run(Command::new("cp").arg("-a").arg(from).arg(self.data()));
    }

    /// The server's own directory.
    pub(super) fn place(&self) -> PathBuf {
        self.directory.path().to_owned()
    }

    /// The directory of the server's data.
    #[must_use]
    pub fn data(&self) -> PathBuf {
        self.directory.path().join("data")
    }

    /// Starts the server again after [`kill`](Self::kill), on the same data and port, and waits
    /// until it answers.
    ///
    /// # Panics
    /// If it does not start.
    pub fn restart(&mut self) {
        self.relaunch();
        self.wait_until_up();
    }

    /// The same without waiting.
    pub(super) fn relaunch(&mut self) {
        self.process = launch(self.kind, self.directory.path(), self.port);
    }

    /// Stops every process of the server where it stands (SIGSTOP).
    pub fn freeze(&self) {
        send(self.pid(), Signal::STOP);
        for pid in self.processes() {
            send(pid, Signal::STOP);
        }
    }

    /// Lets a frozen server go on.
    pub fn thaw(&self) {
        for pid in self.processes() {
            send(pid, Signal::CONT);
        }
    }

    /// The server's process and its direct children. Neither kind of server needs a deeper look.
    fn processes(&self) -> Vec<i32> {
        let parent = self.pid();
        children(parent).into_iter().chain([parent]).collect()
    }

    fn pid(&self) -> i32 {
        i32::try_from(self.process.id()).expect("a process id")
    }

    pub(super) fn wait_until_up(&mut self) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Ok(Some(status)) = self.process.try_wait() {
                panic!("{:?} ended with {status}:\n{}", self.kind, self.log());
            }
            if TcpStream::connect(("127.0.0.1", self.port)).is_ok() && self.answers() {
                return;
            }
            assert!(Instant::now() < deadline, "{:?} does not start:\n{}", self.kind, self.log());
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// A server that accepts connections may still be recovering.
    fn answers(&self) -> bool {
        let port = self.port.to_string();
        let status = match self.kind {
            Kind::Postgres => Command::new(postgres_binaries().join("pg_isready"))
                .args(["-q", "-h", "127.0.0.1", "-p", &port])
                .status(),
            Kind::MariaDb => Command::new(found("mariadb-admin"))
                .args(["--no-defaults", "-h", "127.0.0.1", "-P", &port, "-u", "root", "ping"])
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status(),
        };
        status.is_ok_and(|status| status.success())
    }

    /// The last lines of the server's log.
    pub(super) fn log(&self) -> String {
        let log = fs::read_to_string(self.directory.path().join("log")).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(30)..].join("\n")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
        // A killed PostgreSQL leaves the segment that guards its data, and the kernel has room for few thousand.
        let pid = fs::read_to_string(self.data().join("postmaster.pid")).unwrap_or_default();
        if let Some(segment) =
            pid.lines().nth(6).and_then(|key_and_id| key_and_id.split_whitespace().nth(1))
        {
            let _ = Command::new("ipcrm").args(["-m", segment]).output();
        }
    }
}

pub(super) fn directory() -> TempDir {
    let directory = tempfile::Builder::new().prefix("election-").tempdir();
    directory.expect("a temporary directory")
}
