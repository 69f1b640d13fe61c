//! One life of a node, as the world begins it.

use election_core::{Candidate, lease::ConfigBuilder};

/// One life of a node, before its code runs.
#[derive(Clone, Debug)]
pub(crate) struct Life {
    pub(crate) node: usize,
    pub(crate) life: u32,
    pub(crate) nodes: usize,
    pub(crate) config: ConfigBuilder,
    pub(crate) candidate: Candidate,
    /// Whether the database notifies of changes.
    pub(crate) notifies: bool,
}
