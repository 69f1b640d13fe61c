//! Following: polls, wake-ups, back-off, and the leader to follow.

use super::*;

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
fn whoever_holds_the_row_anew_has_its_whole_lease_before_it_counts_as_silent() {
    let (b, again, c) = (candidate("b", 2), candidate("b", 3), candidate("c", 4));
    let for_ever = |row: Row| Row { remaining: Duration::from_secs(3_600), ..row };
    for news in [held(8, &b, 0, 4), held(7, &b, 0, 5), held(7, &c, 0, 4), held(7, &again, 0, 4)] {
        let mut hand = Hand::new(fifteen_seconds().build().unwrap());
        hand.answer(Answer::Seen(for_ever(held(7, &b, 0, 4))));
        assert_eq!(hand.run_until_asked(6_000), &Query::Observe);
        hand.answer(Answer::Seen(for_ever(news.clone())));
        let known_since = hand.now;
        while !matches!(hand.run_until_asked(60_000), Query::TakeOver { .. }) {
            hand.answer(Answer::Seen(for_ever(news.clone())));
        }
        assert!(hand.now >= known_since + 15_000 + 150 + 1_000, "{} ms: {news:?}", hand.now);
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
fn without_a_wake_jitter_who_is_woken_looks_at_once() {
    let mut hand = Hand::new(fifteen_seconds().wake_jitter(ms(0)).build().unwrap());
    hand.answer(Answer::Seen(held(7, &candidate("b", 2), 14_000, 0)));
    hand.now = 2_000;
    hand.event(Event::Wake);
    assert_eq!(hand.query(), &Query::Observe);
    hand.answer(Answer::Seen(vacant(7)));
    assert!(matches!(hand.query(), Query::Attempt { .. }));
    assert!(matches!(hand.answer(won(8)), Some(Change::Elected(_))));
    assert_eq!(hand.now, 2_000);
}

#[test]
fn without_a_wake_jitter_a_held_lock_still_spreads_who_met_it() {
    let mut hand = Hand::new(fifteen_seconds().wake_jitter(ms(0)).build().unwrap());
    for _ in 0..200 {
        hand.fail(Failure::Conflict);
        hand.run_until_asked(60_000);
    }
    let most = hand.lease.config().ttl() / 300;
    assert!(
        hand.now > 1_000 + 200 * u64::try_from(ms(50).min(most).as_millis()).unwrap() / 3,
        "{}",
        hand.now
    );
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

/// A follower of `b`'s seventh term, past its first look, without a wake jitter.
fn following() -> Hand {
    let mut hand = Hand::new(fifteen_seconds().wake_jitter(ms(0)).build().unwrap());
    hand.answer(Answer::Seen(held(7, &candidate("b", 2), 14_000, 0)));
    hand.now = 2_000;
    hand
}

#[test]
fn who_hears_that_its_leader_has_resigned_tries_at_once() {
    let mut hand = following();
    assert_eq!(hand.event(Event::Resigned(epoch(7))), None);
    assert!(matches!(hand.query(), Query::Attempt { .. }));
    assert!(matches!(hand.answer(won(8)), Some(Change::Elected(_))));
    assert_eq!(hand.now, 2_000);
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
        assert!(matches!(hand.run_until_asked(2_051), Query::Attempt { .. }));
        last = last.max(hand.now);
    }
    assert!(last > 2_025, "{last}");
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
fn processes_of_one_configuration_do_not_jitter_in_step() {
    let config = Config::builder().build().unwrap();
    let lives = (100..120).chain((100..120).map(|life| life << 64));
    let polls: BTreeSet<_> = lives
        .map(|life| {
            let lease = Lease::new(config.clone(), candidate("me", life), 0);
            let mut hand = Hand::with(lease);
            hand.answer(Answer::Seen(held(7, &candidate("b", 2), 14_000, 0)));
            hand.wake_at
        })
        .collect();
    assert!(polls.len() > 30, "{polls:?}");
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
    let mut hand = following();
    for (look, next) in [(2_000, 2_100), (2_100, 2_200)] {
        hand.event(Event::Wake);
        assert_eq!((hand.now, hand.query()), (look, &Query::Observe));
        hand.event(Event::Wake);
        hand.answer(Answer::Seen(held(7, &candidate("b", 2), 13_000, 0)));
        hand.run_until_asked(next);
        assert_eq!(hand.now, next);
    }
}

#[test]
fn without_a_wake_jitter_a_holder_is_taken_over_from_when_it_has_been_silent_for_long_enough() {
    let b = candidate("b", 2);
    let mut hand = Hand::new(fifteen_seconds().wake_jitter(ms(0)).build().unwrap());
    let row = Row { remaining: Duration::from_secs(3_600), ..held(7, &b, 0, 4) };
    hand.answer(Answer::Seen(row.clone()));
    while hand.run_until_asked(17_150) == &Query::Observe {
        hand.answer(Answer::Seen(row.clone()));
    }
    if matches!(hand.query(), Query::Attempt { .. }) {
        hand.answer(Answer::Seen(row)); // when the lease seemed to end
        hand.run_until_asked(17_150);
    }
    assert!(matches!(hand.query(), Query::TakeOver { .. }), "{:?}", hand.query());
    assert_eq!(hand.now, 1_000 + 15_000 + 150 + 1_000);
}

#[test]
fn the_first_entry_on_the_list_clears_away_old_ones() {
    let mut lease = Lease::new(fifteen_seconds().build().unwrap(), candidate("me", 1), 42);
    let mut sweeps = Vec::new();
    let mut now = at(1_000);
    let mut input = Input::Tick;
    while sweeps.len() < 2 {
        let step = lease.step(now, input);
        let Some(Action::Query { ticket, query, .. }) = step.action else {
            (now, input) = (step.wake_at.unwrap(), Input::Tick);
            continue;
        };
        let answer = match query {
            Query::Register { sweep, .. } => {
                sweeps.push(sweep);
                Answer::Listed
            }
            _ => Answer::Seen(held(7, &candidate("b", 2), 14_000, 0)),
        };
        input = Input::Event(Event::Answer { ticket, result: Ok(answer) });
    }
    assert_eq!(sweeps, [true, false]);
}

#[test]
fn an_entry_on_the_list_that_fails_is_tried_again_an_interval_later() {
    let mut lease = Lease::new(fifteen_seconds().build().unwrap(), candidate("me", 1), 42);
    let (mut tries, mut now, mut input) = (Vec::new(), at(1_000), Input::Tick);
    while tries.len() < 3 {
        let step = lease.step(now, input);
        let Some(Action::Query { ticket, query, .. }) = step.action else {
            (now, input) = (step.wake_at.unwrap().max(now), Input::Tick);
            continue;
        };
        let result = match query {
            Query::Register { .. } => {
                tries.push(now);
                Err(Failure::Transient)
            }
            _ => Ok(Answer::Seen(held(7, &candidate("b", 2), 14_000, 0))),
        };
        input = Input::Event(Event::Answer { ticket, result });
    }
    let apart = |two: &[Timestamp]| two[1].since(two[0]) >= ms(5_000);
    assert!(tries.windows(2).all(apart), "{tries:?}");
}
