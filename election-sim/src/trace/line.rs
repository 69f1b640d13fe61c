//! A line of a transcript.

use std::time::Duration;

/// One line of a transcript.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// When it happened, in true time since the start.
    pub at: Duration,
    /// The node that it concerns; `None` for the world.
    pub node: Option<usize>,
    /// What kind of event it was.
    pub kind: LineKind,
    /// The event in words.
    pub text: String,
    /// The places that the arrived thing passed, in order; empty if nothing arrived.
    pub path: Vec<Stop>,
}

/// A place on the path of something that travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stop {
    /// The node; `None` for the database.
    pub node: Option<usize>,
    /// When the thing was there.
    pub at: Duration,
}

/// The subject of a line, so that a reader can leave kinds out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LineKind {
    /// A process began or ended.
    Process,
    /// A fault began or ended.
    Fault,
    /// A change of leadership was reported.
    Change,
    /// Leader work has ended.
    Stopped,
    /// A question went to the database.
    Asked,
    /// The row was written.
    Wrote,
    /// An answer came from the database.
    Answered,
    /// A frame arrived.
    Frame,
    /// A save of a ballot has begun or ended.
    Saved,
    /// The user's app noted something: [`Context::note`](crate::Context::note).
    Note,
    /// The user's app sent a write to the resource.
    Write,
    /// The resource accepted a write of the user's app.
    Accepted,
    /// The resource refused a write of the user's app.
    Refused,
    /// The user's app sent a frame to the app of another node.
    Sent,
    /// A frame of the user's app arrived at another node.
    Received,
    /// A frame of the user's app was lost.
    Lost,
}

impl LineKind {
    /// Whether the line is about the user's app.
    pub(crate) fn is_app(self) -> bool {
        matches!(self, Self::Note | Self::Write) || self.is_verdict() || self.is_frame()
    }

    /// Whether a write has arrived at the resource.
    pub(crate) fn is_verdict(self) -> bool {
        matches!(self, Self::Accepted | Self::Refused)
    }

    /// Whether the line is about a frame between apps.
    pub(crate) fn is_frame(self) -> bool {
        matches!(self, Self::Sent | Self::Received | Self::Lost)
    }

    /// Whether the line is one that most readers want.
    pub(crate) fn is_brief(self) -> bool {
        matches!(self, Self::Process | Self::Fault | Self::Change) || self.is_app()
    }
}
