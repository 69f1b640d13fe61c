//! Outcomes that are unknown or late, or that belong to a superseded question.
//!
//! Rule: An unknown outcome is not a failure.

use super::*;

#[test]
fn an_unknown_attempt_is_read_back_and_led_from_the_reading() {
    let mut hand = Hand::new(fifteen_seconds().build().unwrap());
    let me = hand.me();
    hand.fail(Failure::Ambiguous);
    assert_eq!(hand.run_until_asked(1_051), &Query::Observe);
    let read_at = hand.now;
    let change = hand.answer(Answer::Seen(held(7, &me, 14_000, 0)));
    let Some(Change::Elected(tenure)) = change else { panic!("{change:?}") };
    assert_eq!(tenure.stop_by, at(read_at + 14_000 - 1_000));
    assert!(matches!(hand.query(), Query::Renew { ordinal: 1, .. }), "little time left: extend");
}

/// A store that takes no writes still answers reads: each look after an attempt finds that it may
/// attempt again.
#[test]
fn attempts_that_are_never_executed_become_rarer() {
    let mut hand = Hand::new(fifteen_seconds().build().unwrap());
    let mut attempts = 0;
    while hand.now < 61_000 {
        match &hand.asked {
            Some((_, Query::Observe)) => {
                hand.answer(Answer::Seen(vacant(0)));
            }
            Some(_) => {
                attempts += 1;
                hand.fail(Failure::Ambiguous);
            }
            None => {
                hand.run_until_asked(70_000);
            }
        }
    }
    assert!((10..=20).contains(&attempts), "{attempts} attempts in a minute");
}

#[test]
fn a_found_term_at_the_end_of_its_ordinals_is_survived() {
    let mut hand = Hand::new(fifteen_seconds().build().unwrap());
    let me = hand.me();
    hand.fail(Failure::Ambiguous);
    hand.run_until_asked(1_051);
    hand.answer(Answer::Seen(held(7, &me, 14_000, u64::MAX)));
    assert!(matches!(hand.query(), Query::Renew { ordinal: u64::MAX, .. }), "the row refuses it");
}

#[test]
fn a_found_term_with_too_little_time_left_is_resigned() {
    let mut hand = Hand::new(fifteen_seconds().build().unwrap());
    let me = hand.me();
    hand.fail(Failure::Ambiguous);
    hand.run_until_asked(1_051);
    assert_eq!(hand.answer(Answer::Seen(held(7, &me, 3_000, 0))), Some(Change::Vacant));
    assert_eq!(hand.leads(), None);
    assert_eq!(hand.query(), &Query::Resign { epoch: epoch(7) });
}

#[test]
fn a_found_term_is_trusted_no_longer_than_its_attempt_allows() {
    let mut hand = Hand::new(fifteen_seconds().build().unwrap());
    let me = hand.me();
    hand.fail(Failure::Ambiguous); // asked at 1,000
    hand.run_until_asked(1_051);
    hand.now = 4_000;
    // The database's clock has gone back meanwhile: the row seems to have a whole lease left.
    let change = hand.answer(Answer::Seen(held(7, &me, 15_000, 0)));
    let Some(Change::Elected(tenure)) = change else { panic!("{change:?}") };
    assert_eq!(tenure.stop_by, at(1_000 + 15_000 - 1_000));
}

#[test]
fn a_term_that_no_open_attempt_accounts_for_is_resigned() {
    let mut hand = Hand::new(fifteen_seconds().build().unwrap());
    let me = hand.me();
    hand.run_until_asked(3_551); // the attempt hangs: read back
    hand.answer(Answer::Seen(vacant(0))); // not executed, so far
    assert!(matches!(hand.query(), Query::Attempt { .. }));
    hand.answer(Answer::Seen(held(7, &me, 15_000, 0))); // executed after all, and some time ago
    assert_eq!(hand.leads(), None);
    assert_eq!(hand.query(), &Query::Resign { epoch: epoch(7) });
}

/// Found by exhaustive search. The reading settles the first attempt: its term is over, even if the
/// row says otherwise after the database's clock has gone back. A second attempt must not account
/// for that term, or the term would be trusted a lease longer than its own attempt allows.
#[test]
fn a_term_that_was_seen_to_be_over_is_not_found_again() {
    let mut hand = Hand::new(fifteen_seconds().build().unwrap());
    let me = hand.me();
    hand.run_until_asked(3_551); // the attempt hangs: read back
    hand.now = 16_001;
    hand.answer(Answer::Seen(held(7, &me, 0, 0))); // it had won, and its lease has ended
    assert!(matches!(hand.query(), Query::Attempt { .. }));
    hand.fail(Failure::Ambiguous);
    assert_eq!(hand.run_until_asked(18_300), &Query::Observe);
    hand.answer(Answer::Seen(held(7, &me, 8_000, 0))); // the clock has gone back
    assert_eq!(hand.leads(), None);
    assert_eq!(hand.query(), &Query::Resign { epoch: epoch(7) });
}

