//! The process that holds the lease: campaign, run the job, stop it in time, again.

use super::{
    job::{Job, Work},
    shift::{End, Shift},
    signals::{self, Signals},
    tree,
};
use crate::{
    arguments::{OnLost, Run},
    exit::{Exit, Failed},
    log,
    settings::{Place, Plan},
};
use election_tokio::{
    Handle, Lease, Status,
    core::{Namespace, lease::Failure},
};
use std::{ffi::OsString, time::Duration};
use tokio::time::Instant;
use tracing::{Level, info, warn};

/// How long to wait before the tables are tried again, should the database not wait by itself.
const BUSY_PAUSE: Duration = Duration::from_millis(200);

/// `election run`.
pub(crate) fn run(run: Run) -> Result<Exit, Failed> {
    let plan = Plan::of(&run)?;
    tree::is_visible().map_err(Failed::new)?;
    let level = if run.quiet { Level::WARN } else { Level::INFO };
    let _log = log::start(plan.place.json, level);
    // The elector runs on a thread of its own, so that nothing here can hold up a renewal.
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
    let Plan { mut place, builder, wait, on_lost, no_schema, allow_setuid } = plan;
    let election = builder.build().map_err(|error| Failed::of("cannot take part", &error))?;
    place.announce();
    warn_of_itself(&place.namespace);
    let mut signals = signals::listen().map_err(|error| Failed::of("signals", &error))?;
    // One that is too far away to be told is as good as none.
    let until = wait.and_then(|wait| Instant::now().checked_add(wait));
    let give_up = GiveUp { until, at_once: run.once };
    tokio::select! {
        prepared = prepare(&mut place, no_schema) => prepared?,
        exit = signals.end_waiting() => return Ok(exit),
        exit = give_up.in_time() => return Ok(exit),
    }
    drop(place.store);
    let handle = election.start();
    let mut elector = Elector {
        handle: handle.clone(),
        signals: &mut signals,
        job: run.job,
        on_lost,
        allow_setuid,
        stuck: false,
    };
    let outcome = elector.lead_again_and_again(give_up).await;
    if elector.stuck {
        return outcome;
    }
    tokio::select! {
        () = handle.shutdown() => {}
        _ = signals.end_waiting() => warn!("told to end once more: leaving the lease to its ttl"),
    }
    outcome
}

/// The job of an election that stands for the same one waits for its own end.
fn warn_of_itself(name: &Namespace) {
    let outer = |variable| std::env::var(variable).ok();
    if outer("ELECTION_EPOCH").is_some() && outer("ELECTION_NAME").as_deref() == Some(name.as_str())
    {
        warn!(
            "this is run by a job of the election {name} and stands for an election of that name: on \
             the same database it would wait for its own end; give it another --name"
        );
    }
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
    allow_setuid: bool,
    /// Something of the last job lives on, and nothing is to be released.
    stuck: bool,
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
                End::Left(signal) => return Ok(Exit::signal(signal.as_raw())),
                End::Lost if self.on_lost == OnLost::Stop => return Ok(Exit::LOST),
                End::Lost => info!("waiting to be elected again"),
                End::Stuck(exit) => {
                    self.stuck = true;
                    return Ok(exit);
                }
                End::Failed(why) => return Err(Failed::new(why)),
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

    /// Runs the job under one leadership. Returns once nothing of it is left, or it is hopeless to
    /// wait for that.
    async fn lead(&mut self, lease: Lease) -> Result<End, Failed> {
        let registration = self.handle.registration();
        let work = Work {
            words: &self.job,
            environment: [
                ("ELECTION_NAME", registration.namespace.as_str().to_owned()),
                ("ELECTION_NODE", registration.candidate.id.as_str().to_owned()),
                ("ELECTION_EPOCH", lease.epoch().to_string()),
            ],
            slice: self.handle.config().timer_slice(),
            allow_setuid: self.allow_setuid,
        };
        let job = Job::start(&work, lease.stop_by());
        let job = job.map_err(|error| Failed::of("the job cannot be started", &error))?;
        let stays = self.on_lost == OnLost::Restart;
        let shift = Shift::new(&self.handle, self.signals, &lease, job, stays);
        let end = shift.run().await;
        if matches!(end, End::Stuck(_)) {
            // Never to be released: it runs out.
            std::mem::forget(lease);
        }
        Ok(end)
    }
}

fn somebody_else(status: &Status) -> Option<String> {
    let leader = status.leader.as_ref().filter(|leader| !leader.own)?;
    Some(leader.term.to_string())
}
