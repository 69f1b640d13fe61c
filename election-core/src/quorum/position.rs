//! How far a node's data has come.

/// How far a node's data has come.
///
/// `history` tells apart data that has forked: it grows whenever a primary begins to write, and
/// it is durable *with* the data, never inferred from following (a forked replica that follows
/// epoch 7 must not claim history 7). An application without one gives zero and gets the rule of
/// seed 003, offset alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Position {
    /// Compared first.
    pub history: u64,
    /// Compared next: the highest applied replication offset.
    pub offset: u64,
}
