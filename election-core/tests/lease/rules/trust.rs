//! Belief, its end, and what renewals do to it.

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
            &Query::Renew { epoch: epoch(7), ordinal, ttl: ms(15_000) }
        );
        hand.now += 300;
        assert_eq!(hand.answer(renewed()), None);
        assert_eq!(hand.lease.tenure(hand.time()).unwrap().until, at(asked + 11_500));
    }
}

#[test]
fn a_renewal_without_an_answer_is_repeated_at_once_and_the_lease_survives_it() {
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
