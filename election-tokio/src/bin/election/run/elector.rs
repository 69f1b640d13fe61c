//! The process that holds the lease: campaign, run the job, stop it in time, again.

use super::{
    job::Job,
    signals::{self, Signals},
};
use crate::{
    arguments::{OnLost, Run},
    exit::{Exit, Failed},
    log,
    settings::{Place, Plan},
};
use election_tokio::{
    Handle, Lease, Status,
    core::{Timestamp, lease::Failure},
};
use rustix::process::Signal;
use std::{
    ffi::OsString, os::unix::process::ExitStatusExt as _, process::ExitStatus, time::Duration,
};
use tokio::time::{Instant, timeout};
use tracing::{Level, info, warn};

/// How long to wait before the tables are tried again, should the database not wait by itself.
const BUSY_PAUSE: Duration = Duration::from_millis(200);
/// How far apart the ends of a guard and its job can be noticed when one killed both.
const TOGETHER: Duration = Duration::from_millis(50);

/// `election run`.
pub(crate) fn run(run: Run) -> Result<Exit, Failed> {
    let plan = Plan::of(&run)?;
    let level = if run.quiet { Level::WARN } else { Level::INFO };
    let _log = log::start(plan.place.json, level);
    // The elector runs on a thread of its own; this one starts the job and must live as long.
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .map_err(|error| Failed::of("cannot start", &error))?;
    let outcome = runtime.block_on(campaign(run, plan));
    runtime.shutdown_timeout(Duration::from_secs(1));
    outcome
}

async fn campaign(run: Run, plan: Plan) -> Result<Exit, Failed> {
    let Plan { mut place, builder, wait, on_lost } = plan;
    let election = builder.build().map_err(|error| Failed::of("cannot take part", &error))?;
    let mut signals = signals::listen().map_err(|error| Failed::of("signals", &error))?;
    // One that is too far away to be told is as good as none.
    let until = wait.and_then(|wait| Instant::now().checked_add(wait));
    let give_up = GiveUp { until, at_once: run.once };
    tokio::select! {
        prepared = prepare(&mut place, run.no_schema) => prepared?,
        exit = signals.end_waiting() => return Ok(exit),
        exit = give_up.in_time() => return Ok(exit),
    }
    drop(place.store);
    let handle = election.start();
    let outcome = Elector { handle: handle.clone(), signals: &mut signals, job: run.job, on_lost }
        .lead_again_and_again(give_up)
        .await;
    tokio::select! {
        () = handle.shutdown() => {}
        _ = signals.end_waiting() => warn!("told to end once more: leaving the lease to its ttl"),
    }
    outcome
}

/// Makes the tables, unless somebody else is to, and makes sure that they are there. Somebody who
/// writes for long is waited for, but only if they are not.
async fn prepare(place: &mut Place, no_schema: bool) -> Result<(), Failed> {
    let what = "the database cannot be used";
    loop {
        let made = if no_schema { Ok(()) } else { place.store.ensure_schema().await };
        let read = place.store.leader(&place.namespace).await;
        match (made, read) {
            (Err(error), _) if error.kind != Failure::Conflict => {
                return Err(Failed::of(what, &error));
            }
            (Err(error), Err(_)) => {
                warn!(%error, "waiting to make the tables");
                tokio::time::sleep(BUSY_PAUSE).await;
            }
            (Ok(()), Err(error)) if error.kind == Failure::Fatal => {
                return Err(Failed::of(what, &error));
            }
            _ => return Ok(()),
        }
    }
}

/// When a process that is not elected stops waiting. It counts for the first time only.
#[derive(Clone, Copy)]
struct GiveUp {
    until: Option<Instant>,
    at_once: bool,
}

impl GiveUp {
    async fn in_time(self) -> Exit {
        match self.until {
            Some(until) => tokio::time::sleep_until(until).await,
            None => std::future::pending().await,
        }
        warn!("not elected in time");
        Exit::NOT_ELECTED
    }
}

struct Elector<'a> {
    handle: Handle,
    signals: &'a mut Signals,
    job: Vec<OsString>,
    on_lost: OnLost,
}

/// How a leadership ended, seen from the job.
enum End {
    /// The job ended by itself, or because this process was told to end.
    Job(ExitStatus),
    /// Leadership was lost, and the job was stopped for it.
    Lost,
    /// Somebody has killed the guard, and the job was killed for it.
    Unguarded,
}

