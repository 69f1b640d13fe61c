//! Questions of many elections that wait for one connection, and which of them go out next.
//!
//! While a statement is under way, others ask. When it is done, those that [merge](super::Statements::merge) with
//! the question whose turn it is go out together. So whoever has little to ask waits for nothing, and whoever has
//! much to ask needs few statements. Nothing here runs a statement:
//!
//! 1. [`push`](Queue::push) what is asked;
//! 2. while no statement is under way, take the [`next`](Queue::next) questions and run them: one as an
//!    [`Exchange`](super::Exchange), several as a [`Merged`](super::Merged);
//! 3. say what became of them: [`answered`](Queue::answered), [`failed`](Queue::failed) or
//!    [`cannot_merge`](Queue::cannot_merge). Each returns the questions that have their answer now. The others wait
//!    again, to be asked by themselves.
//!
//! The kinds take turns: since they merge, one turn is enough for all that wait, and none has to go before another.
//!
//! A question that has waited for too long is not asked any more: its answer would come too late, and a lease that is
//! won too late is only given up again.
//!
//! What a statement for many leaves out, mostly because somebody else has locked its row, is asked by itself, and may
//! wait for that lock. If it fails then (its row stays locked, a trigger refuses it), this election's questions of that
//! kind are asked alone until one succeeds. While others wait, these get half of the time at most.

use crate::{
    Namespace, Timestamp,
    lease::{Answer, Query, Registration},
};
use alloc::{
    collections::{BTreeSet, VecDeque},
    vec::Vec,
};

/// Questions that wait, each with a `T` that says where its answer goes.
#[derive(Debug)]
pub struct Queue<T> {
    waiting: [VecDeque<Asked<T>>; KINDS],
    /// The sizes of the next turns of each kind, because a statement for all of them has failed.
    parts: [VecDeque<usize>; KINDS],
    /// The kind of the last turn.
    last: usize,
    /// How many were dropped because their time was over.
    late: u64,
    /// Elections whose last question of this kind failed when it was asked by itself.
    apart: [BTreeSet<Namespace>; KINDS],
    /// Until then, what is asked by itself goes last.
    single_again: Timestamp,
    /// The kinds for which the server, or this user, runs no statements for many.
    alone: [bool; KINDS],
}

/// Why questions have failed that were asked together. Unless it concerns all, none of them was executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Concern {
    /// What would fail the others too, or may have executed some.
    All,
    /// A lock on the row of one.
    Lock,
    /// The row of one: its contents, a constraint, a trigger.
    Row,
}

/// A question, and where its answer goes.
#[derive(Clone, Debug)]
pub struct Asked<T> {
    /// Who asks.
    pub registration: Registration,
    /// What is asked.
    pub query: Query,
    /// From then on it is not worth asking.
    pub until: Timestamp,
    /// Where the answer goes.
    pub asker: T,
}

const KINDS: usize = 9;
/// What is asked by itself.
const SINGLE: usize = 0;
const RESIGN: usize = 1;
const RENEW: usize = 2;
const ATTEMPT: usize = 3;
const REGISTER: usize = 4;
const UNREGISTER: usize = 5;
const READ: usize = 6;
const OTHERS: usize = 7;
const TAKE_OVER: usize = 8;

impl<T> Queue<T> {
    /// How many questions go into one statement at most, so that one that takes too long endangers no more.
    pub const TOGETHER: usize = 1000;

    /// An empty queue.
    #[must_use]
    pub fn new() -> Self {
        Self {
            waiting: core::array::from_fn(|_| VecDeque::new()),
            parts: core::array::from_fn(|_| VecDeque::new()),
            last: SINGLE,
            late: 0,
            apart: core::array::from_fn(|_| BTreeSet::new()),
            single_again: Timestamp::ZERO,
            alone: core::array::from_fn(|kind| kind == SINGLE),
        }
    }

    /// How many questions wait.
    #[must_use]
    pub fn len(&self) -> usize {
        self.waiting.iter().map(VecDeque::len).sum()
    }

