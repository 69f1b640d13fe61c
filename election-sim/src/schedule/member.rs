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
    /// The node follows and never leads.
    pub observer: bool,
    /// How far its data has come at the start: history and offset. Only quorums use it.
    pub data: (u64, u64),
}

impl Member {
    /// A candidate with a true clock.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            offset: Duration::from_secs(1),
            ppm: 0,
            observer: false,
            data: (0, 0),
        }
    }
}
