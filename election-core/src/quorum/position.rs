//! The position of a node's data.

/// The position of a node's data.
///
/// `history` tells forked data apart. It grows whenever a primary begins to write, and it is
/// durable *with* the data. Never infer it from following: a forked replica that follows epoch 7
/// must not claim history 7. An application without histories gives zero and gets kevy-elect's
/// rule, offset alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Position {
    /// Compared first.
    pub history: u64,
    /// Compared next: the highest applied replication offset.
    pub offset: u64,
}
