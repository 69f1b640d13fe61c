//! The one question that is in flight, and which may overtake which.

use super::message::Ticket;
use crate::{Epoch, Timestamp};

/// What kind of question; in the order in which they go when several are due.
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
    /// Whether a resign or a renewal, when due, need not wait for this one: it changes nothing
    /// that anybody's leadership hangs on.
    pub(super) fn gives_way(self) -> bool {
        matches!(self, Self::Poll(Poll::Observe) | Self::Register | Self::Unregister | Self::Others)
    }

    pub(super) fn cannot_wait(self) -> bool {
        matches!(self, Self::Resign | Self::Renew)
    }

    /// Whether its unknown outcome may have made this process the holder.
    pub(super) fn may_have_won(self) -> bool {
        matches!(self, Self::Poll(Poll::Attempt | Poll::TakeOver))
    }
}

/// A question that was asked and not yet answered.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Flight {
    pub(super) ticket: Ticket,
    pub(super) kind: Kind,
    /// The own term it is about, for a resign or a renewal.
    pub(super) epoch: Epoch,
    /// When it was asked: the anchor of every trust window.
    pub(super) asked: Timestamp,
}
