//! This node's own data, as far as elections depend on it.

use super::position::Position;

/// The position of the data, and whether it continues a primary's.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Data {
    /// `None` until the application knows it. A node that took its data for older than they are
    /// could vote for data that lack what it has acknowledged.
    known: Option<Position>,
    /// Whether the data is known to continue some primary's. Until then its offset must not impress
    /// peers that know nothing of histories.
    pub(super) resynced: bool,
}

impl Data {
    pub(super) const fn new(known: Option<Position>) -> Self {
        Self { known, resynced: false }
    }

    /// The application has said how far the data have come.
    pub(super) fn report(&mut self, position: Position) {
        self.known = Some(position);
    }

    pub(super) fn is_known(&self) -> bool {
        self.known.is_some()
    }

    /// How far the data have come; the beginning if nobody knows. Nobody may count on that: a node
    /// that does not know neither votes nor campaigns, and says so.
    pub(super) fn position(&self) -> Position {
        self.known.unwrap_or_default()
    }

    /// Whether the data may be a fork. (Without histories nobody can tell; kevy-elect's rule holds,
    /// offset alone.)
    pub(super) fn may_be_forked(&self) -> bool {
        !self.resynced && self.position().history != 0
    }

    /// The position as shown to a peer: with peers that cannot tell histories apart, a fork must
    /// not win by its offset.
    pub(super) fn shown_to(&self, knows_histories: bool) -> Position {
        let position = self.position();
        let offset = if knows_histories || !self.may_be_forked() { position.offset } else { 0 };
        Position { offset, ..position }
    }

    /// Compares the data with that of the primary that this node follows. A replica is never ahead
    /// of its primary, unless it is a fork.
    pub(super) fn follows(&mut self, primary: Position, tells_history: bool) {
        let Some(own) = self.known else { return };
        let one_history = !tells_history || own.history == primary.history;
        self.resynced |= one_history && own.offset <= primary.offset;
    }
}
