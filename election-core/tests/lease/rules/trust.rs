//! Belief, its end, and what renewals do to it.
//!
//! Rule: Trust starts at the question.
//! Rule: A renewal carries its ordinal.

use super::*;

#[test]
fn trust_is_anchored_where_the_question_was_issued() {
    let mut hand = Hand::new(fifteen_seconds().build().unwrap());
    hand.now = 3_000; // two seconds in the database
    let Some(Change::Elected(tenure)) = hand.answer(won(7)) else { panic!("not elected") };
    assert_eq!(tenure.until, at(1_000 + 15_000 - 1_000 - 2_500));
    assert_eq!(tenure.stop_by, at(1_000 + 15_000 - 1_000));
}

#[test]
fn a_tenure_tells_since_when_it_lasts() {
    let mut hand = Hand::new(fifteen_seconds().build().unwrap());
    hand.now = 3_000;
    let Some(Change::Elected(tenure)) = hand.answer(won(7)) else { panic!("not elected") };
    assert_eq!(tenure.since, at(3_000), "the step that made it the leader");
    hand.run_until_asked(6_000);
    hand.now += 300;
    assert_eq!(hand.answer(renewed()), None);
    assert_eq!(hand.lease.tenure(hand.time()).unwrap().since, at(3_000), "a renewal moves it not");
}

#[test]
fn belief_ends_at_its_deadline_without_a_step() {
    let hand = Hand::leading();
    assert!(hand.lease.is_leader(at(12_499)));
    assert!(!hand.lease.is_leader(at(12_500)));
    assert_eq!(hand.lease.tenure(Timestamp::MAX), None);
}

#[test]
fn a_renewal_moves_the_deadline_and_carries_its_ordinal() {
    let mut hand = Hand::leading();
    for (ordinal, asked) in [(1, 6_000), (2, 11_000), (3, 16_000)] {
        assert_eq!(
            hand.run_until_asked(asked),
            &Query::Renew {
                epoch: epoch(7),
                ordinal,
                ttl: ms(15_000),
                clock_step: Duration::ZERO,
                leads: true
            }
        );
        hand.now += 300;
        assert_eq!(hand.answer(renewed()), None);
        assert_eq!(hand.lease.tenure(hand.time()).unwrap().until, at(asked + 11_500));
    }
}

#[test]
fn an_unanswered_renewal_is_repeated_at_once() {
    let mut hand = Hand::leading();
    hand.run_until_asked(6_000);
    let (hung, _) = hand.asked.clone().unwrap();
    let Query::Renew { ordinal: 2, .. } = hand.run_until_asked(8_551) else {
        panic!("{:?}", hand.query())
    };
    assert_eq!(hand.answer(renewed()), None);
    let until = hand.lease.tenure(hand.time()).unwrap().until;
    // An answer to the hung renewal is about the past, even "no such row".
    assert_eq!(hand.late(hung, Answer::Gone), None);
    assert_eq!(hand.lease.tenure(hand.time()).unwrap().until, until);
}

#[test]
fn a_reading_cannot_win() {
    let mut hand = Hand::new(fifteen_seconds().build().unwrap());
    hand.fail(Failure::Ambiguous);
    assert_eq!(hand.run_until_asked(1_051), &Query::Observe);
    // The attempt's own answer under the ticket of the reading: trust from it would start too late.
    assert_eq!(hand.answer(won(7)), None);
    assert_eq!(hand.query(), &Query::Resign { epoch: epoch(7) });
}

#[test]
fn a_win_that_is_told_when_belief_would_end_is_given_back() {
    for (told, leads) in [(12_499, true), (12_500, false)] {
        let mut hand = Hand::new(fifteen_seconds().build().unwrap());
        hand.now = told;
        assert_eq!(hand.answer(won(7)).is_some(), leads, "told at {told} ms");
        assert_eq!(hand.lease.unreleased(), Some(epoch(7)));
    }
}

#[test]
fn a_successor_is_told_though_belief_ends_with_the_answer() {
    let mut hand = Hand::new(fifteen_seconds().wake_jitter(ms(0)).build().unwrap());
    hand.answer(won(7));
    while hand.next_wake() < 12_500 {
        hand.run_to(hand.next_wake());
        if hand.asked.is_some() {
            hand.fail(Failure::Transient); // its renewals
        }
    }
    hand.event(Event::Wake);
    assert_eq!(hand.query(), &Query::Observe);
    let (look, _) = hand.asked.take().unwrap();
    hand.now = 12_500;
    let b = candidate("b", 2);
    let change = hand.late(look, Answer::Seen(held(8, &b, 14_000, 0)));
    assert_eq!(lost(change), (Loss::Expired, at(15_000)));
    assert_eq!(hand.wake_at, Some(hand.time()), "there is more to tell");
    let change = hand.input(Input::Tick);
    assert!(
        matches!(&change, Some(Change::Followed { term, .. }) if term.epoch == epoch(8)),
        "{change:?}"
    );
}

#[test]
fn a_failed_look_does_not_delay_a_renewal() {
    for failure in [Failure::Transient, Failure::Ambiguous, Failure::Conflict] {
        let mut hand = Hand::leading();
        hand.event(Event::Wake);
        assert_eq!(hand.run_until_asked(1_100), &Query::Observe);
        hand.fail(failure);
        assert_eq!(hand.asked, None);
        assert!(matches!(hand.run_until_asked(6_000), Query::Renew { .. }), "{failure:?}");
    }
    // Nor does one that succeeds.
    let mut hand = Hand::leading();
    hand.look(held(7, &hand.me(), 14_000, 0));
    for renewed_at in [6_000, 11_000] {
        assert!(matches!(hand.run_until_asked(renewed_at), Query::Renew { .. }));
        hand.answer(renewed());
    }
}

#[test]
fn a_newer_own_term_in_the_row_ends_the_older_one() {
    let mut hand = Hand::leading();
    let change = hand.look(held(9, &hand.me(), 14_000, 0));
    let Some(Change::Lost { reason: Loss::Replaced, successor: None, .. }) = change else {
        panic!("{change:?}")
    };
}
