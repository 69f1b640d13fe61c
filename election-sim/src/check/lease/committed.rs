//! Leadership comes only from a win that the database has committed.

use crate::{
    check::{Check, Scene, Verdict},
    fault::Contract,
    lease::{Effect, LeaseSide},
};
use election_core::{Candidate, Change};

#[derive(Debug)]
pub(super) struct Committed {
    /// The newest wins, oldest first. An older one can no longer be read back by anybody.
    wins: Vec<(u64, Candidate)>,
}

const REMEMBERED: usize = 64;

impl Check<LeaseSide> for Committed {
    const NAME: &'static str = "committed";
    const HOLDS: Contract = Contract::Within;

    fn new(_: usize) -> Self {
        Self { wins: Vec::new() }
    }

    fn done(
        &mut self,
        _: &Scene<'_, LeaseSide>,
        Effect { statement, done }: &Effect<'_>,
    ) -> Verdict {
        if done.after.own && (!done.before.own || done.before.term != done.after.term) {
            if self.wins.len() == REMEMBERED {
                self.wins.remove(0);
            }
            self.wins.push((done.after.term, statement.who.clone()));
        }
        Ok(())
    }

    fn changed(&mut self, scene: &Scene<'_, LeaseSide>, node: usize, change: &Change) -> Verdict {
        let Change::Elected(tenure) = change else { return Ok(()) };
        let epoch = tenure.term.epoch.get();
        let who = &scene.nodes[node].kit.candidate;
        if self.wins.iter().any(|(term, winner)| *term == epoch && winner == who) {
            return Ok(());
        }
        Err(format!("{} leads, but no such win was committed", tenure.term))
    }
}
