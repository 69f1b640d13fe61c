//! One test per rule of the protocol; the head of `lease` states them.

use crate::hand::{Hand, candidate, fifteen_seconds, held, ms, renewed, vacant, won};
use core::time::Duration;
use election_core::{
    Change, Epoch, Input, Loss, Protocol, Timestamp,
    lease::{Answer, Config, Event, Failure, Lease, Query, Role, Row},
};
use std::collections::BTreeSet;

fn at(millis: u64) -> Timestamp {
    Timestamp::ZERO + ms(millis)
}

fn epoch(number: u64) -> Epoch {
    Epoch::new(number)
}

#[track_caller]
fn lost(change: Option<Change>) -> (Loss, Timestamp) {
    match change {
        Some(Change::Lost { reason, stop_by, .. }) => (reason, stop_by),
        other => panic!("expected a loss, got {other:?}"),
    }
}

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
    // What the hung one still brings is about the past, "no such row" included.
    assert_eq!(hand.late(hung, Answer::Gone), None);
    assert_eq!(hand.lease.tenure(hand.time()).unwrap().until, until);
}

#[test]
fn renewing_that_fails_until_trust_ends_is_a_loss_with_its_grace() {
    let mut hand = Hand::leading();
    let mut tries = 0;
    while hand.leads().is_some() {
        let wake = hand.next_wake();
        hand.run_to(wake);
        if matches!(hand.asked, Some((_, Query::Renew { .. }))) {
            tries += 1;
            hand.fail(Failure::Transient);
        }
    }
    assert!((5..50).contains(&tries), "{tries} renewals");
    let (reason, stop_by) = lost(hand.changes.last().cloned());
    assert_eq!((reason, stop_by), (Loss::Expired, at(15_000)));
}

#[test]
fn gone_means_stop_now_and_no_resigning() {
    let mut hand = Hand::leading();
    hand.run_until_asked(6_000);
    assert_eq!(lost(hand.answer(Answer::Gone)), (Loss::Replaced, at(6_000)));
    assert_eq!(hand.query(), &Query::Observe); // who is it, then?
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
    hand.input(Input::Stopped(epoch(6))); // of another epoch: means nothing
    assert_eq!(hand.asked, None);
    hand.input(Input::Stopped(epoch(7)));
    assert_eq!(hand.query(), &Query::Resign { epoch: epoch(7) });
}

#[test]
fn work_that_will_not_stop_is_never_released_and_never_campaigns() {
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
    let mut hand = Hand::leading();
    hand.input(Input::Resign);
    hand.input(Input::Stopped(epoch(7)));
    hand.now = 2_000;
    hand.answer(Answer::Released);
    assert_eq!(hand.query(), &Query::Observe);
    hand.answer(Answer::Seen(vacant(7)));
    hand.event(Event::Wake); // its own resignation, notified
    assert_eq!(hand.run_until_asked(6_999), &Query::Observe);
    hand.answer(Answer::Seen(vacant(7)));
    // One interval after the confirmed release it is a contender like any other.
    assert_eq!(hand.run_until_asked(7_049), &Query::Observe);
    hand.answer(Answer::Seen(vacant(7)));
    assert!(matches!(hand.run_until_asked(7_100), Query::Attempt { .. }));
    assert!(hand.now >= 7_000);
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
    let mut hand = Hand::leading();
    hand.input(Input::Resign);
    hand.input(Input::Stopped(epoch(7)));
    hand.answer(Answer::Released);
    hand.answer(Answer::Seen(held(8, &candidate("b", 2), 1_000, 0)));
    assert!(matches!(hand.run_until_asked(2_100), Query::Attempt { .. }));
}

