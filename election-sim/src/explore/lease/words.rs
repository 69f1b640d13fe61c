//! A counterexample in words.

use super::{
    model::{Lease, ms},
    state::{Move, State},
    statement::Phase,
};
use crate::text::node_name;

/// A move in words, for a reader who looks at the state before it.
pub(super) fn describe(model: &Lease, state: &State, what: Move) -> String {
    let node = |node: u8| node_name(usize::from(node));
    let said = |slot: u8| statement(model, state, slot);
    match what {
        Move::Pass(units) => format!("{:?} pass", model.scope.unit * u32::from(units)),
        Move::Tick(n) => format!("{} is called, as it asked to be", node(n)),
        Move::Execute(slot) => format!("executed: {}", said(slot)),
        Move::Begin(slot) => format!("begins and waits for the lock: {}", said(slot)),
        Move::Deliver(slot) => format!("answered: {}", said(slot)),
        Move::DeliverTwice(slot) => format!("answered, and will be again: {}", said(slot)),
        Move::Fail(slot) => format!("fails for certain: {}", said(slot)),
        Move::Doubt(slot) => format!("nobody knows what became of: {}", said(slot)),
        Move::Lose(slot) => format!("lost: {}", said(slot)),
        Move::Crash(n) => format!("{} is killed", node(n)),
        Move::Start(n) => format!("{} starts", node(n)),
        Move::Resign(n) => format!("{} is told to resign", node(n)),
        Move::Stopped(n) => format!("{}'s leader work has stopped", node(n)),
        Move::Withdraw(n) => format!("{} is told to leave", node(n)),
        Move::Health(n, false) => format!("{} is unhealthy", node(n)),
        Move::Health(n, true) => format!("{} is healthy again", node(n)),
        Move::Wake(n) => format!("{} is told that the row may have changed", node(n)),
        Move::Rumour(n) => format!("{} is told that the leader it follows has resigned", node(n)),
        Move::Pause(n) => format!("{} stands still", node(n)),
        Move::Resume(n) => format!("{} goes on", node(n)),
        Move::Request => "somebody asks the holder to resign".into(),
        Move::Ahead => format!("the database's clock jumps ahead by {:?}", model.config.ttl() / 2),
        Move::Behind => "nothing reaches the replica from now on".into(),
        Move::Promote(leases) => {
            let ahead = i64::from(leases) * ms(model.config.ttl());
            format!("the replica takes over, its clock {ahead} ms ahead")
        }
        Move::Back => format!("the database's clock goes back by {:?}", model.config.ttl() / 2),
    }
}

fn statement(model: &Lease, state: &State, slot: u8) -> String {
    let number = state.statements[usize::from(slot)];
    let there = model.statements.get(number);
    let facts = model.statements.facts(number).own;
    let who = node_name(usize::from(facts.node));
    let late = if facts.current { "" } else { " (given up)" };
    match &there.phase {
        Phase::Sent(query) => format!("{who}'s {query:?}{late}"),
        Phase::Waits(query, at_ms) => format!("{who}'s {query:?}{late}, clock {at_ms} ms"),
        Phase::Answered(answer) => format!("{who} hears {answer:?}{late}"),
    }
}
