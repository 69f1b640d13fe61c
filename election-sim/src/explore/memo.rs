//! Remembers the result for a pair of numbers.

use crate::draw::mix;
use std::{
    collections::HashMap,
    hash::{BuildHasherDefault, Hasher},
};

/// A map from pairs of numbers to numbers.
#[derive(Default)]
pub(super) struct Memo(HashMap<u64, u32, BuildHasherDefault<Ready>>);

impl Memo {
    pub(super) fn get(&self, a: u32, b: u32) -> Option<u32> {
        self.0.get(&key(a, b)).copied()
    }

    pub(super) fn set(&mut self, a: u32, b: u32, to: u32) {
        self.0.insert(key(a, b), to);
    }
}

fn key(a: u32, b: u32) -> u64 {
    u64::from(a) << 32 | u64::from(b)
}

/// A hasher for keys that are plain numbers.
#[derive(Clone, Copy, Default)]
pub(super) struct Ready(u64);

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
