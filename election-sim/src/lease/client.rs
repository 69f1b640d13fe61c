//! What a node's client does to a register, and what the register makes of it.
//!
//! The row stays what the checkers judge: the leader's value is made of it, and the version says what only a
//! write changes. A register goes by nobody's clock, so that its own may be set at will.

use crate::table::Leader;
use election_core::{
    Epoch, Timestamp,
    lease::{Query, Ticket},
    register::{self, Client, Key, Reply, Request},
};
use std::time::Duration;

/// Of the leader's value: epoch, renewals, whether it is held, and whether it is asked to resign. Of the
/// list: how often it was written.
pub(crate) type Version = (u64, u64, bool, bool);

/// What one statement does to the register.
#[derive(Clone, Debug)]
pub(crate) enum Operation {
    Read(Key),
    Write { key: Key, value: String, expected: Option<Version> },
}

/// The list of candidates.
#[derive(Debug, Default)]
pub(crate) struct Listed {
    value: Option<String>,
    writes: u64,
}

impl Listed {
    fn version(&self) -> Version {
        (self.writes, 0, false, false)
    }

    /// Executes an operation on the list.
    pub(super) fn run(&mut self, operation: &Operation) -> Reply<Version> {
        match operation {
            Operation::Read(_) => {
                Reply::Found(self.value.clone().map(|value| (value, self.version())))
            }
            Operation::Write { value, expected, .. } => {
                if self.value.as_ref().map(|_| self.version()) != *expected {
                    return Reply::Changed;
                }
                self.writes += 1;
                self.value = Some(value.clone());
                Reply::Written(self.version())
            }
        }
    }
}

impl Operation {
    pub(super) fn of(request: &Request<'_, Version>) -> Self {
        match *request {
            Request::Read(key) => Self::Read(key),
            Request::Write { key, value, expected } => {
                Self::Write { key, value: value.to_owned(), expected: expected.copied() }
            }
        }
    }

    pub(super) fn is_of_leader(&self) -> bool {
        matches!(self, Self::Read(Key::Leader) | Self::Write { key: Key::Leader, .. })
    }

    pub(super) fn writes_leader(&self) -> bool {
        matches!(self, Self::Write { key: Key::Leader, .. })
    }

    /// Executes the operation on the leader's value.
    pub(super) fn run(&self, leader: &mut Leader) -> Reply<Version> {
        match self {
            Self::Read(_) => Reply::Found(version(leader).map(|known| (value(leader), known))),
            Self::Write { expected, .. } if version(leader) != *expected => Reply::Changed,
            Self::Write { value, .. } => {
                *leader = row(value);
                version(leader).map_or(Reply::Changed, Reply::Written)
            }
        }
    }
}

fn version(leader: &Leader) -> Option<Version> {
    let asked = leader.resign_requested == Some(leader.term);
    (leader.term != 0).then_some((leader.term, leader.renewals, leader.holder.is_some(), asked))
}

fn value(row: &Leader) -> String {
    let millis = |number| Duration::from_millis(u64::try_from(number).unwrap_or(0));
    let held = row.holder.is_some();
    let mut leader = register::Leader::default();
    (leader.epoch, leader.elected_ms) = (Epoch::new(row.term), row.elected_ms);
    if held {
        leader.holder.clone_from(&row.holder);
        (leader.ttl, leader.renewals) = (millis(row.ttl_ms), row.renewals);
        leader.resign_requested = row.resign_requested == Some(row.term);
    }
    leader.to_string()
}

/// The row that the checkers judge.
fn row(value: &str) -> Leader {
    let leader: register::Leader = value.parse().unwrap_or_default();
    let ttl_ms = i64::try_from(leader.ttl.as_millis()).unwrap_or(i64::MAX);
    Leader {
        term: leader.epoch.get(),
        holder: leader.holder,
        elected_ms: leader.elected_ms,
        expires_ms: 0, // until it is committed
        ttl_ms,
        renewals: leader.renewals,
        resign_requested: leader.resign_requested.then_some(leader.epoch.get()),
    }
}

/// The question of a node that its client is about to answer.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(super) ticket: Ticket,
    pub(super) query: Query,
    pub(super) asked: Timestamp,
    pub(super) deadline: Timestamp,
}

/// What a node has for the register.
#[derive(Debug)]
pub(crate) struct Desk {
    pub(super) client: Client<Version>,
    pub(super) asked: Option<Asked>,
    /// The number of the statement under way.
    pub(super) nth: u64,
}

impl Desk {
    pub(super) fn new(client: Client<Version>) -> Self {
        Self { client, asked: None, nth: 0 }
    }
}
