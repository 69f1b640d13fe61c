//! Times as people write them.

use std::time::Duration;

/// Parses a time.
///
/// # Errors
/// What is wrong with it, and how to write it: like `example`.
pub fn duration(text: &str, example: &str) -> Result<Duration, String> {
    if text.starts_with("--") {
        return Err(format!(
            "the time is missing before this; write it after the option, like {example}"
        ));
    }
    if text.trim_start().starts_with('-') {
        return Err(format!("a time cannot be negative; write it like {example}"));
    }
    humantime::parse_duration(text)
        .map_err(|error| format!("not a duration: {error}; write it like {example}"))
}
