//! The seeded generator behind every jitter.
//!
//! PCG XSL RR 128/64, written out here because its streams must never change: a recorded run has
//! to replay on every platform and after every update. `rand_pcg` is the oracle in the tests.

use crate::time::nanos;
use core::time::Duration;

const MULTIPLIER: u128 = 0x2360_ED05_1FC6_5DA4_4385_DF64_9FCC_F645;

/// A deterministic source of random numbers: small, fast, and not for secrets.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Random {
    state: u128,
    increment: u128,
}

impl Random {
    /// The stream that belongs to `seed`. Neighbouring seeds give unrelated streams.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        let mut mix = seed;
        let mut word = || {
            mix = mix.wrapping_add(0x9E37_79B9_7F4A_7C15);
            u128::from(hashed(mix))
        };
        Self::with_stream((word() << 64) | word(), (word() << 64) | word())
    }

    /// The stream in which every word is `word`: zero draws the low end of every span, `u64::MAX`
    /// the high end. For callers that decide the draws themselves, as a model checker does.
    #[must_use]
    pub const fn constant(word: u64) -> Self {
        // A fixed point of the generator, with a state whose upper half adds nothing.
        let state = word as u128;
        Self { state, increment: state.wrapping_mul(1_u128.wrapping_sub(MULTIPLIER)) }
    }

    pub(crate) fn with_stream(state: u128, stream: u128) -> Self {
        let increment = (stream << 1) | 1;
        let mut random = Self { state: state.wrapping_add(increment), increment };
        random.advance();
        random
    }

    /// The next 64 random bits.
    #[allow(clippy::cast_possible_truncation)] // taking halves and the top bits is the algorithm
    pub fn next_u64(&mut self) -> u64 {
        self.advance();
        let folded = (self.state >> 64) as u64 ^ self.state as u64;
        folded.rotate_right((self.state >> 122) as u32)
    }

    /// A number from `0` to `bound` inclusive, each as likely as any other to one in 2⁶⁴.
    pub fn up_to(&mut self, bound: u64) -> u64 {
        let wide = u128::from(self.next_u64()) * (u128::from(bound) + 1);
        u64::try_from(wide >> 64).unwrap_or(bound)
    }

    /// A duration from zero to `bound` inclusive.
    pub fn jitter(&mut self, bound: Duration) -> Duration {
        Duration::from_nanos(self.up_to(nanos(bound)))
    }

    fn advance(&mut self) {
        self.state = self.state.wrapping_mul(MULTIPLIER).wrapping_add(self.increment);
    }
}

/// The finaliser of `SplitMix64`: spreads every bit of the input over the whole output.
pub(crate) const fn hashed(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// 64-bit FNV-1a.
pub(crate) fn fnv1a(bytes: impl Iterator<Item = u8>) -> u64 {
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_core::Rng as _;

    #[test]
    fn agrees_with_rand_pcg() {
        for (state, stream) in [(0, 0), (1, 2), (u128::MAX, u128::MAX), (42 << 70, 7 << 65)] {
            let mut ours = Random::with_stream(state, stream);
            let mut oracle = rand_pcg::Lcg128Xsl64::new(state, stream);
            for _ in 0..1_000 {
                assert_eq!(ours.next_u64(), oracle.next_u64());
            }
        }
    }

    #[test]
    fn the_stream_of_a_seed_never_changes() {
        let mut random = Random::new(7);
        let drawn = [random.next_u64(), random.next_u64(), random.up_to(99)];
        assert_eq!(drawn, [17_127_166_139_185_705_829, 8_612_118_057_428_368_318, 41]);
    }

    #[test]
    fn a_constant_stream_stays_at_its_end_of_every_span() {
        let (mut low, mut high) = (Random::constant(0), Random::constant(u64::MAX));
        for bound in [0, 1, 7, 1_000_003, u64::MAX] {
            assert_eq!((low.up_to(bound), high.up_to(bound)), (0, bound));
        }
        assert_eq!(Random::constant(7).next_u64(), 7);
    }

    #[test]
    fn bounds_are_inclusive_and_kept() {
        let mut random = Random::new(1);
        assert_eq!(random.up_to(0), 0);
        let mut seen = [false; 4];
        for _ in 0..200 {
            seen[usize::try_from(random.up_to(3)).unwrap()] = true;
        }
        assert_eq!(seen, [true; 4]);
        random.up_to(u64::MAX);
    }
}
