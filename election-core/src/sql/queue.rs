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

use super::dialect::Dialect;
use crate::{
    Namespace, Timestamp,
    lease::{Answer, Failure, Query, Registration},
};
use alloc::{
    collections::{BTreeSet, VecDeque},
    vec::Vec,
};

/// Questions that wait, each with a `T` that says where its answer goes.
#[derive(Debug)]
pub struct Queue<T> {
    dialect: Dialect,
    waiting: [VecDeque<Asked<T>>; KINDS],
    /// The sizes of the next turns of each kind, because a statement for all of them has failed.
    parts: [VecDeque<usize>; KINDS],
    /// The kind of the last turn.
    last: usize,
    /// Elections whose last question of this kind failed when it was asked by itself.
    apart: [BTreeSet<Namespace>; KINDS],
    /// Until then, what is asked by itself goes last.
    single_again: Timestamp,
    /// The kinds for which the server, or this user, runs no statements for many.
    alone: [bool; KINDS],
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

const KINDS: usize = 8;
/// What is asked by itself.
const SINGLE: usize = 0;
const RESIGN: usize = 1;
const RENEW: usize = 2;
const ATTEMPT: usize = 3;
const REGISTER: usize = 4;
const UNREGISTER: usize = 5;
const READ: usize = 6;
const OTHERS: usize = 7;

impl<T> Queue<T> {
    /// How many questions go into one statement at most, so that one that takes too long endangers no more.
    pub const TOGETHER: usize = 1000;

