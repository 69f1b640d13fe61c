//! Parts of states, each kept once.
//!
//! A state is a handful of numbers: which process, which statement, which row. Everything that a
//! search asks about a part is computed once for its number: its hash in every order of the nodes,
//! the ranks it uses, and (in the tables of the model) what follows from it. So the real machine
//! runs once for each thing that can happen to one process, and not once for each of the far more
//! numerous combinations.

use super::names::{Cast, Dense, Named, ORDER, ORDERS, Trade, Used, orders};
use crate::explore::{interner::Interner, memo::Memo};
use std::hash::{DefaultHasher, Hash, Hasher};

/// What is known of every part without looking at its content.
#[derive(Clone, Copy, Debug)]
pub(super) struct Facts<F> {
    /// The hash of its content, for each order of the nodes.
    pub(super) hash: [u64; ORDERS],
    pub(super) used: Used,
    pub(super) own: F,
}

/// A kind of part.
pub(super) trait Part: Named + Clone + Eq + Hash {
    type Facts: Copy;
    /// Distinguishes the hashes of this kind from the hashes of others.
    const KIND: u64;
}

/// All parts of one kind, numbered from one.
pub(super) struct Parts<P: Part> {
    parts: Interner<P>,
    facts: Vec<Facts<P::Facts>>,
    /// The part that a part becomes when the unused ranks are removed.
    dense: Memo,
}

impl<P: Part> Parts<P> {
    pub(super) fn new() -> Self {
        Self { parts: Interner::new(), facts: Vec::new(), dense: Memo::default() }
    }

    pub(super) fn len(&self) -> usize {
        self.parts.len()
    }

    pub(super) fn get(&self, number: u32) -> &P {
        self.parts.get(number)
    }

    pub(super) fn facts(&self, number: u32) -> &Facts<P::Facts> {
        &self.facts[number as usize - 1]
    }

    /// The number of a part. `facts` is called if the part is new.
    pub(super) fn number(
        &mut self,
        part: P,
        nodes: usize,
        cast: &Cast,
        facts: impl FnOnce(&P) -> P::Facts,
    ) -> u32 {
        let (number, new) = self.parts.number(part);
        if new {
            let part = self.parts.get(number);
            let mut hash = [hash_of(part, P::KIND); ORDERS];
            for (hash, order) in hash.iter_mut().zip(ORDER).take(orders(nodes)).skip(1) {
                let mut traded = part.clone();
                traded.rename(&mut Trade { cast, order });
                *hash = hash_of(&traded, P::KIND);
            }
            let mut used = Used::default();
            part.clone().rename(&mut used);
            self.facts.push(Facts { hash, used, own: facts(part) });
        }
        number
    }

    /// The part after the unused ranks are removed; `None` if it is not computed yet.
    pub(super) fn known_dense(&self, number: u32, used: Used) -> Option<u32> {
        self.dense.get(number, code(used))
    }

    /// Computes that.
    pub(super) fn made_dense(&self, number: u32, used: Used) -> P {
        let mut part = self.get(number).clone();
        part.rename(&mut Dense(used));
        part
    }

    pub(super) fn remember_dense(&mut self, number: u32, used: Used, to: u32) {
        self.dense.set(number, code(used), to);
    }
}

fn code(used: Used) -> u32 {
    u32::from(used.epochs) << 16 | u32::from(used.ordinals)
}

fn hash_of(part: &impl Hash, kind: u64) -> u64 {
    let mut hasher = DefaultHasher::new();
    kind.hash(&mut hasher);
    part.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_two_kinds_have_two_hashes() {
        assert_ne!(hash_of(&7_u8, 1), hash_of(&7_u8, 2));
    }
}
