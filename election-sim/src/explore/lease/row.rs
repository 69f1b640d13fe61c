//! The row as one server has it, and the history of that server.
//!
//! [`crate::table`] alone defines what a statement does to it. This file translates what the table says
//! in numbers that grow for ever: the range of epochs that each history has of its own, and since when
//! the history is known.

use super::{
    names::{Named, place},
    parts::Part,
};
use crate::table::{Leader, Promoted};
use election_core::{
    Candidate, Epoch,
    lease::{Answer, Names, Query, Server},
};
use std::hash::{Hash, Hasher};

/// The leader row and its server. Instants count from the database's present reading.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) leader: Leader,
    pub(super) server: Promoted,
    /// All epochs that were won before the server's history began are up to this one.
    pub(super) floor: Epoch,
}

/// Since when a history is known, as readers learn it: one history is known since one time.
const KNOWN_MS: i64 = 0;

impl Hash for Row {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.server, self.floor).hash(state);
        let Leader { term, holder, elected_ms, expires_ms, ttl_ms, renewals, resign_requested } =
            &self.leader;
        (term, holder, elected_ms, expires_ms, ttl_ms, renewals, resign_requested).hash(state);
    }
}

impl Row {
    /// Executes a statement at this reading of the clock.
    pub(super) fn run(&mut self, who: &Candidate, query: &Query, at_ms: i64) -> Answer {
        self.begin(query, at_ms);
        let known = match query {
            Query::TakeOver { server, .. } => server.since_ms.and(self.server.since_ms),
            _ => None,
        };
        let before = self.leader.term;
        let query = &with_record(query, known);
        let mut answer = self.leader.run(who, None, query, &self.server, at_ms);
        match &mut answer {
            Answer::Won { epoch, .. } if self.server.history > Server::FIRST_HISTORY => {
                // As high as the range of the history, but a rank.
                self.leader.term = before.max(self.floor.get()) + 1;
                *epoch = Epoch::new(self.leader.term);
            }
            Answer::Seen(row) => row.server.since_ms = row.server.since_ms.map(|_| KNOWN_MS),
            _ => {}
        }
        answer
    }

    /// A statement begins: an attempt records the history before it waits for anything.
    pub(super) fn begin(&mut self, query: &Query, at_ms: i64) {
        if matches!(query, Query::Attempt { .. }) {
            self.server.found(at_ms);
        }
        if self.server.history == Server::FIRST_HISTORY {
            self.server.since_ms = None;
        }
    }

    /// A server takes over that has this row, its clock so much ahead.
    pub(super) fn promote(&mut self, ahead_ms: i64, highest: Epoch) {
        self.server = self.server.next();
        self.floor = self.floor.max(highest);
        self.leader.expires_ms -= ahead_ms;
        self.settle();
    }

    /// Removes what no statement asks about.
    pub(super) fn settle(&mut self) {
        self.leader.elected_ms = 0;
        if self.leader.resign_requested != Some(self.leader.term) {
            self.leader.resign_requested = None;
        }
        if self.floor < Epoch::new(self.leader.term) {
            self.floor = Epoch::NONE;
        }
    }

    /// How long ago an end passed does not matter, unless the clock of a waiting statement stood
    /// still before that end.
    pub(super) fn settled(&self) -> Self {
        let mut row = self.clone();
        row.leader.expires_ms = row.leader.expires_ms.max(0);
        row
    }

    /// Lets time pass. For how long the history is known does not matter after `proof_ms`.
    pub(super) fn age(&self, by_ms: i64, longest_ms: i64, proof_ms: i64) -> Self {
        let mut row = self.clone();
        let since = row.server.since_ms.map(|since| (since - by_ms).max(-proof_ms));
        row.server.since_ms = since;
        row.leader.expires_ms = (row.leader.expires_ms - by_ms).max(-longest_ms - 1);
        row
    }

    pub(super) fn facts(&self, unit_ms: i64) -> RowFacts {
        let small = |number| u8::try_from(number).unwrap_or(u8::MAX);
        let units = |ms: i64| u64::try_from(ms).unwrap_or(0);
        let ends = units(self.leader.expires_ms);
        RowFacts {
            term: small(self.leader.term),
            holder: self.leader.holder.as_ref().map(|holder| {
                let (node, life) = place(&holder.candidate);
                (small(node as u64), small(life as u64))
            }),
            ends: u16::try_from(ends.div_ceil(units(unit_ms).max(1))).unwrap_or(u16::MAX),
            asked: self.leader.resign_requested.is_some(),
        }
    }
}

/// What a search asks about the row at every turn.
#[derive(Clone, Copy, Debug)]
pub(super) struct RowFacts {
    pub(super) term: u8,
    /// The node and life of the holder.
    pub(super) holder: Option<(u8, u8)>,
    /// The number of units until the lease expires.
    pub(super) ends: u16,
    pub(super) asked: bool,
}

impl Part for Row {
    type Facts = RowFacts;
    const KIND: u64 = 3;
}

impl Named for Row {
    fn rename(&mut self, names: &mut impl Names) {
        self.leader.term = names.epoch(Epoch::new(self.leader.term)).get();
        self.floor = names.bound(self.floor);
        if let Some(term) = &mut self.leader.resign_requested {
            *term = names.epoch(Epoch::new(*term)).get();
        }
        self.leader.renewals = names.ordinal(self.leader.renewals);
        if let Some(holder) = &mut self.leader.holder {
            holder.candidate = names.candidate(&holder.candidate);
        }
    }
}

/// The question with the time that the table knows.
fn with_record(query: &Query, since_ms: Option<i64>) -> Query {
    let mut query = query.clone();
    if let Query::TakeOver { server, .. } = &mut query {
        server.since_ms = since_ms;
    }
    query
}
