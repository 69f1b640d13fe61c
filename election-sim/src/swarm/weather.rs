//! What every schedule has, whatever is elected by.

use crate::{
    draw::Dice,
    schedule::{Member, name},
};
use std::time::Duration;

/// One node, with a clock of its own.
pub(super) fn member(dice: &mut Dice, n: usize, count: usize, drift: u32) -> Member {
    let drift = i32::try_from(drift).unwrap_or(0);
    let ppm = match dice.between(0, 3) {
        0 => 0,
        1 => drift,
        2 => -drift,
        _ => {
            i32::try_from(dice.between(0, 2 * u64::from(drift.unsigned_abs()))).unwrap_or(0) - drift
        }
    };
    let cloned = n > 0 && dice.one_in(8);
    Member {
        name: if cloned { name(0) } else { name(n) },
        offset: Duration::from_nanos(dice.between(1, 1 << 50)),
        ppm,
        observer: n + 1 == count && count > 2 && dice.one_in(6),
        data: (0, 0),
    }
}

pub(super) fn micros(span: Duration) -> u64 {
    u64::try_from(span.as_micros()).unwrap_or(u64::MAX)
}
