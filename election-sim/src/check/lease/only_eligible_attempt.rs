//! A process that must not lead does not try to: an unhealthy or leaving process, an observer, and
//! a process that has resigned and not yet given the others their turn.
//!
//! An attempt that wins only to be resigned keeps all others out. A few processes that do this in
//! turn can keep a cluster without a leader for ever.

use super::{
    Answered, Checker, Contract, LeaseEnvironment, Told, Verdict, WorldState, books_by_node,
};
use election_core::{
    Change, Epoch, Timestamp,
    lease::{Answer, Query},
};

#[derive(Debug, Default)]
pub(super) struct OnlyEligibleAttempt {
    nodes: Vec<Standing>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Standing {
    unhealthy: bool,
    leaving: bool,
    /// It resigned. Since then it has not seen another leader, nor the epoch of one, and no interval
    /// has passed since the vacancy was confirmed.
    out: Option<Out>,
}

#[derive(Clone, Copy, Debug)]
struct Out {
    /// The resigned term.
    epoch: Epoch,
    /// When the interval ends, once the vacancy is confirmed.
    until: Option<Timestamp>,
}

impl Checker<LeaseEnvironment> for OnlyEligibleAttempt {
    const NAME: &'static str = "only-eligible-attempt";
    const HOLDS: Contract = Contract::Void;

    books_by_node!(nodes, WorldState<'_>);

    fn told(&mut self, world: &WorldState<'_>, node: usize, told: Told) {
        let there = &mut self.nodes[node];
        match told {
            Told::Resign => {
                if let Some(work) = world.nodes[node].work.filter(|work| !work.told) {
                    there.out = Some(Out { epoch: work.epoch, until: None });
                }
            }
            Told::Wake => {}
            Told::Withdraw => there.leaving = true,
            Told::Healthy(healthy) => there.unhealthy = !healthy,
        }
    }

    fn heard(&mut self, world: &WorldState<'_>, answered: &Answered<'_>) {
        let there = &mut self.nodes[answered.node];
        let Some(out) = &mut there.out else { return };
        let node = &world.nodes[answered.node];
        let vacant = match answered.result {
            Ok(Answer::Released) => true,
            // No other candidate is there to have a turn.
            Ok(Answer::Others(false)) if out.until.is_some() => {
                there.out = None;
                return;
            }
            Ok(Answer::Seen(row)) => {
                let own = row.holder.as_ref().map(|by| by.candidate == node.state.candidate);
                let live = row.live_holder().is_some();
                // A vacant row with a newer epoch: another leader has come and gone.
                if own != Some(true) && (live || row.epoch > out.epoch) {
                    there.out = None;
                    return;
                }
                !live
            }
            _ => false,
        };
        if vacant && out.until.is_none() {
            let now = node.clock.read(world.now);
            out.until = Some(now + world.environment.config.interval());
        }
    }

    fn changed(&mut self, _: &WorldState<'_>, node: usize, change: &Change) -> Verdict {
        let there = &self.nodes[node];
        if matches!(change, Change::Elected(_)) && (there.unhealthy || there.leaving) {
            return Err(format!("node {node} was elected while it must not lead ({there:?})"));
        }
        Ok(())
    }

    fn asked(&mut self, world: &WorldState<'_>, node: usize, query: &Query) -> Verdict {
        if !matches!(query, Query::Attempt { .. } | Query::TakeOver { .. }) {
            return Ok(());
        }
        let there = &mut self.nodes[node];
        let now = world.nodes[node].clock.read(world.now);
        there.out.take_if(|out| out.until.is_some_and(|end| end <= now));
        if there.unhealthy || there.leaving || there.out.is_some() {
            return Err(format!("node {node} campaigns while it must not lead ({there:?})"));
        }
        Ok(())
    }
}
