//! Until when certificates are valid.

use std::time::SystemTime;

/// Until when certificates are valid. The clock that counts is each machine's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Expiry {
    /// This member's certificate, or one between it and the authority's, whichever ends first.
    pub certificate: SystemTime,
    /// The authority's; of several, the last.
    pub authority: SystemTime,
}
