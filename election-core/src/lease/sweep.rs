//! Whether the list may still hold candidates that left long ago.

use super::message::Failure;

/// What a registration does about them. Nothing but their end depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Sweep {
    /// It removes some of them.
    Due,
    /// It leaves them: the last one has failed, perhaps because of the sweep.
    Paused,
    /// Nothing is left, or this process may not remove it.
    Done,
}

impl Sweep {
    /// A registration has succeeded; `more` says that its sweep may have left some.
    pub(super) fn listed(&mut self, more: bool) {
        *self = if more || *self == Self::Paused { Self::Due } else { Self::Done };
    }

    pub(super) fn failed(&mut self, failure: Failure) {
        if *self == Self::Due {
            *self = if failure == Failure::Fatal { Self::Done } else { Self::Paused };
        }
    }
}