    /// Whether nothing waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.waiting.iter().all(VecDeque::is_empty)
    }

    /// How many questions [`next`](Self::next) has dropped because they were not worth asking any more.
    #[must_use]
    pub fn late(&self) -> u64 {
        self.late
    }

    /// A question waits from now on.
    pub fn push(&mut self, asked: Asked<T>) {
        let kind = kind(&asked.query);
        let apart = self.apart[kind].contains(&asked.registration.namespace);
        self.waiting[if apart { SINGLE } else { kind }].push_back(asked);
    }

    /// Takes those whose turn it is: one, or several that merge. It drops those that are not worth asking any more, and
    /// those for whose answer nobody `waits`, and returns none if no others are left.
    pub fn next(&mut self, now: Timestamp, waits: impl Fn(&T) -> bool) -> Vec<Asked<T>> {
        while !self.is_empty() {
            for kind in self.order(now) {
                let whole = if self.alone[kind] { 1 } else { Self::TOGETHER };
                let part = self.parts[kind].pop_front().unwrap_or(whole);
                let together = part.min(self.waiting[kind].len());
                let waiting = self.waiting[kind].drain(..together);
                let mut turn: Vec<_> = waiting.filter(|asked| waits(&asked.asker)).collect();
                let awaited = turn.len();
                turn.retain(|asked| now < asked.until);
                self.late += (awaited - turn.len()) as u64;
                if !turn.is_empty() {
                    self.last = kind;
                    return turn;
                }
            }
        }
        Vec::new()
    }

    /// The kinds in the order of this turn.
    fn order(&self, now: Timestamp) -> [usize; KINDS] {
        let mut order = core::array::from_fn(|kind| (self.last + 1 + kind) % KINDS);
        if now < self.single_again {
            order.sort_by_key(|kind| *kind == SINGLE);
        }
        order
    }

    /// The database has answered the questions of a turn, in their order. Returns those that have an answer. The
    /// others wait again, to be asked by themselves.
    pub fn answered(
        &mut self,
        turn: Vec<Asked<T>>,
        answers: impl IntoIterator<Item = Option<Answer>>,
    ) -> Vec<(Asked<T>, Answer)> {
        if let [asked] = &*turn {
            self.apart[kind(&asked.query)].remove(&asked.registration.namespace);
        }
        let (mut answered, mut left_out) = (Vec::with_capacity(turn.len()), Vec::new());
        for (asked, answer) in turn.into_iter().zip(answers) {
            match answer {
                Some(answer) => {
                    self.ended(&asked);
                    answered.push((asked, answer));
                }
                None => left_out.push(asked),
            }
        }
        if left_out.first().is_some_and(|asked| kind(&asked.query) == RENEW) {
            // They do not wait behind a thousand attempts.
            left_out.into_iter().rev().for_each(|asked| self.waiting[SINGLE].push_front(asked));
        } else {
            self.waiting[SINGLE].extend(left_out);
        }
        answered
    }

    /// The questions of a turn, which went out at `since`, have failed by `now`. Returns those for which this is the
    /// answer: all, or none if one of several stood in the way of the others. Those are asked again: one by one for a
    /// lock, as there is no time to wait for it more than twice; for a row in halves.
    pub fn failed(
        &mut self,
        turn: Vec<Asked<T>>,
        concern: Concern,
        since: Timestamp,
        now: Timestamp,
    ) -> Vec<Asked<T>> {
        if let [_] = &*turn {
            self.single_again = now + now.since(since);
        }
        let size = match concern {
            Concern::All => return turn,
            Concern::Lock => 1,
            Concern::Row => turn.len().div_ceil(2),
        };
        match &*turn {
            [] => turn,
            [asked] => {
                self.apart[kind(&asked.query)].insert(asked.registration.namespace.clone());
                self.ended(asked);
                turn
            }
            [first, ..] => {
                let kind = kind(&first.query);
                turn.chunks(size).for_each(|part| self.parts[kind].push_front(part.len()));
                turn.into_iter().rev().for_each(|asked| self.waiting[kind].push_front(asked));
                Vec::new()
            }
        }
    }

    /// The server, or this user, runs no statements for many of this kind: from now on each is asked by itself.
    pub fn cannot_merge(&mut self, turn: Vec<Asked<T>>) {
        if let Some(first) = turn.first() {
            let kind = kind(&first.query);
            self.alone[kind] = true;
            self.waiting[kind].extend(turn);
        }
    }

    /// Nothing is known of an election that has left the list.
    fn ended(&mut self, asked: &Asked<T>) {
        if asked.query == Query::Unregister {
            for apart in &mut self.apart {
                apart.remove(&asked.registration.namespace);
            }
        }
    }
}

impl<T> Default for Queue<T> {
    fn default() -> Self {
        Self::new()
    }
}

/// By what a question takes its turn.
fn kind(query: &Query) -> usize {
    match query {
        Query::Resign { .. } => RESIGN,
        Query::Renew { .. } => RENEW,
        Query::Attempt { .. } => ATTEMPT,
        Query::TakeOver { .. } => TAKE_OVER,
        Query::Register { .. } => REGISTER,
        Query::Unregister => UNREGISTER,
        Query::Observe => READ,
        Query::Others => OTHERS,
    }
}

#[cfg(test)]
mod tests;
