//! Randomness by counter, not by sequence.
//!
//! Every draw is a function of (seed, stream, who, number of earlier draws), so removing one fault
//! from a schedule leaves every other draw alone. With one shared generator the first removed draw
//! would change all later ones, and a shrunk schedule would be a different schedule.

/// What a draw decides. Streams never mix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stream {
    Swarm,
    Incarnation,
    Jitter,
    Request,
    Reply,
    Commit,
    Late,
    Odds,
    Work,
    Notice,
    App,
    Act,
    Frame,
    Travel,
    Save,
    Dial,
    Copy,
    Load,
    Split,
    Stall,
    Fate,
    Skip,
}

/// The draws of one seed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Draw {
    key: u64,
}

impl Draw {
    /// The seed is hashed before use, so neighbouring seeds give unrelated draws.
    pub(crate) fn new(seed: u64) -> Self {
        Self { key: mix(seed.wrapping_add(GOLDEN)) }
    }

    /// The `nth` word of `who` in a stream.
    pub(crate) fn word(self, stream: Stream, who: u64, nth: u64) -> u64 {
        let place = ((stream as u64) << 40) ^ who;
        mix(mix(self.key ^ place.wrapping_mul(GOLDEN)) ^ nth.wrapping_mul(ODD))
    }

    /// A number from `low` to `high` inclusive.
    pub(crate) fn between(
        self,
        stream: Stream,
        who: u64,
        nth: u64,
        (low, high): (u64, u64),
    ) -> u64 {
        if high <= low {
            return low;
        }
        low + scaled(self.word(stream, who, nth), high - low)
    }

    /// True in `ppm` of a million cases.
    pub(crate) fn chance(self, stream: Stream, who: u64, nth: u64, ppm: u32) -> bool {
        scaled(self.word(stream, who, nth), 999_999) < u64::from(ppm)
    }
}

/// A probability: one in this many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OneIn(pub(crate) u64);

/// Draws in sequence, for what is made once and not shrunk: a swarm's schedule.
#[derive(Clone, Debug)]
pub(crate) struct Dice {
    draw: Draw,
    nth: u64,
}

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self { draw: Draw::new(seed), nth: 0 }
    }

    /// A number from `low` to `high` inclusive.
    pub(crate) fn between(&mut self, low: u64, high: u64) -> u64 {
        self.nth += 1;
        self.draw.between(Stream::Swarm, 0, self.nth, (low, high))
    }

    /// True with this probability.
    pub(crate) fn happens(&mut self, OneIn(n): OneIn) -> bool {
        self.between(1, n) == 1
    }

    /// One of these values.
    pub(crate) fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        let last = u64::try_from(from.len() - 1).unwrap_or(0);
        from[usize::try_from(self.between(0, last)).unwrap_or(0)]
    }
}

const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;
const ODD: u64 = 0xD6E8_FEB8_6659_FD93;

/// The finaliser of `SplitMix64`.
pub(crate) const fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// Scales a word down to `0..=bound`.
fn scaled(word: u64, bound: u64) -> u64 {
    let wide = u128::from(word) * (u128::from(bound) + 1);
    u64::try_from(wide >> 64).unwrap_or(bound)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_draw_depends_on_nothing_but_its_place() {
        let draw = Draw::new(7);
        let alone = draw.word(Stream::Reply, 3, 9);
        for nth in 0..50 {
            draw.word(Stream::Request, 3, nth);
        }
        assert_eq!(alone, draw.word(Stream::Reply, 3, 9));
        assert_ne!(alone, draw.word(Stream::Reply, 3, 10));
        assert_ne!(alone, draw.word(Stream::Reply, 4, 9));
        assert_ne!(alone, draw.word(Stream::Request, 3, 9));
        assert_ne!(alone, Draw::new(8).word(Stream::Reply, 3, 9));
    }

    #[test]
    fn neighbouring_seeds_are_unrelated() {
        let mut differing = 0;
        for seed in 0..1_000 {
            let (a, b) = (Draw::new(seed), Draw::new(seed + 1));
            differing += (a.word(Stream::Swarm, 0, 1) ^ b.word(Stream::Swarm, 0, 1)).count_ones();
        }
        assert!((30_000..34_000).contains(&differing), "{differing} of 64,000 bits");
    }

    #[test]
    fn ranges_and_chances_are_kept() {
        let draw = Draw::new(1);
        let mut hits = 0;
        for nth in 0..10_000 {
            assert!((5..=9).contains(&draw.between(Stream::Late, 0, nth, (5, 9))));
            hits += u32::from(draw.chance(Stream::Odds, 0, nth, 100_000));
        }
        assert!((900..1_100).contains(&hits), "{hits} of 10,000 at ten per cent");
        assert_eq!(draw.between(Stream::Late, 0, 0, (4, 4)), 4);
        assert!(!draw.chance(Stream::Odds, 0, 0, 0));
        assert!(draw.chance(Stream::Odds, 0, 0, 1_000_000));
    }
}
