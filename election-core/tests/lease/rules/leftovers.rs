//! What is left when two things cross: an answer and a newer term, a look and a drain, a success and
//! the failures before it.

use super::*;

fn resigns(hand: &Hand) -> Option<u64> {
    match hand.asked.as_ref() {
        Some((_, Query::Resign { epoch })) => Some(epoch.get()),
        _ => None,
    }
}

/// A leader of epoch 7 that was told to resign, and whose work still runs.
fn draining() -> Hand {
    let mut hand = Hand::leading();
    hand.now = 2_000;
    hand.input(Input::Resign);
    hand
}

/// Lets it look, at 2,200 ms at the latest, and find the row vacant. The answer about the others is
/// still to come.
fn asks_for_others(hand: &mut Hand) -> Ticket {
    hand.run_until_asked(2_200);
    let (ticket, _) = hand.asked.take().unwrap();
    let seen = Event::Answer { ticket, result: Ok(Answer::Seen(vacant(7))) };
    match hand.lease.step(hand.time(), Input::Event(seen)).action {
        Some(Action::Query { ticket, query: Query::Others, .. }) => ticket,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_late_win_of_the_current_term_leaves_no_release() {
    let mut hand = Hand::new(fifteen_seconds().build().unwrap());
    let me = hand.me();
    let (late, _) = hand.asked.clone().unwrap();
    hand.run_until_asked(3_600);
    hand.answer(Answer::Seen(held(7, &me, 14_000, 0)));
    hand.late(late, won(7));
    assert_eq!(lost(hand.answer(Answer::Gone)).0, Loss::Replaced);
    hand.input(Input::Stopped(epoch(7)));
    // Another process has replaced it, so there is nothing to vacate.
    assert_eq!(hand.query(), &Query::Observe);
    hand.answer(Answer::Seen(held(9, &candidate("b", 2), 14_000, 0)));
    assert_eq!(hand.lease.unreleased(), None);
}

#[test]
fn an_answer_about_an_older_release_does_not_settle_a_newer_one() {
    for fails in [false, true] {
        let mut hand = draining();
        hand.input(Input::Stopped(epoch(7)));
        assert_eq!(resigns(&hand), Some(7));
        // While that is in flight, an attempt from before turns out to have won.
        hand.late(Ticket::NONE, won(9));
        if fails {
            hand.fail(Failure::Transient)
        } else {
            hand.answer(Answer::Released)
        };
        assert_eq!(hand.lease.unreleased(), Some(epoch(9)), "fails: {fails}");
        assert_eq!(resigns(&hand), Some(9), "at once, not after a pause; fails: {fails}");
    }
}

#[test]
fn an_expired_leader_stands_once_its_term_is_released() {
    let mut hand = Hand::leading();
    let me = hand.me();
    hand.run_to(12_500);
    assert_eq!(hand.leads(), None);
    // A renewal of which it never heard has reached the row.
    hand.look(held(7, &me, 9_000, 1));
    hand.input(Input::Stopped(epoch(7)));
    assert_eq!(resigns(&hand), Some(7));
    hand.answer(Answer::Released);
    assert!(matches!(hand.query(), Query::Attempt { .. }), "it asks {:?}", hand.query());
}

#[test]
fn staying_out_does_not_outlive_the_next_own_term() {
    let mut hand = Hand::resigned();
    hand.answer(Answer::Released);
    assert!(matches!(hand.look_on(8_000, &vacant(7)), Query::Attempt { .. }));
    let won_at = hand.now;
    hand.answer(won(8));
    hand.run_to(won_at + 11_500);
    assert_eq!(hand.leads(), None, "expired");
    hand.input(Input::Stopped(epoch(8)));
    hand.answer(Answer::Released);
    assert!(matches!(hand.query(), Query::Attempt { .. }), "it asks {:?}", hand.query());
}

#[test]
fn a_drained_term_that_was_seen_to_be_replaced_is_not_released() {
    let mut hand = draining();
    hand.look(held(9, &candidate("b", 2), 14_000, 0));
    hand.input(Input::Stopped(epoch(7)));
    assert_eq!(hand.lease.unreleased(), None);
    assert_eq!(resigns(&hand), None);
}

#[test]
fn a_replaced_term_in_a_stale_row_is_not_released() {
    let mut hand = Hand::leading();
    let me = hand.me();
    hand.run_until_asked(6_000);
    hand.answer(Answer::Gone);
    assert_eq!(hand.query(), &Query::Observe);
    hand.answer(Answer::Seen(held(7, &me, 10_000, 0)));
    hand.input(Input::Stopped(epoch(7)));
    assert_eq!(hand.lease.unreleased(), None);
}

#[test]
fn an_epoch_that_was_seen_while_draining_is_remembered() {
    let mut hand = draining();
    hand.look(held(90, &candidate("b", 2), 0, 0));
    hand.input(Input::Stopped(epoch(7)));
    hand.look_on(60_000, &vacant(3)); // the database has lost it
    assert!(matches!(hand.query(), Query::Attempt { seen, .. } if *seen == epoch(90)));
}

#[test]
fn an_older_answer_does_not_undo_a_resignation() {
    let mut hand = draining();
    hand.others = None;
    hand.input(Input::Stopped(epoch(7)));
    hand.answer(Answer::Released);
    let ticket = asks_for_others(&mut hand);
    hand.input(Input::Resign);
    hand.event(Event::Answer { ticket, result: Ok(Answer::Others(false)) });
    hand.event(Event::Wake);
    assert_eq!(hand.run_until_asked(hand.now + 200), &Query::Observe, "it stays out");
}

#[test]
fn an_answer_to_another_question_counts_as_unknown() {
    for other in [won(9), Answer::Released] {
        let mut hand = Hand::leading();
        hand.run_until_asked(6_000);
        assert_eq!(hand.answer(other.clone()), None, "{other:?}");
        assert_eq!(hand.asked, None, "{other:?}: the renewal is repeated, but not at once");
        assert!(hand.next_wake() > 6_000, "{other:?}");
        assert!(matches!(hand.run_until_asked(6_600), Query::Renew { ordinal: 2, .. }));
        assert_eq!(hand.leads(), Some(7), "{other:?}");
    }
}

#[test]
fn a_returned_win_asks_nothing_before_its_release_settles() {
    // At or below what is known, and with too little time left.
    let short = Answer::Won { epoch: epoch(95), remaining: ms(3_000) };
    for useless in [won(5), short] {
        let mut hand = Hand::new(fifteen_seconds().min_epoch(epoch(91)).build().unwrap());
        assert_eq!(hand.answer(useless), None);
        for _ in 0..2 {
            assert!(resigns(&hand).is_some(), "{:?}", hand.asked);
            hand.fail(Failure::Transient);
            assert_eq!(hand.asked, None, "no look at the row meanwhile");
            hand.run_until_asked(3_000);
        }
    }
}

#[test]
fn one_success_makes_up_for_all_renewals_that_failed() {
    for failure in [Failure::Transient, Failure::Fatal, Failure::Ambiguous, Failure::Conflict] {
        let mut hand = Hand::leading();
        let wait = |hand: &mut Hand| {
            hand.fail(failure);
            let failed = hand.now;
            hand.run_until_asked(failed + 3_000);
            hand.now - failed
        };
        hand.run_until_asked(6_000);
        let waits = [wait(&mut hand), wait(&mut hand), wait(&mut hand)];
        let grow = waits[2] > waits[1] && waits[2] > 51;
        assert!(waits[0] <= 51, "{failure:?}: {waits:?} ms");
        assert_eq!(grow, failure != Failure::Conflict, "{failure:?}: {waits:?} ms");
        hand.answer(renewed());
        hand.run_until_asked(20_000);
        assert!(wait(&mut hand) <= 51, "{failure:?}: as long as the first time");
    }
}

#[test]
fn one_look_that_succeeds_makes_up_for_all_that_failed() {
    let mut hand = Hand::new(fifteen_seconds().build().unwrap());
    let mut waits = Vec::new();
    for _ in 0..3 {
        hand.fail(Failure::Transient);
        let failed = hand.now;
        hand.run_until_asked(failed + 60_000);
        waits.push(hand.now - failed);
    }
    assert!(waits[0] <= 1_200 && waits[2] >= 3_000, "{waits:?}");
    hand.answer(Answer::Seen(held(9, &candidate("b", 2), 14_000, 0)));
    hand.run_until_asked(hand.now + 60_000);
    hand.fail(Failure::Transient);
    let failed = hand.now;
    hand.run_until_asked(failed + 60_000);
    assert!(hand.now - failed <= 1_200, "{} ms", hand.now - failed);
}

#[test]
fn a_win_makes_up_for_all_looks_that_failed() {
    let mut hand = Hand::new(fifteen_seconds().build().unwrap());
    for _ in 0..3 {
        hand.fail(Failure::Transient);
        hand.run_until_asked(hand.now + 60_000);
    }
    assert!(matches!(hand.answer(won(7)), Some(Change::Elected(_))));
    hand.event(Event::Wake);
    assert_eq!(hand.run_until_asked(hand.now + 200), &Query::Observe);
    // A leader does not plan a look after one that failed. A follower does.
    hand.input(Input::Resign);
    hand.fail(Failure::Transient);
    let failed = hand.now;
    hand.run_until_asked(failed + 60_000);
    assert!(hand.now - failed <= 1_200, "{} ms", hand.now - failed);
}

#[test]
fn a_vacant_row_does_not_settle_an_open_release() {
    let config = fifteen_seconds().wake_jitter(Duration::ZERO).build().unwrap();
    let mut hand = Hand::new(config);
    hand.answer(won(7));
    hand.input(Input::Resign);
    hand.input(Input::Stopped(epoch(7)));
    hand.fail(Failure::Ambiguous);
    hand.event(Event::Wake);
    assert_eq!(hand.query(), &Query::Observe);
    hand.answer(Answer::Seen(vacant(7)));
    while resigns(&hand).is_none() {
        if hand.asked.is_some() {
            hand.answer(Answer::Seen(vacant(7)));
        }
        hand.run_until_asked(1_100);
    }
    hand.now += 2_400;
    let released = hand.now;
    hand.answer(Answer::Released);
    hand.look_on(60_000, &vacant(7));
    assert!(hand.now >= released + 5_000, "back {} ms after the release", hand.now - released);
}

#[test]
fn a_list_that_can_never_be_read_is_asked_for_once() {
    let mut hand = draining();
    hand.input(Input::Stopped(epoch(7)));
    hand.answer(Answer::Released);
    let ticket = asks_for_others(&mut hand);
    hand.event(Event::Answer { ticket, result: Err(Failure::Fatal) });
    hand.look_on(60_000, &vacant(7));
    assert_eq!(hand.asked_for_others, 0, "not again");
    assert!(hand.now >= 7_000, "it stays out, as there may be others");
}

#[test]
fn looks_do_not_hold_up_what_leadership_depends_on() {
    let mut hand = Hand::leading();
    hand.run_to(5_000);
    hand.event(Event::Wake);
    assert_eq!(hand.run_until_asked(5_100), &Query::Observe, "it hangs");
    assert!(matches!(hand.run_until_asked(6_000), Query::Renew { .. }));

    let mut hand = draining();
    hand.input(Input::Stopped(epoch(7)));
    hand.answer(Answer::Released);
    asks_for_others(&mut hand);
    hand.late(Ticket::NONE, won(9));
    assert_eq!(resigns(&hand), Some(9));
}

#[test]
fn to_hear_that_all_is_well_changes_nothing() {
    let mut hand = Hand::leading();
    let wake = hand.wake_at;
    assert_eq!(hand.event(Event::Health(true)), None);
    assert_eq!((hand.leads(), hand.wake_at), (Some(7), wake));
    let mut hand = Hand::new(fifteen_seconds().build().unwrap());
    hand.answer(Answer::Seen(held(9, &candidate("b", 2), 14_000, 0)));
    let wake = hand.wake_at;
    for healthy in [true, false, false] {
        assert_eq!(hand.event(Event::Health(healthy)), None);
        assert_eq!(hand.wake_at, wake, "health {healthy} is no reason to look");
    }
}

#[test]
fn a_leaving_elector_stops_asking_for_others() {
    let mut hand = draining();
    hand.others = None;
    hand.input(Input::Stopped(epoch(7)));
    hand.answer(Answer::Released);
    hand.run_until_asked(2_200);
    hand.answer(Answer::Seen(vacant(7)));
    assert_eq!(hand.asked_for_others, 1);
    hand.input(Input::Withdraw);
    assert_eq!(hand.query(), &Query::Unregister);
    hand.fail(Failure::Transient);
    hand.run_to(20_000);
    assert_eq!(hand.asked_for_others, 1);
}

#[test]
fn who_leaves_looks_again_for_a_win_that_it_does_not_know_of() {
    let mut hand = Hand::new(fifteen_seconds().build().unwrap());
    hand.answer(Answer::Seen(held(9, &candidate("b", 2), 400, 0)));
    assert!(matches!(hand.run_until_asked(1_500), Query::Attempt { .. }));
    hand.input(Input::Withdraw);
    hand.fail(Failure::Ambiguous);
    let mut looks = 0;
    while *hand.run_until_asked(60_000) == Query::Observe {
        looks += 1;
        hand.fail(Failure::Transient);
        if hand.asked.is_some() {
            break;
        }
    }
    assert!((50..70).contains(&looks), "{looks} looks in the length of a lease");
    assert_eq!(hand.query(), &Query::Unregister);
}

#[test]
fn an_unknown_win_after_failures_is_not_looked_for_at_once() {
    let mut hand = Hand::new(fifteen_seconds().build().unwrap());
    for _ in 0..2 {
        hand.fail(Failure::Transient);
        hand.run_until_asked(hand.now + 60_000);
    }
    hand.fail(Failure::Ambiguous);
    let failed = hand.now;
    assert_eq!(hand.run_until_asked(failed + 60_000), &Query::Observe);
    assert!(hand.now >= failed + 3_000, "the database is in trouble: {} ms", hand.now - failed);
}

#[test]
fn another_holder_of_the_same_epoch_ends_belief() {
    let mut hand = Hand::leading();
    hand.event(Event::Wake);
    hand.run_until_asked(1_100);
    // The database has lost the term, and given its number out again.
    let change = hand.answer(Answer::Seen(held(7, &candidate("b", 2), 14_000, 0)));
    assert_eq!(lost(change).0, Loss::Replaced);
}

#[test]
fn a_newer_own_term_found_during_a_release_is_released_too() {
    let config = fifteen_seconds().wake_jitter(Duration::ZERO).build().unwrap();
    let mut hand = Hand::new(config);
    let me = hand.me();
    hand.answer(won(7));
    hand.input(Input::Resign);
    hand.input(Input::Stopped(epoch(7)));
    hand.fail(Failure::Ambiguous);
    hand.event(Event::Wake);
    assert_eq!(hand.query(), &Query::Observe);
    hand.answer(Answer::Seen(held(9, &me, 14_000, 0)));
    assert_eq!((hand.leads(), resigns(&hand)), (None, Some(9)));
}
