//! The data that the nodes elect for: it grows on the primary and is copied to the others.
//!
//! Where data knows its history, a primary opens a new history before it writes, so that two copies
//! that diverged can be told apart. A copy drops whatever it does not share with the primary's
//! data.

use election_core::quorum::Position;

/// One node's data. It is durable as soon as it grows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Data {
    position: Position,
    past: Vec<(u64, Position)>,
}

impl Data {
    pub(crate) fn new(position: Position) -> Self {
        Self { position, past: vec![(0, position)] }
    }

    /// How far the data has come.
    pub(crate) fn position(&self) -> Position {
        self.position
    }

    /// The leader writes, in this history.
    pub(crate) fn grow(&mut self, now: u64, history: u64) {
        self.set(now, Position { history, offset: self.position.offset + 1 });
    }

    /// Makes this data a copy of another node's. Returns false if it was one already.
    pub(crate) fn copy(&mut self, now: u64, position: Position) -> bool {
        if position == self.position {
            return false;
        }
        self.set(now, position);
        true
    }

    /// Returns the data to its state at the time `then`; `None` means a disk without data.
    pub(crate) fn roll_back(&mut self, now: u64, then: Option<u64>) {
        let position = then.and_then(|then| {
            let before = self.past.partition_point(|(since, _)| *since <= then);
            Some(self.past[before.checked_sub(1)?].1)
        });
        self.set(now, position.unwrap_or_default());
    }

    fn set(&mut self, now: u64, position: Position) {
        self.position = position;
        self.past.push((now, position));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn position(history: u64, offset: u64) -> Position {
        Position { history, offset }
    }

    #[test]
    fn it_grows_is_copied_and_rolled_back() {
        let mut data = Data::new(position(0, 5));
        data.grow(10, 3);
        assert_eq!(data.position(), position(3, 6));
        assert!(data.copy(20, position(4, 2)), "a fork is dropped, however long");
        assert!(!data.copy(21, position(4, 2)));
        data.roll_back(30, Some(15));
        assert_eq!(data.position(), position(3, 6));
        data.roll_back(40, None);
        assert_eq!(data.position(), position(0, 0));
        data.grow(50, 0);
        assert_eq!(data.position(), position(0, 1));
    }
}
