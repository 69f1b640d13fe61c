//! Parts of states. Each part is kept once and known by its number.
//!
//! Two parts with the same hash are compared: a search that confused them would skip states.

use crate::draw::mix;
use std::{
    collections::HashMap,
    hash::{BuildHasherDefault, Hash, Hasher},
};

/// All parts of one kind, numbered from one.
pub(super) struct Interner<P> {
    parts: Vec<P>,
    /// By hash of the content. If two parts share a hash, the second takes the next free key.
    numbers: HashMap<u64, u32, BuildHasherDefault<Ready>>,
}

impl<P: Eq + Hash> Interner<P> {
    pub(super) fn new() -> Self {
        Self { parts: Vec::new(), numbers: HashMap::default() }
    }

    pub(super) fn len(&self) -> usize {
        self.parts.len()
    }

    pub(super) fn get(&self, number: u32) -> &P {
        &self.parts[number as usize - 1]
    }

    /// The number of a part, and whether the part is new.
    pub(super) fn number(&mut self, part: P) -> (u32, bool) {
        let mut hasher = Words::default();
        part.hash(&mut hasher);
        let mut content = hasher.finish();
        while let Some(number) = self.numbers.get(&content) {
            if *self.get(*number) == part {
                return (*number, false);
            }
            content = content.wrapping_add(1);
        }
        self.parts.push(part);
        let number = u32::try_from(self.parts.len()).unwrap_or(u32::MAX);
        self.numbers.insert(content, number);
        (number, true)
    }
}

/// A hasher for keys that are plain numbers.
#[derive(Clone, Copy, Default)]
struct Ready(u64);

impl Hasher for Ready {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = mix(self.0 ^ u64::from(*byte));
        }
    }

    fn write_u64(&mut self, key: u64) {
        self.0 = mix(key);
    }
}

/// A hasher for large parts made of small numbers. No attacker chooses them to collide.
#[derive(Default)]
struct Words(u64);

impl Words {
    fn add(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }
}

impl Hasher for Words {
    fn finish(&self) -> u64 {
        mix(self.0)
    }

    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            self.add(chunk.iter().fold(0, |word, byte| word << 8 | u64::from(*byte)));
        }
    }

    fn write_u8(&mut self, word: u8) {
        self.add(word.into());
    }

    fn write_u32(&mut self, word: u32) {
        self.add(word.into());
    }

    fn write_u64(&mut self, word: u64) {
        self.add(word);
    }

    fn write_usize(&mut self, word: usize) {
        self.add(word as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A part whose hash equals that of every other part.
    #[derive(Debug, PartialEq, Eq)]
    struct Alike(u8);

    impl Hash for Alike {
        fn hash<H: Hasher>(&self, state: &mut H) {
            0_u8.hash(state);
        }
    }

    #[test]
    fn parts_that_share_a_hash_are_told_apart() {
        let mut interner = Interner::new();
        for (part, expected) in [(7, (1, true)), (8, (2, true)), (7, (1, false)), (9, (3, true))] {
            assert_eq!(interner.number(Alike(part)), expected);
        }
        assert_eq!((interner.len(), interner.get(2)), (3, &Alike(8)));
    }
}
