//! What a notification leads to, which anybody may send.
//!
//! Rule: A notification is a hint to look.

use super::*;

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

/// A follower of `b`'s seventh term, past its first look, without a wake jitter.
fn following() -> Hand {
    let mut hand = Hand::new(fifteen_seconds().wake_jitter(ms(0)).build().unwrap());
    hand.answer(Answer::Seen(held(7, &candidate("b", 2), 14_000, 0)));
    hand.now = 2_000;
    hand
}

#[test]
fn who_has_read_a_term_often_still_hears_of_its_end() {
    let mut hand = following();
    hand.event(Event::Wake);
    hand.answer(Answer::Seen(held(7, &candidate("b", 2), 14_000, 0)));
    hand.now = 2_500;
    hand.event(Event::Resigned(epoch(7)));
    assert!(matches!(hand.query(), Query::Attempt { .. }));
}

#[test]
fn without_a_known_term_a_resignation_is_a_wake_up() {
    for other in [6, 8] {
        let mut hand = following();
        hand.event(Event::Resigned(epoch(other)));
        assert_eq!(hand.query(), &Query::Observe, "{other}");
    }
    let mut hand = Hand::leading();
    hand.event(Event::Resigned(epoch(7))); // its own epoch: anybody may send that
    assert_eq!(hand.run_until_asked(1_100), &Query::Observe);
    assert_eq!(hand.leads(), Some(7));
}

#[test]
fn a_resignation_is_spread_by_the_wake_jitter() {
    let mut last = 0;
    for seed in 0..100 {
        let config = fifteen_seconds().build().unwrap();
        let mut hand = Hand::with(Lease::new(config, candidate("me", 1), seed));
        hand.answer(Answer::Seen(held(7, &candidate("b", 2), 14_000, 0)));
        hand.now = 2_000;
        hand.event(Event::Resigned(epoch(7)));
        assert!(matches!(hand.run_until_asked(2_011), Query::Attempt { .. }));
        last = last.max(hand.now);
    }
    assert!(last > 2_005, "{last}");
}

#[test]
fn a_false_resignation_costs_one_attempt_a_term() {
    let mut hand = following();
    let (mut attempts, mut looks) = (0, 0);
    for step in 0..10_000 {
        hand.now = 2_000 + step / 10;
        hand.event(Event::Resigned(epoch(7)));
        if hand.asked.is_some() {
            looks += 1;
            attempts += u64::from(matches!(hand.query(), Query::Attempt { .. }));
            hand.answer(Answer::Seen(held(7, &candidate("b", 2), 14_000, step)));
        }
    }
    assert_eq!(attempts, 1);
    assert!(looks <= 12, "{looks} looks in a second");
}

/// An operator's request wakes everybody, and the resignation soon after it does, too.
#[test]
fn a_wake_up_for_a_resignation_delays_no_other() {
    let holder = candidate("b", 2);
    let held = |epoch, renewals| held(epoch, &holder, 13_000, renewals);
    let spaced = [2_000, 2_100, 2_200];
    for (seen, looks) in [
        (Row { resign_requested: true, ..held(7, 0) }, [2_000, 2_020, 2_120]),
        (Row { holder: None, ..held(7, 0) }, [2_000, 2_020, 2_120]),
        (held(7, 1), spaced),
        (held(8, 0), spaced), // or two clones would take turns as fast as they can
    ] {
        let observer = fifteen_seconds().role(Role::Observer).wake_jitter(ms(0));
        let mut hand = Hand::new(observer.build().unwrap());
        hand.answer(Answer::Seen(held(7, 0)));
        hand.now = 2_000;
        for look in looks {
            hand.event(Event::Wake);
            if hand.asked.is_none() {
                hand.run_until_asked(look);
            }
            assert_eq!((hand.query(), hand.now), (&Query::Observe, look));
            hand.answer(Answer::Seen(seen.clone()));
            hand.now += 20;
        }
    }
}

#[test]
fn a_row_that_was_read_before_a_resignation_does_not_undo_it() {
    let mut hand = following();
    hand.event(Event::Wake);
    assert_eq!(hand.query(), &Query::Observe);
    hand.now = 2_001;
    hand.event(Event::Resigned(epoch(7)));
    hand.answer(Answer::Seen(held(7, &candidate("b", 2), 13_000, 0))); // as it was before
    assert_eq!((hand.now, hand.query()), (2_001, &Query::Observe));
}

#[test]
fn a_woken_leader_looks_and_learns_what_a_renewal_would_tell() {
    let me_row = |hand: &Hand, requested| Row {
        resign_requested: requested,
        ..held(7, &hand.me(), 14_000, 0)
    };
    let mut hand = Hand::leading();
    assert_eq!(hand.look(me_row(&hand, false)), None);
    assert_eq!(hand.leads(), Some(7));

    hand.event(Event::Wake);
    hand.run_until_asked(1_300);
    let requested = me_row(&hand, true);
    assert_eq!(lost(hand.answer(Answer::Seen(requested))).0, Loss::ResignRequested);

    let mut hand = Hand::leading();
    let change = hand.look(held(8, &candidate("b", 2), 14_000, 0));
    let Some(Change::Lost { reason: Loss::Replaced, successor: Some(term), .. }) = change else {
        panic!("{change:?}")
    };
    assert_eq!((term.epoch, term.leader.as_str()), (epoch(8), "b"));
}

#[test]
fn a_wake_up_is_not_lost_when_leadership_ends_before_the_look() {
    let mut hand = Hand::leading();
    hand.event(Event::Wake);
    hand.event(Event::Health(false));
    assert_eq!(hand.run_until_asked(1_100), &Query::Observe);
}

#[test]
fn what_was_said_of_one_term_says_nothing_of_the_next() {
    let mut hand = following();
    hand.event(Event::Resigned(epoch(7)));
    assert!(matches!(hand.query(), Query::Attempt { .. }));
    hand.answer(Answer::Seen(held(8, &candidate("c", 3), 14_000, 0)));
    hand.now = 3_000;
    hand.event(Event::Resigned(epoch(8)));
    assert!(matches!(hand.query(), Query::Attempt { .. }), "{:?}", hand.query());
}

#[test]
fn a_wake_up_in_the_instant_of_a_look_leads_to_another() {
    // The row may have been read before it changed.
    for resign_requested in [false, true] {
        let mut hand = following();
        let row = Row { resign_requested, ..held(7, &candidate("b", 2), 13_000, 0) };
        for (look, next) in [(2_000, 2_100), (2_100, 2_200)] {
            hand.event(Event::Wake);
            assert_eq!((hand.now, hand.query()), (look, &Query::Observe));
            hand.event(Event::Wake);
            hand.answer(Answer::Seen(row.clone()));
            hand.run_until_asked(next);
            assert_eq!(hand.now, next);
        }
    }
}
