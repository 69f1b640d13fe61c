//! The process that the job lives below. It ends the job when its time is over, whatever the
//! elector is doing.
//!
//! The guard starts with the hard stop, which the elector moves in memory that both share. It
//! starts the job and adopts the processes that the job abandons, so it ends only after the last of
//! them.

use super::{
    cgroup::Cgroup,
    deadline::Deadline,
    ipc::{self, Connection, Order, Report},
    isolate,
    killing::Killing,
    process_tree,
    reach::Reach,
    reaper::{Reaped, Reaper},
    signals,
};
use crate::{
    arguments::Guard as Arguments,
    exit::{Exit, Failed},
    room,
};
use election_tokio::core::Timestamp;
use rustix::process::{Pid, Signal, kill_current_process_group, kill_process};
use std::{
    collections::BTreeSet,
    ffi::OsString,
    io,
    os::fd::OwnedFd,
    process::{Command, Stdio},
    time::Duration,
};
use tokio::time::sleep;

/// The guard's own main function.
pub(crate) fn watch_over_job(arguments: Arguments) -> Result<Exit, Failed> {
    let what = "the guard cannot start";
    let failed = |error: &io::Error| Failed::of(what, error);
    let (elector, stdin, deadline) = ipc::handed_over().map_err(|error| failed(&error))?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| failed(&error))?.block_on(async {
        // Signals for the job reach its whole group; they are not meant for its guard.
        let _deaf = signals::listen().map_err(|error| failed(&error))?;
        let _steady = signals::stand_in_the_background().map_err(|error| failed(&error))?;
        let elector = Connection::new(elector).map_err(|error| failed(&error))?;
        let reaper = Reaper::adopting().map_err(|error| failed(&error))?;
        let (cgroup, obstacle) = match Cgroup::make() {
            Ok(cgroup) => (cgroup, None),
            Err(obstacle) => (None, Some(obstacle)),
        };
        let mut guard = Guard::new(elector, deadline, reaper, cgroup, arguments.isolate);
        match obstacle {
            None => guard.start(&arguments, stdin),
            Some(obstacle) => guard.failed(obstacle),
        }
        guard.watch(Duration::from_nanos(arguments.slice)).await;
        if let Some(cgroup) = &guard.cgroup {
            cgroup.remove();
        }
        Ok(Exit::OK)
    })
}

struct Guard {
    elector: Connection,
    deadline: Deadline,
    reaper: Reaper,
    cgroup: Option<Cgroup>,
    isolated: bool,
    /// The job's main process, until it has ended.
    job: Option<i32>,
    stage: Stage,
    killing: Killing,
    reach: Reach,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Running,
    /// The job was told to end, and has the remaining time to do so.
    Stopping,
    /// Every living process is killed, round after round.
    Killing,
}

impl Guard {
    fn new(
        elector: Connection,
        deadline: Deadline,
        reaper: Reaper,
        cgroup: Option<Cgroup>,
        isolated: bool,
    ) -> Self {
        let (killing, stage) = (Killing::default(), Stage::Running);
        let reach = Reach::default();
        Self { elector, deadline, reaper, cgroup, isolated, job: None, stage, killing, reach }
    }

    /// Starts the job, unless its time is over already.
    ///
    /// Call this from the main thread: the kernel ties the job's life to the thread that started
    /// it.
    fn start(&mut self, arguments: &Arguments, stdin: OwnedFd) {
        if self.is_over() {
            self.elector.report(&Report::Overdue);
            return;
        }
        if let Some(path) = self.cgroup.as_ref().and_then(|cgroup| cgroup.path().to_str()) {
            self.elector.report(&Report::Cgroup(path.to_owned()));
        }
        if arguments.isolate
            && let Err(error) = isolate::enter()
        {
            return self.failed(isolate::refused(&error));
        }
        match self.command(arguments, stdin).spawn() {
            Ok(child) => {
                let pid = Pid::from_child(&child).as_raw_pid();
                self.job = Some(pid);
                self.elector.report(&Report::Started(pid));
            }
            Err(error) => self.failed(room::refused(&error)),
        }
    }

    fn failed(&self, why: String) {
        let _ = self.deadline.could_not_begin();
        self.elector.report(&Report::Failed(why));
    }

