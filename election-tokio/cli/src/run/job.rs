//! The job as the elector sees it: a guard, and every process below it.
//!
//! Usually the guard does all the work and reports. If the guard is killed, the kernel gives the
//! processes it has adopted to the elector. If it stands still, the elector kills it, with the same
//! result.

use super::{
    cgroup::Cgroup,
    deadline::Deadline,
    ipc::{self, Connection, Order, Report},
    killing::Killing,
    main_process::{self, MainProcess},
    process_tree::{self, Key, Process},
    reaper::{Reaped, Reaper},
};
use crate::location::Location;
use election_tokio::core::Timestamp;
use rustix::process::{Pid, Signal, kill_process_group};
use std::{
    collections::BTreeSet,
    ffi::OsString,
    fs::File,
    future::pending,
    io::{self, IsTerminal as _},
    os::{
        fd::{AsFd as _, OwnedFd},
        unix::process::{CommandExt as _, ExitStatusExt as _},
    },
    process::{ExitStatus, Stdio},
    time::Duration,
};
use tokio::time::{Instant, sleep, sleep_until};

/// How long a guard may take to act or to report before it is taken to stand still.
const PATIENCE: Duration = Duration::from_millis(100);

/// The events of a job, in order. [`Gone`](Self::Gone) is the last.
#[derive(Debug)]
pub(super) enum Event {
    /// The job could not be started.
    Failed(String),
    /// Its main process has ended.
    Ended(ExitStatus),
    /// The guard found the deadline past and kills it.
    Overdue,
    /// The guard was killed from outside, and the job is killed for it.
    Unguarded,
    /// The main process has left these behind, which are killed.
    LeftBehind(String),
    /// It takes so long to kill the job, which will begin so much earlier.
    Slow(String),
    /// Nothing of the job is left.
    Gone,
}

/// What to run, and the variables that tell it about its leadership.
pub(super) struct JobSpec<'a> {
    pub(super) words: &'a [OsString],
    pub(super) location: &'a Location,
    pub(super) environment: Vec<(&'a str, String)>,
    /// Where its output goes, if not to this process's. Then its input is empty.
    pub(super) output: Option<OwnedFd>,
    pub(super) slice: Duration,
    pub(super) allow_setuid: bool,
    pub(super) isolate: bool,
    /// Whether messages until the start of the job are JSON.
    pub(super) json: bool,
}

/// A job that was started, and its guard.
pub(super) struct Job {
    connection: Connection,
    deadline: Deadline,
    reaper: Reaper,
    guard: i32,
    guarded: Guarded,
    /// The event to report after everything that the guard has reported.
    after_reports: Option<Event>,
    started: bool,
    /// What the job is to get as soon as it has started: before that, nobody is there to get it.
    early: Vec<Signal>,
    /// It is to end, by this signal.
    stopped: Option<Signal>,
    /// The job's main process, until it is known to have ended.
    main: Option<MainProcess>,
    /// Children that this process had before it became this program, with their descendants.
    unrelated: BTreeSet<Key>,
    /// Since when every process is to die.
    since: Option<Instant>,
    killing: Killing,
    /// The time until the next round of killing.
    pause: Duration,
    cgroup: Option<Cgroup>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Guarded {
    Yes,
    /// The guard was told by SIGKILL that it is not needed any more.
    NoLonger,
    /// The guard has ended before the job.
    No,
}

/// The result of reaping.
enum Reaping {
    /// A process whose end matters.
    News(Event),
    /// The guard.
    Guard,
    Nobody,
}

impl Job {
    /// Starts a guard, which starts the job if the deadline has not come by then.
    pub(super) fn start(spec: JobSpec<'_>, deadline: Timestamp) -> io::Result<Self> {
        let reaper = Reaper::adopting()?;
        let unrelated = process_tree::below(process_tree::own_pid(), &BTreeSet::new())?;
        let deadline = Deadline::new(deadline)?;
        let stdin = match &spec.output {
            // The kernel would stop it with its first read, since its group is never in front.
            None if io::stdin().is_terminal() => File::open("/dev/null")?.into(),
            None => io::stdin().as_fd().try_clone_to_owned()?,
            Some(_) => File::open("/dev/null")?.into(),
        };
        let (here, there) = ipc::pair(&stdin, &deadline)?;
        let mut command = super::itself();
        spec.location.hand_to(&mut command);
        command.args(["__guard", "--slice", &spec.slice.as_nanos().to_string()]);
        let JobSpec { allow_setuid, isolate, json, .. } = spec;
        let flags = [("--allow-setuid", allow_setuid), ("--isolate", isolate), ("--json", json)];
        command.args(flags.iter().filter(|(_, set)| *set).map(|(flag, _)| flag));
        command.arg("--").args(spec.words).envs(spec.environment.iter().map(|(k, v)| (k, v)));
        if let Some(output) = spec.output {
            command.stdout(output.try_clone()?).stderr(output);
        }
        let connection = Connection::new(here)?;
        // The guard's group is the job's too, so the group's number stays taken while the guard
        // lives.
        let guard = command.stdin(Stdio::from(there)).process_group(0).spawn()?;
        Ok(Self {
            connection,
            deadline,
            reaper,
            guard: Pid::from_child(&guard).as_raw_pid(),
            guarded: Guarded::Yes,
            after_reports: None,
            started: false,
            early: Vec::new(),
            stopped: None,
            main: None,
            unrelated: unrelated.iter().map(Process::key).collect(),
            since: None,
            killing: Killing::default(),
            pause: Duration::ZERO,
            cgroup: None,
        })
    }

