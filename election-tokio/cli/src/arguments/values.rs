//! Values as people write them, and what to write instead of what cannot be understood.

use election_driver::file::duration;
use std::{
    num::{IntErrorKind, ParseIntError},
    time::Duration,
};

/// How long an answer may take to a command that only looks, unless it is said.
pub(super) const ANSWER: &str = "5s";

pub(super) fn time(text: &str) -> Result<Duration, String> {
    duration(text, "15s, 500ms or 1m 30s")
}

/// A time in which somebody can answer.
pub(super) fn some_time(text: &str) -> Result<Duration, String> {
    match time(text)? {
        Duration::ZERO => Err("it is zero; write a longer time, or remove it".to_owned()),
        time => Ok(time),
    }
}

/// A time to wait.
pub(super) fn wait(text: &str) -> Result<Duration, String> {
    match time(text)? {
        Duration::ZERO => Err("it is zero; write a longer time, or --try to ask once".to_owned()),
        time => Ok(time),
    }
}

/// An epoch.
pub(super) fn epoch(text: &str) -> Result<u64, String> {
    text.parse().map_err(|error: ParseIntError| match error.kind() {
        IntErrorKind::PosOverflow => "it is too large for an epoch".to_owned(),
        _ => "an epoch is a whole number from 0".to_owned(),
    })
}

/// What a process exits with.
pub(super) fn exit_code(text: &str) -> Result<u8, String> {
    text.parse().map_err(|_| "an exit code is a whole number from 0 to 255".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_that_is_none_is_told_with_what_it_may_be() {
        assert_eq!((epoch("0"), epoch("18446744073709551615")), (Ok(0), Ok(u64::MAX)));
        for wrong in ["-5", "", "x", "1.5", "1e3"] {
            let said = epoch(wrong).expect_err(wrong);
            assert_eq!(said, "an epoch is a whole number from 0");
        }
        let said = epoch("18446744073709551616").expect_err("too large");
        assert_eq!(said, "it is too large for an epoch");
        assert_eq!((exit_code("0"), exit_code("255")), (Ok(0), Ok(255)));
        for wrong in ["256", "-1", "seven"] {
            let said = exit_code(wrong).expect_err(wrong);
            assert_eq!(said, "an exit code is a whole number from 0 to 255");
        }
    }
}
