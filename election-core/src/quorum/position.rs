//! The position of a node's data.

use core::fmt;

/// The position of a node's data.
///
/// `history` tells forked data apart. It grows whenever a primary begins to write, and it is
/// durable *with* the data. Never infer it from following: a forked replica that follows epoch 7
/// must not claim history 7. An application without histories gives zero and gets kevy-elect's
/// rule, offset alone.
///
/// # Choosing a history
///
/// When a node is elected, it begins a history before its first write: the epoch of its
/// [`Tenure`](crate::Tenure), which no other primary ever has. It writes that number into its log,
/// and replicas copy it with the data, so that every copy knows which primary wrote its last entry.
/// A replica that finds entries of another history after the point where it and its primary agree
/// drops them, and only then reports the primary's history. So Raft does with the term of the last
/// log entry, and PostgreSQL with the timeline of its write-ahead log. Any number serves that is
/// durable with the data and grows with every primary.
///
/// An application without data gives zero for both. One that has data, but must still read how far
/// they have come, starts its node without a position ([`Quorum::new`](super::Quorum::new)).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Position {
    /// Compared first.
    pub history: u64,
    /// Compared next: the highest applied replication offset.
    pub offset: u64,
}

/// `history/offset`, or the offset alone where there are no histories.
impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.history == 0 {
            return self.offset.fmt(f);
        }
        write!(f, "{}/{}", self.history, self.offset)
    }
}
