//! Parts of states, each kept once.

use std::{
    collections::{HashMap, hash_map::Entry},
    hash::Hash,
};

/// All parts of one kind, numbered from one.
pub(super) struct Table<P> {
    parts: Vec<P>,
    numbers: HashMap<P, u32>,
}

impl<P: Clone + Eq + Hash> Table<P> {
    pub(super) fn new() -> Self {
        Self { parts: Vec::new(), numbers: HashMap::new() }
    }

    pub(super) fn len(&self) -> usize {
        self.parts.len()
    }

    pub(super) fn get(&self, number: u32) -> &P {
        &self.parts[number as usize - 1]
    }

    /// The number of a part, and whether it is a new one.
    pub(super) fn number(&mut self, part: P) -> (u32, bool) {
        match self.numbers.entry(part) {
            Entry::Occupied(known) => (*known.get(), false),
            Entry::Vacant(place) => {
                self.parts.push(place.key().clone());
                let number = u32::try_from(self.parts.len()).unwrap_or(u32::MAX);
                place.insert(number);
                (number, true)
            }
        }
    }
}
