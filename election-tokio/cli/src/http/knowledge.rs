//! What this node knows, and whether it can know at all.

use crate::cluster::{unknown_leader, unready};
use election_tokio::{Handle, Member, Starting, core::Label, now};
use metrics_exporter_prometheus::PrometheusHandle;
use serde::Serialize;
use std::{sync::OnceLock, time::Duration};

/// An elector that should have taken a step so long ago is stuck. A busy machine delays one by less,
/// and whoever watches over this process needs longer to act.
const STUCK: Duration = Duration::from_secs(10);

/// What the answers are drawn from.
pub(super) struct Knowledge {
    /// Others may ask, by whatever name leads them here.
    pub(super) exposed: bool,
    metrics: PrometheusHandle,
    /// How far the start as a member has come.
    starting: OnceLock<Starting>,
    party: OnceLock<Party>,
}

/// This process as one that takes part.
struct Party {
    handle: Handle,
    /// In a cluster: what it knows of the others.
    member: Option<Member>,
}

/// Who leads, in the words of the other commands. `name` is what Kubernetes' leader-elector calls
/// the holder.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct Leader {
    name: String,
    epoch: Option<u64>,
    label: Option<String>,
    is_leader: bool,
    trusted_ms: Option<u64>,
    node: Option<String>,
    election: Option<String>,
    /// Why this node cannot know.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) error: Option<String>,
}

impl Knowledge {
    pub(super) fn new(metrics: PrometheusHandle, exposed: bool) -> Self {
        Self { exposed, metrics, starting: OnceLock::new(), party: OnceLock::new() }
    }

    pub(super) fn starts(&self, starting: Starting) {
        let _ = self.starting.set(starting);
    }

    pub(super) fn joined(&self, handle: Handle, member: Option<Member>) {
        // One process takes part once.
        let _ = self.party.set(Party { handle, member });
    }

    /// Who leads.
    pub(super) fn leader(&self) -> Leader {
        match self.party.get() {
            Some(party) => party.leader(),
            None => Leader { error: Some(self.delay()), ..Leader::default() },
        }
    }

    /// Why only a restart helps this process.
    pub(super) fn ailment(&self) -> Option<String> {
        // A start waits for its database for as long as it takes, and a restart would wait again.
        self.party.get()?.ailment()
    }

    /// What a probe is told that finds this process alive.
    pub(super) fn life(&self) -> String {
        let unready = self.party.get().and_then(Party::unready);
        unready.map_or_else(|| "alive".to_owned(), |why| format!("alive but not ready: {why}"))
    }

    /// Why this node does not take part.
    pub(super) fn absence(&self) -> Option<String> {
        match self.party.get() {
            Some(party) => party.absence(),
            None => Some(self.delay()),
        }
    }

    /// Why it does not take part yet. What a database says may name hosts and users: it is in the log,
    /// for those who may read that.
    fn delay(&self) -> String {
        let not_yet = "this node has not joined the election yet";
        match self.starting.get() {
            Some(starting) => format!("{not_yet}: it is {starting}"),
            None => format!("{not_yet}; see its log for what it is waiting for"),
        }
    }

    pub(super) fn metrics(&self) -> String {
        self.metrics.render()
    }

    /// Sums up what was recorded. What is never summed up is kept, and grows.
    pub(super) fn tidy(&self) {
        self.metrics.run_upkeep();
    }
}

impl Party {
    fn leader(&self) -> Leader {
        let registration = self.handle.registration();
        let status = self.handle.status();
        // After the status: whoever is told that it leads must have been allowed to believe it.
        let is_leader = self.handle.is_leader()
            && status.tenure.as_ref().is_some_and(|tenure| now() < tenure.until);
        let trusted = status.tenure.filter(|_| is_leader).map(|it| it.until.since(now()));
        // A leader whose work has to stop is none: its name would tell its clients to go on.
        let leader = status.leader.filter(|leader| !leader.own || is_leader);
        let error = if is_leader { None } else { self.unknown_leader() };
        let leader = leader.filter(|_| error.is_none());
        let label = leader.as_ref().and_then(|leader| leader.label.as_ref()).map(Label::to_string);
        Leader {
            name: leader.as_ref().map(|it| it.term.leader.to_string()).unwrap_or_default(),
            epoch: leader.map(|leader| leader.term.epoch.get()),
            label,
            is_leader,
            trusted_ms: trusted.map(millis),
            node: Some(registration.candidate.id.to_string()),
            election: Some(registration.namespace.to_string()),
            error,
        }
    }

    fn ailment(&self) -> Option<String> {
        if self.handle.status().closed {
            return Some("the elector has ended, and this process is exiting".to_owned());
        }
        let overdue = self.handle.overdue();
        (overdue >= STUCK).then(|| {
            format!("the elector is stuck: its next step is overdue by {} s", overdue.as_secs())
        })
    }

    /// Why it is not ready: as a member it may know who leads, and not vote yet.
    fn absence(&self) -> Option<String> {
        let unready = self.unready().map(|why| format!("not ready: {why}"));
        self.ailment().or(unready).or_else(|| self.unknown_leader())
    }

    fn unready(&self) -> Option<String> {
        self.member.as_ref().and_then(unready)
    }

    /// Why it cannot know who leads.
    fn unknown_leader(&self) -> Option<String> {
        if let Some(ailment) = self.ailment() {
            return Some(ailment);
        }
        match &self.member {
            Some(member) => unknown_leader(member),
            // The cause may name hosts and users. It is in the log, for those who may read that.
            None => {
                let status = self.handle.status();
                let outage = status.error.is_some() || !status.reached;
                outage.then(|| "waiting for the database; see the log".to_owned())
            }
        }
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
