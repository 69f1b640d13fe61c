//! No node leads without the votes of a majority: a minority never elects anybody.

use super::{Checker, Contract, QuorumEnvironment, Verdict, WorldState, one_vote_per_epoch::vote};
use election_core::{
    Change, Epoch,
    quorum::{Action, Message, Peer},
};
use std::collections::{BTreeMap, BTreeSet};

#[derive(Debug, Default)]
pub(super) struct MajorityElects {
    /// By epoch and candidate: the voters.
    votes: BTreeMap<(Epoch, Peer), BTreeSet<Peer>>,
}

impl MajorityElects {
    fn leads(&self, world: &WorldState<'_>, node: usize, epoch: Epoch) -> Verdict {
        let me = world.nodes[node].state.peer;
        let mut voters = self.votes.get(&(epoch, me)).cloned().unwrap_or_default();
        voters.insert(me);
        if voters.len() >= world.environment.quorum() {
            return Ok(());
        }
        Err(format!(
            "node {node} leads epoch {epoch} with {} votes of {}",
            voters.len(),
            world.environment.count()
        ))
    }
}

impl Checker<QuorumEnvironment> for MajorityElects {
    const NAME: &'static str = "majority-elects";
    const HOLDS: Contract = Contract::Beyond;

    fn asked(&mut self, world: &WorldState<'_>, node: usize, action: &Action) -> Verdict {
        let me = world.nodes[node].state.peer;
        if let Some((epoch, candidate)) = vote(action, me) {
            if candidate != me {
                self.votes.remove(&(epoch, me)); // it has yielded; its tally is void
            }
            self.votes.entry((epoch, candidate)).or_default().insert(me);
        }
        match action {
            Action::Send { message: Message::Announce { epoch, .. }, .. } => {
                self.leads(world, node, *epoch)
            }
            _ => Ok(()),
        }
    }

    fn changed(&mut self, world: &WorldState<'_>, node: usize, change: &Change) -> Verdict {
        match change {
            Change::Elected(tenure) => self.leads(world, node, tenure.term.epoch),
            _ => Ok(()),
        }
    }
}
