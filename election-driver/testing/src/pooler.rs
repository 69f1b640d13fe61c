//! A throw-away pgbouncer.

use super::{
    launch::{as_postgres, found, give_to_postgres},
    servers::Server,
};
use election_driver::conformance::free_port;
use std::{
    fs,
    net::TcpStream,
    process::{Child, Stdio},
    thread,
    time::{Duration, Instant},
};
use tempfile::TempDir;

/// A running pooler in front of a [`Server`]. It dies with the process that started it.
pub struct Pooler {
    directory: TempDir,
    port: u16,
    process: Child,
}

impl Pooler {
    /// Starts a pooler with `size` connections to the database `election`, each of which a client has
    /// for as long as `mode` says (`transaction`, `session`). It lets clients in that ask for the
    /// settings named in `ignored`, and does not make them.
    ///
    /// # Panics
    /// If pgbouncer is not installed or does not start.
    #[must_use]
    pub fn start(server: &Server, size: u32, mode: &str, ignored: &str) -> Self {
        let directory = tempfile::Builder::new().prefix("election-").tempdir();
        let directory = directory.expect("a temporary directory");
        let port = free_port();
        let configuration = directory.path().join("pgbouncer.ini");
        let upstream = server.port();
        let text = format!(
            "[databases]\n\
             election = host=127.0.0.1 port={upstream} user=election\n\
             [pgbouncer]\n\
             listen_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\n\
             auth_type = any\npool_mode = {mode}\ndefault_pool_size = {size}\n\
             ignore_startup_parameters = {ignored}\nlogfile = {}\n",
            directory.path().join("log").display()
        );
        fs::write(&configuration, text).expect("a file of our own");
        give_to_postgres(directory.path());
        let mut pgbouncer = as_postgres(&found("pgbouncer"), &["--pdeathsig", "KILL"]);
        pgbouncer.arg("-q").arg(&configuration);
        pgbouncer.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let process = pgbouncer.spawn().expect("a pooler that can be started");
        let mut pooler = Self { directory, port, process };
        pooler.wait_until_up();
        pooler
    }

    /// The URL of the server's database through the pooler.
    #[must_use]
    pub fn url(&self) -> String {
        format!("postgres://election:election@127.0.0.1:{}/election", self.port)
    }

    fn wait_until_up(&mut self) {
        let deadline = Instant::now() + Duration::from_secs(20);
        while TcpStream::connect(("127.0.0.1", self.port)).is_err() {
            let ended = self.process.try_wait().is_ok_and(|status| status.is_some());
            if ended || Instant::now() > deadline {
                let log = fs::read_to_string(self.directory.path().join("log"));
                panic!("pgbouncer does not start: {}", log.unwrap_or_default());
            }
            thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Pooler {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
