//! Every win is above every epoch that any answer has named, even if the database has lost epochs.
//!
//! Rule: Every acquisition is a new term.

use super::*;
use election_core::{
    Namespace,
    lease::{Candidacy, ConfigError, Registration},
};

/// The question in flight is an attempt above this epoch.
#[track_caller]
fn assert_attempts_above(query: &Query, known: u64) {
    assert!(matches!(query, Query::Attempt { seen, .. } if *seen == epoch(known)), "{query:?}");
}

#[test]
fn what_a_superseded_reading_named_is_known() {
    let mut hand = Hand::new(fifteen_seconds().build().unwrap());
    hand.fail(Failure::Ambiguous);
    hand.run_until_asked(1_051);
    let (late, _) = hand.asked.clone().unwrap(); // the reading hangs
    hand.run_until_asked(10_000);
    assert_eq!(hand.query(), &Query::Observe);
    hand.late(late, Answer::Seen(vacant(90)));
    hand.answer(Answer::Seen(vacant(3))); // a replica that has not heard of it
    assert_attempts_above(hand.query(), 90);
}

#[test]
fn what_is_won_at_or_below_a_known_epoch_is_given_back() {
    for stale in [5, 90] {
        let mut hand = Hand::new(fifteen_seconds().min_epoch(epoch(91)).build().unwrap());
        assert_eq!(hand.answer(won(stale)), None);
        assert_eq!(hand.leads(), None);
        assert_eq!(hand.query(), &Query::Resign { epoch: epoch(stale) });
    }
}

#[test]
fn what_is_found_below_a_known_epoch_is_given_back() {
    let mut hand = Hand::new(fifteen_seconds().min_epoch(epoch(91)).build().unwrap());
    let me = hand.me();
    hand.fail(Failure::Ambiguous);
    hand.run_until_asked(1_051);
    hand.answer(Answer::Seen(held(7, &me, 14_000, 0)));
    assert_eq!(hand.leads(), None);
    assert_eq!(hand.query(), &Query::Resign { epoch: epoch(7) });
}

#[test]
fn its_own_terms_are_known_after_they_are_lost() {
    let mut hand = Hand::leading();
    hand.run_until_asked(6_000);
    hand.answer(Answer::Gone);
    hand.input(Input::Stopped(epoch(7)));
    assert_eq!(hand.query(), &Query::Observe);
    hand.answer(Answer::Seen(vacant(2))); // the database has lost the term
    assert_attempts_above(hand.query(), 7);
}

#[test]
fn a_term_that_was_led_is_not_led_again_however_it_is_found() {
    let mut hand = Hand::leading();
    let me = hand.me();
    hand.run_until_asked(6_000);
    hand.answer(Answer::Gone);
    hand.input(Input::Stopped(epoch(7)));
    hand.answer(Answer::Seen(vacant(2))); // the database has lost the term
    assert_attempts_above(hand.query(), 7);
    hand.fail(Failure::Ambiguous);
    assert_eq!(hand.run_until_asked(7_000), &Query::Observe);
    hand.answer(Answer::Seen(held(7, &me, 14_000, 1))); // and has found it again
    assert_eq!(hand.leads(), None);
    assert_eq!(hand.query(), &Query::Resign { epoch: epoch(7) });
}

/// Anybody may send a notification, with any number in it.
#[test]
fn a_notification_raises_nothing() {
    let mut hand = Hand::new(fifteen_seconds().build().unwrap());
    hand.answer(Answer::Seen(held(9, &candidate("b", 2), 15_000, 0)));
    for absurd in [10, u64::MAX] {
        hand.event(Event::Resigned(epoch(absurd)));
    }
    hand.run_until_asked(2_000);
    hand.answer(Answer::Seen(vacant(9)));
    assert_attempts_above(hand.query(), 9);
    assert!(matches!(hand.answer(won(10)), Some(Change::Elected(_))));
}

#[test]
fn the_first_win_is_no_lower_than_the_least_epoch() {
    let config = fifteen_seconds().min_epoch(epoch(500)).build().unwrap();
    let mut hand = Hand::new(config);
    assert_attempts_above(hand.query(), 499);
    assert!(matches!(hand.answer(won(500)), Some(Change::Elected(_))));
}

/// The same, call by call.
#[test]
fn a_candidacy_remembers_what_it_has_seen() {
    let mut who = candidacy().min_epoch(epoch(50)).unwrap();
    assert_attempts_above(&attempt(&mut who, vacant(3)), 49);
    assert_attempts_above(&attempt(&mut who, vacant(90)), 90);
    let mut round = elects(&mut who);
    let led = round.advance(won(120)).expect("the row it holds now");
    assert_eq!(led.epoch, epoch(120));
    assert_attempts_above(&attempt(&mut who, vacant(3)), 120);
    let typo = epoch(u64::MAX);
    assert_eq!(candidacy().min_epoch(typo), Err(ConfigError::MinEpochTooHigh(typo)));
}

fn candidacy() -> Candidacy {
    let candidate = candidate("me", 1);
    Candidacy::new(Registration { namespace: Namespace::default(), candidate, label: None })
}

/// The attempt that follows after the row was found vacant.
fn attempt(who: &mut Candidacy, row: Row) -> Query {
    let mut round = elects(who);
    assert_eq!(round.advance(Answer::Seen(row)), None);
    round.query().clone()
}
