//! The process that holds the lease: campaign, run the job, stop it in time, again.

use super::{
    End,
    backend::{Held, Joined},
    hold as holding,
    hooks::{Hooks, Manner},
    input,
    process_tree::is_visible,
    reaper::bury_strangers,
    signals::{self, Signals},
    start::{GivenUp, Waits},
    without_job,
};
#[cfg(target_os = "linux")]
use super::{
    job::{Job, JobSpec},
    supervisor::Supervisor,
};
use crate::{
    arguments::{Hold, OnLost, Run, Serve},
    exit::{Exit, Failed},
    http::Http,
    location::Location,
    plan::{Plan, Venue, Work},
    systemd::Service,
};
use election_tokio::log::chain;
use election_tokio::{
    Handle, Lease, NotElected, Status, StoreError,
    core::{Epoch, lease::Failure},
};
use std::{future::pending, pin::pin, sync::Arc, time::Duration};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::{debug, info, warn};

/// `election run`.
pub(crate) fn run(run: &Run) -> Result<Exit, Failed> {
    is_visible().map_err(Failed::new)?;
    let plan = Plan::of(run)?;
    #[cfg(target_os = "linux")]
    if run.with_parent {
        use rustix::process::{Signal, set_parent_process_death_signal};
        set_parent_process_death_signal(Some(Signal::TERM))
            .map_err(|error| Failed::of("cannot start", &std::io::Error::from(error)))?;
    }
    stand(plan)
}

/// `election serve`.
pub(crate) fn serve(serve: &Serve) -> Result<Exit, Failed> {
    stand(Plan::to_serve(serve)?)
}

/// `election hold`.
pub(crate) fn hold(hold: &Hold) -> Result<Exit, Failed> {
    stand(Plan::to_hold(hold)?)
}

fn stand(plan: Plan) -> Result<Exit, Failed> {
    // Before anybody hears of this process: a port that is taken is no reason to lead.
    let http = plan.http.map(Http::open).transpose()?;
    // The elector runs on a thread of its own, so that nothing here can hold up a renewal.
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .map_err(|error| Failed::of("cannot start", &error))?;
    let service = Service::of_environment();
    let work = take_part(plan, http.as_ref(), &service);
    let outcome = runtime.block_on(service.telling_of(work));
    // The rest asks a database that does not answer, and nobody waits for it.
    runtime.shutdown_background();
    outcome
}

async fn take_part(plan: Plan, http: Option<&Http>, service: &Service) -> Result<Exit, Failed> {
    let mut signals = signals::listen().map_err(|error| Failed::of("signals", &error))?;
    let ending = signals.ending();
    service.ends_with(ending.clone());
    warn_of_the_job(&plan.work, plan.once);
    // An instant too far away to represent is as good as none.
    let until = plan.wait.and_then(|wait| Instant::now().checked_add(wait));
    let waits = match plan.wait {
        _ if plan.once => Waits::AtOnce,
        Some(_) => Waits::Bounded,
        None => Waits::Unattended,
    };
    let input_ended = match plan.work {
        Work::Hold => input::ended().map_err(|error| Failed::of("standard input", &error))?,
        Work::Job(_) | Work::Elsewhere => CancellationToken::new(),
    };
    let give_up = GiveUp { until, waits, input_ended: input_ended.clone() };
    let joined = match plan.venue {
        Venue::Database(candidacy) => {
            let joining =
                Joined::database(*candidacy, &mut signals, waits, give_up.in_time(), service);
            without_a_job(joining).await?
        }
        Venue::Cluster(part) => {
            if let Some(http) = http {
                http.starts(part.starting());
            }
            let joining = Joined::cluster(*part, &mut signals, waits, give_up.in_time(), service);
            without_a_job(joining).await?
        }
    };
    let Joined { handle, held } = match joined {
        Ok(joined) => joined,
        Err(exit) => return Ok(exit.or_conflict(plan.conflict)),
    };
    service.joined(&handle);
    if let Some(http) = http {
        http.joined(&handle, held.member());
    }
    let Plan { allow_setuid, json, quiet, leave_timeout, .. } = plan;
    let manner = Manner { location: &plan.location, allow_setuid, json, quiet };
    let hooks = Hooks::start(plan.hooks, &manner, &handle)
        .map_err(|error| Failed::of("hooks cannot be run", &error))?;
    let mut elector = Elector {
        handle: handle.clone(),
        held: &held,
        signals: &mut signals,
        work: plan.work,
        location: plan.location,
        input_ended,
        on_lost: plan.on_lost,
        conflict: plan.conflict,
        allow_setuid,
        isolate: plan.isolate,
        json,
        settled: false,
        stuck: false,
        unbegun: None,
    };
    let outcome = elector.lead_again_and_again(give_up).await;
    ending.cancel();
    let (stuck, unbegun) = (elector.stuck, elector.unbegun);
    // Whoever works under this leadership sees this process end, and has no more time for that.
    let at_once = stuck && matches!(elector.work, Work::Hold);
    if !stuck {
        leave(&handle, &held, &mut signals, leave_timeout).await;
    }
    if let Some(epoch) = unbegun.filter(|_| handle.status().closed) {
        held.give_back(&handle, epoch, leave_timeout).await;
    }
    if let Some(hooks) = hooks.filter(|_| !at_once) {
        hooks.finish(&mut signals).await;
    }
    outcome
}

