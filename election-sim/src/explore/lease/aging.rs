//! Time passes: every part of a state becomes one unit older.

use super::{
    model::{FAILED, GONE, Lease},
    state::State,
};
use crate::explore::model::Broken;

impl Lease {
    /// A unit of time passes.
    pub(super) fn pass(&mut self, state: &State) -> Result<State, Broken> {
        let mut next = *state;
        for node in 0..self.scope.nodes {
            next.nodes[node] = self.aged_process(state.nodes[node])?;
        }
        let mut waits = false;
        for slot in 0..state.statements.len() {
            if state.statements[slot] != GONE {
                let to = self.aged_statement(state.statements[slot]);
                next.statements[slot] = to;
                waits |= to != GONE && self.statements.facts(to).own.waits;
            }
        }
        next.row = self.aged_row(state.row, waits);
        if state.replica != GONE {
            next.replica = self.aged_row(state.replica, false);
        }
        self.exclusion(&next)?;
        Ok(next)
    }

    fn aged_process(&mut self, number: u32) -> Result<u32, Broken> {
        let known = match self.aged[0].get(number, 0) {
            Some(known) => known,
            None => {
                let mut aged = self.processes.get(number).clone();
                let to = match aged.age(self.steps[usize::from(aged.rate)], &self.around) {
                    Ok(()) => self.process(aged),
                    Err(broken) => {
                        self.broken.push(broken);
                        u32::MAX - u32::try_from(self.broken.len()).unwrap_or(0)
                    }
                };
                self.aged[0].set(number, 0, to);
                to
            }
        };
        if known >= FAILED {
            return Err(self.broken[(u32::MAX - known) as usize - 1].clone());
        }
        Ok(known)
    }

    fn aged_statement(&mut self, number: u32) -> u32 {
        if let Some(known) = self.aged[1].get(number, 0) {
            return known;
        }
        let aged = self.statements.get(number).age(self.unit_ms(), self.longest_ms());
        let to = self.statement(aged);
        self.aged[1].set(number, 0, to);
        to
    }

    fn aged_row(&mut self, number: u32, waits: bool) -> u32 {
        if let Some(known) = self.aged[2].get(number, u32::from(waits)) {
            return known;
        }
        let mut aged =
            self.rows.get(number).age(self.unit_ms(), self.longest_ms(), self.proof_ms());
        if !waits {
            aged = aged.settled();
        }
        let to = self.row(aged);
        self.aged[2].set(number, u32::from(waits), to);
        to
    }
}
