//! A running example, and patience.
#![allow(dead_code)] // not every test needs all of it

use rustix::process::{Pid, Signal, kill_process};
use std::{
    io::{BufRead as _, BufReader},
    process::{Child, Command, ExitStatus, Stdio},
    sync::mpsc,
    time::{Duration, Instant},
};

/// How long a test waits for what must come.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A running example. It is killed with the test.
pub(crate) struct Program {
    pub(crate) process: Child,
    pub(crate) lines: mpsc::Receiver<String>,
}

impl Program {
    pub(crate) fn start(name: &str, arguments: &[&str]) -> Self {
        let here = std::env::current_exe().unwrap();
        let file = here.ancestors().nth(2).unwrap().join("examples").join(name);
        assert!(file.exists(), "cargo build --workspace --all-features --examples");
        let mut command = Command::new(file);
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn().unwrap();
        let (sender, lines) = mpsc::channel();
        let output = BufReader::new(process.stdout.take().unwrap());
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                println!("{line}");
                let _ = sender.send(line);
            }
        });
        Self { process, lines }
    }

    /// The next line that contains these words.
    #[track_caller]
    pub(crate) fn says(&self, words: &str) -> String {
        let deadline = Instant::now() + PATIENCE;
        loop {
            match self.lines.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(line) if line.contains(words) => return line,
                Ok(_) => {}
                Err(why) => panic!("{words:?} was not said: {why}"),
            }
        }
    }

    pub(crate) fn send(&self, signal: Signal) {
        let pid = Pid::from_raw(self.process.id().try_into().unwrap()).unwrap();
        kill_process(pid, signal).unwrap();
    }

    /// Waits for the process to end.
    #[track_caller]
    pub(crate) fn ends(&mut self) -> ExitStatus {
        eventually("the end", || self.process.try_wait().unwrap())
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[track_caller]
pub(crate) fn eventually<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(began.elapsed() < PATIENCE, "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}
