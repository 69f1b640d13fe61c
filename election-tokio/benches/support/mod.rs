//! How figures are shown: the same columns for all, so that they can be set side by side.

use std::time::Duration;

/// Prints how long something took.
pub(crate) fn shown(what: &str, mut times: Vec<Duration>) {
    times.sort();
    let at = |share: usize| times[(times.len() * share / 100).min(times.len() - 1)];
    println!(
        "{what:<58} p50 {:>9.2?}  p99 {:>9.2?}  worst {:>9.2?}  ({} times)",
        at(50),
        at(99),
        times[times.len() - 1],
        times.len()
    );
}
