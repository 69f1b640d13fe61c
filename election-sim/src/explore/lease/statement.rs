//! Statements under way, and the row they are about.
//!
//! [`crate::table`] alone defines what a statement means. This file defines how it is under way:
//! sent; begun, waiting for the row's lock with the clock it has read; answered.

use super::{
    names::{Named, place},
    parts::Part,
    row::Row,
};
use crate::{explore::model::Broken, lease::Stand};
use election_core::{
    Candidate, Epoch,
    lease::{Answer, Failure, Names, Query},
};
use std::time::Duration;

/// One statement, or the answer to it. The database's clock reads zero now.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Statement {
    pub(super) who: Candidate,
    /// Its sender still waits for this very statement.
    pub(super) current: bool,
    pub(super) phase: Phase,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Phase {
    Sent(Query),
    /// It waits for the lock, and its clock stands still.
    Waits(Query, i64),
    Answered(Result<Answer, Failure>),
}

impl Statement {
    /// Executes it on the row.
    pub(super) fn execute(&self, row: &mut Row) -> Result<Self, Broken> {
        let (query, at_ms) = match &self.phase {
            Phase::Sent(query) => (query, 0),
            Phase::Waits(query, at_ms) => (query, *at_ms),
            Phase::Answered(_) => return Ok(self.clone()),
        };
        let before = Stand::of(&row.leader, &self.who);
        let answer = row.run(&self.who, query, at_ms);
        row.settle();
        self.judge(query, before, Stand::of(&row.leader, &self.who))?;
        Ok(Self { phase: Phase::Answered(Ok(answer)), ..self.clone() })
    }

    /// Renew and resign touch only their own term. An attempt or takeover takes the lease under an
    /// epoch above every earlier one.
    fn judge(&self, query: &Query, before: Stand, after: Stand) -> Result<(), Broken> {
        let who = &self.who.id;
        if let Query::Renew { epoch, .. } | Query::Resign { epoch } = query {
            let own = before.own && before.term == epoch.get();
            if !own && before != after {
                let touched = before.term;
                return Err(Broken::new(
                    "writes-own-epoch-only",
                    format_args!("{who} touched term {touched}"),
                ));
            }
        }
        let taken = after.own && (!before.own || before.term != after.term);
        if after.term < before.term || (taken && after.term <= before.term) {
            let (after, before) = (after.term, before.term);
            return Err(Broken::new(
                "tokens-increase",
                format_args!("{who} has {after} after {before}"),
            ));
        }
        Ok(())
    }

    /// The sender no longer waits for it. `None` if it can have no effect any more: only a win can
    /// still be heard of, and only a write has any other effect.
    pub(super) fn abandoned(&self) -> Option<Self> {
        let matters = match &self.phase {
            Phase::Sent(query) | Phase::Waits(query, _) => !matches!(query, Query::Observe),
            Phase::Answered(answer) => matches!(answer, Ok(Answer::Won { .. })),
        };
        matters.then(|| Self { current: false, ..self.clone() })
    }

    /// The server that was to execute it is gone. Nothing becomes of it, and its sender learns that.
    pub(super) fn cut_off(&self) -> Option<Self> {
        let phase = match &self.phase {
            Phase::Answered(_) => self.phase.clone(),
            _ if !self.current => return None,
            _ => Phase::Answered(Err(Failure::Ambiguous)),
        };
        Some(Self { phase, ..self.clone() })
    }

    /// Lets time pass. `None` if the statement has waited too long for the lock.
    pub(super) fn age(&self, by_ms: i64, longest_ms: i64) -> Option<Self> {
        let mut aged = self.clone();
        if let Phase::Waits(_, at_ms) = &mut aged.phase {
            *at_ms -= by_ms;
            if *at_ms < -longest_ms {
                return None;
            }
        }
        Some(aged)
    }

    fn query(&self) -> Option<&Query> {
        match &self.phase {
            Phase::Sent(query) | Phase::Waits(query, _) => Some(query),
            Phase::Answered(_) => None,
        }
    }

    pub(super) fn facts(&self) -> StatementFacts {
        let (node, life) = place(&self.who);
        let small = |number| u8::try_from(number).unwrap_or(u8::MAX);
        StatementFacts {
            node: small(node),
            life: small(life),
            current: self.current,
            answered: matches!(self.phase, Phase::Answered(_)),
            waits: matches!(self.phase, Phase::Waits(..)),
            writes: self.query().is_some_and(|query| *query != Query::Observe),
        }
    }
}

/// A question without what no answer depends on.
///
/// Every attempt carries the highest epoch seen, so that the token survives a lost row. In the model no
/// row has seen less than any process: that of a promoted replica knows [how high](Row) the lost
/// epochs were.
pub(super) fn plain(mut query: Query) -> Query {
    if let Query::Attempt { seen, .. } | Query::TakeOver { seen, .. } = &mut query {
        *seen = Epoch::NONE;
    }
    if let Query::TakeOver { server, .. } = &mut query {
        server.known = Duration::ZERO;
    }
    query
}

/// What a search asks about a statement at every turn.
#[derive(Clone, Copy, Debug)]
pub(super) struct StatementFacts {
    pub(super) node: u8,
    pub(super) life: u8,
    pub(super) current: bool,
    pub(super) answered: bool,
    pub(super) waits: bool,
    pub(super) writes: bool,
}

impl Part for Statement {
    type Facts = StatementFacts;
    const KIND: u64 = 2;
}

impl Named for Statement {
    fn rename(&mut self, names: &mut impl Names) {
        self.who = names.candidate(&self.who);
        match &mut self.phase {
            Phase::Sent(query) | Phase::Waits(query, _) => rename_query(query, names),
            Phase::Answered(Ok(answer)) => rename_answer(answer, names),
            Phase::Answered(Err(_)) => {}
        }
    }
}

fn rename_query(query: &mut Query, names: &mut impl Names) {
    match query {
        Query::Attempt { seen, .. } => *seen = names.epoch(*seen),
        Query::TakeOver { seen, epoch, holder, renewals, .. } => {
            *seen = names.epoch(*seen);
            *epoch = names.epoch(*epoch);
            *holder = holder.as_ref().map(|holder| names.candidate(holder));
            *renewals = names.ordinal(*renewals);
        }
        Query::Renew { epoch, ordinal, .. } => {
            *epoch = names.epoch(*epoch);
            *ordinal = names.ordinal(*ordinal);
        }
        Query::Resign { epoch } => *epoch = names.epoch(*epoch),
        Query::Observe | Query::Register { .. } | Query::Unregister | Query::Others => {}
    }
}

fn rename_answer(answer: &mut Answer, names: &mut impl Names) {
    match answer {
        Answer::Won { epoch, .. } => *epoch = names.epoch(*epoch),
        Answer::Seen(row) => {
            row.epoch = names.epoch(row.epoch);
            row.renewals = names.ordinal(row.renewals);
            if let Some(holder) = &mut row.holder {
                holder.candidate = names.candidate(&holder.candidate);
            }
        }
        Answer::Renewed { .. }
        | Answer::Gone
        | Answer::Released
        | Answer::Listed
        | Answer::Unswept
        | Answer::Others(_) => {}
    }
}
