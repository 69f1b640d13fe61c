//! An elector in a process of its own: the command with a job, or the library.

use crate::{
    cast::{clock_step, name, ttl},
    home::Home,
    journal::Weight,
    role::{self, command_line},
};
use election_testing::process::{carries, every_pid, guard_of, send};
use election_tokio::now;
use rustix::process::Signal;
use std::{
    fs::{self, File},
    path::PathBuf,
    process::{Child, Command, ExitStatus, Stdio},
};

/// What kind of elector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sort {
    Command,
    Library,
}

pub(crate) struct Actor {
    pub(crate) sort: Sort,
    /// Its number among all that were ever started.
    pub(crate) life: usize,
    /// Something was done to it that may end it.
    pub(crate) doomed: bool,
    pub(crate) weights: Vec<Weight>,
    child: Child,
    messages: PathBuf,
    mark: String,
}

/// What tells the processes of one life from those of all others, also of other worlds.
fn mark(home: &Home, life: usize) -> String {
    format!("{}#{life}", home.path().display())
}

impl Actor {
    /// Starts one. It dies with the thread that started it.
    pub(crate) fn start(
        home: &Home,
        (node, sort): (usize, Sort),
        life: usize,
        url: &str,
        elections: usize,
    ) -> Self {
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL", "--"]);
        match sort {
            Sort::Command => {
                command.args([env!("CARGO_BIN_EXE_election"), "run", "--store", url]);
                command.args(["--name", &name(0), "--node", &format!("n{node}")]);
                command.args(["--ttl", &format!("{}ms", ttl().as_millis())]);
                command.args(["--clock-step", &format!("{}s", clock_step(url).as_secs()), "--"]);
                command.args(command_line()).env(role::ROLE, "job");
            }
            Sort::Library => {
                command.args(command_line()).env(role::ROLE, "library");
            }
        }
        command.env(role::ELECTIONS, elections.to_string());
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("ELECTION_") {
                command.env_remove(name);
            }
        }
        command.env(role::PLACE, home.path()).env(role::LIFE, life.to_string());
        command
            .env(role::MARK, mark(home, life))
            .env(role::NODE, node.to_string())
            .env(role::URL, url);
        command.env(role::TTL, ttl().as_millis().to_string()).env("TMPDIR", home.scratch());
        let messages = home.path().join(format!("{life:04}-n{node}.stderr"));
        let stderr = File::create(&messages).expect("a file of our own");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(stderr);
        command.current_dir(home.path());
        let child = command.spawn().expect("setpriv, of the package util-linux");
        let (mark, weights) = (mark(home, life), Vec::new());
        Self { sort, life, doomed: false, weights, child, messages, mark }
    }

    pub(crate) fn pid(&self) -> i32 {
        i32::try_from(self.child.id()).expect("a process id")
    }

    pub(crate) fn send(&self, signal: Signal) {
        send(self.pid(), signal);
    }

    pub(crate) fn guard(&self) -> Option<i32> {
        guard_of(self.pid()).filter(|_| self.sort == Sort::Command)
    }

    pub(crate) fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().expect("our own child")
    }

    /// Every process that comes from it, itself included.
    pub(crate) fn family(&self) -> Vec<i32> {
        every_pid().into_iter().filter(|pid| carries(*pid, role::MARK, &self.mark)).collect()
    }

    /// Whether it has ever taken part.
    pub(crate) fn took_part(&self) -> bool {
        let messages = self.messages();
        ["elected", "following", "Elected", "Followed"].iter().any(|word| messages.contains(word))
    }

    pub(crate) fn messages(&self) -> String {
        String::from_utf8_lossy(&fs::read(&self.messages).unwrap_or_default()).into_owned()
    }

    /// Notes what it holds now.
    pub(crate) fn weigh(&mut self) {
        let place = format!("/proc/{}", self.pid());
        let status = fs::read_to_string(format!("{place}/status")).unwrap_or_default();
        let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kilobytes = resident.and_then(|line| line.split_whitespace().next()?.parse().ok());
        let Some(kilobytes) = kilobytes.map(|number: u64| number) else { return };
        let descriptors = fs::read_dir(format!("{place}/fd")).map_or(0, Iterator::count);
        let at = now().as_nanos();
        self.weights.push(Weight { at, memory: kilobytes * 1024, descriptors });
    }
}

/// It ends with the world, however that ends.
impl Drop for Actor {
    fn drop(&mut self) {
        if self.ended().is_none() {
            let _ = self.child.kill().and_then(|()| self.child.wait());
        }
    }
}
