//! Values as people write them, and what to write instead of what cannot be understood.

use std::time::Duration;

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

/// An epoch. They count from one; a job may have to say that it wants any.
pub(super) fn epoch(text: &str) -> Result<u64, String> {
    whole(text, "an epoch", u64::MAX)
}

/// What a process exits with.
pub(super) fn exit_code(text: &str) -> Result<u8, String> {
    let code = whole(text, "an exit code", u8::MAX.into())?;
    Ok(u8::try_from(code).unwrap_or(u8::MAX))
}

/// A whole number up to `most`, which `what` is.
fn whole(text: &str, what: &str, most: u64) -> Result<u64, String> {
    let number = text.parse().ok().filter(|number| *number <= most);
    number.ok_or_else(|| format!("{what} is a whole number from 0 to {most}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_that_is_none_is_told_with_what_it_may_be() {
        assert_eq!((epoch("0"), epoch("18446744073709551615")), (Ok(0), Ok(u64::MAX)));
        for wrong in ["-5", "", "x", "1.5", "1e3", "18446744073709551616"] {
            let said = epoch(wrong).expect_err(wrong);
            assert_eq!(said, "an epoch is a whole number from 0 to 18446744073709551615");
        }
        assert_eq!((exit_code("0"), exit_code("255")), (Ok(0), Ok(255)));
        for wrong in ["256", "-1", "seven"] {
            let said = exit_code(wrong).expect_err(wrong);
            assert_eq!(said, "an exit code is a whole number from 0 to 255");
        }
    }
}