    /// Moves the hard stop.
    pub(super) fn extend(&self, deadline: Timestamp) -> io::Result<()> {
        self.deadline.set(deadline)?;
        self.connection.order(Order::Look);
        Ok(())
    }

    /// Passes a signal on to the group of the job's main process, as a terminal would; once the job has
    /// started, for before that the guard is not deaf to it.
    pub(super) fn signal(&mut self, signal: Signal) {
        if self.started {
            self.pass_on(signal);
        } else {
            self.early.push(signal);
        }
    }

    fn pass_on(&self, signal: Signal) {
        if self.after_reports.is_some() || self.guarded == Guarded::No {
            return; // the guard is reaped, and what is left is killed
        }
        let Some(main) = &self.main else { return };
        let mut groups = BTreeSet::from([self.guard]);
        // Where it is hidden, it is taken to be in the group in which it was started.
        if let Some(main) = Process::of(main.pid) {
            groups.insert(main.group);
            // One that has joined this process's own group must not be signalled through it.
            if groups.remove(&process_tree::own_group()) {
                let _ = main.send(signal);
            }
        }
        for group in groups.into_iter().filter_map(Pid::from_raw) {
            let _ = kill_process_group(group, signal);
        }
    }

    /// Tells every process of the job to end by this signal. Processes that outlive the main
    /// process then have until the deadline.
    pub(super) fn stop(&mut self, signal: Signal) {
        self.stopped = Some(signal);
        if self.after_reports.is_some() {
            return; // the guard is reaped, and what is left is killed
        }
        self.connection.order(Order::Stopping);
        let deaf = match self.left() {
            Ok(left) => process_tree::send(left, signal),
            Err(error) => {
                tracing::warn!(
                    event = "job_unstoppable",
                    "the job's processes cannot be listed ({error}); only its process group is \
                     told to end"
                );
                return self.pass_on(signal);
            }
        };
        if !deaf.is_empty() {
            let who = process_tree::list(&deaf);
            tracing::warn!(
                event = "job_unstoppable",
                "cannot be told to end by this user, since they run as another user: {who}"
            );
        }
    }

    /// Kills everything from now on, until nothing is left.
    pub(super) fn kill(&mut self) {
        self.since.get_or_insert_with(Instant::now);
    }

    /// The living processes of the job.
    ///
    /// # Errors
    /// If it cannot be read who they are.
    pub(super) fn left(&self) -> io::Result<Vec<Process>> {
        let (root, but) = self.family();
        process_tree::below(root, &but)
    }

    /// Whether the job never began, because its time was over by then.
    pub(super) fn came_too_late(&self) -> bool {
        self.deadline.is_missed()
    }

    /// Whether nothing of the job has run, because it could not be executed.
    pub(super) fn could_not_begin(&self) -> bool {
        self.deadline.is_unbegun()
    }

    /// Whether another process goes on to look after the job when this one ends.
    pub(super) fn is_guarded(&self) -> bool {
        self.guarded == Guarded::Yes
    }

    /// The process below which the job lives, and the children of that process that are no part of
    /// it.
    fn family(&self) -> (i32, BTreeSet<Key>) {
        match self.guarded {
            Guarded::Yes => (self.guard, BTreeSet::new()),
            Guarded::NoLonger | Guarded::No => (process_tree::own_pid(), self.unrelated.clone()),
        }
    }

    /// The next event. Dropping the future loses nothing.
    pub(super) async fn next(&mut self) -> Event {
        loop {
            while let Some(report) = self.connection.waiting_report() {
                if let Some(event) = self.heard(report) {
                    return event;
                }
            }
            if let Some(event) = self.after_reports.take() {
                return event;
            }
            match self.reap_all() {
                Reaping::News(event) => return event,
                Reaping::Guard => continue,
                Reaping::Nobody => self.act(),
            }
            let rest = rest(
                self.since.map(|_| self.pause),
                self.main.as_ref().and_then(|main| main.unreported),
            );
            tokio::select! {
                biased;
                report = self.connection.next_report(), if !self.connection.is_over() => {
                    if let Some(event) = report.and_then(|report| self.heard(report)) {
                        return event;
                    }
                }
                () = self.reaper.stirred() => {}
                () = main_process::ends(&mut self.main) => {}
                () = rest => {}
            }
        }
    }

