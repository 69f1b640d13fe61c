//! Whose turn it is.

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
    Queue::new()
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
    let mut queue = Queue::new();
    for name in ["a", "b"] {
        queue.push(asked(name, &renew(), name));
    }
    let late = || Asked { until: NOW, ..asked("late", &renew(), "b") };
    queue.push(late());
    assert_eq!(names(&queue.next(NOW, |name| *name == "b")), ["b"]);
    assert!(queue.is_empty());
    (0..Names::TOGETHER).for_each(|_| queue.push(late()));
    queue.push(asked("b", &renew(), "b"));
    assert_eq!(names(&queue.next(NOW, |_| true)), ["b"], "however many are late");
    assert_eq!(queue.late(), 1 + Names::TOGETHER as u64);
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
fn a_kind_without_statements_for_many_is_asked_one_by_one() {
    let mut queue = queue();
    for name in ["a", "b", "c"] {
        join(&mut queue, name, &renew());
    }
    let turn = next(&mut queue);
    join(&mut queue, "d", &renew());
    queue.cannot_merge(turn);
    ["e", "f"].iter().for_each(|name| join(&mut queue, name, &Query::Observe));
    let mut turns = turns(&mut queue);
    turns.sort();
    assert_eq!(turns, ["a", "b", "c", "d", "e f"]);
}

#[test]
fn each_question_gets_its_own_answer_or_is_asked_again() {
    let mut queue = Queue::new();
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
fn what_was_left_out_is_asked_one_by_one() {
    let mut queue = queue();
    ["a", "b"].iter().for_each(|name| join(&mut queue, name, &renew()));
    let turn = next(&mut queue);
    assert!(queue.answered(turn, [None, None]).is_empty());
    assert_eq!(turns(&mut queue), ["a", "b"]);
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
    let told = |concern, names: &[&str]| {
        let mut queue = queue();
        names.iter().for_each(|name| join(&mut queue, name, &renew()));
        let turn = next(&mut queue);
        join(&mut queue, "waits", &renew());
        let told = queue.failed(turn, concern, NOW, NOW);
        (told.len(), queue.len())
    };
    for (concern, of_two) in
        [(Concern::All, (2, 1)), (Concern::Lock, (0, 3)), (Concern::Row, (0, 3))]
    {
        assert_eq!(told(concern, &["a", "b"]), of_two, "{concern:?}");
        assert_eq!(told(concern, &["a"]), (1, 1), "{concern:?}");
    }
}

/// Its neighbours are asked again in halves, of which one fails again.
#[test]
fn one_that_fails_all_is_found_in_few_statements() {
    let mut queue = queue();
    (0..Names::TOGETHER).for_each(|number| join(&mut queue, &number.to_string(), &renew()));
    let (mut statements, mut told, mut answered) = (0, Vec::new(), 0);
    while !queue.is_empty() {
        let turn = next(&mut queue);
        statements += 1;
        if names(&turn).contains(&"777") {
            told.extend(queue.failed(turn, Concern::Row, NOW, NOW));
        } else {
            let answers = vec![Some(Answer::Gone); turn.len()];
            answered += queue.answered(turn, answers).len();
        }
    }
    assert_eq!((names(&told), answered), (vec!["777"], Names::TOGETHER - 1));
    assert!(statements < 25, "{statements}");
}

#[test]
fn those_that_met_a_lock_are_asked_one_by_one_and_next() {
    let mut queue = queue();
    ["a", "b", "c", "d"].iter().for_each(|name| join(&mut queue, name, &renew()));
    let turn = next(&mut queue);
    ["e", "f"].iter().for_each(|name| join(&mut queue, name, &renew()));
    queue.failed(turn, Concern::Lock, NOW, NOW);
    assert_eq!(turns(&mut queue), ["a", "b", "c", "d", "e f"]);
}

/// Otherwise its lock would hold up all the others again and again.
#[test]
fn an_election_that_fails_alone_stays_alone_until_it_works() {
    let mut queue = queue();
    let mut after = |answer: Result<Answer, Concern>| {
        join(&mut queue, "a", &renew());
        let turn = next(&mut queue);
        match answer {
            Ok(answer) => drop(queue.answered(turn, [Some(answer)])),
            Err(concern) => drop(queue.failed(turn, concern, NOW, NOW)),
        }
        ["a", "b"].iter().for_each(|name| join(&mut queue, name, &renew()));
        let mut turns = turns(&mut queue);
        turns.sort();
        turns
    };
    assert_eq!(after(Err(Concern::Lock)), ["a", "b"]);
    assert_eq!(after(Err(Concern::All)), ["a", "b"]);
    assert_eq!(after(Ok(Answer::Gone)), ["a b"]);
    assert_eq!(after(Err(Concern::Row)), ["a", "b"]);
    join(&mut queue, "a", &Query::Observe);
    let turn = next(&mut queue);
    queue.answered(turn, [Some(Answer::Listed)]);
    ["a", "b"].iter().for_each(|name| join(&mut queue, name, &renew()));
    assert_eq!(turns(&mut queue), ["a", "b"], "a reading may work where a renewal does not");
}

#[test]
fn an_election_that_has_left_the_list_begins_anew() {
    for leaves in [true, false] {
        let mut queue = queue();
        join(&mut queue, "a", &renew());
        let turn = next(&mut queue);
        queue.failed(turn, Concern::Row, NOW, NOW);
        join(&mut queue, "a", &Query::Unregister);
        let turn = next(&mut queue);
        if leaves {
            queue.answered(turn, [Some(Answer::Listed)]);
        } else {
            queue.failed(turn, Concern::Row, NOW, NOW);
        }
        for query in [renew(), Query::Unregister] {
            ["a", "b"].iter().for_each(|name| join(&mut queue, name, &query));
            assert_eq!(turns(&mut queue), ["a b"]);
        }
    }
}

#[test]
fn those_apart_take_up_half_of_the_time_at_most() {
    let mut queue = queue();
    join(&mut queue, "a", &renew());
    let turn = next(&mut queue);
    let later = NOW + Duration::from_secs(2);
    queue.failed(turn, Concern::Lock, NOW, later);
    join(&mut queue, "a", &renew());
    let just_before = later + Duration::from_millis(1999);
    for _ in 0..9 {
        join(&mut queue, "b", &renew());
        assert_eq!(names(&queue.next(just_before, |()| true)), ["b"]);
    }
    assert_eq!(names(&queue.next(later, |()| true)), ["a"], "nobody else waits");
}
