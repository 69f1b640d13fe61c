//! Questions that wait, and which of them go out next.

use crate::StoreError;
use async_channel::{Receiver, Sender};
use election_core::{
    Namespace,
    lease::{Answer, Failure, Query, Registration},
};
use std::collections::{HashSet, VecDeque};

/// How many questions go into one statement at most, so that one that takes too long endangers no more.
pub(super) const TOGETHER: usize = 1000;

/// A question, and where its answer goes.
pub(super) struct Ask {
    registration: Registration,
    query: Query,
    reply: Sender<Result<Answer, StoreError>>,
}

/// Questions that wait, the most urgent kind first. A leader that resigns holds up its successor, and a
/// lease that is not renewed is lost. What has to be asked alone comes next, and what only informs comes
/// last.
#[derive(Default)]
pub(super) struct Line {
    waiting: [VecDeque<Ask>; KINDS],
    /// Elections whose last question failed when it was asked alone.
    apart: HashSet<Namespace>,
}

const KINDS: usize = 5;
const ALONE: usize = 2;

impl Ask {
    pub(super) fn new(
        registration: &Registration,
        query: &Query,
    ) -> (Self, Receiver<Result<Answer, StoreError>>) {
        let (reply, answer) = async_channel::bounded(1);
        (Self { registration: registration.clone(), query: query.clone(), reply }, answer)
    }

    pub(super) fn registration(&self) -> &Registration {
        &self.registration
    }

    pub(super) fn query(&self) -> &Query {
        &self.query
    }

    /// Does nothing if nobody waits for the answer any more.
    pub(super) fn reply(&self, answer: Result<Answer, StoreError>) {
        let _ = self.reply.try_send(answer);
    }
}

impl Line {
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.iter().all(VecDeque::is_empty)
    }

    pub(super) fn join(&mut self, ask: Ask) {
        let kind = match &ask.query {
            _ if self.apart.contains(&ask.registration.namespace) => ALONE,
            query if !query.merges() => ALONE,
            Query::Resign { .. } => 0,
            Query::Renew { .. } => 1,
            Query::Register { .. } => 3,
            _ => 4,
        };
        self.waiting[kind].push_back(ask);
    }

    /// A question that a statement for many has not answered.
    pub(super) fn join_alone(&mut self, ask: Ask) {
        self.waiting[ALONE].push_back(ask);
    }

    /// An election that fails by itself takes no others with it: it is asked alone until it works.
    pub(super) fn answered(&mut self, ask: &Ask, answer: &Result<Answer, StoreError>) {
        let namespace = &ask.registration.namespace;
        match answer {
            Err(error) if matches!(error.kind, Failure::Conflict | Failure::Fatal) => {
                self.apart.insert(namespace.clone());
            }
            Ok(_) if !self.apart.is_empty() => {
                self.apart.remove(namespace);
            }
            _ => {}
        }
    }

    /// Those whose turn it is: one, or several that merge; none if nobody waits any more.
    pub(super) fn next(&mut self) -> Vec<Ask> {
        let mut turn = Vec::new();
        for (kind, waiting) in self.waiting.iter_mut().enumerate() {
            let room = if kind == ALONE { 1 } else { TOGETHER };
            while turn.len() < room {
                match waiting.pop_front() {
                    // Whoever asked may have given up.
                    Some(ask) if ask.reply.is_closed() => {}
                    Some(ask) => turn.push(ask),
                    None => break,
                }
            }
            if !turn.is_empty() {
                break;
            }
        }
        turn
    }
}
