//! What a primary has seen of the preferred member.

use crate::{
    Timestamp,
    quorum::{message::Connection, position::Position, state::peers::View},
};

/// Since when the preferred member has been able to lead.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub(crate) struct FailBack(Option<Streak>);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Streak {
    since: Timestamp,
    /// How far the primary's own data had come at the last look. A member that keeps up has come as
    /// far at the next.
    reached: Position,
    /// The connection that the member was seen on. Whoever restarts has another.
    connection: Option<Connection>,
}

impl FailBack {
    /// The member cannot lead, or need not be watched.
    pub(crate) fn forget(&mut self) {
        self.0 = None;
    }

    /// The member can lead, while this primary's own data have come so far. Returns since when it
    /// has been able to at every look.
    pub(crate) fn sees(&mut self, view: &View, reached: Position, now: Timestamp) -> Timestamp {
        let connection = view.open_connection();
        let goes_on = |streak: &Streak| {
            let Position { history, offset } = streak.reached;
            let keeps_up = view.position.history == history && view.position.offset >= offset;
            streak.connection == connection && keeps_up
        };
        let since = self.0.take().filter(goes_on).map_or(now, |streak| streak.since);
        self.0 = Some(Streak { since, reached, connection });
        since
    }

    /// Moves the instants.
    #[cfg(feature = "model-checking")]
    pub(crate) fn rebase(&mut self, anchor: impl FnOnce(&mut Timestamp)) {
        if let Some(streak) = &mut self.0 {
            anchor(&mut streak.since);
        }
    }
}
