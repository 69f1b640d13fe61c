//! Remembers the result for a pair of numbers.
//!
//! A search asks for every move, and each answer waits for memory. So the answers lie in one flat
//! array with open addressing, each beside its key; and who knows what it will ask can have the
//! answers brought before, all at once.

use crate::draw::mix;

/// A map from pairs of numbers to results, unless told otherwise numbers. The first of a pair is the
/// number of a part, and never the highest that there is.
#[derive(Default)]
pub(super) struct Memo<T = u32> {
    /// A power of two of slots, or none yet.
    slots: Vec<Slot<T>>,
    len: usize,
}

#[derive(Clone, Copy)]
struct Slot<T> {
    key: u64,
    to: T,
}

/// The key of a slot without a result.
const EMPTY: u64 = u64::MAX;

impl<T: Copy + Default> Memo<T> {
    /// Brings what will be asked for into the cache.
    pub(super) fn bring(&self, pairs: impl Iterator<Item = (u32, u32)>) {
        let Some(mask) = self.slots.len().checked_sub(1) else { return };
        let keys = pairs.map(|(a, b)| self.slots[first(mask, key(a, b))].key);
        std::hint::black_box(keys.fold(0, |all, key| all ^ key));
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn get(&self, a: u32, b: u32) -> Option<T> {
        let key = key(a, b);
        let at = self.slots.get(place(&self.slots, key)?)?;
        (at.key == key).then_some(at.to)
    }

    pub(super) fn set(&mut self, a: u32, b: u32, to: T) {
        // At most half of the slots are taken.
        if self.len * 2 >= self.slots.len() {
            self.grow();
        }
        let key = key(a, b);
        let Some(place) = place(&self.slots, key) else { return };
        self.len += usize::from(self.slots[place].key == EMPTY);
        self.slots[place] = Slot { key, to };
    }

    fn grow(&mut self) {
        let doubled =
            vec![Slot { key: EMPTY, to: T::default() }; (self.slots.len() * 2).max(1 << 10)];
        let old = std::mem::replace(&mut self.slots, doubled);
        for slot in old.into_iter().filter(|slot| slot.key != EMPTY) {
            if let Some(place) = place(&self.slots, slot.key) {
                self.slots[place] = slot;
            }
        }
    }
}

fn key(a: u32, b: u32) -> u64 {
    debug_assert_ne!(a, u32::MAX, "the number of a part");
    u64::from(a) << 32 | u64::from(b)
}

/// Where a key is, or the empty slot where it belongs. There is always one.
fn place<T>(slots: &[Slot<T>], key: u64) -> Option<usize> {
    let mask = slots.len().checked_sub(1)?;
    let mut at = first(mask, key);
    while slots[at].key != key && slots[at].key != EMPTY {
        at = (at + 1) & mask;
    }
    Some(at)
}

/// The slot at which the search for a key begins.
fn first(mask: usize, key: u64) -> usize {
    usize::try_from(mix(key) >> 20).unwrap_or(0) & mask
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn it_remembers_the_last_result_of_every_pair() {
        let (mut memo, mut oracle) = (Memo::default(), BTreeMap::new());
        assert_eq!(memo.get(0, 0), None);
        for n in 0..20_000_u32 {
            let (a, b) = (n % 70, n % 3_000 * 1_000_003);
            memo.set(a, b, n);
            oracle.insert((a, b), n);
            assert_eq!(memo.get(a, b), Some(n));
        }
        assert_eq!(memo.len, oracle.len());
        for ((a, b), to) in oracle {
            assert_eq!(memo.get(a, b), Some(to));
            assert_eq!(memo.get(a + 70, b), None);
        }
        assert_eq!(memo.get(0, u32::MAX), None);
    }
}
