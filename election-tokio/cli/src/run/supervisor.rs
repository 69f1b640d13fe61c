//! One leadership, from the start of its job until nothing of the job is left.

use super::{
    End,
    job::{Event, Job},
    process_tree,
    signals::{self, Signals},
};
use crate::exit::Exit;
use election_tokio::{Handle, Lease, core::Timestamp};
use rustix::process::Signal;
use std::{
    future::pending, os::unix::process::ExitStatusExt as _, process::ExitStatus, time::Duration,
};
use tokio::time::{Instant, sleep_until};
use tracing::{debug, error, info, warn};

/// How long killed processes may take to end before the log mentions them.
const LAST_BREATH: Duration = Duration::from_secs(1);
/// How often the log repeats that.
const REMINDER: Duration = Duration::from_secs(10);

pub(super) struct Supervisor<'a> {
    handle: &'a Handle,
    signals: &'a mut Signals,
    lease: &'a Lease,
    job: Job,
    /// This process goes on after a loss.
    stays: bool,
    guarded_until: Timestamp,
    /// The job was told to end, by this signal.
    told: Option<Signal>,
    /// This process is to end, by this signal.
    leaving: Option<Signal>,
    overdue: bool,
    slow: bool,
    /// For that, the guard had to begin with killing before the time was over.
    crowded: bool,
    killed: bool,
    unguarded: bool,
    failed: Option<String>,
    status: Option<ExitStatus>,
    /// This process was told to end more than once, and not only within one burst.
    insisted: bool,
    /// When to say that a process is not gone yet.
    talk_at: Option<Instant>,
}

impl<'a> Supervisor<'a> {
    pub(super) fn new(
        handle: &'a Handle,
        signals: &'a mut Signals,
        lease: &'a Lease,
        job: Job,
        stays: bool,
    ) -> Self {
        Self {
            handle,
            signals,
            lease,
            job,
            stays,
            guarded_until: Timestamp::ZERO,
            told: None,
            leaving: None,
            overdue: false,
            slow: false,
            crowded: false,
            killed: false,
            unguarded: false,
            failed: None,
            status: None,
            insisted: false,
            talk_at: None,
        }
    }

    /// Makes the job end in time, and waits until nothing of it is left.
    pub(super) async fn run(mut self) -> End {
        let mut watch = self.handle.watch();
        let mut watching = true;
        loop {
            tokio::select! {
                biased;
                event = self.job.next() => if self.heard(event) {
                    return self.end();
                },
                () = self.lease.hard_stop(), if !self.killed => {
                    self.killed = true;
                    self.job.kill();
                    self.talk_in(LAST_BREATH);
                }
                lost = self.lease.lost(), if self.told.is_none() => {
                    debug!(epoch = self.epoch(), reason = %lost.reason, "stopping the job");
                    self.tell(Signal::TERM);
                }
                signal = self.signals.next() => self.pass_on(signal),
                status = watch.changed(), if watching => {
                    watching = !status.closed;
                    self.extend();
                }
                () = at(self.talk_at) => if self.is_hopeless() {
                    return End::Stuck(self.exit());
                },
            }
        }
    }

    fn extend(&mut self) {
        let stop_by = self.lease.stop_by();
        if stop_by == self.guarded_until {
            return;
        }
        self.guarded_until = stop_by;
        if let Err(error) = self.job.extend(stop_by) {
            self.failed = Some(format!("the job's guard cannot be told of a renewal: {error}"));
            self.job.kill();
        }
    }

    fn tell(&mut self, signal: Signal) {
        self.told = Some(signal);
        self.job.stop(signal);
    }

    fn pass_on(&mut self, signal: Signal) {
        if signals::ends(signal) {
            self.tell(signal);
            self.leaving = Some(signal);
            self.insisted |= self.signals.insists();
            self.handle.withdraw();
            if self.killed {
                self.talk_in(Duration::ZERO); // nothing more can be done
            }
        } else {
            self.job.signal(signal);
        }
    }

    fn epoch(&self) -> u64 {
        self.lease.epoch().get()
    }

    fn talk_in(&mut self, time: Duration) {
        self.talk_at = Some(Instant::now() + time);
    }

