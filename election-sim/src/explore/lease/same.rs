//! Which states are the same.

use super::{
    model::{GONE, Lease},
    names::{Used, orders},
    state::State,
};
use crate::draw::mix;

impl Lease {
    /// One number for this state and for all states into which trading nodes turns it.
    ///
    /// Every part is hashed once, when it is first met, in every order of the nodes. A state's hash
    /// is the sum over its parts: a process itself says which node it is on, and statements have no
    /// order.
    pub(super) fn smallest(&self, state: &State) -> u64 {
        let counted = state.left.counts().fold(u64::from(state.led), |all, left| {
            all.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(u64::from(left))
        });
        let orders = orders(self.scope.nodes);
        let mut sums = self.rows.facts(state.row).hash;
        for (node, number) in state.nodes[..self.scope.nodes].iter().enumerate() {
            let mut hash = self.processes.facts(*number).hash;
            if state.paused >> node & 1 == 1 {
                hash = hash.map(|hash| mix(!hash));
            }
            add(&mut sums, &hash);
        }
        if state.replica != GONE {
            add(&mut sums, &self.rows.facts(state.replica).hash.map(|hash| mix(!hash)));
        }
        for number in state.statements.iter().filter(|number| **number != GONE) {
            add(&mut sums, &self.statements.facts(*number).hash);
        }
        let least = sums[..orders].iter().min().copied().unwrap_or(0);
        mix(least ^ mix(counted))
    }

    /// Removes the ranks of epochs and ordinals that no part uses any more.
    pub(super) fn dense(&mut self, state: &mut State) {
        let used = self.used(state);
        if used.is_dense() {
            return;
        }
        for node in 0..self.scope.nodes {
            let number = state.nodes[node];
            state.nodes[node] = match self.processes.known_dense(number, used) {
                Some(known) => known,
                None => {
                    let part = self.processes.made_dense(number, used);
                    let to = self.process(part);
                    self.processes.remember_dense(number, used, to);
                    to
                }
            };
        }
        for slot in 0..state.statements.len() {
            let number = state.statements[slot];
            if number == GONE {
                continue;
            }
            state.statements[slot] = match self.statements.known_dense(number, used) {
                Some(known) => known,
                None => {
                    let part = self.statements.made_dense(number, used);
                    let to = self.statement(Some(part));
                    self.statements.remember_dense(number, used, to);
                    to
                }
            };
        }
        state.row = self.dense_row(state.row, used);
        if state.replica != GONE {
            state.replica = self.dense_row(state.replica, used);
        }
        state.led = u8::try_from(used.rank_of_bound(u64::from(state.led))).unwrap_or(u8::MAX);
    }

    fn dense_row(&mut self, number: u32, used: Used) -> u32 {
        if let Some(known) = self.rows.known_dense(number, used) {
            return known;
        }
        let part = self.rows.made_dense(number, used);
        let to = self.row(part);
        self.rows.remember_dense(number, used, to);
        to
    }

    pub(super) fn used(&self, state: &State) -> Used {
        let mut used = self.rows.facts(state.row).used;
        if state.replica != GONE {
            used = used.and(self.rows.facts(state.replica).used);
        }
        for number in &state.nodes[..self.scope.nodes] {
            used = used.and(self.processes.facts(*number).used);
        }
        for number in state.statements.iter().filter(|number| **number != GONE) {
            used = used.and(self.statements.facts(*number).used);
        }
        used
    }
}

fn add<const N: usize>(sums: &mut [u64; N], hashes: &[u64; N]) {
    for (sum, hash) in sums.iter_mut().zip(hashes) {
        *sum = sum.wrapping_add(*hash);
    }
}
