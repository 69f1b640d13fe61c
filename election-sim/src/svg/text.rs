//! Numbers and words as the pictures show them.

use crate::outcome::Outcome;
use std::time::Duration;

/// Whether the text is about who leads, rather than one of the many that report no change.
pub(super) fn decides(text: &str) -> bool {
    let words = ["OFFER", "ACCEPT", "ANNOUNCE", ": won", ": gone", ": released"];
    words.iter().any(|word| text.contains(word))
}

pub(super) fn headline(outcome: &Outcome) -> String {
    match &outcome.violation {
        Some(violation) => format!("{}: {}", violation.check, violation.what),
        None if outcome.broken.is_empty() => "nothing violated".into(),
        None => format!("beyond the contract, broken: {}", outcome.broken.join(", ")),
    }
}

/// A step of one, two or five times a power of ten, at least `least`.
pub(super) fn round_step(least: f64) -> f64 {
    let power = 10_f64.powf(least.log10().floor());
    [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .map(|n| n * power)
        .find(|step| *step >= least)
        .unwrap_or(power)
}

pub(super) fn time_label(at: Duration) -> String {
    let seconds = format!("{:.6}", at.as_secs_f64());
    format!("{} s", seconds.trim_end_matches('0').trim_end_matches('.'))
}

pub(super) fn shortened(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most - 1).chain(['…']).collect()
}

pub(super) fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\n' | '\t' => safe.push(c),
            // XML does not allow even an escaped control character.
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => safe.push('\u{fffd}'),
            c => safe.push(c),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_stand_at_round_times() {
        for (least, step) in [(0.9, 1.0), (1.0, 1.0), (1.1, 2.0), (3.0, 5.0), (60.0, 100.0)] {
            assert!((round_step(least) - step).abs() < 1e-9, "{least}");
        }
        assert_eq!(time_label(Duration::from_millis(1_500)), "1.5 s");
        assert_eq!(time_label(Duration::from_secs(100)), "100 s");
    }

    #[test]
    fn names_cannot_break_out() {
        assert_eq!(escaped("a<b>&\"\u{0}"), "a&lt;b&gt;&amp;&quot;\u{fffd}");
        assert_eq!(shortened("abcdef", 4), "abc…");
    }
}
