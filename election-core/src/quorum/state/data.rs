//! This node's own data, as far as elections depend on it.

use crate::quorum::position::Position;

/// The position of the data, and whether it continues a primary's.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Data {
    position: Position,
    /// Whether the application knows the position. A node that took its data for older than they are
    /// could vote for data that lack what it has acknowledged.
    known: bool,
    /// Whether the data is known to continue some primary's. Until then its offset must not impress
    /// peers that know nothing of histories.
    pub(crate) resynced: bool,
    /// What a witness has in place of data.
    memory: Option<Memory>,
}

/// The memory of a witness: how far its primaries have come. It votes for nobody who has come less
/// far, as if it had the data itself. What it states is durable, because writes may be acknowledged
/// on the strength of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Memory {
    durable: Position,
    /// The position in the record that is being saved.
    saving: Position,
}

impl Data {
    pub(crate) fn new(known: Option<Position>) -> Self {
        let (position, known) = (known.unwrap_or_default(), known.is_some());
        Self { position, known, resynced: false, memory: None }
    }

    /// A witness that has recorded this position.
    pub(crate) const fn of_witness(durable: Position) -> Self {
        let memory = Memory { durable, saving: durable };
        Self { position: durable, known: true, resynced: false, memory: Some(memory) }
    }

    pub(crate) fn is_witness(&self) -> bool {
        self.memory.is_some()
    }

    /// The application has said how far the data have come.
    pub(crate) fn report(&mut self, position: Position) {
        if self.memory.is_none() {
            (self.position, self.known) = (position, true);
        }
    }

    /// A witness hears how far its primary has come. Returns whether it has to record that.
    pub(crate) fn witness(&mut self, primary: Position) -> bool {
        let is_news = self.memory.is_some() && primary > self.position;
        if is_news {
            self.position = primary;
        }
        is_news
    }

    /// The node leads: its data are the primary's.
    pub(crate) fn lead(&mut self) {
        self.resynced = true;
    }

    /// The node leads no longer: what it wrote last may belong to no later history.
    pub(crate) fn may_fork(&mut self) {
        self.resynced = false;
    }

    /// The ballot is being saved. Returns the position that belongs into it.
    pub(crate) fn save(&mut self) -> Position {
        let Some(memory) = &mut self.memory else { return Position::default() };
        memory.saving = self.position;
        self.position
    }

    /// The ballot has been saved.
    pub(crate) fn saved(&mut self) {
        if let Some(memory) = &mut self.memory {
            memory.durable = memory.saving;
        }
    }

    pub(crate) fn is_known(&self) -> bool {
        self.known
    }

    /// How far the data have come; the beginning if nobody knows. Nobody may count on that: a node
    /// that does not know neither votes nor campaigns, and says so. Of a witness, how far it has
    /// heard that its primaries have come.
    pub(crate) fn position(&self) -> Position {
        self.position
    }

    /// Whether peers that cannot tell histories apart must not see the offset: the data may be a
    /// fork, or there are none. (Without histories nobody can tell a fork; kevy-elect's rule holds,
    /// offset alone. Its candidates would wait for a witness that is ahead of them.)
    pub(crate) fn is_hidden(&self) -> bool {
        match self.memory {
            Some(_) => self.position.offset != 0,
            None => !self.resynced && self.position.history != 0,
        }
    }

    /// The position as shown to a peer: with peers that cannot tell histories apart, a fork must
    /// not win by its offset.
    pub(crate) fn shown_to(&self, knows_histories: bool) -> Position {
        let position = self.memory.map_or(self.position, |memory| memory.durable);
        let offset = if knows_histories || !self.is_hidden() { position.offset } else { 0 };
        Position { offset, ..position }
    }

    /// Compares the data, once their position is known, with that of the primary that this node
    /// follows. A replica is never ahead of its primary, unless it is a fork.
    pub(crate) fn follows(&mut self, primary: Position, tells_history: bool) {
        let own = self.position;
        let one_history = !tells_history || own.history == primary.history;
        self.resynced |= one_history && own.offset <= primary.offset;
    }
}
