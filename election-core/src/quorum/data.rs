//! This node's own data, as far as elections depend on it.

use super::position::Position;

/// The position of the data, and whether it continues a primary's.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub(super) struct Data {
    pub(super) position: Position,
    /// Whether the data is known to continue some primary's. Until then its offset must not impress
    /// peers that know nothing of histories.
    pub(super) resynced: bool,
}

impl Data {
    /// Whether the data may be a fork. (Without histories nobody can tell; kevy-elect's rule holds,
    /// offset alone.)
    pub(super) fn may_be_forked(&self) -> bool {
        !self.resynced && self.position.history != 0
    }

    /// The position as shown to a peer: with peers that cannot tell histories apart, a fork must
    /// not win by its offset.
    pub(super) fn shown_to(&self, knows_histories: bool) -> Position {
        let offset =
            if knows_histories || !self.may_be_forked() { self.position.offset } else { 0 };
        Position { offset, ..self.position }
    }

    /// Compares the data with that of the primary that this node follows. A replica is never ahead
    /// of its primary, unless it is a fork.
    pub(super) fn follows(&mut self, primary: Position, tells_history: bool) {
        let one_history = !tells_history || self.position.history == primary.history;
        self.resynced |= one_history && self.position.offset <= primary.offset;
    }
}
