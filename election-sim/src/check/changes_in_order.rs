//! Every subscriber sees an ordered story: `elected` and `lost` alternate, each loss is of the term
//! that was led, and a follower's news never repeats. The story agrees with the process's own
//! answers.

use super::{Checker, Verdict, checker::books_by_node};
use crate::{
    fault::Contract,
    simulator::{Environment, WorldState},
};
use election_core::{Change, Epoch, Label, Protocol, Term};

#[derive(Debug, Default)]
pub(crate) struct ChangesInOrder {
    told: Vec<Told>,
}

/// The newest change that the subscribers of one process were told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum Told {
    #[default]
    Nothing,
    Leads(Epoch),
    Lost(Option<Term>),
    Follows(Term, Option<Label>),
    Vacant,
}

impl<S: Environment> Checker<S> for ChangesInOrder {
    const NAME: &'static str = "changes-in-order";
    const HOLDS: Contract = Contract::Void;

    books_by_node!(told, WorldState<'_, S>);

    fn changed(&mut self, _: &WorldState<'_, S>, node: usize, change: &Change) -> Verdict {
        if matches!(change, Change::Alert(_)) {
            return Ok(()); // may come at any time
        }
        let told = &self.told[node];
        let leads = match told {
            Told::Leads(epoch) => Some(*epoch),
            _ => None,
        };
        let now = match change {
            Change::Elected(tenure) if leads.is_none() => Told::Leads(tenure.term.epoch),
            Change::Lost { term, successor, .. } if leads == Some(term.epoch) => {
                Told::Lost(successor.clone())
            }
            Change::Followed { term, label, .. } if leads.is_none() => {
                Told::Follows(term.clone(), label.clone())
            }
            Change::Vacant if leads.is_none() => Told::Vacant,
            _ => return Err(format!("node {node} reports {change:?} after {told:?}")),
        };
        let repeats = match (told, &now) {
            (Told::Lost(Some(successor)), Told::Follows(term, None)) => successor == term,
            (Told::Lost(None), Told::Vacant) => true,
            (told, now) => told == now,
        };
        if repeats {
            return Err(format!("node {node} reports {change:?} twice"));
        }
        self.told[node] = now;
        Ok(())
    }

    fn stepped(&mut self, world: &WorldState<'_, S>, node: usize) -> Verdict {
        let there = &world.nodes[node];
        let Some(lease) = &there.machine else { return Ok(()) };
        let leads = matches!(self.told[node], Told::Leads(_));
        if leads != lease.is_leader(there.clock.read(world.now)) {
            return Err(format!(
                "node {node} was told {:?}, and answers otherwise",
                self.told[node]
            ));
        }
        Ok(())
    }
}