    /// `true` once nothing of the job is left.
    fn heard(&mut self, event: Event) -> bool {
        match event {
            Event::Failed(why) => {
                self.failed = Some(format!("the job could not be started: {why}"));
            }
            Event::Overdue => {
                self.overdue = true;
                self.crowded = self.slow && election_tokio::now() < self.lease.stop_by();
            }
            Event::Unguarded => self.unguarded = true,
            Event::LeftBehind(what) => warn!(
                event = "job_left_behind",
                epoch = self.epoch(),
                "the job has ended, and the processes that it left behind are killed: {what}; make \
                 the job's first process wait for the others (setsid --wait, a daemon's foreground \
                 mode)"
            ),
            Event::Slow(what) => {
                self.slow = true;
                warn!(
                    event = "job_slow",
                    epoch = self.epoch(),
                    "{what}, so killing begins that much earlier, and the job has less time to end \
                     by itself; use --isolate, fewer processes, or a longer --grace"
                );
            }
            Event::Ended(status) => {
                self.status = Some(status);
                if self.told.is_none() {
                    self.talk_in(LAST_BREATH);
                }
            }
            Event::Gone => return true,
        }
        false
    }

    /// Names the processes that have not ended although they were killed. `true` if this process
    /// should not wait for them any longer.
    fn is_hopeless(&mut self) -> bool {
        let left = self.job.left().map(|left| process_tree::list(&left));
        let left = left.unwrap_or_else(|error| format!("unknown processes (/proc: {error})"));
        self.talk_at = None;
        if !self.killed {
            // Everything that was left was killed when the first process ended.
            warn!(
                event = "job_survives",
                epoch = self.epoch(),
                "alive after SIGKILL: {left}; resigning without releasing leadership"
            );
            self.told.get_or_insert(Signal::KILL);
            self.leaving.get_or_insert(Signal::KILL);
            self.handle.withdraw();
            return false;
        }
        error!(
            event = "job_survives",
            epoch = self.epoch(),
            "alive after SIGKILL: {left}; leadership is not released but expires, and then another \
             job may run beside this one"
        );
        self.talk_in(REMINDER);
        let leaves = self.leaving.is_some() || !self.stays;
        // If no other process stays to kill the rest, this one stays until it is told once more.
        leaves && (self.job.is_guarded() || self.insisted)
    }

    /// How this process ends before its job.
    fn exit(&self) -> Exit {
        match (self.status, self.leaving) {
            (Some(status), _) => Exit::of_job(status),
            (None, Some(signal)) => Exit::signal(signal.as_raw()),
            (None, None) => Exit::LOST,
        }
    }

    /// Whether the job ended because leadership did.
    fn end(self) -> End {
        let by_force =
            self.status.is_some_and(|status| status.signal() == Some(Signal::KILL.as_raw()));
        let overdue = self.overdue || self.job.came_too_late();
        let lost = self.leaving.is_none() && (self.told.is_some() || overdue || self.killed);
        let epoch = self.epoch();
        if by_force && (self.killed || overdue) {
            let why = match self.told {
                Some(_) => "the job did not stop in time and was killed",
                None if self.crowded => {
                    "the job was killed without SIGTERM first: killing so many processes takes \
                     longer than the lease allows; use --isolate, or a longer --ttl"
                }
                None => "the job was killed without SIGTERM first: its time was already over",
            };
            warn!(event = "job_killed", epoch, "{why}");
        } else if lost && self.failed.is_none() {
            info!(event = "job_stopped", epoch, "the job was stopped");
        }
        if let Some(why) = self.failed.filter(|_| !lost) {
            let unbegun = self.job.could_not_begin();
            return if unbegun { End::Unbegun(Err(why)) } else { End::Failed(why) };
        }
        if self.unguarded && !lost && self.leaving.is_none() {
            let why = "the job's guard was killed from outside, so the job was killed too";
            return End::Failed(why.to_owned());
        }
        match (self.status, self.leaving) {
            _ if lost => End::Lost,
            (Some(status), _) => {
                let unbegun = self.job.could_not_begin();
                let what = if unbegun { "could not be started" } else { "has ended" };
                info!(event = "job_ended", epoch, %status, "the job {what}");
                if unbegun { End::Unbegun(Ok(status)) } else { End::Job(status) }
            }
            (None, Some(signal)) => End::Left(Exit::signal(signal.as_raw())),
            (None, None) => End::Lost,
        }
    }
}

async fn at(instant: Option<Instant>) {
    match instant {
        Some(instant) => sleep_until(instant).await,
        None => pending().await,
    }
}