/// A process that waits for its turn would say only then, when it is needed, that its job is misspelled.
fn warn_of_the_job(work: &Work, once: bool) {
    let program = match work {
        Work::Job(words) if !once => words.first(),
        _ => None,
    };
    if let Some(obstacle) = program.and_then(|program| super::exec::obstacle(program)) {
        warn!(event = "warning", "{obstacle}; the job could not be started now");
    }
}

/// Leaves the election, now that nothing of a job is left. It does not wait for a database or a
/// disk that does not answer: the leadership runs out without it.
async fn leave(handle: &Handle, held: &Held, signals: &mut Signals, patience: Duration) {
    let why = tokio::select! {
        biased;
        () = handle.shutdown() => return,
        () = signals.insist() => "told to end a second time".to_owned(),
        () = tokio::time::sleep(patience) => {
            format!("{} within {}", held.who(), humantime::format_duration(patience))
        }
    };
    let status = handle.status();
    if status.unreleased {
        let lasts = humantime::format_duration(held.lasts());
        let cause = status.error.map(|error| format!(" ({})", chain(&*error)));
        let cause = cause.unwrap_or_default();
        let what = match held {
            Held::ByDatabase { .. } => "leaving the lease to expire",
            Held::ByCluster { .. } => "leaving leadership to expire",
        };
        warn!(event = "not_released", "{why}{cause}: {what}; others can lead within {lasts}");
    } else if let (false, Held::ByDatabase { .. }) = (status.closed, held) {
        info!(
            event = "left",
            "{why}: leaving; the name stays on the list of candidates until it expires"
        );
    } else if !status.closed {
        info!(event = "left", "{why}: leaving without it");
    }
}

/// When a process that is not elected stops waiting. It applies only to the first wait.
struct GiveUp {
    until: Option<Instant>,
    waits: Waits,
    /// Whoever wanted to lead does not any more.
    input_ended: CancellationToken,
}

/// How long before the end of a wait the last look is: enough for two statements.
const LAST_LOOK: Duration = Duration::from_millis(500);

impl GiveUp {
    /// Shortly before the time is over. The database may have told nobody that it is free.
    async fn last_look(&self) {
        let Some(until) = self.until else { return pending().await };
        let left = until.saturating_duration_since(Instant::now());
        tokio::time::sleep(left - LAST_LOOK.min(left / 4)).await;
    }

    async fn in_time(&self) -> GivenUp {
        let late = async {
            match self.until {
                Some(until) => tokio::time::sleep_until(until).await,
                None => pending().await,
            }
        };
        tokio::select! {
            () = late => GivenUp::Late,
            () = self.input_ended.cancelled() => GivenUp::InputEnded,
        }
    }
}

/// Why this process was not elected before it gave up.
fn not_elected(given_up: GivenUp, status: &Status, held: &Held) -> Exit {
    let leads = || somebody_else(status).map(|leader| format!("{leader} leads"));
    let why = match held {
        Held::ByDatabase { .. } => held.trouble(status).or_else(leads),
        Held::ByCluster { .. } => leads().or_else(|| {
            let why = held.trouble(status)?;
            Some(format!("no leader is known: {why}"))
        }),
    };
    let why = why.map(|why| format!(": {why}")).unwrap_or_default();
    warn!(event = "not_elected", "{}{why}", given_up.not_elected());
    Exit::NOT_ELECTED
}

struct Elector<'a> {
    handle: Handle,
    held: &'a Held,
    signals: &'a mut Signals,
    work: Work,
    location: Location,
    input_ended: CancellationToken,
    on_lost: OnLost,
    conflict: Option<u8>,
    allow_setuid: bool,
    isolate: bool,
    json: bool,
    /// This process has once known who leads. A permanent error ends only a start.
    settled: bool,
    /// A process of the last job lives on, so the lease must not be released.
    stuck: bool,
    /// Under this epoch the job could not be started, so that nothing has run.
    unbegun: Option<Epoch>,
}

