//! How leadership ends, how it is handed over, and which candidates stay out of the next race.
//!
//! Rule: Drain before release.
//! Rule: A candidate that resigned stays out.

use super::*;

#[test]
fn gone_means_stop_now_and_no_resigning() {
    let mut hand = Hand::leading();
    hand.run_until_asked(6_000);
    assert_eq!(lost(hand.answer(Answer::Gone)), (Loss::Replaced, at(6_000)));
    assert_eq!(hand.query(), &Query::Observe); // to learn who holds it
    hand.answer(Answer::Seen(held(9, &candidate("b", 2), 9_000, 1)));
    hand.input(Input::Stopped(epoch(7)));
    hand.run_to(9_000);
    assert!(!matches!(hand.asked, Some((_, Query::Resign { .. }))));
}

#[test]
fn belief_ends_first_then_work_stops_then_the_term_is_released() {
    let mut hand = Hand::leading();
    hand.now = 3_000;
    assert_eq!(lost(hand.input(Input::Resign)), (Loss::Resigned, at(5_500)));
    assert_eq!(hand.leads(), None);
    hand.asked = None;
    hand.input(Input::Stopped(epoch(6))); // another epoch: no effect
    assert_eq!(hand.asked, None);
    hand.input(Input::Stopped(epoch(7)));
    assert_eq!(hand.query(), &Query::Resign { epoch: epoch(7) });
}

#[test]
fn a_stop_that_is_reported_before_the_loss_is_not_remembered() {
    let mut hand = Hand::leading();
    hand.input(Input::Stopped(epoch(7)));
    assert_eq!((hand.leads(), hand.lease.draining()), (Some(7), None));
    hand.input(Input::Resign);
    assert_eq!(hand.lease.draining(), Some(epoch(7)));
}

#[test]
fn unstopped_work_is_never_released_nor_campaigns() {
    let mut hand = Hand::leading();
    hand.input(Input::Resign);
    hand.asked = None;
    for _ in 0..20 {
        let query = hand.run_until_asked(1_000_000).clone();
        assert_eq!(query, Query::Observe, "while leader work runs on");
        hand.answer(Answer::Seen(vacant(7)));
    }
}

#[test]
fn the_hard_stop_is_never_later_than_the_trust_deadline() {
    let mut hand = Hand::leading();
    hand.now = 12_499;
    assert_eq!(lost(hand.input(Input::Resign)).1, at(14_999));
    let mut hand = Hand::leading();
    hand.now = 14_000; // a stalled process: the step itself comes late
    assert_eq!(lost(hand.input(Input::Resign)), (Loss::Expired, at(15_000)));
}

#[test]
fn who_resigned_stays_out_and_polls_by_reading() {
    // A term that is gone holds as little as one that was released.
    for confirmed in [Answer::Released, Answer::Gone] {
        let mut hand = Hand::resigned();
        hand.now = 2_000;
        hand.answer(confirmed);
        // The others get time to take the row.
        assert_eq!(hand.run_until_asked(2_110), &Query::Observe);
        assert_eq!(hand.now, 2_110, "the wake jitter and the space between two wakes");
        hand.answer(Answer::Seen(vacant(7)));
        hand.event(Event::Wake); // its own resignation, notified
        assert_eq!(hand.run_until_asked(6_999), &Query::Observe);
        hand.answer(Answer::Seen(vacant(7)));
        // One interval after the confirmed release, the candidate campaigns like any other.
        assert!(matches!(hand.run_until_asked(7_100), Query::Attempt { .. }));
        assert!(hand.now >= 7_000);
    }
}

#[test]
fn who_has_stayed_out_and_is_unfit_reads_at_its_usual_pace() {
    let mut hand = Hand::resigned();
    hand.now = 2_000;
    hand.event(Event::Health(false));
    hand.answer(Answer::Released);
    for _ in 0..8 {
        assert_eq!(hand.run_until_asked(60_000), &Query::Observe);
        hand.answer(Answer::Seen(vacant(7)));
    }
    assert!(hand.now >= 35_000, "eight looks within {} ms", hand.now);
}

