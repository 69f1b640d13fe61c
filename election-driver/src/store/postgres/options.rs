//! How long a session may be idle according to the user's own startup options, in a URL
//! (`options=-c idle_session_timeout=10s`) or in `PGOPTIONS`.
//!
//! The store sets the same for its own sessions, and of two settings the server takes the last. An
//! operator who bounds sessions expects the bound to hold: whichever is shorter wins.

use super::session::IDLE;
use sqlx::postgres::PgConnectOptions;
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

/// How long the user lets a session be idle.
#[derive(Clone)]
pub(super) struct OwnIdle {
    /// Zero is no limit.
    time: Option<Duration>,
    /// Whether the warning has been logged.
    warned: Arc<AtomicBool>,
}

impl OwnIdle {
    pub(super) fn of(options: &PgConnectOptions) -> Self {
        Self { time: options.get_options().and_then(idle), warned: Arc::default() }
    }

    /// The store's own time for a session to be idle, or the user's if that is shorter.
    pub(super) fn at_most(&self, ours: Duration) -> Duration {
        self.time.filter(|own| !own.is_zero()).map_or(ours, |own| own.min(ours))
    }

    /// Warns of a time that does not hold, or that is too short for a lease; once, since it concerns
    /// the options and not a connection.
    pub(super) fn warn(&self, place: &str, ours: Duration, lease: Duration) {
        let Some(own) = self.time else { return };
        if self.warned.swap(true, Ordering::Relaxed) {
            return;
        }
        if own.is_zero() || own > ours {
            tracing::warn!(
                place,
                "{IDLE} in the connection's options is longer than the {} s after which the server \
                 ends an elector's idle sessions, so that time applies instead; remove the option \
                 to silence this warning",
                ours.as_secs()
            );
        } else if own < lease {
            tracing::warn!(
                place,
                "{IDLE} in the connection's options is shorter than the lease: the server may end \
                 the elector's connection between two calls, and the lease may be lost; set it to \
                 at least the ttl"
            );
        }
    }
}

/// The time that the options name last, if the server would understand it.
fn idle(options: &str) -> Option<Duration> {
    let words = words(options);
    let mut words = words.iter().map(String::as_str);
    let mut said = None;
    while let Some(word) = words.next() {
        let setting = match word.strip_prefix("--") {
            Some(setting) => Some(setting),
            None if word == "-c" => words.next(),
            None => word.strip_prefix("-c"),
        };
        let Some((name, value)) = setting.and_then(|setting| setting.split_once('=')) else {
            continue;
        };
        if name.replace('-', "_").eq_ignore_ascii_case(IDLE) {
            said = time(value);
        }
    }
    said
}

/// Splits at white space that no backslash precedes.
fn words(options: &str) -> Vec<String> {
    let (mut words, mut word) = (Vec::new(), String::new());
    let mut characters = options.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => word.extend(characters.next()),
            space if space.is_ascii_whitespace() => words.push(std::mem::take(&mut word)),
            other => word.push(other),
        }
    }
    words.push(word);
    words.retain(|word| !word.is_empty());
    words
}

/// A number of milliseconds, or of another unit that is named.
fn time(value: &str) -> Option<Duration> {
    let value = value.trim();
    let unit = value.find(|character: char| character.is_ascii_alphabetic());
    let (number, unit) = value.split_at(unit.unwrap_or(value.len()));
    let seconds = match unit {
        "us" => 0.000_001,
        "" | "ms" => 0.001,
        "s" => 1.0,
        "min" => 60.0,
        "h" => 3600.0,
        "d" => 86_400.0,
        _ => return None,
    };
    Duration::try_from_secs_f64(number.trim().parse::<f64>().ok()? * seconds).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_time_that_a_session_may_be_idle_counts() {
        for (options, expected) in [
            ("", None),
            ("-c geqo=off", None),
            ("-c idle_session_timeout=5000", Some(5000)),
            ("-cidle_session_timeout=5s -c geqo=off", Some(5000)),
            ("--idle-session-timeout=2min", Some(120_000)),
            (r"-c IDLE_SESSION_TIMEOUT=1.5\ s", Some(1500)),
            ("-c idle_session_timeout=5s  -c idle_session_timeout=0", Some(0)),
            ("-c idle_session_timeout=soon", None),
            ("-c idle_in_transaction_session_timeout=5s", None),
            ("-c", None),
        ] {
            let expected = expected.map(Duration::from_millis);
            assert_eq!(idle(options), expected, "{options}");
        }
    }
}