impl Elector<'_> {
    async fn lead_again_and_again(&mut self, mut give_up: GiveUp) -> Result<Exit, Failed> {
        loop {
            let lease = match without_a_job(self.wait_for_lease(&give_up)).await? {
                Ok(lease) => lease,
                Err(exit) => return Ok(exit.or_conflict(self.conflict)),
            };
            give_up = GiveUp { until: None, waits: Waits::Unattended, ..give_up };
            let epoch = lease.epoch();
            let end = self.lead(lease).await?;
            self.settled = true;
            match end {
                End::Job(status) => return Ok(Exit::of_job(status)),
                End::Left(exit) => return Ok(exit),
                End::Lost if self.on_lost == OnLost::Stop => return Ok(Exit::LOST),
                End::Lost => debug!("waiting to be elected again"),
                End::Stuck(exit) => {
                    self.stuck = true;
                    return Ok(exit);
                }
                End::Unbegun(why) => {
                    self.unbegun = Some(epoch);
                    return why.map(Exit::of_job).map_err(Failed::new);
                }
                End::Failed(why) => return Err(Failed::new(why)),
            }
        }
    }

    /// Waits to be elected; returns an exit code if something else comes first.
    ///
    /// # Errors
    /// If somebody has to fix something before this process can find out who leads.
    async fn wait_for_lease(&mut self, give_up: &GiveUp) -> Result<Result<Lease, Exit>, Failed> {
        let handle = self.handle.clone();
        let mut watch = handle.watch();
        let cannot_be_used = |error: &StoreError| Failed::of("the database cannot be used", error);
        let (began, tries) = (Instant::now(), give_up.waits == Waits::AtOnce);
        let mut last_look = pin!(give_up.last_look());
        let mut looked = false;
        loop {
            tokio::select! {
                lease = handle.elected() => match lease {
                    Ok(lease) => return Ok(Ok(lease)),
                    Err(NotElected::Unusable(_)) => {} // as the status says, too
                    Err(error) => return Err(Failed::of("the elector", &error)),
                },
                exit = self.signals.end_waiting() => return Ok(Err(exit)),
                () = &mut last_look, if !looked => {
                    looked = true;
                    handle.look();
                }
                given_up = give_up.in_time() => {
                    return Ok(Err(not_elected(given_up, &handle.status(), self.held)));
                }
                () = tokio::time::sleep_until(began + self.held.trying()), if tries => {
                    return Err(self.held.unknown(&handle.status()));
                }
                status = watch.changed() => {
                    self.settled |= status.leader.is_some();
                    if let Some(leader) = somebody_else(&status).filter(|_| tries) {
                        info!(event = "not_elected", leader, "somebody else leads");
                        return Ok(Err(Exit::NOT_ELECTED));
                    }
                    let fatal = |error: &&Arc<StoreError>| error.kind == Failure::Fatal;
                    if let Some(error) = status.error.as_ref().filter(fatal)
                        && !self.settled && give_up.waits != Waits::Bounded {
                            return Err(cannot_be_used(error));
                        }
                }
            }
        }
    }

    /// Does the work that goes with one leadership.
    async fn lead(&mut self, lease: Lease) -> Result<End, Failed> {
        match &self.work {
            #[cfg(not(target_os = "linux"))]
            Work::Job(_) => Err(Failed::new(super::elsewhere::NO_JOB)),
            #[cfg(target_os = "linux")]
            Work::Job(words) => {
                let words = words.clone();
                self.run_job(&words, lease).await
            }
            Work::Elsewhere => {
                let work = without_job::lead(&self.handle, self.held, self.signals, lease);
                Ok(without_a_job(work).await)
            }
            Work::Hold => {
                let ended = &self.input_ended;
                let work = holding::lead(&self.handle, self.signals, ended, lease, self.json);
                without_a_job(work).await
            }
        }
    }

    /// Runs the job under one leadership. Returns once nothing of the job is left, or once waiting
    /// for that is hopeless.
    #[cfg(target_os = "linux")]
    async fn run_job(&mut self, words: &[std::ffi::OsString], lease: Lease) -> Result<End, Failed> {
        let registration = self.handle.registration();
        let spec = JobSpec {
            words,
            location: &self.location,
            environment: vec![
                ("ELECTION_NAME", registration.namespace.as_str().to_owned()),
                ("ELECTION_NODE", registration.candidate.id.as_str().to_owned()),
                ("ELECTION_EPOCH", lease.epoch().to_string()),
            ],
            output: None,
            slice: self.handle.timer_slice(),
            allow_setuid: self.allow_setuid,
            isolate: self.isolate,
            json: self.json,
        };
        let job = match Job::start(spec, lease.stop_by()) {
            Ok(job) => job,
            Err(error) => {
                let why = format!("the job could not be started: {}", crate::room::refused(&error));
                return Ok(End::Unbegun(Err(why)));
            }
        };
        let stays = self.on_lost == OnLost::Restart;
        let supervisor = Supervisor::new(&self.handle, self.signals, &lease, job, stays);
        let end = supervisor.run().await;
        if matches!(end, End::Stuck(_)) {
            // Never to be released: the lease runs out.
            std::mem::forget(lease);
        }
        Ok(end)
    }
}

/// Does something while this process has no job, whose reaper would bury strangers, too.
async fn without_a_job<T>(work: impl Future<Output = T>) -> T {
    tokio::select! {
        outcome = work => outcome,
        never = bury_strangers() => match never {},
    }
}

fn somebody_else(status: &Status) -> Option<String> {
    let leader = status.leader.as_ref().filter(|leader| !leader.own)?;
    Some(leader.term.to_string())
}
