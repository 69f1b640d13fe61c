//! The elector's side: it tells the runner what happens.

use super::{
    super::{
        deadline::Deadline,
        ipc::{self, Connection},
        signals::Signals,
    },
    message::{Done, Event, Kind, Order, line},
};
use crate::{location::Location, plan::HookPlan};
use election_tokio::{
    Changes, Handle, Lease,
    core::{Change, Term, Timestamp},
};
use std::{
    collections::VecDeque,
    fs::File,
    future::pending,
    io,
    os::unix::process::CommandExt as _,
    process::{Command, Stdio},
    time::Duration,
};
use tokio::{task::JoinHandle, time::sleep};
use tokio_util::sync::CancellationToken;
use tracing::warn;

/// The hooks of this process.
pub(in crate::run) struct Hooks {
    telling: JoinHandle<()>,
    /// Nothing more happens to leadership.
    over: CancellationToken,
    patience: Duration,
}

/// What the runner has to know of the elector.
pub(in crate::run) struct Manner<'a> {
    pub(in crate::run) location: &'a Location,
    pub(in crate::run) allow_setuid: bool,
    pub(in crate::run) json: bool,
    pub(in crate::run) quiet: bool,
}

impl Hooks {
    /// Starts the runner; none if there is no hook.
    pub(in crate::run) fn start(
        plan: HookPlan,
        manner: &Manner<'_>,
        handle: &Handle,
    ) -> io::Result<Option<Self>> {
        if [&plan.on_lead, &plan.on_lose, &plan.on_change].iter().all(|hook| hook.is_none()) {
            return Ok(None);
        }
        let deadline = Deadline::new(Timestamp::ZERO)?;
        let (here, there) = ipc::pair(&File::open("/dev/null")?.into(), &deadline)?;
        let mut command = runner(&plan, manner, handle);
        // A group of its own: what a terminal sends is for the elector.
        command.stdin(Stdio::from(there)).stdout(Stdio::null()).process_group(0).spawn()?;
        let over = CancellationToken::new();
        let herald = Herald {
            handle: handle.clone(),
            runner: Connection::new(here)?,
            deadline,
            leads: plan.on_lead.is_some(),
            known: None,
            told: 0,
            done: 0,
            leading: VecDeque::new(),
        };
        let telling = tokio::spawn(herald.tell(handle.changes(), over.clone()));
        Ok(Some(Self { telling, over, patience: plan.timeout }))
    }

    /// Waits for what is still to be run, but not for long, and not if this process is told to end
    /// once more. The runner goes on without it.
    pub(in crate::run) async fn finish(self, signals: &mut Signals) {
        self.over.cancel();
        tokio::select! {
            _ = self.telling => {}
            () = sleep(self.patience) => {
                let patience = humantime::format_duration(self.patience);
                warn!(event = "hook_failed", "leaving while hooks are still running, after \
                                              {patience}");
            }
            () = signals.insist() => {}
        }
    }
}

/// The runner's command line.
fn runner(plan: &HookPlan, manner: &Manner<'_>, handle: &Handle) -> Command {
    let mut command = super::super::itself();
    manner.location.hand_to(&mut command);
    command.arg("__hooks");
    let hooks =
        [(Kind::Lead, &plan.on_lead), (Kind::Lose, &plan.on_lose), (Kind::Change, &plan.on_change)];
    for (kind, hook) in hooks {
        command.args(hook.iter().map(|hook| format!("--{}={hook}", kind.hook())));
    }
    let nanos = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX).to_string();
    command.args(["--timeout", &nanos(plan.timeout), "--slice", &nanos(handle.timer_slice())]);
    let Manner { allow_setuid, json, quiet, .. } = *manner;
    let flags = [("--allow-setuid", allow_setuid), ("--json", json), ("--quiet", quiet)];
    command.args(flags.iter().filter(|(_, set)| *set).map(|(flag, _)| flag));
    let registration = handle.registration();
    command
        .env("ELECTION_NAME", registration.namespace.as_str())
        .env("ELECTION_NODE", registration.candidate.id.as_str())
        .env_remove("ELECTION_EPOCH");
    command
}

struct Herald {
    handle: Handle,
    runner: Connection,
    deadline: Deadline,
    /// There is a hook for the beginning of leadership.
    leads: bool,
    /// Who was last told to lead.
    known: Option<Term>,
    /// The numbers of the last event that was told, and of the last one that is dealt with.
    told: u64,
    done: u64,
    /// Leaderships whose hook may still run, by the number of their event.
    leading: VecDeque<(u64, Lease)>,
}