#[test]
fn after_resigning_alone_it_stands_again_at_once() {
    let mut hand = Hand::leading();
    hand.others = Some(false);
    hand.input(Input::Resign);
    hand.input(Input::Stopped(epoch(7)));
    hand.now = 2_000;
    hand.answer(Answer::Released);
    // Followers that are awake take the row now, or put themselves on the list.
    hand.event(Event::Wake);
    assert_eq!(hand.run_until_asked(2_060), &Query::Observe);
    hand.answer(Answer::Seen(vacant(7)));
    assert_eq!(hand.run_until_asked(2_150), &Query::Observe);
    assert!(hand.now >= 2_100);
    hand.answer(Answer::Seen(vacant(7)));
    assert!(matches!(hand.query(), Query::Attempt { seen, .. } if *seen == epoch(7)));
    assert!(hand.now <= 2_150, "nobody led until {} ms", hand.now);
}

#[test]
fn after_resigning_it_asks_for_others_once_until_a_leader() {
    let mut hand = Hand::leading();
    hand.others = Some(true);
    hand.input(Input::Resign);
    hand.input(Input::Stopped(epoch(7)));
    hand.answer(Answer::Released);
    for _ in 0..3 {
        assert_eq!(hand.run_until_asked(6_900), &Query::Observe);
        hand.answer(Answer::Seen(vacant(7)));
        // If the lease asked again, this answer would let it stand.
        hand.others = Some(false);
        hand.event(Event::Wake);
    }
    assert_eq!(hand.run_until_asked(6_900), &Query::Observe);
}

#[test]
fn one_failure_to_ask_for_others_does_not_cost_the_interval() {
    let mut hand = Hand::leading();
    hand.others = None;
    hand.input(Input::Resign);
    hand.input(Input::Stopped(epoch(7)));
    hand.now = 2_000;
    hand.answer(Answer::Released);
    assert_eq!(hand.run_until_asked(2_150), &Query::Observe);
    hand.answer(Answer::Seen(vacant(7)));
    assert_eq!(hand.asked_for_others, 1);
    hand.others = Some(false);
    // The next try comes one attempt (2.5 s) later.
    hand.look_on(4_800, &vacant(7));
    assert!(matches!(hand.query(), Query::Attempt { .. }));
    assert_eq!(hand.asked_for_others, 2);
}

#[test]
fn every_follower_has_its_turn_before_the_resigner_comes_back() {
    for life in 1..200 {
        let config = Config::builder().build().unwrap(); // interval 5 s, jitter 1 s
        let mut hand = Hand::with(Lease::new(config, candidate("me", life), 42));
        hand.answer(won(7));
        hand.input(Input::Resign);
        hand.input(Input::Stopped(epoch(7)));
        hand.answer(Answer::Released);
        hand.run_until_asked(1_150);
        while matches!(hand.query(), Query::Observe) {
            hand.answer(Answer::Seen(vacant(7)));
            hand.run_until_asked(60_000);
        }
        // A follower that polled just before the release polls again within six seconds.
        assert!(hand.now >= 1_000 + 6_000, "life {life}: back at {} ms", hand.now);
    }
}

#[test]
fn who_resigned_stays_out_only_until_another_leads() {
    let mut hand = Hand::resigned();
    hand.answer(Answer::Released);
    hand.run_until_asked(1_150);
    hand.answer(Answer::Seen(held(8, &candidate("b", 2), 900, 0)));
    assert!(matches!(hand.run_until_asked(2_100), Query::Attempt { .. }));
}

/// What it has seen before its own terms were given back tells of a time before that.
#[test]
fn a_term_seen_while_work_was_to_stop_ends_no_staying_out() {
    let mut hand = Hand::leading();
    hand.run_until_asked(6_000);
    hand.answer(won(8)); // an answer to something else: that term is given back, too
    hand.input(Input::Resign);
    while *hand.run_until_asked(60_000) != Query::Observe {
        hand.fail(Failure::Transient);
    }
    hand.answer(Answer::Seen(vacant(9)));
    hand.input(Input::Stopped(epoch(7)));
    assert_eq!(hand.query(), &Query::Resign { epoch: epoch(8) });
    hand.answer(Answer::Released);
    let confirmed = hand.now;
    hand.look_on(60_000, &vacant(9));
    assert!(hand.now >= confirmed + 5_000, "back after {} ms", hand.now - confirmed);
}

