//! The row's past states, which a replica that is behind still shows.

use crate::table::Leader;

/// The row as it was at this time; `otherwise` if nothing is recorded.
pub(super) fn state_at<'a>(
    history: Option<&'a [(u64, Leader)]>,
    then: u64,
    otherwise: &'a Leader,
) -> &'a Leader {
    let history = history.unwrap_or_default();
    match history.partition_point(|(since, _)| *since <= then) {
        0 => otherwise,
        after => &history[after - 1].1,
    }
}