impl Herald {
    /// Tells every change, until nothing more happens and every hook has run.
    async fn tell(mut self, mut changes: Changes, over: CancellationToken) {
        let mut watch = self.handle.watch();
        let (mut open, mut watching, mut stopped) = (true, true, 0);
        while open || self.done < self.told {
            let leads = self.leading.back().filter(|(number, _)| *number > stopped).cloned();
            tokio::select! {
                biased;
                line = self.runner.next_line() => match line {
                    Some(line) => self.heard(&line),
                    None => return self.abandoned(),
                },
                change = changes.next(), if open => match change {
                    Ok(Some(change)) => self.happened(change),
                    Ok(None) | Err(_) => open = false,
                },
                number = ended(leads) => {
                    stopped = number;
                    self.say(&Order::Over);
                }
                status = watch.changed(), if watching => {
                    watching = !status.closed;
                    self.extend();
                }
                () = over.cancelled(), if open => {
                    while let Ok(Some(change)) = changes.try_next() {
                        self.happened(change);
                    }
                    open = false;
                }
            }
        }
    }

    fn happened(&mut self, change: Change) {
        match &change {
            Change::Elected(tenure) => self.begins(&tenure.term),
            Change::Lost { term, .. } => self.run(Kind::Lose, Some(term)),
            Change::Followed { .. } | Change::Vacant | Change::Alert(_) => {}
        }
        let Some(leader) = leader_after(change) else { return };
        if self.known != leader {
            self.run(Kind::Change, leader.as_ref());
            self.known = leader;
        }
    }

    /// Nothing that goes with leadership begins unless leadership can be held until it has ended.
    fn begins(&mut self, term: &Term) {
        let lease = self.handle.lease().filter(|lease| self.leads && lease.term() == term);
        let Some(lease) = lease else { return };
        // Before it is told of, since an earlier leadership's deadline is over.
        if self.deadline.set(lease.stop_by()).is_ok() {
            self.run(Kind::Lead, Some(term));
            self.leading.push_back((self.told, lease));
        }
    }

    fn run(&mut self, kind: Kind, term: Option<&Term>) {
        self.told += 1;
        let leader = term.map(|term| term.leader.to_string()).unwrap_or_default();
        let epoch = term.map(|term| term.epoch.get());
        self.say(&Order::Run(Event { number: self.told, kind, leader, epoch }));
    }

    fn say(&self, order: &Order) {
        if !self.runner.say(&line(order)) {
            warn!(
                event = "hook_failed",
                "a hook is skipped: the process that runs the hooks has stopped, or cannot keep up"
            );
        }
    }

    /// Moves the hard stop.
    fn extend(&self) {
        let Some((_, lease)) = self.leading.back() else { return };
        if self.deadline.set(lease.stop_by()).is_ok() {
            self.say(&Order::Look);
        }
    }

    fn heard(&mut self, line: &str) {
        let Ok(Done(number)) = serde_json::from_str(line) else { return };
        self.done = number;
        self.leading.retain(|(lead, _)| *lead > number);
    }

    /// The runner is gone. Whatever it has left may not have ended yet, so leadership is not
    /// released but runs out.
    fn abandoned(self) {
        warn!(
            event = "hook_failed",
            "the process that runs the hooks has ended: no more hooks are run"
        );
        self.leading.into_iter().for_each(std::mem::forget);
    }
}

/// Who leads after a change; `None` if it is not about that.
fn leader_after(change: Change) -> Option<Option<Term>> {
    Some(match change {
        Change::Elected(tenure) => Some(tenure.term),
        Change::Lost { successor, .. } => successor,
        Change::Followed { term, .. } => Some(term),
        Change::Vacant => None,
        Change::Alert(_) => return None,
    })
}

/// Waits until leadership has ended, and returns the number of the event of its beginning.
async fn ended(leads: Option<(u64, Lease)>) -> u64 {
    match leads {
        Some((number, lease)) => {
            lease.lost().await;
            number
        }
        None => pending().await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use election_tokio::core::{Alert, NodeId};

    #[test]
    fn an_alert_says_nothing_of_who_leads() {
        let node = NodeId::new("a").expect("a name");
        assert_eq!(leader_after(Change::Alert(Alert::DuplicateId { node })), None);
        assert_eq!(leader_after(Change::Vacant), Some(None));
    }
}
