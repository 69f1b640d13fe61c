//! The one question in flight, and which questions may overtake it.

use super::message::Ticket;
use crate::{Epoch, Timestamp};

/// The kind of a question, in the order in which several due questions go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    Resign,
    Renew,
    Poll(Poll),
    Register,
    Unregister,
    Others,
}

/// How the row is polled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Poll {
    Observe,
    Attempt,
    TakeOver,
}

impl Kind {
    /// Whether a resign or a renewal that is due need not wait for this question, because nobody's
    /// leadership depends on it.
    pub(super) fn gives_way(self) -> bool {
        matches!(self, Self::Poll(Poll::Observe) | Self::Register | Self::Unregister | Self::Others)
    }

    pub(super) fn cannot_wait(self) -> bool {
        matches!(self, Self::Resign | Self::Renew)
    }

    /// Whether this process may hold the row if the outcome is unknown.
    pub(super) fn may_have_won(self) -> bool {
        matches!(self, Self::Poll(Poll::Attempt | Poll::TakeOver))
    }
}

/// A question that was asked and is not answered yet.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Flight {
    pub(super) ticket: Ticket,
    pub(super) kind: Kind,
    /// The own epoch that a resign or a renewal is about.
    pub(super) epoch: Epoch,
    /// When it was asked: the anchor of every trust window.
    pub(super) asked: Timestamp,
}
