//! A lease that lasts for a least time, whatever becomes of its holder.
//!
//! Rule: A lease can be made to last.

use super::*;

/// The lease of fifteen seconds, kept for a minute.
fn a_minute() -> ConfigBuilder {
    fifteen_seconds().at_least_for(ms(60_000))
}

/// A leader of epoch 7 that asked at 1,000 ms and was answered then.
fn leading() -> Hand {
    let mut hand = Hand::new(a_minute().build().unwrap());
    assert!(matches!(hand.query(), Query::Attempt { ttl, .. } if *ttl == ms(60_000)));
    let won = Answer::Won { epoch: epoch(7), remaining: ms(60_000) };
    let Some(Change::Elected(tenure)) = hand.answer(won) else { panic!("not elected") };
    assert_eq!(
        (tenure.until, tenure.stop_by),
        (at(12_500), at(15_000)),
        "trust is that of the ttl"
    );
    hand
}

/// The row under its own name, with so much of the minute left.
fn own(hand: &Hand, left: u64) -> Answer {
    Answer::Seen(Row { ttl: ms(60_000), ..held(7, &hand.me(), left, 1) })
}

fn stop(hand: &mut Hand) {
    hand.asked = None;
    hand.input(Input::Stopped(epoch(7)));
}

/// The lease has just been cut down to the rest, by the renewal with this number.
#[track_caller]
fn cut(hand: &mut Hand, ordinal: u64, rest: u64) {
    assert_eq!(
        hand.query(),
        &Query::Renew {
            epoch: epoch(7),
            ordinal,
            ttl: ms(rest),
            clock_step: Duration::ZERO,
            leads: true,
        }
    );
    hand.answer(Answer::Renewed { remaining: ms(rest), resign_requested: false });
}

/// The database's clock has gone back, and the lease of somebody silent seems to run for ever.
#[test]
fn a_lease_that_is_taken_over_lasts_as_long() {
    let other = candidate("b", 2);
    let mut hand = Hand::new(a_minute().build().unwrap());
    let row = Row { remaining: Duration::from_secs(7_200), ..held(5, &other, 0, 4) };
    hand.answer(Answer::Seen(row.clone()));
    let query = hand.run_until_take_over(200_000, &row);
    assert!(matches!(query, Query::TakeOver { ttl, .. } if ttl == ms(60_000)), "{query:?}");
}

#[test]
fn renewals_ask_for_the_rest_and_then_for_the_ttl() {
    let mut hand = leading();
    let mut lengths = Vec::new();
    while hand.now < 65_000 {
        let Query::Renew { ttl, .. } = *hand.run_until_asked(100_000) else { panic!("no renewal") };
        lengths.push((hand.now, ttl.as_millis()));
        hand.answer(Answer::Renewed { remaining: ttl, resign_requested: false });
    }
    // The database's clock may be slower by one per cent: it may have counted less.
    let rest = |now: u64| 60_000_u128.saturating_sub(u128::from((now - 1_000) * 99 / 100));
    for (now, length) in lengths {
        assert_eq!(length, rest(now).max(15_000), "at {now} ms");
    }
    assert_eq!(rest(6_000), 55_050);
}

#[test]
fn whoever_leaves_early_leaves_the_rest_of_the_lease_in_force() {
    let mut hand = leading();
    hand.run_until_asked(10_000); // a renewal, whose outcome stays unknown
    hand.input(Input::Withdraw);
    stop(&mut hand);
    cut(&mut hand, 2, 55_050);
    assert_eq!(hand.query(), &Query::Unregister);
    hand.answer(Answer::Listed);
    assert!(hand.lease.is_finished());
}

#[test]
fn whoever_leaves_later_gives_the_lease_back() {
    // After a minute, and one per cent more, the database has counted a minute.
    for (leaves, keeps) in [(61_000, true), (61_599, true), (61_607, false)] {
        let mut hand = leading();
        hand.asked = None;
        hand.now = leaves;
        hand.input(Input::Tick);
        hand.input(Input::Withdraw);
        stop(&mut hand);
        let kept = matches!(hand.query(), Query::Renew { .. });
        assert_eq!(
            (kept, hand.lease.kept().is_some()),
            (keeps, keeps),
            "at {leaves} ms: {:?}",
            hand.query()
        );
    }
}

#[test]
fn a_request_to_resign_ends_the_work_and_not_the_lease() {
    let mut hand = leading();
    hand.run_until_asked(10_000);
    let asked = Answer::Renewed { remaining: ms(55_050), resign_requested: true };
    assert_eq!(hand.lease.kept(), None);
    assert_eq!(lost(hand.answer(asked)).0, Loss::ResignRequested);
    stop(&mut hand);
    assert_eq!(hand.lease.kept(), Some((epoch(7), ms(55_050))));
    cut(&mut hand, 2, 55_050);
    // It looks, finds its own lease, and neither leads nor releases it before the end.
    while hand.now < 60_000 {
        assert_eq!(hand.run_until_asked(100_000), &Query::Observe);
        hand.answer(own(&hand, 61_050_u64.saturating_sub(hand.now)));
        assert_eq!(hand.leads(), None);
    }
}

#[test]
fn an_expired_leader_finds_its_lease_and_leaves_it() {
    let mut hand = leading();
    hand.asked = None;
    hand.now = 13_000;
    assert_eq!(lost(hand.input(Input::Tick)).0, Loss::Expired);
    stop(&mut hand);
    cut(&mut hand, 1, 48_120);
    hand.run_until_asked(20_000);
    hand.answer(own(&hand, 61_000 - hand.now));
    // Once it has ended, this process stands again like any other.
    while *hand.run_until_asked(70_000) == Query::Observe {
        assert!(hand.now < 61_000);
        hand.answer(own(&hand, 61_000 - hand.now));
    }
    assert!(matches!(hand.query(), Query::Attempt { .. }) && hand.now >= 61_000);
}