    fn heard(&mut self, report: Report) -> Option<Event> {
        Some(match report {
            Report::Started(pid) => {
                self.main = Some(MainProcess::of(pid));
                self.started = true;
                std::mem::take(&mut self.early).into_iter().for_each(|signal| self.pass_on(signal));
                self.stopped.into_iter().for_each(|signal| self.stop(signal));
                return None;
            }
            Report::Failed(why) => Event::Failed(why),
            Report::Overdue => Event::Overdue,
            Report::Ended(status) => {
                self.main = None;
                Event::Ended(ExitStatus::from_raw(status))
            }
            Report::LeftBehind(what) => Event::LeftBehind(what),
            Report::Slow(what) => Event::Slow(what),
            Report::Cgroup(path) => {
                self.cgroup = Some(Cgroup::at(&path));
                return None;
            }
            Report::Together => {
                self.guarded = Guarded::NoLonger;
                return None;
            }
        })
    }

    /// Reaps ended children.
    fn reap_all(&mut self) -> Reaping {
        loop {
            match self.reaper.reap() {
                Reaped::Child(pid, status) if pid == self.guard => {
                    self.unguarded(status);
                    return Reaping::Guard;
                }
                Reaped::Child(pid, status) => {
                    if self.main.take_if(|main| main.pid == pid).is_some() {
                        return Reaping::News(Event::Ended(status));
                    }
                }
                Reaped::Alive if self.guarded != Guarded::No || !self.only_unrelated() => {
                    return Reaping::Nobody;
                }
                Reaped::Alive | Reaped::Childless => return self.abandoned(),
            }
        }
    }

    /// The guard has ended before the job, and this process has no descendants any more.
    fn abandoned(&self) -> Reaping {
        match &self.cgroup {
            Some(cgroup) if cgroup.is_populated() => return Reaping::Nobody,
            Some(cgroup) => cgroup.remove(),
            None => {}
        }
        Reaping::News(Event::Gone)
    }

    /// The guard has ended.
    fn unguarded(&mut self, status: ExitStatus) {
        if status.success() {
            // The guard ends when nothing of the job is left.
            self.after_reports = Some(Event::Gone);
            return;
        }
        if self.guarded == Guarded::Yes {
            self.after_reports = Some(match status.code() {
                Some(code) => Event::Failed(format!("its guard exited with code {code}")),
                None => Event::Unguarded,
            });
        }
        self.guarded = Guarded::No;
        self.kill();
    }

    /// Looks twice, since without the kernel's lists a process that becomes a child meanwhile may be
    /// overlooked.
    fn only_unrelated(&self) -> bool {
        !self.unrelated.is_empty()
            && (0..2).all(|_| {
                let children = process_tree::own_children();
                children.is_ok_and(|children| children.is_subset(&self.unrelated))
            })
    }

    fn act(&mut self) {
        let now = Instant::now();
        let late = |since: Instant| now.duration_since(since) >= PATIENCE;
        if self.main.as_ref().and_then(|main| main.unreported).is_some_and(late) {
            self.kill();
        }
        let Some(since) = self.since else { return };
        if let Some(cgroup) = &self.cgroup {
            cgroup.kill();
        }
        let (root, but) = self.family();
        match self.killing.round(root, &but) {
            Ok(pause) => self.pause = pause,
            Err(_) => {
                self.pause = PATIENCE;
                self.dismiss(); // the rest of its group dies with it
            }
        }
        // A guard that works is needed: it stays when this process goes.
        if late(since) && Process::of(self.guard).is_none_or(|guard| !guard.acts()) {
            self.dismiss();
        }
    }

    /// Takes over from a guard that does not do its work.
    fn dismiss(&mut self) {
        if self.guarded == Guarded::Yes {
            self.guarded = Guarded::NoLonger;
            if let Some(group) = Pid::from_raw(self.guard) {
                let _ = kill_process_group(group, Signal::KILL);
            }
        }
    }
}

/// Waits until there is something to do again.
async fn rest(pause: Option<Duration>, unreported: Option<Instant>) {
    match (pause, unreported) {
        (Some(pause), _) => sleep(pause).await,
        (None, Some(since)) => sleep_until(since + PATIENCE).await,
        (None, None) => pending().await,
    }
}
