//! The process that runs the hooks.

use super::{
    super::{
        deadline::Deadline,
        ipc::{self, Connection},
        job::{self, Job, JobSpec},
        signals,
    },
    message::{Done, Event, Kind, Order, line},
    output::Output,
};
use crate::{
    arguments::HookRunner,
    exit::{Exit, Failed},
    line::{name_election, name_node},
    location::Location,
};
use election_tokio::core::Timestamp;
use rustix::process::Signal;
use std::{
    collections::VecDeque, env, ffi::OsString, io, os::unix::process::ExitStatusExt as _,
    process::ExitStatus, time::Duration,
};
use tokio::time::{Instant, sleep_until};
use tracing::{info, warn};

/// The runner's own main function.
pub(crate) fn run_hooks(arguments: &HookRunner) -> Result<Exit, Failed> {
    env::var("ELECTION_NAME").into_iter().for_each(name_election);
    env::var("ELECTION_NODE").into_iter().for_each(name_node);
    let failed = |error: io::Error| Failed::of("hooks cannot be run", &error);
    let (elector, _, deadline) = ipc::handed_over().map_err(failed)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(failed)?.block_on(async {
        // Signals are for the elector and its job.
        let _deaf = signals::listen().map_err(failed)?;
        let elector = Connection::new(elector).map_err(failed)?;
        let queue = VecDeque::new();
        Runner { arguments, elector, deadline, attached: true, queue }.run().await;
        Ok(Exit::OK)
    })
}

struct Runner<'a> {
    arguments: &'a HookRunner,
    elector: Connection,
    /// The hard stop of the current leadership.
    deadline: Deadline,
    /// The elector is there.
    attached: bool,
    queue: VecDeque<Event>,
}

/// A hook that runs.
struct Running {
    kind: Kind,
    job: Job,
    output: Output,
    status: Option<ExitStatus>,
    /// Why it ends otherwise than by itself.
    why: Option<String>,
}