impl Elector<'_> {
    async fn lead_again_and_again(&mut self, mut give_up: GiveUp) -> Result<Exit, Failed> {
        loop {
            let lease = match self.wait_for_lease(give_up).await? {
                Ok(lease) => lease,
                Err(exit) => return Ok(exit),
            };
            give_up = GiveUp { until: None, at_once: false };
            match self.lead(lease).await? {
                End::Job(status) => return Ok(Exit::of_job(status)),
                End::Lost if self.on_lost == OnLost::Stop => return Ok(Exit::LOST),
                End::Lost => info!("waiting to be elected again"),
                End::Unguarded => {
                    return Err(Failed::new(
                        "the guard of the job was killed from outside, so the job was killed too",
                    ));
                }
            }
        }
    }

    /// Waits to be elected; yields an exit code if something else comes first.
    async fn wait_for_lease(&mut self, give_up: GiveUp) -> Result<Result<Lease, Exit>, Failed> {
        let handle = self.handle.clone();
        let mut watch = handle.watch();
        loop {
            tokio::select! {
                lease = handle.elected() => {
                    return lease.map(Ok).map_err(|error| Failed::of("the elector", &error));
                }
                exit = self.signals.end_waiting() => return Ok(Err(exit)),
                exit = give_up.in_time() => return Ok(Err(exit)),
                status = watch.changed(), if give_up.at_once => {
                    if let Some(leader) = somebody_else(&status) {
                        info!(%leader, "somebody else leads");
                        return Ok(Err(Exit::NOT_ELECTED));
                    }
                    if let Some(error) = status.error.filter(|error| error.kind == Failure::Fatal) {
                        return Err(Failed::of("the database cannot be used", &*error));
                    }
                }
            }
        }
    }

    /// Runs the job under one leadership. Returns once nothing of it is left.
    async fn lead(&mut self, lease: Lease) -> Result<End, Failed> {
        let registration = self.handle.registration().clone();
        let (name, node) = (registration.namespace, registration.candidate.id);
        let slice = self.handle.config().timer_slice();
        let started = Job::start(&self.job, name.as_str(), node.as_str(), &lease, slice).await;
        let mut job = match started {
            Ok(job) => job,
            Err(error) if lease.is_held() => {
                return Err(Failed::of("the job cannot be started", &error));
            }
            Err(error) => {
                warn!(%error, "leadership was lost before the job was started");
                return Ok(End::Lost);
            }
        };
        let end = self.supervise(&mut job, &lease).await;
        job.finish().await;
        // Only now may the lease go: nothing of the group is left.
        drop(lease);
        end.map_err(|error| Failed::of("the job cannot be waited for", &error))
    }

    /// Waits for the job's end and sees to it that it comes in time.
    async fn supervise(&mut self, job: &mut Job, lease: &Lease) -> std::io::Result<End> {
        let mut watch = self.handle.watch();
        let mut guarded_until = Timestamp::ZERO; // it may have been renewed since the start
        let (mut told, mut killed, mut leaving, mut watching) = (false, false, false, true);
        let mut guarded = true;
        loop {
            tokio::select! {
                biased;
                status = job.child.wait() => {
                    let killed = |status: &ExitStatus| status.signal().is_some();
                    if guarded && !told && status.as_ref().is_ok_and(killed) {
                        // A guard that killed the job has ended itself along with it.
                        guarded = timeout(TOGETHER, job.guard.ended()).await.is_err();
                    }
                    return status.map(|status| why(status, lease, told, leaving, guarded));
                }
                () = lease.hard_stop(), if !killed => {
                    killed = true;
                    job.signal(Signal::KILL);
                }
                lost = lease.lost(), if !told => {
                    told = true;
                    warn!(epoch = %lease.epoch(), reason = %lost.reason, "stopping the job");
                    job.signal(Signal::TERM);
                }
                signal = self.signals.next() => {
                    job.signal(signal);
                    if signals::ends(signal) {
                        (told, leaving) = (true, true); // by this very signal
                        self.handle.withdraw();
                    }
                }
                status = watch.changed(), if watching => {
                    watching = !status.closed;
                    if lease.stop_by() != guarded_until {
                        guarded_until = lease.stop_by();
                        job.guard.extend(guarded_until).await;
                    }
                }
                () = job.guard.ended(), if guarded => {
                    guarded = false;
                    job.signal(Signal::KILL); // it has done so itself, unless it was killed
                }
            }
        }
    }
}

/// Whether the job ended because leadership did. A guard that had to act while this process was
/// stopped has killed the job before this process could tell it anything.
fn why(status: ExitStatus, lease: &Lease, told: bool, leaving: bool, guarded: bool) -> End {
    let by_force = status.signal() == Some(Signal::KILL.as_raw());
    if by_force && (told || !lease.is_held()) {
        warn!(epoch = %lease.epoch(), "the job did not stop in time and was killed");
    }
    if !leaving && (told || by_force && !lease.is_held()) {
        return End::Lost;
    }
    if !leaving && by_force && !guarded {
        return End::Unguarded;
    }
    info!(%status, "the job has ended");
    End::Job(status)
}

fn somebody_else(status: &Status) -> Option<String> {
    let leader = status.leader.as_ref().filter(|leader| !leader.own)?;
    Some(leader.term.to_string())
}