    /// An empty queue for a database of this dialect.
    #[must_use]
    pub fn new(dialect: Dialect) -> Self {
        Self {
            dialect,
            waiting: core::array::from_fn(|_| VecDeque::new()),
            parts: core::array::from_fn(|_| VecDeque::new()),
            last: SINGLE,
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
                let turn = self.waiting[kind].drain(..together);
                let turn: Vec<_> =
                    turn.filter(|asked| now < asked.until && waits(&asked.asker)).collect();
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

    /// The questions of a turn, which went out at `since`, have failed by `now`: none was executed, unless this says
    /// otherwise (`Transient`, `Ambiguous`). Returns those for which this is the answer: all, or none if one of several
    /// stood in the way of the others. Those are asked again: one by one if it may wait for a lock, of which there is
    /// time for no more than two; else in parts, which find it in about twice the root of their number.
    pub fn failed(
        &mut self,
        turn: Vec<Asked<T>>,
        why: Failure,
        since: Timestamp,
        now: Timestamp,
    ) -> Vec<Asked<T>> {
        let size = match why {
            // SQLite has one lock for all.
            Failure::Conflict if self.dialect != Dialect::Sqlite => 1,
            Failure::Fatal => turn.len().isqrt(),
            Failure::Conflict | Failure::Transient | Failure::Ambiguous => return turn,
        };
        match &*turn {
            [] => turn,
            [asked] => {
                self.single_again = now + now.since(since);
                self.apart[kind(&asked.query)].insert(asked.registration.namespace.clone());
                self.ended(asked);
                turn
            }
            [first, ..] => {
                let kind = kind(&first.query);
                let sizes = turn.chunks(size).map(<[_]>::len).rev();
                sizes.for_each(|size| self.parts[kind].push_front(size));
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
            turn.into_iter().rev().for_each(|asked| self.waiting[kind].push_front(asked));
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

/// By what a question takes its turn.
fn kind(query: &Query) -> usize {
    match query {
        Query::Resign { .. } => RESIGN,
        Query::Renew { .. } => RENEW,
        Query::Attempt { .. } => ATTEMPT,
        Query::TakeOver { .. } => SINGLE,
        Query::Register { .. } => REGISTER,
        Query::Unregister => UNREGISTER,
        Query::Observe => READ,
        Query::Others => OTHERS,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Candidate, Epoch};
    use alloc::{
        borrow::ToOwned as _,
        string::{String, ToString as _},
        vec,
    };
    use core::time::Duration;
    use uuid::Uuid;

    type Names = Queue<()>;

    fn queue() -> Names {
        Queue::new(Dialect::Postgres)
    }

    fn registration(name: &str) -> Registration {
        let candidate = Candidate::from(Uuid::nil());
        Registration { namespace: Namespace::new(name).unwrap(), candidate, label: None }
    }

    fn renew() -> Query {
        let (ttl, clock_step) = (Duration::from_secs(15), Duration::ZERO);
        Query::Renew { epoch: Epoch::new(7), ordinal: 1, ttl, clock_step, leads: true }
    }

    fn asked<T>(name: &str, query: &Query, asker: T) -> Asked<T> {
        let (registration, query) = (registration(name), query.clone());
        Asked { registration, query, until: Timestamp::MAX, asker }
    }

    fn join(queue: &mut Names, name: &str, query: &Query) {
        queue.push(asked(name, query, ()));
    }

    fn names<T>(turn: &[Asked<T>]) -> Vec<&str> {
        turn.iter().map(|asked| asked.registration.namespace.as_str()).collect()
    }

    const NOW: Timestamp = Timestamp::ZERO;

    fn next(queue: &mut Names) -> Vec<Asked<()>> {
        queue.next(NOW, |()| true)
    }

    /// The turns until nobody waits.
    fn turns(queue: &mut Names) -> Vec<String> {
        let mut turns = Vec::new();
        while !queue.is_empty() {
            turns.push(names(&next(queue)).join(" "));
        }
        turns
    }

    #[test]
    fn the_kinds_take_turns_and_go_together() {
        let mut queue = queue();
        let resign = Query::Resign { epoch: Epoch::new(7) };
        let register = Query::Register { ttl: Duration::from_secs(15), sweep: false };
        for (name, query) in [
            ("read", &Query::Observe),
            ("others", &Query::Others),
            ("renew", &renew()),
            ("register", &register),
            ("resign", &resign),
            ("renewed", &renew()),
            ("reads", &Query::Observe),
        ] {
            join(&mut queue, name, query);
        }
        assert_eq!(queue.len(), 7);
        let expected = ["resign", "renew renewed", "register", "read reads", "others"];
        assert_eq!(turns(&mut queue), expected);
    }

    /// Ten thousand of one kind must not hold up the others.
    #[test]
    fn no_kind_waits_for_all_of_another() {
        let mut queue = queue();
        for number in 0..9 * Names::TOGETHER {
            join(&mut queue, &number.to_string(), &renew());
            join(&mut queue, &number.to_string(), &Query::Observe);
        }
        join(&mut queue, "left", &Query::Unregister);
        join(&mut queue, "alone", &Query::Others);
        let first: Vec<_> = (0..4).map(|_| names(&next(&mut queue)).join(" ")).collect();
        for name in ["left", "alone"] {
            assert!(first.contains(&name.to_owned()), "{name}: {first:?}");
        }
    }

    #[test]
    fn a_question_is_dropped_that_is_late_or_that_nobody_waits_for() {
        let mut queue = Queue::new(Dialect::Postgres);
        for name in ["a", "b"] {
            queue.push(asked(name, &renew(), name));
        }
        let late = Asked { until: NOW, ..asked("late", &renew(), "b") };
        queue.push(late);
        assert_eq!(names(&queue.next(NOW, |name| *name == "b")), ["b"]);
        assert!(queue.is_empty());
    }

    #[test]
    fn a_statement_has_no_more_than_its_share() {
        let mut queue = queue();
        for number in 0..=Names::TOGETHER {
            join(&mut queue, &number.to_string(), &renew());
        }
        assert_eq!([next(&mut queue).len(), next(&mut queue).len()], [Names::TOGETHER, 1]);
    }

    #[test]
    fn a_server_without_statements_for_many_is_asked_one_by_one() {
        let mut queue = queue();
        for name in ["a", "b", "c"] {
            join(&mut queue, name, &renew());
        }
        let turn = next(&mut queue);
        join(&mut queue, "d", &renew());
        queue.cannot_merge(turn);
        let mut turns = turns(&mut queue);
        turns.sort();
        assert_eq!(turns, ["a", "b", "c", "d"]);
    }

    #[test]
    fn each_question_gets_its_own_answer_or_is_asked_again() {
        let mut queue = Queue::new(Dialect::Postgres);
        for name in ["a", "b", "c"] {
            queue.push(asked(name, &renew(), name));
        }
        let turn = queue.next(NOW, |_| true);
        let renewed = Answer::Renewed { remaining: Duration::ZERO, resign_requested: false };
        let answers = [Some(renewed.clone()), None, Some(Answer::Gone)];
        let answered = queue.answered(turn, answers);
        let answered: Vec<_> = answered.into_iter().map(|(asked, it)| (asked.asker, it)).collect();
        assert_eq!(answered, [("a", renewed), ("c", Answer::Gone)]);
        queue.push(asked("d", &Query::Others, "d"));
        let turns = [queue.next(NOW, |_| true), queue.next(NOW, |_| true)];
        let mut turns = turns.map(|turn| names(&turn).join(" "));
        turns.sort();
        assert_eq!(turns, ["b", "d"]);
    }

    /// Together they would be left out again and again.
    #[test]
    fn what_was_left_out_is_asked_one_by_one_everywhere() {
        for dialect in [Dialect::Sqlite, Dialect::Postgres, Dialect::MySql] {
            let mut queue = Names::new(dialect);
            ["a", "b"].iter().for_each(|name| join(&mut queue, name, &renew()));
            let turn = next(&mut queue);
            assert!(queue.answered(turn, [None, None]).is_empty());
            assert_eq!(turns(&mut queue), ["a", "b"], "{dialect:?}");
        }
    }

    #[test]
    fn renewals_that_were_left_out_go_before_attempts() {
        let mut queue = queue();
        let (seen, ttl, clock_step) = (Epoch::NONE, Duration::from_secs(15), Duration::ZERO);
        for query in [Query::Attempt { seen, ttl, clock_step }, renew()] {
            let turn = ["a", "b"].map(|name| asked(name, &query, ())).into();
            queue.answered(turn, [None, None]);
        }
        let renewals = (0..4).map(|_| next(&mut queue).remove(0).query == renew());
        assert_eq!(renewals.collect::<Vec<_>>(), [true, true, false, false]);
    }

    /// What one statement does not reach, another may.
    #[test]
    fn a_failure_is_told_to_those_whom_it_concerns() {
        use Failure::{Ambiguous, Conflict, Fatal, Transient};
        let told = |dialect, why, names: &[&str]| {
            let mut queue = Queue::<()>::new(dialect);
            names.iter().for_each(|name| join(&mut queue, name, &renew()));
            let turn = next(&mut queue);
            join(&mut queue, "waits", &renew());
            let told = queue.failed(turn, why, NOW, NOW);
            (told.len(), queue.len())
        };
        for (dialect, why) in [
            (Dialect::Postgres, Transient),
            (Dialect::Postgres, Ambiguous),
            (Dialect::Sqlite, Conflict),
        ] {
            assert_eq!(told(dialect, why, &["a", "b"]), (2, 1), "{dialect:?} {why:?}");
            assert_eq!(told(dialect, why, &["a"]), (1, 1), "{dialect:?} {why:?}");
        }
        for why in [Conflict, Fatal] {
            assert_eq!(told(Dialect::MySql, why, &["a", "b"]), (0, 3), "{why:?}");
            assert_eq!(told(Dialect::MySql, why, &["a"]), (1, 1), "{why:?}");
        }
    }

    /// It compares a whole row.
    #[test]
    fn take_overs_are_asked_one_by_one() {
        let mut queue = queue();
        let (ttl, clock_step) = (Duration::from_secs(15), Duration::ZERO);
        let (seen, epoch) = (Epoch::NONE, Epoch::new(7));
        let server = crate::lease::Server::FIRST;
        let take_over =
            Query::TakeOver { seen, epoch, holder: None, renewals: 0, server, ttl, clock_step };
        ["a", "b"].iter().for_each(|name| join(&mut queue, name, &take_over));
        assert_eq!(turns(&mut queue), ["a", "b"]);
    }

    /// Its neighbours are asked again in parts, of which one fails again.
    #[test]
    fn one_that_fails_all_is_found_in_few_statements() {
        let mut queue = queue();
        (0..Names::TOGETHER).for_each(|number| join(&mut queue, &number.to_string(), &renew()));
        let (mut statements, mut told, mut answered) = (0, Vec::new(), 0);
        while !queue.is_empty() {
            let turn = next(&mut queue);
            statements += 1;
            if names(&turn).contains(&"777") {
                told.extend(queue.failed(turn, Failure::Fatal, NOW, NOW));
            } else {
                let answers = vec![Some(Answer::Gone); turn.len()];
                answered += queue.answered(turn, answers).len();
            }
        }
        assert_eq!((names(&told), answered), (vec!["777"], Names::TOGETHER - 1));
        assert!(statements < 70, "{statements}");
    }

    #[test]
    fn those_whose_statement_failed_are_asked_one_by_one_and_next() {
        let mut queue = queue();
        ["a", "b"].iter().for_each(|name| join(&mut queue, name, &renew()));
        let turn = next(&mut queue);
        ["c", "d"].iter().for_each(|name| join(&mut queue, name, &renew()));
        queue.failed(turn, Failure::Conflict, NOW, NOW);
        assert_eq!(turns(&mut queue), ["a", "b", "c d"]);
    }

    /// Otherwise its lock would hold up all the others again and again.
    #[test]
    fn an_election_that_fails_alone_stays_alone_until_it_works() {
        let mut queue = queue();
        let mut after = |answer: Result<Answer, Failure>| {
            join(&mut queue, "a", &renew());
            let turn = next(&mut queue);
            match answer {
                Ok(answer) => drop(queue.answered(turn, [Some(answer)])),
                Err(why) => drop(queue.failed(turn, why, NOW, NOW)),
            }
            ["a", "b"].iter().for_each(|name| join(&mut queue, name, &renew()));
            let mut turns = turns(&mut queue);
            turns.sort();
            turns
        };
        assert_eq!(after(Err(Failure::Conflict)), ["a", "b"]);
        assert_eq!(after(Err(Failure::Transient)), ["a", "b"]);
        assert_eq!(after(Ok(Answer::Gone)), ["a b"]);
        assert_eq!(after(Err(Failure::Fatal)), ["a", "b"]);
        join(&mut queue, "a", &Query::Observe);
        let turn = next(&mut queue);
        queue.answered(turn, [Some(Answer::Listed)]);
        ["a", "b"].iter().for_each(|name| join(&mut queue, name, &renew()));
        assert_eq!(turns(&mut queue), ["a", "b"], "a reading may work where a renewal does not");
        join(&mut queue, "a", &Query::Unregister);
        let turn = next(&mut queue);
        queue.answered(turn, [Some(Answer::Listed)]);
        ["a", "b"].iter().for_each(|name| join(&mut queue, name, &renew()));
        assert_eq!(turns(&mut queue), ["a b"], "it has begun anew");
    }

    #[test]
    fn those_apart_take_up_half_of_the_time_at_most() {
        let mut queue = queue();
        join(&mut queue, "a", &renew());
        let turn = next(&mut queue);
        let later = NOW + Duration::from_secs(2);
        queue.failed(turn, Failure::Conflict, NOW, later);
        join(&mut queue, "a", &renew());
        let just_before = later + Duration::from_millis(1999);
        for _ in 0..9 {
            join(&mut queue, "b", &renew());
            assert_eq!(names(&queue.next(just_before, |()| true)), ["b"]);
        }
        assert_eq!(names(&queue.next(later, |()| true)), ["a"], "nobody else waits");
    }
}
