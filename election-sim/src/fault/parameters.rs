//! What faults are made of beside nodes and times.

use super::contract::Class;
use std::time::Duration;

/// The directions of a cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CutDirection {
    /// Both.
    Both,
    /// Statements do not arrive.
    Requests,
    /// Statements are executed and their answers lost.
    Replies,
}

/// What can become of one frame between two nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameFault {
    /// It never arrives.
    Lost,
    /// It arrives twice.
    Twice,
    /// It arrives so much later, after others that were sent after it.
    Late(Duration),
}

/// What can become of what a node has stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiskFault {
    /// It is gone: a disk that was replaced.
    Lost,
    /// The ballot is half written and cannot be read.
    Torn,
    /// It is as it was so long ago: a snapshot that was restored. It takes back votes, after which
    /// nothing protects.
    Stale(Duration),
}

/// How ballots are saved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SaveFault {
    /// Each takes up to this much longer.
    Slow(Duration),
    /// Each fails, after which nobody knows what is on the disk.
    Failing,
    /// None comes to an end before this does.
    Hanging,
    /// Each is reported durable at once and is not: a crash takes it back, and votes with it.
    Lying,
}

/// What can become of one statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatementFault {
    /// It never arrives.
    Lost,
    /// It arrives so much later, perhaps after its client gave up.
    Late(Duration),
    /// It arrives, reads the clock, and executes so much later.
    Stalled(Duration),
    /// It is executed and never answered.
    Unanswered,
    /// It is answered so much later.
    Slow(Duration),
    /// It is answered twice.
    Twice,
    /// It is certainly not executed, and its client is told so.
    Refused,
    /// It fails as a statement against a missing table does: not executed, nor will the next be.
    Fatal,
    /// It ran into somebody's lock and is not executed.
    Locked,
    /// It is executed, and its client is told that nobody knows.
    Unknown,
    /// It is not executed, and its client is told that nobody knows.
    Aborted,
    /// A read comes from a replica that is so far behind.
    Stale(Duration),
    /// Its success is reported and then taken back, as by a crash under asynchronous commit.
    /// Beyond the contract.
    Phantom,
}

impl DiskFault {
    pub(super) const fn class(self) -> Class {
        match self {
            Self::Lost | Self::Torn => Class::Within,
            Self::Stale(_) => Class::Void,
        }
    }
}

impl SaveFault {
    pub(super) const fn class(self) -> Class {
        match self {
            Self::Slow(_) | Self::Failing | Self::Hanging => Class::Within,
            Self::Lying => Class::Void,
        }
    }
}

impl StatementFault {
    pub(super) const fn class(self) -> Class {
        match self {
            Self::Lost
            | Self::Late(_)
            | Self::Stalled(_)
            | Self::Unanswered
            | Self::Slow(_)
            | Self::Twice
            | Self::Refused
            | Self::Fatal
            | Self::Locked
            | Self::Unknown
            | Self::Aborted
            | Self::Stale(_) => Class::Within,
            Self::Phantom => Class::Forgets,
        }
    }

    /// The same with another time, if it has one.
    pub(crate) fn map_span(self, map: impl FnOnce(Duration) -> Duration) -> Self {
        match self {
            Self::Late(by) => Self::Late(map(by)),
            Self::Stalled(by) => Self::Stalled(map(by)),
            Self::Slow(by) => Self::Slow(map(by)),
            Self::Stale(by) => Self::Stale(map(by)),
            Self::Lost
            | Self::Unanswered
            | Self::Twice
            | Self::Refused
            | Self::Fatal
            | Self::Locked
            | Self::Unknown
            | Self::Aborted
            | Self::Phantom => self,
        }
    }
}
