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

    #[test]
    fn the_most_urgent_kind_goes_first_and_together() {
        let mut line = Line::default();
        let resign = Query::Resign { epoch: Epoch::new(7) };
        let asked = [
            ("a", &Query::Observe),
            ("b", &Query::Others),
            ("c", &renew()),
            ("d", &resign),
            ("e", &renew()),
            ("f", &Query::Others),
        ];
        let _answers: Vec<_> =
            asked.iter().map(|(name, query)| join(&mut line, name, query)).collect();
        let turns = [&["d"][..], &["c", "e"], &["b"], &["f"], &["a"], &[]];
        for turn in turns {
            assert_eq!(names(&line.next()), turn);
        }
        assert!(line.is_empty());
    }

    #[test]
    fn a_question_that_nobody_waits_for_is_left_out() {
        let mut line = Line::default();
        drop(join(&mut line, "a", &renew()));
        let _answer = join(&mut line, "b", &renew());
        assert_eq!(names(&line.next()), ["b"]);
    }

    #[test]
    fn a_statement_has_no_more_than_its_share() {
        let mut line = Line::default();
        let many = TOGETHER + 1;
        let _answers: Vec<_> =
            (0..many).map(|number| join(&mut line, &number.to_string(), &renew())).collect();
        assert_eq!([line.next().len(), line.next().len()], [TOGETHER, 1]);
    }

    /// Otherwise its lock would hold up all the others again and again.
    #[test]
    fn an_election_that_fails_alone_stays_alone_until_it_works() {
        let mut line = Line::default();
        let refused = || Err(StoreError::new(Failure::Conflict, "somebody has locked the row"));
        let mut turns = |answer: Result<Answer, StoreError>| {
            let (ask, _answer) = Ask::new(&registration("a"), &renew());
            line.answered(&ask, &answer);
            let _answers = [join(&mut line, "a", &renew()), join(&mut line, "b", &renew())];
            let turns = [line.next(), line.next()];
            turns.map(|turn| names(&turn).join(" "))
        };
        assert_eq!(turns(refused()), ["b", "a"]);
        assert_eq!(turns(Err(StoreError::new(Failure::Transient, "no server"))), ["b", "a"]);
        assert_eq!(turns(Ok(Answer::Gone)), ["a b", ""]);
    }
}
