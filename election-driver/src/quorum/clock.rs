//! The wall clock, which only certificates and the end of a pause depend on.

use election_core::quorum::UnixMillis;
use std::time::SystemTime;

/// An instant of it; the beginning of 1970 for all before.
pub(super) fn unix_millis(at: SystemTime) -> UnixMillis {
    let since = at.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    UnixMillis(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}