/// Another's term covers the resignation of what was never led, too.
#[test]
fn another_leader_ends_staying_out_before_a_vacancy() {
    let mut hand = Hand::new(fifteen_seconds().build().unwrap());
    hand.input(Input::Resign);
    hand.answer(Answer::Seen(held(8, &candidate("b", 2), 900, 0)));
    assert!(matches!(hand.run_until_asked(2_100), Query::Attempt { .. }));
}

/// Looks are spaced, so a short term of another can come and go between two of them.
#[test]
fn who_resigned_stands_again_where_another_has_led_unseen() {
    let successors = [vacant(8), held(8, &candidate("b", 2), 0, 0)];
    for row in successors {
        let mut hand = Hand::resigned();
        hand.now = 2_000;
        hand.answer(Answer::Released);
        hand.event(Event::Wake);
        assert_eq!(hand.run_until_asked(2_150), &Query::Observe);
        hand.answer(Answer::Seen(row));
        assert!(matches!(hand.query(), Query::Attempt { seen, .. } if *seen == epoch(8)));
    }
}

#[test]
fn a_term_of_ones_own_is_no_successor() {
    let mut hand = Hand::resigned();
    let me = hand.me();
    hand.now = 2_000;
    hand.answer(Answer::Released);
    // An attempt from before the leadership was executed only now, and its lease has run out.
    assert_eq!(hand.run_until_asked(2_150), &Query::Observe);
    hand.answer(Answer::Seen(held(8, &me, 0, 0)));
    assert_eq!(hand.asked, None);
    hand.event(Event::Wake);
    assert_eq!(hand.run_until_asked(6_900), &Query::Observe);
}

/// What was vacated before the resignation tells nothing about the time after it.
#[test]
fn the_look_that_confirms_the_vacancy_shows_no_successor() {
    let mut hand = Hand::new(fifteen_seconds().build().unwrap());
    hand.input(Input::Resign);
    for _ in 0..3 {
        hand.answer(Answer::Seen(vacant(8)));
        hand.event(Event::Wake);
        assert_eq!(hand.run_until_asked(4_900), &Query::Observe);
    }
    hand.answer(Answer::Seen(vacant(9)));
    assert!(matches!(hand.query(), Query::Attempt { seen, .. } if *seen == epoch(9)));
}

#[test]
fn staying_out_begins_with_the_confirmed_end_of_the_term() {
    let mut hand = Hand::resigned();
    let me = hand.me();
    while hand.lease.unreleased().is_some() {
        hand.fail(Failure::Ambiguous);
        hand.run_until_asked(21_000);
    }
    // The resign was given up, and the row is still this process's: it only tries the resign again.
    assert_eq!(hand.query(), &Query::Observe);
    hand.answer(Answer::Seen(held(7, &me, 9_000, 0)));
    assert_eq!(hand.query(), &Query::Resign { epoch: epoch(7) });
    assert_eq!(hand.leads(), None);
}

#[test]
fn a_resignation_covers_a_win_that_nobody_knows_of_yet() {
    let mut hand = Hand::new(fifteen_seconds().build().unwrap());
    let me = hand.me();
    hand.fail(Failure::Ambiguous);
    hand.input(Input::Resign);
    hand.now = 7_000; // the reading comes late: more than an interval after
    hand.input(Input::Tick);
    assert_eq!(hand.query(), &Query::Observe);
    hand.answer(Answer::Seen(held(7, &me, 14_000, 0)));
    assert_eq!(hand.leads(), None);
    assert_eq!(hand.query(), &Query::Resign { epoch: epoch(7) });
}

#[test]
fn a_win_while_not_a_candidate_is_resigned_not_believed() {
    let inputs = [Input::Resign, Input::Event(Event::Health(false)), Input::Withdraw];
    for input in inputs {
        let mut hand = Hand::new(fifteen_seconds().build().unwrap());
        hand.input(input.clone());
        assert_eq!(hand.answer(won(7)), None, "{input:?}");
        assert_eq!(hand.query(), &Query::Resign { epoch: epoch(7) }, "{input:?}");
    }
}

#[test]
fn an_unhealthy_leader_steps_down_and_campaigns_again_once_well() {
    let mut hand = Hand::leading();
    assert_eq!(lost(hand.event(Event::Health(false))).0, Loss::Unhealthy);
    hand.input(Input::Stopped(epoch(7)));
    hand.answer(Answer::Released);
    for _ in 0..5 {
        hand.answer(Answer::Seen(vacant(7)));
        assert_eq!(hand.run_until_asked(100_000), &Query::Observe);
    }
    hand.answer(Answer::Seen(vacant(7)));
    hand.event(Event::Health(true));
    assert!(matches!(hand.run_until_asked(hand.now + 50), Query::Attempt { .. }));
}

