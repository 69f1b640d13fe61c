//! Time passes: every part of a state becomes one unit older.

use super::{
    model::{FAILED, GONE, Question, Quorum, Stop},
    process::GRAIN,
    state::State,
};

impl Quorum {
    /// A unit of time passes.
    pub(super) fn pass(&self, state: &State) -> Result<State, Stop> {
        let mut next = *state;
        for slot in next.late.iter_mut().filter(|slot| **slot != GONE) {
            *slot = self.aged_frame(*slot, state.clocks)?;
        }
        next.late.sort_unstable();
        for node in 0..self.scope.nodes {
            next.nodes[node] = self.aged_node(state.nodes[node], state.clocks)?;
        }
        self.exclusion(&next)?;
        Ok(next)
    }

    fn aged_node(&self, number: u32, clocks: u8) -> Result<u32, Stop> {
        let unknown = Stop::Unknown(Question::AgedNode(number, clocks));
        let known = self.aged[0].get(number, u32::from(clocks)).ok_or(unknown)?;
        match known.checked_sub(FAILED) {
            Some(broken) => Err(self.broken[broken as usize].clone().into()),
            None => Ok(known),
        }
    }

    pub(super) fn learn_aged_node(&mut self, number: u32, clocks: u8) {
        let mut aged = self.nodes.get(number).clone();
        let to = match aged.age(&self.steps[usize::from(clocks)], &self.world) {
            Ok(()) => self.node(aged),
            Err(broken) => {
                self.broken.push(broken);
                FAILED + u32::try_from(self.broken.len() - 1).unwrap_or(0)
            }
        };
        self.aged[0].set(number, u32::from(clocks), to);
    }

    fn aged_frame(&self, number: u32, clocks: u8) -> Result<u32, Stop> {
        let unknown = Stop::Unknown(Question::AgedFrame(number, clocks));
        self.aged[1].get(number, u32::from(clocks)).ok_or(unknown)
    }

    pub(super) fn learn_aged_frame(&mut self, number: u32, clocks: u8) {
        let oldest = self.world.around.lateness + GRAIN;
        let aged = self.frames.get(number).age(&self.steps[usize::from(clocks)], oldest);
        let to = aged.map_or(GONE, |aged| self.frames.number(aged).0);
        self.aged[1].set(number, u32::from(clocks), to);
    }
}