    fn command(&self, arguments: &Arguments, stdin: OwnedFd) -> Command {
        let mut words: Vec<OsString> = vec!["__exec".into(), "--parent".into()];
        words.push(process_tree::own_pid().to_string().into());
        words.extend(["--deadline".into(), self.deadline.path().into()]);
        if let Some(cgroup) = &self.cgroup {
            words.extend(["--cgroup".into(), cgroup.path().into()]);
        }
        let Arguments { allow_setuid, isolate, json, .. } = *arguments;
        let flags = [("--allow-setuid", allow_setuid), ("--isolate", isolate), ("--json", json)];
        words.extend(flags.iter().filter(|(_, set)| *set).map(|(flag, _)| flag.into()));
        words.push("--".into());
        let mut command = super::itself();
        command.args(words).args(&arguments.job).stdin(Stdio::from(stdin));
        command
    }

    /// When killing begins, so that it is done at the hard stop.
    fn stop_at(&self) -> Timestamp {
        self.deadline.get() - self.reach.time()
    }

    /// Whether the job is in its control group: it may not have been let in.
    fn is_in_cgroup(&self) -> bool {
        self.cgroup.as_ref().is_some_and(Cgroup::is_populated)
    }

    fn is_over(&self) -> bool {
        self.stop_at() <= election_tokio::now()
    }

    /// Ends when nothing of the job is left.
    ///
    /// Never sleeps longer than `slice` without looking at the clock, which goes on while the
    /// machine is suspended when timers do not.
    async fn watch(&mut self, slice: Duration) {
        let mut heard = true;
        while self.reap() {
            self.judge();
            let wait = match self.stage {
                Stage::Killing => self.kill(),
                _ => self.stop_at().since(election_tokio::now()).min(slice),
            };
            tokio::select! {
                biased;
                order = self.elector.next_order(), if heard => match (order, self.stage) {
                    (Some(_), Stage::Killing) => {}
                    // The kernel kills them at once.
                    (Some(Order::Look), _) if self.isolated || self.is_in_cgroup() => {}
                    (Some(Order::Look), _) => {
                        let slow = self.reach.measure();
                        slow.into_iter().for_each(|what| self.elector.report(&Report::Slow(what)));
                    }
                    (Some(Order::Stopping), _) => self.stage = Stage::Stopping,
                    (None, _) => {
                        heard = false;
                        self.stage = Stage::Killing;
                    }
                },
                () = self.reaper.stirred() => {}
                () = sleep(wait) => {}
            }
        }
    }

    fn judge(&mut self) {
        if self.stage != Stage::Killing && self.is_over() {
            self.elector.report(&Report::Overdue);
            self.stage = Stage::Killing;
        }
    }

    /// Reaps ended children, and reports the job's own end. `false` once none are left.
    fn reap(&mut self) -> bool {
        loop {
            match self.reaper.reap() {
                Reaped::Child(pid, status) if self.job == Some(pid) => {
                    self.job = None;
                    self.judge();
                    self.elector.report(&Report::ended(status));
                }
                Reaped::Child(..) => {}
                Reaped::Alive => {
                    if self.job.is_none() && self.stage == Stage::Running {
                        self.clear_up();
                    }
                    return true;
                }
                // In an older PID namespace, an orphan goes to another parent.
                Reaped::Childless => {
                    let populated = self.is_in_cgroup();
                    if populated && self.job.is_none() && self.stage == Stage::Running {
                        self.stage = Stage::Killing;
                    }
                    return populated;
                }
            }
        }
    }

    /// The job has ended by itself, and nobody has told the processes it leaves behind to end.
    fn clear_up(&mut self) {
        let left =
            process_tree::below(process_tree::own_pid(), &BTreeSet::new()).unwrap_or_default();
        if !left.is_empty() {
            self.elector.report(&Report::LeftBehind(process_tree::list(&left)));
        }
        self.stage = Stage::Killing;
    }

    /// Kills every process it finds, and returns when to look again.
    fn kill(&mut self) -> Duration {
        if let Some(cgroup) = &self.cgroup {
            cgroup.kill();
        }
        // The kernel kills a namespace with its first process, and looking for the others takes time.
        if let Some(job) = self.job.filter(|_| self.isolated).and_then(Pid::from_raw) {
            let _ = kill_process(job, Signal::KILL);
        }
        let round = self.killing.round(process_tree::own_pid(), &BTreeSet::new());
        if round.is_err() || self.killing.is_outrun() {
            self.elector.report(&Report::Together);
            let _ = kill_current_process_group(Signal::KILL);
        }
        round.unwrap_or_default()
    }
}
