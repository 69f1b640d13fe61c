//! Values as people write them, and what to write instead of what cannot be understood.

use std::{
    num::{IntErrorKind, ParseIntError},
    time::Duration,
};

pub(super) fn time(text: &str) -> Result<Duration, String> {
    duration(text, "15s, 500ms or 1m 30s")
}

/// Parses a duration as people write it, or says what is wrong with it and how to write it.
pub(crate) fn duration(text: &str, example: &str) -> Result<Duration, String> {
    if text.starts_with("--") {
        return Err(format!(
            "the time is missing before this; write it behind the option, like {example}"
        ));
    }
    if text.trim_start().starts_with('-') {
        return Err(format!("a time cannot be negative; write it like {example}"));
    }
    humantime::parse_duration(text).map_err(|error| format!("{error}; write it like {example}"))
}

/// An epoch.
pub(super) fn epoch(text: &str) -> Result<u64, String> {
    text.parse().map_err(|error: ParseIntError| match error.kind() {
        IntErrorKind::PosOverflow => "it is too large for an epoch".to_owned(),
        _ => "an epoch is a whole number, not below 0".to_owned(),
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
            assert_eq!(said, "an epoch is a whole number, not below 0");
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
