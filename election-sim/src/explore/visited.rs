//! The set of states that have been seen, as fingerprints.
//!
//! It uses open addressing over one flat array of 64-bit fingerprints, between three eighths and
//! three quarters full: eleven to twenty-one bytes a state. If two different states share a
//! fingerprint, the search skips the second. Among *n* states this happens with a probability of
//! about *n²* / 2⁶⁵: 1 in 37 million for a million states, 1 in 3,700 for a hundred million. A
//! violation that is found is never false: the search walked its path.

/// A set of fingerprints.
#[derive(Debug)]
pub(super) struct Visited {
    /// A power of two of slots; zero marks an empty slot.
    slots: Vec<u64>,
    len: usize,
    holds_zero: bool,
}

impl Visited {
    pub(super) fn new() -> Self {
        Self { slots: vec![0; 1 << 12], len: 0, holds_zero: false }
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn bytes(&self) -> usize {
        self.slots.len() * size_of::<u64>()
    }

    /// Brings the slots of these fingerprints into the cache, all at once.
    pub(super) fn bring(&self, fingerprints: impl Iterator<Item = u64>) {
        let first = fingerprints.map(|one| self.slots[place(&self.slots, one)]);
        std::hint::black_box(first.fold(0, |all, slot| all ^ slot));
    }

    /// Inserts the fingerprint. Returns whether it is new.
    pub(super) fn insert(&mut self, fingerprint: u64) -> bool {
        if fingerprint == 0 {
            let new = !std::mem::replace(&mut self.holds_zero, true);
            self.len += usize::from(new);
            return new;
        }
        // The array is at most three quarters full.
        if self.len * 4 >= self.slots.len() * 3 {
            self.grow();
        }
        let new = put(&mut self.slots, fingerprint);
        self.len += usize::from(new);
        new
    }

    fn grow(&mut self) {
        let doubled = vec![0; self.slots.len() * 2];
        let old = std::mem::replace(&mut self.slots, doubled);
        for fingerprint in old.into_iter().filter(|slot| *slot != 0) {
            put(&mut self.slots, fingerprint);
        }
    }
}

fn place(slots: &[u64], fingerprint: u64) -> usize {
    usize::try_from(fingerprint >> 20).unwrap_or(0) & (slots.len() - 1)
}

fn put(slots: &mut [u64], fingerprint: u64) -> bool {
    let mask = slots.len() - 1;
    let mut at = place(slots, fingerprint);
    loop {
        match slots[at] {
            0 => {
                slots[at] = fingerprint;
                return true;
            }
            there if there == fingerprint => return false,
            _ => at = (at + 1) & mask,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draw::mix;
    use std::collections::BTreeSet;

    #[test]
    fn it_holds_what_was_put_in_and_nothing_else() {
        let (mut visited, mut oracle) = (Visited::new(), BTreeSet::new());
        for n in 0..20_000 {
            let fingerprint = if n % 5 == 0 { n } else { mix(n % 7_000) };
            assert_eq!(visited.insert(fingerprint), oracle.insert(fingerprint), "{n}");
        }
        assert_eq!(visited.len(), oracle.len());
    }
}
