//! A running example.

use super::process::{eventually, send};
use rustix::process::Signal;
use std::{
    io::{BufRead as _, BufReader},
    process::{Child, Command, ExitStatus, Stdio},
    sync::mpsc,
    time::{Duration, Instant},
};

/// How long a test waits for what must come.
const PATIENCE: Duration = Duration::from_secs(60);

/// A running example. It is killed with the test.
pub struct Program {
    /// The process itself.
    pub process: Child,
    /// What it says, line by line.
    pub lines: mpsc::Receiver<String>,
}

impl Program {
    /// Starts the example of this name. Cargo builds examples along with the tests, unless only one
    /// test was asked for.
    ///
    /// # Panics
    /// If it has not been built, or cannot be started.
    #[must_use]
    pub fn start(name: &str, arguments: &[&str]) -> Self {
        let here = std::env::current_exe().expect("this binary");
        let file = here.ancestors().nth(2).expect("its folder").join("examples").join(name);
        assert!(file.exists(), "cargo build --workspace --all-features --examples");
        let mut command = Command::new(file);
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn().expect("an example that can be started");
        let (sender, lines) = mpsc::channel();
        let output = BufReader::new(process.stdout.take().expect("a pipe"));
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                println!("{line}");
                let _ = sender.send(line);
            }
        });
        Self { process, lines }
    }

    /// The next line that contains these words.
    ///
    /// # Panics
    /// If it does not come within a minute.
    #[track_caller]
    pub fn says(&self, words: &str) -> String {
        let deadline = Instant::now() + PATIENCE;
        loop {
            match self.lines.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(line) if line.contains(words) => return line,
                Ok(_) => {}
                Err(why) => panic!("{words:?} was not said: {why}"),
            }
        }
    }

    /// Sends it a signal.
    ///
    /// # Panics
    /// If it has ended.
    pub fn send(&self, signal: Signal) {
        send(self.process.id().try_into().expect("a pid"), signal);
    }

    /// Waits for the process to end.
    ///
    /// # Panics
    /// If it does not end.
    #[track_caller]
    pub fn ends(&mut self) -> ExitStatus {
        eventually("the end", || self.process.try_wait().expect("our child"))
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
