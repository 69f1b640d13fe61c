//! Commands of a server's administrator, through the server's own client program.

use super::{
    kind::Kind,
    launch::{found, postgres_binaries},
    servers::Server,
};
use std::{
    io::{BufRead, BufReader, Write as _},
    process::{Child, Command, Stdio},
};

impl Server {
    /// Runs a script as the server's administrator, by its own client program.
    ///
    /// # Panics
    /// If the script fails.
    pub fn administer(&self, database: &str, script: &str) -> String {
        self.run_script(self.client(database), script)
            .unwrap_or_else(|said| panic!("{script}: {said}\n{}", self.log()))
    }

    /// The same for a script that may fail, and a server that may not answer at all.
    ///
    /// # Errors
    /// The output of the client program, if the script fails.
    ///
    /// # Panics
    /// If the client program is missing.
    pub fn try_administer(&self, database: &str, script: &str) -> Result<String, String> {
        let client = self.impatient_client(database);
        let mut limited = Command::new("timeout"); // what a server holds up may be for its caller to end
        limited.arg("5").arg(client.get_program()).args(client.get_args());
        limited.envs(client.get_envs().filter_map(|(name, value)| Some((name, value?))));
        self.run_script(limited, script)
    }

    fn run_script(&self, mut client: Command, script: &str) -> Result<String, String> {
        let script = match self.kind() {
            Kind::Postgres => client.args(["-c", script]),
            Kind::MariaDb => client.args(["-e", script]),
        };
        let output = script.output().expect("the client program of the server");
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).trim_end().to_owned());
        }
        Err(String::from_utf8_lossy(&output.stderr).into_owned())
    }

    /// Begins an administrator's session with a script, and keeps what the script has taken (a
    /// transaction, its locks) until the session is dropped. Returns as soon as the script has
    /// taken all of it, or has failed.
    ///
    /// # Panics
    /// If the client program cannot be started.
    #[must_use]
    pub fn session(&self, database: &str, script: &str) -> Session {
        let mut client = self.impatient_client(database);
        if self.kind() == Kind::MariaDb {
            client.arg("--unbuffered");
        }
        client.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut process = client.spawn().expect("the client program of the server");
        let words = format!("{script};\nSELECT 'taken';\n");
        let mut orders = process.stdin.take().expect("a pipe");
        let told = orders.write_all(words.as_bytes());
        // The script ends when nothing more can come; one that failed has ended already.
        if told.is_ok() {
            process.stdin = Some(orders);
        }
        let answers = process.stdout.take().map(BufReader::new);
        let mut lines = answers.into_iter().flat_map(BufRead::lines).map_while(Result::ok);
        let _ = lines.find(|line| line == "taken");
        Session(process)
    }

    /// Gives up on a server that does not accept it within two seconds.
    fn impatient_client(&self, database: &str) -> Command {
        let mut client = self.client(database);
        match self.kind() {
            Kind::Postgres => client.env("PGCONNECT_TIMEOUT", "2"),
            Kind::MariaDb => client.arg("--connect-timeout=2"),
        };
        client
    }

    fn client(&self, database: &str) -> Command {
        let port = self.port().to_string();
        match self.kind() {
            Kind::Postgres => {
                let mut psql = Command::new(postgres_binaries().join("psql"));
                psql.args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-h", "127.0.0.1"]);
                psql.args(["-p", &port, "-U", "postgres", "-d", database]);
                psql
            }
            Kind::MariaDb => {
                let mut mariadb = Command::new(found("mariadb"));
                mariadb.args(["--no-defaults", "-N", "-B", "-h", "127.0.0.1", "-P", &port]);
                mariadb.args(["-u", "root", "-D", database]);
                mariadb
            }
        }
    }
}

/// An administrator's session that holds what it has taken until it is dropped.
pub struct Session(Child);

impl Drop for Session {
    fn drop(&mut self) {
        let _ = self.0.kill().and_then(|()| self.0.wait()); // it may have ended already
    }
}