#[test]
fn staying_out_begins_with_the_confirmed_end_of_the_term() {
    let mut hand = Hand::leading();
    let me = hand.me();
    hand.input(Input::Resign);
    hand.input(Input::Stopped(epoch(7)));
    for _ in 0..2 {
        assert_eq!(hand.query(), &Query::Resign { epoch: epoch(7) });
        hand.fail(Failure::Ambiguous);
        hand.run_until_asked(1_200);
    }
    hand.fail(Failure::Ambiguous);
    // Given up, and the row is still this process's: only the resign is tried again.
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
fn resigning_again_does_not_shorten_staying_out() {
    let mut hand = Hand::leading();
    hand.input(Input::Resign);
    hand.input(Input::Stopped(epoch(7)));
    for _ in 0..2 {
        hand.fail(Failure::Ambiguous);
        hand.run_until_asked(1_200);
    }
    hand.fail(Failure::Ambiguous); // the third release: whether it came through is unknown
    hand.fail(Failure::Transient);
    hand.input(Input::Resign);
    for _ in 0..10 {
        assert_eq!(hand.run_until_asked(60_000), &Query::Observe);
        hand.fail(Failure::Transient);
    }
}

#[test]
fn a_win_while_staying_out_unhealthy_or_leaving_is_resigned_never_believed() {
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
fn a_reading_cannot_win() {
    let mut hand = Hand::new(fifteen_seconds().build().unwrap());
    hand.fail(Failure::Ambiguous);
    assert_eq!(hand.run_until_asked(1_051), &Query::Observe);
    // The attempt's own answer under the reading's ticket: its trust would count from too late.
    assert_eq!(hand.answer(won(7)), None);
    assert_eq!(hand.query(), &Query::Resign { epoch: epoch(7) });
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
fn a_term_that_was_believed_or_resigned_is_never_led_again() {
    let mut hand = Hand::leading();
    let me = hand.me();
    hand.input(Input::Resign);
    hand.input(Input::Stopped(epoch(7)));
    hand.fail(Failure::Ambiguous);
    hand.run_until_asked(1_100);
    hand.answer(Answer::Released);
    // A replica, or a late statement, shows the old term once more.
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
    // The attempt in flight is not disturbed; then the stray term is resigned.
    let me = hand.me();
    assert_eq!(hand.answer(Answer::Seen(held(7, &me, 14_000, 0))), None);
    assert_eq!(hand.query(), &Query::Resign { epoch: epoch(7) });
}

#[test]
fn a_superseded_win_of_the_very_term_that_is_led_is_ignored() {
    let mut hand = Hand::new(fifteen_seconds().build().unwrap());
    let me = hand.me();
    let (late, _) = hand.asked.clone().unwrap();
    hand.run_until_asked(3_600);
    hand.answer(Answer::Seen(held(7, &me, 14_000, 0)));
    assert_eq!(hand.leads(), Some(7));
    hand.late(late, won(7));
    assert_eq!(hand.leads(), Some(7));
    hand.answer(renewed());
    hand.run_to(5_000);
    assert_eq!(hand.leads(), Some(7));
    assert_eq!(hand.asked, None, "nothing is resigned");
}

#[test]
fn every_attempt_asks_for_a_term_above_all_that_were_seen() {
    let mut hand = Hand::new(fifteen_seconds().build().unwrap());
    assert_eq!(hand.query(), &Query::Attempt { seen: epoch(0), ttl: ms(15_000) });
    hand.answer(Answer::Seen(held(90, &candidate("b", 2), 400, 0)));
    assert_eq!(hand.run_until_asked(1_500), &Query::Attempt { seen: epoch(90), ttl: ms(15_000) });
    // The database failed over to a copy that lost terms: this client has not.
    hand.answer(Answer::Seen(vacant(3)));
    let query = hand.run_until_asked(1_600);
    assert_eq!(query, &Query::Attempt { seen: epoch(90), ttl: ms(15_000) });
}

#[test]
fn a_loser_comes_back_when_the_lease_ends() {
    let mut hand = Hand::new(fifteen_seconds().build().unwrap());
    hand.answer(Answer::Seen(held(7, &candidate("b", 2), 1_200, 4)));
    assert!(matches!(hand.run_until_asked(2_300), Query::Attempt { .. }));
    assert!(hand.now >= 2_201);
}

#[test]
fn a_follower_reads_while_the_lease_is_live() {
    let mut hand = Hand::new(fifteen_seconds().build().unwrap());
    hand.answer(Answer::Seen(held(7, &candidate("b", 2), 14_000, 4)));
    assert_eq!(hand.run_until_asked(6_000), &Query::Observe);
}

#[test]
fn losing_a_race_is_looked_into_again_soon() {
    let mut hand = Hand::new(fifteen_seconds().build().unwrap());
    hand.answer(Answer::Seen(vacant(5))); // the row as it was before the race
    assert!(matches!(hand.run_until_asked(1_050), Query::Attempt { .. }));
}

#[test]
fn a_locked_row_means_held_and_is_no_reason_to_back_off() {
    let mut hand = Hand::new(fifteen_seconds().build().unwrap());
    for _ in 0..10 {
        hand.fail(Failure::Conflict);
        let before = hand.now;
        assert!(matches!(hand.run_until_asked(before + 51), Query::Attempt { .. }));
    }
}

#[test]
fn back_off_grows_and_never_exceeds_one_interval() {
    let mut hand = Hand::new(fifteen_seconds().build().unwrap());
    let mut longest = 0;
    for _ in 0..30 {
        let before = hand.now;
        hand.fail(Failure::Transient);
        hand.run_until_asked(before + 5_000);
        longest = longest.max(hand.now - before);
    }
    assert!((4_500..=5_000).contains(&longest), "{longest}");
}

#[test]
fn a_holder_silent_for_longer_than_its_lease_is_taken_over_from() {
    let other = candidate("b", 2);
    let mut hand = Hand::new(fifteen_seconds().build().unwrap());
    // The database's clock went back an hour: the lease seems to run for ever.
    let row = || Row { remaining: Duration::from_secs(3_600), ..held(7, &other, 0, 4) };
    hand.answer(Answer::Seen(row()));
    let first_seen = 1_000;
    loop {
        match hand.run_until_asked(30_000).clone() {
            Query::TakeOver { epoch: of, holder, renewals, .. } => {
                assert_eq!((of, holder, renewals), (epoch(7), other.clone(), 4));
                break;
            }
            Query::Observe | Query::Attempt { .. } => hand.answer(Answer::Seen(row())),
            query => panic!("{query:?}"),
        };
    }
    assert!(hand.now >= first_seen + 15_000 + 150 + 1_000, "too early: {}", hand.now);
    assert!(hand.now <= first_seen + 15_000 + 150 + 1_000 + 51, "too late: {}", hand.now);
}

#[test]
fn a_holder_that_renews_is_never_silent() {
    let other = candidate("b", 2);
    let mut hand = Hand::new(fifteen_seconds().build().unwrap());
    for renewals in 0..20 {
        let row = Row { remaining: Duration::from_secs(3_600), ..held(7, &other, 0, renewals) };
        hand.answer(Answer::Seen(row));
        let query = hand.run_until_asked(1_000_000);
        assert!(!matches!(query, Query::TakeOver { .. }), "{query:?}");
    }
}

#[test]
fn wake_ups_coalesce_and_are_not_lost() {
    let mut hand = Hand::new(fifteen_seconds().build().unwrap());
    let other = candidate("b", 2);
    hand.answer(Answer::Seen(held(7, &other, 14_000, 0)));
    let mut looks = 0;
    for step in 0..10_000 {
        hand.now = 1_001 + step / 10; // ten wake-ups a millisecond, for a second
        hand.event(Event::Wake);
        if hand.asked.is_some() {
            looks += 1;
            hand.answer(Answer::Seen(held(7, &other, 14_000, step)));
        }
    }
    assert!((5..=11).contains(&looks), "{looks} looks in one second");
}

#[test]
fn a_wake_up_during_a_look_leads_to_another_look() {
    let mut hand = Hand::new(fifteen_seconds().build().unwrap());
    let other = candidate("b", 2);
    hand.answer(Answer::Seen(held(7, &other, 14_000, 0)));
    hand.event(Event::Wake);
    hand.run_until_asked(1_100);
    hand.event(Event::Wake); // the row was read before this
    hand.answer(Answer::Seen(held(7, &other, 14_000, 0)));
    assert_eq!(hand.run_until_asked(1_300), &Query::Observe);
}

#[test]
fn a_woken_leader_looks_and_learns_what_a_renewal_would_tell() {
    let me_row = |hand: &Hand, requested| Row {
        resign_requested: requested,
        ..held(7, &hand.me(), 14_000, 0)
    };
    let mut hand = Hand::leading();
    hand.event(Event::Wake);
    assert_eq!(hand.run_until_asked(1_100), &Query::Observe);
    assert_eq!(hand.answer(Answer::Seen(me_row(&hand, false))), None);
    assert_eq!(hand.leads(), Some(7));

    hand.event(Event::Wake);
    hand.run_until_asked(1_300);
    let requested = me_row(&hand, true);
    assert_eq!(lost(hand.answer(Answer::Seen(requested))).0, Loss::ResignRequested);

    let mut hand = Hand::leading();
    hand.event(Event::Wake);
    hand.run_until_asked(1_100);
    let change = hand.answer(Answer::Seen(held(8, &candidate("b", 2), 14_000, 0)));
    let Some(Change::Lost { reason: Loss::Replaced, successor: Some(term), .. }) = change else {
        panic!("{change:?}")
    };
    assert_eq!((term.epoch, term.leader.as_str()), (epoch(8), "b"));
}

#[test]
fn a_stale_reading_tells_a_leader_nothing() {
    let mut hand = Hand::leading();
    hand.event(Event::Wake);
    hand.run_until_asked(1_100);
    assert_eq!(hand.answer(Answer::Seen(held(6, &candidate("b", 2), 14_000, 0))), None);
    assert_eq!(hand.leads(), Some(7));
}

#[test]
fn a_request_to_resign_concerns_one_term() {
    let mut hand = Hand::leading();
    assert_eq!(hand.event(Event::ResignRequested(epoch(6))), None);
    assert_eq!(hand.leads(), Some(7));
    assert_eq!(lost(hand.event(Event::ResignRequested(epoch(7)))).0, Loss::ResignRequested);

    let mut hand = Hand::leading();
    hand.run_until_asked(6_000);
    let requested = Answer::Renewed { remaining: ms(15_000), resign_requested: true };
    assert_eq!(lost(hand.answer(requested)).0, Loss::ResignRequested);
}

#[test]
fn an_observer_only_reads() {
    let mut hand = Hand::new(fifteen_seconds().role(Role::Observer).build().unwrap());
    for step in 0..10 {
        assert_eq!(hand.query(), &Query::Observe);
        hand.answer(Answer::Seen(vacant(step)));
        hand.run_until_asked(1_000_000);
    }
}

#[test]
fn followers_learn_whom_to_follow_once_per_leadership() {
    let (b, c) = (candidate("b", 2), candidate("c", 3));
    let mut hand = Hand::new(fifteen_seconds().role(Role::Observer).build().unwrap());
    let rows = [
        vacant(0),
        held(7, &b, 9_000, 0),
        held(7, &b, 9_000, 1),
        held(8, &b, 9_000, 0),
        held(9, &c, 9_000, 0),
        vacant(9),
        vacant(9),
    ];
    for row in rows {
        hand.answer(Answer::Seen(row));
        hand.run_until_asked(1_000_000);
    }
    let told: Vec<String> = hand
        .changes
        .iter()
        .map(|change| match change {
            Change::Followed { term, .. } => term.to_string(),
            Change::Vacant => "vacant".into(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(told, ["vacant", "b (epoch 7)", "b (epoch 8)", "c (epoch 9)", "vacant"]);
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
fn leaving_finishes_even_if_the_database_is_gone() {
    let mut hand = Hand::new(fifteen_seconds().build().unwrap());
    hand.input(Input::Withdraw); // with an attempt in flight
    for _ in 0..20 {
        if hand.lease.is_finished() {
            return;
        }
        if hand.asked.is_some() {
            hand.fail(Failure::Ambiguous);
        } else {
            let wake = hand.next_wake();
            hand.run_to(wake);
        }
    }
    panic!("still not finished: {:?}", hand.lease);
}

#[test]
fn leaving_finishes_even_if_the_row_stays_locked() {
    let mut hand = Hand::new(fifteen_seconds().build().unwrap());
    hand.input(Input::Withdraw);
    hand.fail(Failure::Ambiguous); // it may have won: the row is read back
    for _ in 0..6 {
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
fn two_processes_with_one_name_are_two_candidates() {
    let mut hand = Hand::new(fifteen_seconds().build().unwrap());
    let twin = candidate("me", 2);
    hand.fail(Failure::Ambiguous);
    hand.run_until_asked(1_051);
    let change = hand.answer(Answer::Seen(held(7, &twin, 14_000, 0)));
    assert!(matches!(change, Some(Change::Followed { .. })), "{change:?}");
}

#[test]
fn processes_of_one_configuration_do_not_jitter_in_step() {
    let config = Config::builder().build().unwrap();
    let polls: BTreeSet<_> = (100..120)
        .map(|life| {
            let lease = Lease::new(config.clone(), candidate("me", life), 0);
            let mut hand = Hand::with(lease);
            hand.answer(Answer::Seen(held(7, &candidate("b", 2), 14_000, 0)));
            hand.wake_at
        })
        .collect();
    assert!(polls.len() > 15, "{polls:?}");
}
