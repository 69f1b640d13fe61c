//! One candidate: an `election run` whose job says when it started.

use crate::{
    exit::{Exit, Failed},
    systemd,
};
use election_tokio::{
    Deadline,
    core::{Epoch, Timestamp},
};
use rustix::process::{Pid, Signal, kill_process};
use std::{ffi::OsString, io, io::Write as _, process::Stdio};
use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    process::{Child, ChildStdout, Command},
    sync::mpsc::UnboundedSender,
};

/// The first message of a job.
#[derive(Clone, Debug)]
pub(super) struct Started {
    pub(super) node: String,
    pub(super) epoch: Epoch,
    pub(super) at: Timestamp,
}

pub(super) struct Candidate {
    pub(super) name: String,
    pub(super) pid: i32,
    process: Child,
}

impl Candidate {
    /// Starts a candidate with these options.
    pub(super) fn launch(
        name: String,
        options: &[OsString],
        reports: UnboundedSender<Started>,
    ) -> io::Result<Self> {
        let mut command = Command::new("/proc/self/exe");
        // The user's settings are for the user's own elections.
        for (variable, _) in std::env::vars_os() {
            if variable.to_string_lossy().starts_with("ELECTION_") {
                command.env_remove(variable);
            }
        }
        systemd::keep_from(command.as_std_mut());
        let mut process = command
            .arg0("election")
            .args(["run", "--quiet", "--with-parent", "--node", &name])
            .args(options)
            .args(["--", "/proc/self/exe", "__first-breath"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .process_group(0)
            .kill_on_drop(true)
            .spawn()?;
        if let Some(output) = process.stdout.take() {
            drop(tokio::spawn(listen(name.clone(), output, reports)));
        }
        let pid = process.id().and_then(|id| i32::try_from(id).ok()).unwrap_or_default();
        Ok(Self { name, pid, process })
    }

    pub(super) async fn kill(&mut self) {
        // A process that has ended already need not be killed.
        let _ = self.process.kill().await;
    }

    pub(super) fn terminate(&self) {
        if let Some(pid) = Pid::from_raw(self.pid) {
            let _ = kill_process(pid, Signal::TERM);
        }
    }

    pub(super) async fn ended(&mut self) {
        let _ = self.process.wait().await;
    }
}

async fn listen(node: String, output: ChildStdout, reports: UnboundedSender<Started>) {
    let mut lines = BufReader::new(output).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        let Some((epoch, at)) = line.split_once(' ') else { continue };
        if let (Ok(epoch), Ok(at)) = (epoch.parse(), at.parse::<Deadline>()) {
            let (epoch, at) = (Epoch::new(epoch), at.here());
            let _ = reports.send(Started { node: node.clone(), epoch, at });
        }
    }
}

/// The demo's job: prints the epoch under which it was started and the time, and then does nothing
/// until it is stopped.
pub(crate) fn first_breath() -> Result<Exit, Failed> {
    let at = Deadline::at(election_tokio::now());
    let epoch = std::env::var("ELECTION_EPOCH").unwrap_or_default();
    let mut output = io::stdout();
    writeln!(output, "{epoch} {at}")
        .and_then(|()| output.flush())
        .map_err(|error| Failed::of("standard output", &error))?;
    loop {
        std::thread::park();
    }
}
