//! Questions that wait, and which of them go out next.

use crate::{StoreError, now};
use async_channel::{Receiver, Sender};
use election_core::{
    Namespace, Timestamp,
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

/// Questions that wait, by kind. Every other turn is for resignations, which hold up successors, and for
/// renewals, without which a lease is lost. The other kinds take turns, so that none waits for more than a few
/// statements, however many wait of another kind.
#[derive(Default)]
pub(super) struct Line {
    waiting: [VecDeque<Ask>; KINDS],
    turns: usize,
    /// Elections whose last question failed when it was asked alone.
    apart: HashSet<Namespace>,
    /// They take up half of the time at most, unless nobody else waits: each may wait for a lock.
    apart_again: Timestamp,
    /// The server does not know statements for many.
    alone: bool,
}

const KINDS: usize = 6;
const RESIGN: usize = 0;
const RENEW: usize = 1;
const ALONE: usize = 2;
const REGISTER: usize = 3;
const READ: usize = 4;
const APART: usize = 5;

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
        let namespace = &ask.registration.namespace;
        let kind = match &ask.query {
            _ if self.apart.contains(namespace) => APART,
            query if !query.merges() => ALONE,
            Query::Resign { .. } => RESIGN,
            Query::Renew { .. } => RENEW,
            Query::Register { .. } => REGISTER,
            _ => READ,
        };
        if ask.query == Query::Unregister {
            self.apart.remove(namespace); // it ends
        }
        self.waiting[kind].push_back(ask);
    }

    /// A question that a statement for many has not answered.
    pub(super) fn join_alone(&mut self, ask: Ask) {
        self.waiting[ALONE].push_back(ask);
    }

    /// From now on every question is asked alone.
    pub(super) fn stop_merging(&mut self) {
        self.alone = true;
    }

    /// A question was asked alone at `since`. An election that fails by itself takes no others with it: it
    /// is asked alone until it works.
    pub(super) fn note(
        &mut self,
        ask: &Ask,
        answer: &Result<Answer, StoreError>,
        since: Timestamp,
    ) {
        let namespace = &ask.registration.namespace;
        let fails = |error: &StoreError| matches!(error.kind, Failure::Conflict | Failure::Fatal);
        if answer.as_ref().is_err_and(fails) {
            let now = now();
            self.apart_again = now + now.since(since);
            self.apart.insert(namespace.clone());
        } else if answer.is_ok() && !self.apart.is_empty() {
            self.apart.remove(namespace);
        }
    }

    /// Those whose turn it is: one, or several that merge; none if nobody waits any more.
    pub(super) fn next(&mut self, now: Timestamp) -> Vec<Ask> {
        let mut turn = Vec::new();
        for kind in self.order(now) {
            let single = self.alone || matches!(kind, ALONE | APART);
            let room = if single { 1 } else { TOGETHER };
            while turn.len() < room {
                match self.waiting[kind].pop_front() {
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

    /// The kinds in the order of this turn.
    fn order(&mut self, now: Timestamp) -> [usize; KINDS] {
        self.turns = self.turns.wrapping_add(1);
        let mut rest = [ALONE, REGISTER, READ, APART];
        rest.rotate_left(self.turns / 2 % 4);
        if now < self.apart_again {
            rest.sort_by_key(|kind| *kind == APART);
        }
        let [a, b, c, d] = rest;
        if self.turns % 2 == 1 { [RESIGN, RENEW, a, b, c, d] } else { [a, b, c, d, RESIGN, RENEW] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use election_core::{Candidate, Epoch};
    use std::time::Duration;
    use uuid::Uuid;

    fn registration(name: &str) -> Registration {
        let candidate = Candidate::from(Uuid::nil());
        Registration { namespace: Namespace::new(name).unwrap(), candidate, label: None }
    }

    fn renew() -> Query {
        let (ttl, clock_step) = (Duration::from_secs(15), Duration::ZERO);
        Query::Renew { epoch: Epoch::new(7), ordinal: 1, ttl, clock_step, leads: true }
    }

    type Answers = Receiver<Result<Answer, StoreError>>;

    fn join(line: &mut Line, name: &str, query: &Query) -> Answers {
        let (ask, answer) = Ask::new(&registration(name), query);
        line.join(ask);
        answer
    }

    fn names(turn: &[Ask]) -> Vec<&str> {
        turn.iter().map(|ask| ask.registration.namespace.as_str()).collect()
    }

    const NOW: Timestamp = Timestamp::ZERO;

    /// The turns until nobody waits.
    fn turns(line: &mut Line) -> Vec<String> {
        let mut turns = Vec::new();
        while !line.is_empty() {
            turns.push(names(&line.next(NOW)).join(" "));
        }
        turns
    }

    #[test]
    fn every_other_turn_is_for_what_cannot_wait() {
        let mut line = Line::default();
        let resign = Query::Resign { epoch: Epoch::new(7) };
        let register = Query::Register { ttl: Duration::from_secs(15), sweep: false };
        let asked = [
            ("read", &Query::Observe),
            ("alone", &Query::Others),
            ("renew", &renew()),
            ("register", &register),
            ("resign", &resign),
            ("renewed", &renew()),
            ("next", &Query::Others),
        ];
        let _answers: Vec<_> =
            asked.iter().map(|(name, query)| join(&mut line, name, query)).collect();
        let expected = ["resign", "register", "renew renewed", "read", "alone", "next"];
        assert_eq!(turns(&mut line), expected);
    }

    /// Ten thousand of one kind must not hold up the others.
    #[test]
    fn no_kind_waits_for_all_of_another() {
        let mut line = Line::default();
        let many: Vec<_> = (0..3 * TOGETHER).map(|number| number.to_string()).collect();
        let _renewals: Vec<_> = many.iter().map(|name| join(&mut line, name, &renew())).collect();
        let _attempts: Vec<_> =
            many.iter().map(|name| join(&mut line, name, &Query::Others)).collect();
        let _reading = join(&mut line, "read", &Query::Observe);
        let first: Vec<_> = (0..8).map(|_| names(&line.next(NOW)).join(" ")).collect();
        assert!(first.contains(&"read".to_owned()), "{first:?}");
        assert!(first.contains(&"0".to_owned()), "{first:?}");
    }

    #[test]
    fn a_question_that_nobody_waits_for_is_left_out() {
        let mut line = Line::default();
        drop(join(&mut line, "a", &renew()));
        let _answer = join(&mut line, "b", &renew());
        assert_eq!(turns(&mut line), ["b"]);
    }

    #[test]
    fn a_statement_has_no_more_than_its_share() {
        let mut line = Line::default();
        let many = TOGETHER + 1;
        let _answers: Vec<_> =
            (0..many).map(|number| join(&mut line, &number.to_string(), &renew())).collect();
        assert_eq!([line.next(NOW).len(), line.next(NOW).len()], [TOGETHER, 1]);
    }

    #[test]
    fn a_server_without_statements_for_many_is_asked_one_by_one() {
        let mut line = Line::default();
        let _answers = [join(&mut line, "a", &renew()), join(&mut line, "b", &renew())];
        line.stop_merging();
        assert_eq!(turns(&mut line), ["a", "b"]);
    }

    /// Otherwise its lock would hold up all the others again and again.
    #[test]
    fn an_election_that_fails_alone_stays_alone_until_it_works() {
        let mut line = Line::default();
        let refused = || Err(StoreError::new(Failure::Conflict, "somebody has locked the row"));
        let mut after = |answer: Result<Answer, StoreError>| {
            let (ask, _answer) = Ask::new(&registration("a"), &renew());
            line.note(&ask, &answer, now());
            let _answers = [join(&mut line, "a", &renew()), join(&mut line, "b", &renew())];
            let mut turns = turns(&mut line);
            turns.sort();
            turns
        };
        assert_eq!(after(refused()), ["a", "b"]);
        assert_eq!(after(Err(StoreError::new(Failure::Transient, "no server"))), ["a", "b"]);
        assert_eq!(after(Ok(Answer::Gone)), ["a b"]);
    }

    #[test]
    fn those_apart_take_up_half_of_the_time_at_most() {
        let mut line = Line::default();
        let refused = Err(StoreError::new(Failure::Conflict, "somebody has locked the row"));
        let (ask, _answer) = Ask::new(&registration("a"), &renew());
        let began = now();
        line.note(&ask, &refused, began);
        line.apart_again = began + Duration::from_secs(2);
        let _apart = join(&mut line, "a", &renew());
        let others: Vec<_> = (0..9).map(|_| join(&mut line, "b", &Query::Others)).collect();
        for _ in 0..others.len() {
            assert_eq!(names(&line.next(began)), ["b"]);
        }
        assert_eq!(names(&line.next(began)), ["a"], "nobody else waits");
    }
}
