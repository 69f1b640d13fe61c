//! The course of a run, as a function of the seed and the list of faults alone.
//!
//! A plan says which fault hits which node, for how long and after what. Which node leads at that
//! moment is up to the world.

use std::time::Duration;

/// A sequence of numbers from a seed (`SplitMix64`).
#[derive(Clone, Debug)]
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let word = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    }

    /// A number from `low` to `high` inclusive.
    pub(crate) fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.next() % (high - low + 1)
    }

    fn place(&mut self, length: usize) -> usize {
        usize::try_from(self.next() % length as u64).unwrap_or(0)
    }
}

/// The target of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    Leader,
    /// The node of this number, as far as it is none that leads.
    Follower(usize),
}

/// One fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Hit {
    /// Its place in the list of faults.
    pub(crate) fault: usize,
    pub(crate) target: Target,
    /// When it begins, counted from the round's beginning.
    pub(crate) after: Duration,
    pub(crate) lasts: Duration,
    /// How severe it is, from 0 to 99, if that is a matter of degree.
    pub(crate) degree: u64,
}

/// One fault or two at once, and a pause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Round {
    pub(crate) hits: Vec<Hit>,
    pub(crate) pause: Duration,
}

/// The rounds of a seed, without end.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    dice: Dice,
    faults: usize,
    nodes: usize,
    ttl: Duration,
    /// Every fault has its turn before any has its second.
    deck: Vec<usize>,
}

impl Plan {
    pub(crate) fn new(seed: u64, faults: usize, nodes: usize, ttl: Duration) -> Self {
        Self { dice: Dice::new(seed), faults, nodes, ttl, deck: Vec::new() }
    }

    /// Takes a fault from the deck, which is shuffled anew when it is empty.
    fn deal(&mut self) -> usize {
        if self.deck.is_empty() {
            self.deck.extend(0..self.faults);
            for place in (1..self.faults).rev() {
                self.deck.swap(place, self.dice.place(place + 1));
            }
        }
        self.deck.pop().unwrap_or(0)
    }

    fn hit(&mut self, fault: usize) -> Hit {
        let target = match self.dice.between(0, 2) {
            0 => Target::Follower(self.dice.place(self.nodes)),
            _ => Target::Leader,
        };
        let percent = |dice: &mut Dice, low, high| {
            let percent = u32::try_from(dice.between(low, high)).unwrap_or(100);
            self.ttl * percent / 100
        };
        Hit {
            fault,
            target,
            after: percent(&mut self.dice, 0, 60),
            lasts: percent(&mut self.dice, 20, 200),
            degree: self.dice.between(0, 99),
        }
    }
}

impl Iterator for Plan {
    type Item = Round;

    fn next(&mut self) -> Option<Round> {
        let pair = self.dice.between(0, 2) == 0;
        let mut hits: Vec<Hit> = Vec::new();
        for _ in 0..=usize::from(pair) {
            let fault = self.deal();
            if hits.iter().all(|hit| hit.fault != fault) {
                hits.push(self.hit(fault));
            }
        }
        hits[0].after = Duration::ZERO;
        let pause = Duration::from_millis(self.dice.between(0, 400));
        Some(Round { hits, pause })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rounds(seed: u64) -> Vec<Round> {
        Plan::new(seed, 12, 5, Duration::from_secs(1)).take(60).collect()
    }

    #[test]
    fn a_seed_is_a_plan() {
        assert_eq!(rounds(7), rounds(7));
        assert_ne!(rounds(7), rounds(8));
    }

    #[test]
    fn every_fault_has_its_turn_and_some_come_in_pairs() {
        let dealt: Vec<usize> =
            rounds(7).iter().flat_map(|round| &round.hits).map(|hit| hit.fault).collect();
        for cycle in dealt.chunks_exact(12).take(3) {
            let mut cycle = cycle.to_vec();
            cycle.sort_unstable();
            assert_eq!(cycle, (0..12).collect::<Vec<_>>());
        }
        let pairs = rounds(7).iter().filter(|round| round.hits.len() == 2).count();
        assert!((10..30).contains(&pairs), "{pairs}");
    }
}