#[test]
fn a_request_to_resign_concerns_one_term() {
    let mut hand = Hand::leading();
    hand.event(Event::Wake);
    assert_eq!(hand.run_until_asked(1_100), &Query::Observe);
    let older = Row { resign_requested: true, ..held(6, &hand.me(), 14_000, 0) };
    assert_eq!(hand.answer(Answer::Seen(older)), None);
    assert_eq!(hand.leads(), Some(7));
    hand.run_until_asked(6_000);
    let requested = Answer::Renewed { remaining: ms(15_000), resign_requested: true };
    assert_eq!(lost(hand.answer(requested)).0, Loss::ResignRequested);
}

#[test]
fn leaving_releases_unlists_and_finishes() {
    let mut hand = Hand::leading();
    assert_eq!(lost(hand.input(Input::Withdraw)).0, Loss::Withdrawn);
    assert!(!hand.lease.is_finished());
    hand.input(Input::Stopped(epoch(7)));
    assert_eq!(hand.query(), &Query::Resign { epoch: epoch(7) });
    hand.answer(Answer::Released);
    assert_eq!(hand.query(), &Query::Unregister);
    hand.answer(Answer::Listed);
    assert!(hand.lease.is_finished());
    assert_eq!(hand.wake_at, None);
}

#[test]
fn leaving_finishes_even_if_the_row_stays_locked() {
    let mut hand = Hand::new(fifteen_seconds().build().unwrap());
    hand.input(Input::Withdraw);
    hand.fail(Failure::Ambiguous); // it may have won: the row is read back
    while hand.now < 16_000 {
        if matches!(hand.asked, Some((_, Query::Observe))) {
            hand.fail(Failure::Conflict);
        }
        if matches!(hand.asked, Some((_, Query::Unregister))) {
            hand.answer(Answer::Listed);
        }
        if hand.lease.is_finished() {
            return;
        }
        let wake = hand.next_wake();
        hand.run_to(wake);
    }
    panic!("still not finished: {:?}", hand.lease);
}

#[test]
fn who_leaves_does_not_wait_for_a_look_that_hangs() {
    let mut hand = Hand::new(fifteen_seconds().build().unwrap());
    hand.answer(Answer::Seen(held(7, &candidate("b", 2), 14_000, 0)));
    assert_eq!(hand.run_until_asked(6_000), &Query::Observe);
    hand.input(Input::Withdraw);
    assert_eq!(hand.query(), &Query::Unregister);
}

#[test]
fn who_leaves_stays_on_the_list_until_its_term_is_released() {
    let mut hand = Hand::leading();
    hand.input(Input::Withdraw);
    assert_eq!(hand.asked, None, "its work is still to stop");
    hand.input(Input::Stopped(epoch(7)));
    while hand.lease.unreleased().is_some() {
        assert_eq!(hand.query(), &Query::Resign { epoch: epoch(7) });
        hand.fail(Failure::Transient);
        if hand.lease.unreleased().is_some() {
            assert_eq!(hand.asked, None);
            hand.run_until_asked(hand.now + 1_000);
        }
    }
    assert_eq!(hand.query(), &Query::Unregister, "the lease runs out");
    // A win that turns up now is released first.
    hand.late(Ticket::NONE, won(9));
    assert_eq!(hand.query(), &Query::Resign { epoch: epoch(9) });
}

#[test]
fn an_observer_leaves_no_trace() {
    let mut hand = Hand::new(fifteen_seconds().role(Role::Observer).build().unwrap());
    hand.answer(Answer::Seen(vacant(3)));
    assert_eq!(hand.asked, None);
    hand.input(Input::Withdraw);
    assert_eq!(hand.asked, None, "it was never on the list");
    assert!(hand.lease.is_finished());
}

#[test]
fn to_recover_while_the_work_still_stops_is_no_reason_to_look() {
    let mut hand = Hand::leading();
    hand.event(Event::Health(false));
    let wake = hand.wake_at;
    hand.event(Event::Health(true));
    assert_eq!(hand.wake_at, wake);
}
