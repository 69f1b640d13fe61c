//! The parameters of faults other than nodes and times.

use super::contract::Class;
use std::time::Duration;

/// The directions of a cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CutDirection {
    /// Both.
    Both,
    /// Statements do not arrive.
    Requests,
    /// Statements are executed, but their answers are lost.
    Replies,
}

/// What can happen to one frame between two nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameFault {
    /// It never arrives, or only its beginning: its connection breaks.
    Lost,
    /// It arrives, and its connection breaks behind it. The sender cannot know: a heartbeat of a
    /// quorum comes again on the next connection. (A frame of a user's app just comes twice.)
    Twice,
    /// It arrives this much later, after frames that were sent after it.
    Late(Duration),
}

/// What can happen to what a node has stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiskFault {
    /// It is gone: a disk that was replaced.
    Lost,
    /// The ballot is half written and unreadable.
    Torn,
    /// It is as it was this long ago: a snapshot was restored. This takes back votes, after which
    /// nothing protects.
    Stale(Duration),
}

/// How ballots are saved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SaveFault {
    /// Each save takes up to this much longer.
    Slow(Duration),
    /// Each save fails, and then nobody knows what is on the disk.
    Failing,
    /// No save ends before this fault ends.
    Hanging,
    /// Each save is reported durable at once but is not: a crash takes it back, and votes with it.
    Lying,
}

/// What can happen to one statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatementFault {
    /// It never arrives.
    Lost,
    /// It arrives this much later, perhaps after its client gave up.
    Late(Duration),
    /// It arrives, reads the clock, and executes this much later.
    Stalled(Duration),
    /// It is executed but never answered.
    Unanswered,
    /// Its answer comes this much later.
    Slow(Duration),
    /// It is answered twice.
    Twice,
    /// It is certainly not executed, and its client is told so.
    Refused,
    /// It fails like a statement against a missing table: it is not executed, nor will the next be.
    Fatal,
    /// It hits somebody's lock and is not executed.
    Locked,
    /// It is executed, and its client is told that the outcome is unknown.
    Unknown,
    /// It is not executed, and its client is told that the outcome is unknown.
    Aborted,
    /// A read is answered by a replica that is this far behind.
    Stale(Duration),
    /// Its success is reported and then taken back, as a crash under asynchronous commit does.
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

    /// The same fault with another time, if it has one.
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
