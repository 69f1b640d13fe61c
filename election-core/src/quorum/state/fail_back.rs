//! What a primary has seen of the preferred member.

use crate::{
    Timestamp,
    quorum::{message::Connection, position::Position},
};

/// What the primary has seen of the preferred member.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct FailBack {
    /// When to look next.
    pub(crate) look_at: Timestamp,
    /// Since when the member has been able to lead, and how far the primary's own data had come at
    /// the last look. A member that keeps up has come as far at the next.
    pub(crate) streak: Option<Streak>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Streak {
    pub(crate) since: Timestamp,
    pub(crate) reached: Position,
    /// The connection that it was seen on. Whoever restarts has another.
    pub(crate) connection: Option<Connection>,
}

impl FailBack {
    /// Nobody looks.
    pub(crate) const fn new() -> Self {
        Self { look_at: Timestamp::MAX, streak: None }
    }

    /// Moves the instants.
    #[cfg(feature = "model-checking")]
    pub(crate) fn rebase(&mut self, mut anchor: impl FnMut(&mut Timestamp)) {
        anchor(&mut self.look_at);
        if let Some(streak) = &mut self.streak {
            anchor(&mut streak.since);
        }
    }
}
