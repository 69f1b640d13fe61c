//! Trust never exceeds the database's grant: `asked + ttl − margin` for the hard stop, and
//! `grace` less for belief.
//!
//! The checker keeps its books from the answers alone. A win of a term allows what its question
//! allows; a renewal of the same term allows more; nothing else does. When the time runs out there
//! is no leader. The checker computes margin and grace itself, from the schedule and the rule,
//! because it judges what the core makes of its configuration.

use super::{Answered, Checker, Contract, LeaseEnvironment, Verdict, WorldState, books_by_node};
use crate::schedule::Timing;
use election_core::{
    Change, Epoch, Protocol, Timestamp,
    lease::{Answer, Query},
};
use std::{collections::VecDeque, time::Duration};

#[derive(Debug, Default)]
pub(super) struct TrustWithinGrant {
    /// By node: until when work of each of its newest terms may run, by its own clock.
    granted: Vec<VecDeque<(Epoch, Timestamp)>>,
}

/// Answers that wait in a mailbox may be about more than one term, but never about many. (Processes
/// that are copies of each other win many terms in a row, each under the others' name: a term that
/// one of them still works on must not be forgotten.)
const REMEMBERED: usize = 16;

impl TrustWithinGrant {
    fn bound(&self, node: usize, epoch: Epoch) -> Option<Timestamp> {
        self.granted[node].iter().find(|(term, _)| *term == epoch).map(|(_, until)| *until)
    }

    fn grant(&mut self, node: usize, epoch: Epoch, until: Timestamp, working: Option<Epoch>) {
        let granted = &mut self.granted[node];
        if let Some((_, bound)) = granted.iter_mut().find(|(term, _)| *term == epoch) {
            *bound = until.max(*bound);
            return;
        }
        if granted.len() == REMEMBERED {
            let spare = granted.iter().position(|(term, _)| Some(*term) != working);
            granted.remove(spare.unwrap_or(0));
        }
        granted.push_back((epoch, until));
    }
}

impl Checker<LeaseEnvironment> for TrustWithinGrant {
    const NAME: &'static str = "trust-within-grant";
    const HOLDS: Contract = Contract::Void;

    books_by_node!(granted, WorldState<'_>);

    fn heard(&mut self, world: &WorldState<'_>, answered: &Answered<'_>) {
        let node = answered.node;
        let Some((epoch, remaining)) = granted(world, answered) else { return };
        let timing = world.schedule.timing_of(node);
        let until = answered.asked + remaining.min(timing.ttl) - margin(&timing);
        let working = world.nodes[node].work.map(|work| work.epoch);
        self.grant(node, epoch, until, working);
    }

    fn changed(&mut self, _: &WorldState<'_>, node: usize, change: &Change) -> Verdict {
        let Change::Elected(tenure) = change else { return Ok(()) };
        match self.bound(node, tenure.term.epoch) {
            Some(_) => Ok(()),
            None => Err(format!("node {node} leads {}, which nobody granted it", tenure.term)),
        }
    }

    fn stepped(&mut self, world: &WorldState<'_>, node: usize) -> Verdict {
        let there = &world.nodes[node];
        let Some(work) = there.work else { return Ok(()) };
        let bound = self.bound(node, work.epoch).unwrap_or(Timestamp::ZERO);
        if work.stop_by > bound {
            return Err(format!(
                "node {node} may work on epoch {} until {:?} of its clock, granted was {bound:?}",
                work.epoch, work.stop_by
            ));
        }
        let Some(lease) = &there.machine else { return Ok(()) };
        let local = there.read(world.now);
        if local >= bound - grace(&world.schedule.timing_of(node)) && lease.is_leader(local) {
            return Err(format!("node {node} believes in epoch {} at {local:?}", work.epoch));
        }
        Ok(())
    }
}

/// How long before the earliest end of the lease all work must have ended: the difference that the
/// clocks can build up within one ttl, and the database's tick, or more if the schedule says so. If
/// the schedule does not say, a thirtieth of the ttl is added.
fn margin(timing: &Timing) -> Duration {
    let parted = timing.ttl.as_nanos() * u128::from(timing.drift_ppm);
    let parted = u64::try_from(parted.div_ceil(1_000_000)).unwrap_or(u64::MAX);
    let needed = Duration::from_nanos(parted).saturating_add(DATABASE_TICK);
    timing.margin.unwrap_or(needed + timing.ttl / 30).max(needed)
}

/// How long before the hard stop belief ends. If the schedule does not say, a sixth of the ttl.
fn grace(timing: &Timing) -> Duration {
    timing.grace.unwrap_or(timing.ttl / 6)
}

/// The database counts whole milliseconds.
const DATABASE_TICK: Duration = Duration::from_millis(1);

/// What an answer allows: the term, and how much of it was left when the question was asked.
fn granted(world: &WorldState<'_>, answered: &Answered<'_>) -> Option<(Epoch, Duration)> {
    let there = &world.nodes[answered.node];
    match (answered.result.as_ref().ok()?, answered.query) {
        (Answer::Won { epoch, remaining }, _) => Some((*epoch, *remaining)),
        (Answer::Renewed { remaining, .. }, Query::Renew { epoch, .. }) => {
            Some((*epoch, *remaining))
        }
        (Answer::Seen(row), _) => {
            // A leader that reads the row gains nothing more.
            let led = there.work.is_some_and(|work| work.epoch == row.epoch);
            let own =
                row.live_holder().is_some_and(|holder| holder.candidate == there.state.candidate);
            (own && !led).then(|| (row.epoch, row.clamped_remaining()))
        }
        _ => None,
    }
}