impl Runner<'_> {
    /// Runs hooks until the elector is gone, and then those that it has asked for before, except for
    /// what goes with leadership.
    async fn run(mut self) {
        loop {
            match self.queue.pop_front() {
                Some(event) => {
                    let number = event.number;
                    self.carry_out(event).await;
                    self.elector.say(&line(&Done(number)));
                }
                None if self.attached => {
                    let order = self.order().await;
                    self.obey(order, None);
                }
                None => return,
            }
        }
    }

    /// The next order; `None` once the elector is gone.
    async fn order(&mut self) -> Option<Order> {
        let line = self.elector.next_line().await?;
        serde_json::from_str(&line).ok()
    }

    /// Carries out an order, or what of it concerns the hook that runs.
    fn obey(&mut self, order: Option<Order>, running: Option<&mut Running>) {
        let leading = running.filter(|running| running.kind == Kind::Lead);
        match (order, leading) {
            (Some(Order::Run(event)), _) => self.queue.push_back(event),
            (Some(Order::Look), Some(running)) => {
                if let Err(error) = running.job.extend(self.deadline.get()) {
                    running.why = Some(format!("its guard cannot be told of a renewal: {error}"));
                    running.job.kill();
                }
            }
            (Some(Order::Look), None) => {}
            (Some(Order::Over), leading) => {
                self.void();
                if let Some(running) = leading {
                    running.why = Some("stopped, since leadership is over".to_owned());
                    running.job.stop(Signal::TERM);
                }
            }
            (None, leading) => {
                self.attached = false;
                self.void();
                if let Some(running) = leading {
                    running.why = Some("killed, since its elector is gone".to_owned());
                    running.job.kill();
                }
            }
        }
    }

    /// Leadership is over before its hook has begun.
    fn void(&mut self) {
        self.queue.retain(|event| event.kind != Kind::Lead);
    }

    async fn carry_out(&mut self, event: Event) {
        let kind = event.kind;
        let command = match kind {
            Kind::Lead => &self.arguments.on_lead,
            Kind::Lose => &self.arguments.on_lose,
            Kind::Change => &self.arguments.on_change,
        };
        let Some(command) = command.clone() else { return };
        let until = Instant::now() + Duration::from_nanos(self.arguments.timeout);
        match self.start(&command, event) {
            Ok(running) => self.attend(running, until).await,
            Err(error) => {
                let hook = kind.hook();
                warn!(event = "hook_failed", hook, "{hook}: it cannot be started: {error}");
            }
        }
    }

    fn start(&self, command: &str, event: Event) -> io::Result<Running> {
        let (output, end) = Output::new()?;
        let words: [OsString; 3] = ["sh".into(), "-c".into(), command.into()];
        let mut environment = vec![
            ("ELECTION_EVENT", event.kind.as_str().to_owned()),
            ("ELECTION_LEADER", event.leader),
        ];
        environment.extend(event.epoch.map(|epoch| ("ELECTION_EPOCH", epoch.to_string())));
        let spec = JobSpec {
            words: &words,
            location: &Location::default(), // this process was told
            environment,
            output: Some(end),
            slice: Duration::from_nanos(self.arguments.slice),
            allow_setuid: self.arguments.allow_setuid,
            isolate: false,
            json: self.arguments.json,
        };
        let deadline = match event.kind {
            Kind::Lead => self.deadline.get(),
            Kind::Lose | Kind::Change => Timestamp::MAX,
        };
        let job = Job::start(spec, deadline)?;
        Ok(Running { kind: event.kind, job, output, status: None, why: None })
    }

    /// Waits until nothing of a hook is left.
    async fn attend(&mut self, mut running: Running, until: Instant) {
        let hook = running.kind.hook();
        let (mut open, mut late) = (true, false);
        loop {
            tokio::select! {
                biased;
                event = running.job.next() => if running.heard(event) {
                    break;
                },
                () = sleep_until(until), if !late => {
                    late = true;
                    let timeout = Duration::from_nanos(self.arguments.timeout);
                    let timeout = humantime::format_duration(timeout);
                    running.why = Some(format!("killed after {timeout} (--hook-timeout)"));
                    running.job.kill();
                }
                order = self.order(), if self.attached => self.obey(order, Some(&mut running)),
                line = running.output.next(), if open => match line {
                    Some(line) => info!(event = "hook", hook, "{hook}: {line}"),
                    None => open = false,
                },
            }
        }
        // Nobody is left who could write more.
        while let Some(line) = running.output.next().await {
            info!(event = "hook", hook, "{hook}: {line}");
        }
        running.report();
    }
}

impl Running {
    /// `true` once nothing of it is left.
    fn heard(&mut self, event: job::Event) -> bool {
        match event {
            job::Event::Failed(why) => self.why = Some(why),
            job::Event::Overdue => {
                self.why = Some("killed, since leadership was over".to_owned());
            }
            job::Event::Unguarded => self.why = Some("its guard was killed".to_owned()),
            job::Event::LeftBehind(what) => {
                warn!(
                    event = "hook_failed",
                    hook = self.kind.hook(),
                    "{}: it left processes behind, which are killed: {what}",
                    self.kind.hook()
                );
            }
            job::Event::Slow(_) => {} // killed so much earlier
            job::Event::Ended(status) => self.status = Some(status),
            job::Event::Gone => return true,
        }
        false
    }

    fn report(self) {
        let hook = self.kind.hook();
        let code = self.status.and_then(|status| status.code());
        let signal = self.status.and_then(|status| status.signal());
        let how = match (&self.why, code, signal) {
            (Some(why), ..) => why.clone(),
            (None, Some(0), _) => return,
            (None, Some(126), _) => "the command cannot be executed (exit code 126)".to_owned(),
            (None, Some(127), _) => "the command was not found (exit code 127)".to_owned(),
            (None, Some(code), _) => format!("failed with exit code {code}"),
            (None, None, Some(signal)) => format!("signal {signal} ended it"),
            (None, None, None) => "leadership was over before it could start".to_owned(),
        };
        warn!(event = "hook_failed", hook, code, signal, "{hook}: {how}");
    }
}
