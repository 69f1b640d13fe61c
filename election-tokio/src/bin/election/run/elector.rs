//! The process that holds the lease: campaign, run the job, stop it in time, again.

use super::{
    job::Job,
    signals::{self, Signals},
};
use crate::{
    arguments::{OnLost, Run},
    exit::{Exit, Failed},
    log,
    settings::Plan,
};
use election_tokio::{Handle, Lease, Status, core::lease::Failure};
use rustix::process::Signal;
use std::{
    ffi::OsString, os::unix::process::ExitStatusExt as _, process::ExitStatus, time::Duration,
};
use tracing::{Level, error, info, warn};

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
    let what = "the database cannot be used";
    if !run.no_schema {
        place.store.ensure_schema().await.map_err(|error| Failed::of(what, &error))?;
    }
    match place.store.leader(&place.namespace).await {
        Err(error) if error.kind == Failure::Fatal => return Err(Failed::of(what, &error)),
        _ => drop(place.store),
    }
    let handle = election.start();
    let give_up = GiveUp { after: wait, at_once: run.once };
    let outcome = Elector { handle: handle.clone(), signals: &mut signals, job: run.job, on_lost }
        .lead_again_and_again(give_up)
        .await;
    handle.shutdown().await;
    outcome
}

/// When a process that is not elected stops waiting. It counts for the first time only.
#[derive(Clone, Copy)]
struct GiveUp {
    after: Option<Duration>,
    at_once: bool,
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
}

impl Elector<'_> {
    async fn lead_again_and_again(&mut self, mut give_up: GiveUp) -> Result<Exit, Failed> {
        loop {
            let lease = match self.wait_for_lease(give_up).await? {
                Ok(lease) => lease,
                Err(exit) => return Ok(exit),
            };
            give_up = GiveUp { after: None, at_once: false };
            match self.lead(lease).await? {
                End::Job(status) => return Ok(Exit::of_job(status)),
                End::Lost if self.on_lost == OnLost::Stop => return Ok(Exit::LOST),
                End::Lost => info!("waiting to be elected again"),
            }
        }
    }

    /// Waits to be elected; yields an exit code if something else comes first.
    async fn wait_for_lease(&mut self, give_up: GiveUp) -> Result<Result<Lease, Exit>, Failed> {
        let handle = self.handle.clone();
        let mut watch = handle.watch();
        let timeout = async {
            match give_up.after {
                Some(after) => tokio::time::sleep(after).await,
                None => std::future::pending().await,
            }
        };
        tokio::pin!(timeout);
        loop {
            tokio::select! {
                lease = handle.elected() => {
                    return lease.map(Ok).map_err(|error| Failed::of("the elector", &error));
                }
                signal = self.signals.next() => {
                    if signals::ends_waiting(signal) {
                        return Ok(Err(Exit::signal(signal.as_raw())));
                    }
                }
                () = &mut timeout => {
                    warn!("not elected in time");
                    return Ok(Err(Exit::NOT_ELECTED));
                }
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
        let started = Job::start(&self.job, name.as_str(), node.as_str(), &lease).await;
        let mut job = started.map_err(|error| Failed::of("the job cannot be started", &error))?;
        let end = self.supervise(&mut job, &lease).await;
        job.finish().await;
        // Only now may the lease go: the guard was the last process of the group.
        drop(lease);
        end.map_err(|error| Failed::of("the job cannot be waited for", &error))
    }

    /// Waits for the job's end and sees to it that it comes in time.
    async fn supervise(&mut self, job: &mut Job, lease: &Lease) -> std::io::Result<End> {
        let mut watch = self.handle.watch();
        let mut guarded_until = lease.stop_by();
        let (mut told, mut killed, mut leaving, mut watching) = (false, false, false, true);
        loop {
            tokio::select! {
                biased;
                status = job.child.wait() => {
                    return status.map(|status| why(status, lease, told, leaving));
                }
                () = lease.hard_stop(), if !killed => {
                    killed = true;
                    warn!("the job did not stop in time: killing it");
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
                () = job.guard.ended(), if !killed => {
                    killed = true;
                    error!("the guard is gone: killing the job");
                    job.signal(Signal::KILL);
                }
            }
        }
    }
}

/// Whether the job ended because leadership did. A guard that had to act while this process was
/// stopped has killed the job before this process could tell it anything.
fn why(status: ExitStatus, lease: &Lease, told: bool, leaving: bool) -> End {
    let killed_unseen = status.signal() == Some(Signal::KILL.as_raw()) && !lease.is_held();
    if !leaving && (told || killed_unseen) {
        return End::Lost;
    }
    info!(%status, "the job has ended");
    End::Job(status)
}

fn somebody_else(status: &Status) -> Option<String> {
    let leader = status.leader.as_ref().filter(|leader| !leader.own)?;
    Some(leader.term.to_string())
}