#[test]
fn a_registration_does_not_hold_a_reading_back_up() {
    let mut lease = Lease::new(fifteen_seconds().build().unwrap(), candidate("me", 1), 42);
    let mut now = at(1_000);
    let step = lease.step(now, Input::Tick);
    let Some(Action::Query { deadline, .. }) = step.action else { panic!("no attempt") };
    now = deadline; // the attempt hangs; the registration is due as well
    let mut asked = lease.step(now, Input::Tick);
    while asked.action.is_none() {
        now = asked.wake_at.expect("something to wait for");
        asked = lease.step(now, Input::Tick);
    }
    assert!(matches!(asked.action, Some(Action::Query { query: Query::Observe, .. })));
}

#[test]
fn a_term_that_was_believed_or_resigned_is_never_led_again() {
    let mut hand = Hand::resigned();
    let me = hand.me();
    hand.fail(Failure::Ambiguous);
    hand.run_until_asked(1_100);
    hand.answer(Answer::Released);
    hand.run_until_asked(1_300);
    // A replica, or a late statement, shows the old term again.
    assert_eq!(hand.answer(Answer::Seen(held(7, &me, 14_000, 0))), None);
    assert_eq!(hand.query(), &Query::Resign { epoch: epoch(7) });
}

#[test]
fn a_superseded_win_never_gives_leadership() {
    let mut hand = Hand::new(fifteen_seconds().build().unwrap());
    let (late, _) = hand.asked.clone().unwrap();
    hand.run_until_asked(3_600); // timed out: reads back
    assert_eq!(hand.query(), &Query::Observe);
    hand.answer(Answer::Seen(vacant(0)));
    assert!(matches!(hand.query(), Query::Attempt { .. }));
    assert_eq!(hand.late(late, won(7)), None);
    assert_eq!(hand.leads(), None);
    // The attempt in flight goes on. Then the stray term is resigned.
    let me = hand.me();
    assert_eq!(hand.answer(Answer::Seen(held(7, &me, 14_000, 0))), None);
    assert_eq!(hand.query(), &Query::Resign { epoch: epoch(7) });
}

/// The late answer does not settle its attempt: the row is read back, from a server that lags.
#[test]
fn a_late_win_that_was_released_is_not_found_again() {
    let mut hand = Hand::new(fifteen_seconds().build().unwrap());
    let me = hand.me();
    let (late, _) = hand.asked.clone().unwrap();
    assert_eq!(hand.run_until_asked(3_600), &Query::Observe, "the attempt hangs: read back");
    hand.late(late, won(7));
    assert_eq!(hand.query(), &Query::Resign { epoch: epoch(7) });
    hand.answer(Answer::Released);
    assert_eq!(hand.query(), &Query::Observe);
    hand.answer(Answer::Seen(held(7, &me, 12_000, 0))); // from before the release
    assert_eq!(hand.leads(), None);
    assert_eq!(hand.query(), &Query::Resign { epoch: epoch(7) });
}

#[test]
fn every_attempt_asks_for_a_term_above_all_that_were_seen() {
    let mut hand = Hand::new(fifteen_seconds().build().unwrap());
    assert_eq!(
        hand.query(),
        &Query::Attempt { seen: epoch(0), ttl: ms(15_000), clock_step: Duration::ZERO }
    );
    hand.answer(Answer::Seen(held(90, &candidate("b", 2), 400, 0)));
    assert_eq!(
        hand.run_until_asked(1_500),
        &Query::Attempt { seen: epoch(90), ttl: ms(15_000), clock_step: Duration::ZERO }
    );
    // The database failed over to a copy that has lost terms. This client remembers them.
    hand.answer(Answer::Seen(vacant(3)));
    let query = hand.run_until_asked(1_600);
    assert_eq!(
        query,
        &Query::Attempt { seen: epoch(90), ttl: ms(15_000), clock_step: Duration::ZERO }
    );
}

#[test]
fn two_processes_with_one_name_are_two_candidates() {
    let mut hand = Hand::new(fifteen_seconds().build().unwrap());
    let twin = candidate("me", 2);
    hand.fail(Failure::Ambiguous);
    hand.run_until_asked(1_051);
    let change = hand.answer(Answer::Seen(held(7, &twin, 14_000, 0)));
    assert!(matches!(change, Some(Change::Followed { .. })), "{change:?}");
}

#[test]
fn a_reading_with_unknown_outcome_cannot_have_won() {
    let mut hand = Hand::new(fifteen_seconds().build().unwrap());
    let me = hand.me();
    hand.answer(Answer::Seen(held(7, &candidate("b", 2), 14_000, 0)));
    assert_eq!(hand.run_until_asked(6_000), &Query::Observe);
    hand.fail(Failure::Ambiguous);
    assert_eq!(hand.run_until_asked(12_000), &Query::Observe);
    // No attempt accounts for this: it may be the term of an attempt that was given up long ago.
    hand.answer(Answer::Seen(held(8, &me, 14_000, 0)));
    assert_eq!(hand.leads(), None);
    assert_eq!(hand.query(), &Query::Resign { epoch: epoch(8) });
}

#[test]
fn a_late_older_win_leaves_the_newer_release_in_place() {
    let mut hand = Hand::new(fifteen_seconds().build().unwrap());
    hand.answer(Answer::Seen(held(7, &candidate("b", 2), 14_000, 0)));
    hand.late(Ticket::NONE, won(9));
    hand.late(Ticket::NONE, won(8));
    assert_eq!(hand.lease.unreleased(), Some(epoch(9)));
}
