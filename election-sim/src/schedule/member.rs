//! One node, as data.

use std::time::Duration;

/// One node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Its configured name. Two nodes may share one, as cloned configurations do.
    pub name: String,
    /// What its clock reads at the start.
    pub offset: Duration,
    /// How fast its clock gains, in parts per million.
    pub ppm: i32,
    /// The length of its leases, unless it is that of all. Only leases use it.
    pub ttl: Option<Duration>,
    /// The node follows and never leads.
    pub observer: bool,
    /// It votes without data, and never leads. Only quorums use it.
    pub witness: bool,
    /// It is no member at first, and runs once an operator adds it. Only quorums use it.
    pub spare: bool,
    /// How far its data has come at the start: history and offset. Only quorums use it.
    pub data: (u64, u64),
    /// What it runs. Only quorums use it.
    pub software: Software,
}

/// What the processes of a quorum's member run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Software {
    /// This protocol.
    Own,
    /// kevy-elect's protocol, by its rules.
    Legacy,
    /// This protocol until the member's first restart, then kevy-elect's.
    Downgraded,
    /// kevy-elect's protocol until the member's first restart, then this one.
    Upgraded,
}

impl Software {
    /// Whether a process runs kevy-elect's protocol in this life of its node, counted from one.
    #[must_use]
    pub const fn is_legacy(self, life: u32) -> bool {
        match self {
            Self::Own => false,
            Self::Legacy => true,
            Self::Downgraded => life > 1,
            Self::Upgraded => life <= 1,
        }
    }
}

impl Member {
    /// A candidate with a true clock.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            offset: Duration::from_secs(1),
            ppm: 0,
            ttl: None,
            observer: false,
            witness: false,
            spare: false,
            data: (0, 0),
            software: Software::Own,
        }
    }
}
