//! This node's own data, as far as an election goes by it.

use super::position::Position;

/// How far the data has come, and whose continuation it is.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub(super) struct Data {
    pub(super) position: Position,
    /// Whether the data is known to be a continuation of some primary's. Until then its length
    /// must not impress peers that know nothing of histories.
    pub(super) resynced: bool,
}

impl Data {
    /// Whether it may be a fork. (Without histories nobody could tell one; kevy-elect's rule
    /// holds, offset alone.)
    pub(super) fn may_be_forked(&self) -> bool {
        !self.resynced && self.position.history != 0
    }

    /// The position as somebody is to see it: a fork must not win by its length with those that
    /// cannot tell histories apart.
    pub(super) fn shown_to(&self, knows_histories: bool) -> Position {
        let offset =
            if knows_histories || !self.may_be_forked() { self.position.offset } else { 0 };
        Position { offset, ..self.position }
    }

    /// Compares with the primary that is followed: a replica is never ahead of it, unless it is a
    /// fork.
    pub(super) fn follows(&mut self, primary: Position, tells_history: bool) {
        let one_history = !tells_history || self.position.history == primary.history;
        self.resynced |= one_history && self.position.offset <= primary.offset;
    }
}