#[test]
fn a_late_answer_about_a_kept_term_does_not_release_it() {
    let mut hand = Hand::new(a_minute().build().unwrap());
    let (ticket, _) = hand.asked.clone().unwrap();
    let won = Answer::Won { epoch: epoch(7), remaining: ms(60_000) };
    hand.answer(won.clone());
    hand.input(Input::Withdraw);
    stop(&mut hand);
    cut(&mut hand, 1, 60_000);
    hand.late(ticket, won);
    assert_eq!(hand.query(), &Query::Unregister);
    hand.answer(Answer::Listed);
    assert!(hand.lease.is_finished());
}

#[test]
fn a_term_that_was_won_and_never_led_is_given_back() {
    let mut hand = Hand::new(a_minute().build().unwrap());
    hand.now = 16_000; // the answer comes after all trust in it
    let (ticket, _) = hand.asked.take().unwrap();
    hand.late(ticket, Answer::Won { epoch: epoch(7), remaining: ms(60_000) });
    assert_eq!(hand.query(), &Query::Resign { epoch: epoch(7) });
}

/// A lease that could not be cut down is tried again, and then lasts for its ttl.
#[test]
fn a_lease_that_was_not_cut_down_is_cut_down_later() {
    let mut hand = leading();
    hand.input(Input::Resign);
    stop(&mut hand);
    let mut tries = 0;
    while hand.lease.unreleased().is_some() {
        if let Query::Renew { ordinal, .. } = *hand.query() {
            tries += 1;
            assert_eq!(ordinal, tries);
        }
        hand.fail(Failure::Ambiguous);
        hand.run_until_asked(20_000);
    }
    assert_eq!(hand.query(), &Query::Observe);
    hand.answer(own(&hand, 50_000));
    let again = matches!(hand.query(), Query::Renew { ordinal, .. } if *ordinal == tries + 1);
    assert!(again && tries > 3, "{:?} after {tries} tries", hand.query());
    hand.answer(Answer::Gone);
    hand.input(Input::Withdraw);
    assert_eq!(hand.query(), &Query::Unregister);
}

/// What the answer took does not count: the database may have granted the lease just before it.
#[test]
fn the_least_time_counts_from_the_answer() {
    let mut hand = Hand::new(a_minute().build().unwrap());
    hand.now = 3_000;
    let won = Answer::Won { epoch: epoch(7), remaining: ms(60_000) };
    assert!(matches!(hand.answer(won), Some(Change::Elected(_))));
    hand.input(Input::Withdraw);
    stop(&mut hand);
    cut(&mut hand, 1, 60_000);
}

#[test]
fn the_next_term_is_kept_as_long() {
    let mut hand = leading();
    hand.asked = None;
    hand.now = 13_000;
    hand.input(Input::Tick);
    stop(&mut hand);
    cut(&mut hand, 1, 48_120);
    assert!(matches!(hand.run_until_asked(20_000), Query::Attempt { .. }));
    let won = Answer::Won { epoch: epoch(8), remaining: ms(60_000) };
    assert!(matches!(hand.answer(won), Some(Change::Elected(_))));
    let Query::Renew { ttl, .. } = *hand.run_until_asked(80_000) else { panic!("no renewal") };
    assert_eq!(ttl, ms(55_050));
}

/// Its lease ends sooner now than the row said, so the next question is not put off by it.
#[test]
fn what_was_seen_before_the_lease_was_cut_down_counts_no_more() {
    let mut hand = leading();
    hand.event(Event::Health(false));
    hand.event(Event::Wake);
    assert_eq!(hand.run_until_asked(2_000), &Query::Observe);
    let seen = own(&hand, 59_000);
    hand.answer(seen);
    stop(&mut hand);
    let Query::Renew { ordinal, ttl, .. } = *hand.query() else { panic!("not cut down") };
    cut(&mut hand, ordinal, u64::try_from(ttl.as_millis()).unwrap());
    hand.asked = None;
    hand.event(Event::Health(true));
    assert!(matches!(hand.run_until_asked(3_000), Query::Attempt { .. }));
}

/// An attempt that was given up on has won after all, while the lease of the term before is cut down.
#[test]
fn a_late_win_beside_a_cut_is_released() {
    let mut hand = leading();
    hand.input(Input::Resign);
    stop(&mut hand);
    let cut = hand.asked.clone().expect("the cut").0;
    assert!(matches!(hand.query(), Query::Renew { .. }));
    hand.late(Ticket::NONE, Answer::Won { epoch: epoch(9), remaining: ms(60_000) });
    hand.asked = None;
    hand.late(cut, Answer::Renewed { remaining: ms(60_000), resign_requested: false });
    assert_eq!(hand.query(), &Query::Resign { epoch: epoch(9) });
}

#[test]
fn a_cut_answered_too_late_is_followed_by_a_release() {
    let mut hand = leading();
    while hand.now < 56_000 {
        let Query::Renew { ttl, .. } = *hand.run_until_asked(100_000) else { panic!("no renewal") };
        hand.answer(Answer::Renewed { remaining: ttl, resign_requested: false });
    }
    hand.run_to(60_000);
    hand.input(Input::Resign);
    stop(&mut hand);
    assert!(matches!(hand.query(), Query::Renew { .. }));
    hand.now += 2_400;
    hand.answer(Answer::Renewed { remaining: ms(1_600), resign_requested: false });
    assert_eq!(hand.run_until_asked(64_000), &Query::Resign { epoch: epoch(7) });
}
