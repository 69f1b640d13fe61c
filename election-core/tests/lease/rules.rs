//! One test per rule of the protocol; the head of `lease` states them.

mod candidacy;
mod clock_step;
mod epochs;
mod failover;
mod following;
mod handover;
mod least;
mod leftovers;
mod release;
mod stale;
mod trust;
mod unknown;
mod wakes;

pub(crate) use crate::hand::{
    Hand, candidate, elects, fifteen_seconds, held, ms, renewed, vacant, won,
};
pub(crate) use core::time::Duration;
pub(crate) use election_core::{
    Candidate, Change, Epoch, Input, Loss, Protocol, Timestamp,
    lease::{
        Action, Answer, Config, ConfigBuilder, Event, Failure, Lease, Query, Role, Row, Server,
        Ticket,
    },
};
pub(crate) use std::collections::BTreeSet;

pub(crate) fn at(millis: u64) -> Timestamp {
    Timestamp::ZERO + ms(millis)
}

pub(crate) fn epoch(number: u64) -> Epoch {
    Epoch::new(number)
}

#[track_caller]
pub(crate) fn lost(change: Option<Change>) -> (Loss, Timestamp) {
    match change {
        Some(Change::Lost { reason, stop_by, .. }) => (reason, stop_by),
        other => panic!("expected a loss, got {other:?}"),
    }
}
