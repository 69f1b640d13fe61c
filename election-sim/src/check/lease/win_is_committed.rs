//! Leadership comes only from a win that the database has committed.

use super::{Checker, Contract, Effect, LeaseEnvironment, Verdict, WorldState};
use election_core::{Candidate, Change};

#[derive(Debug, Default)]
pub(super) struct WinIsCommitted {
    /// The newest wins, oldest first. No process can read back an older one any more.
    wins: Vec<(u64, Candidate)>,
}

const REMEMBERED: usize = 64;

impl Checker<LeaseEnvironment> for WinIsCommitted {
    const NAME: &'static str = "win-is-committed";
    const HOLDS: Contract = Contract::Within;

    fn done(&mut self, _: &WorldState<'_>, Effect { statement, done }: &Effect<'_>) -> Verdict {
        if done.after.own && (!done.before.own || done.before.term != done.after.term) {
            if self.wins.len() == REMEMBERED {
                self.wins.remove(0);
            }
            self.wins.push((done.after.term, statement.who.clone()));
        }
        Ok(())
    }

    fn changed(&mut self, world: &WorldState<'_>, node: usize, change: &Change) -> Verdict {
        let Change::Elected(tenure) = change else { return Ok(()) };
        let epoch = tenure.term.epoch.get();
        let who = &world.nodes[node].state.candidate;
        if self.wins.iter().any(|(term, winner)| *term == epoch && winner == who) {
            return Ok(());
        }
        Err(format!("{} leads, but no such win was committed", tenure.term))
    }
}
