//! Following: polls, wake-ups, back-off, and the leader to follow.
//!
//! Rule: Followers come back at the deadline.
//! Rule: A database clock that went back.

use super::*;

#[test]
fn renewals_failing_until_trust_ends_are_a_loss_with_grace() {
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

/// The database counts whole milliseconds: at the end that the row says, it may still be live.
#[test]
fn a_lease_ends_a_millisecond_after_its_rows_end() {
    let mut hand = Hand::new(fifteen_seconds().wake_jitter(ms(0)).build().unwrap());
    hand.answer(Answer::Seen(held(7, &candidate("b", 2), 1_200, 4)));
    assert!(matches!(hand.run_until_asked(2_300), Query::Attempt { .. }));
    assert_eq!(hand.now, 2_201);
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

/// Seven times, and by a tenth more or less, so that processes do not come back in step.
#[test]
fn back_off_doubles_and_starts_over() {
    let config = Config::builder().ttl(Duration::from_secs(600)).build().unwrap();
    let mut waits = vec![Vec::new(); 9];
    for seed in 0..100 {
        let mut hand = Hand::with(Lease::new(config.clone(), candidate("me", 1), seed));
        for nth in &mut waits {
            let failed = hand.now;
            hand.fail(Failure::Transient);
            hand.run_until_asked(failed + 100_000);
            nth.push(hand.now - failed);
        }
    }
    for (waits, seconds) in waits.iter().zip([1, 2, 4, 8, 16, 32, 64, 1, 2]) {
        let (least, most) = (waits.iter().min().unwrap(), waits.iter().max().unwrap());
        assert!((900 * seconds..=920 * seconds).contains(least), "{seconds} s: {least} ms");
        assert!((1_085 * seconds..=1_100 * seconds).contains(most), "{seconds} s: {most} ms");
    }
}

#[test]
fn a_new_holder_has_a_whole_lease_before_it_counts_as_silent() {
    let (b, again, c) = (candidate("b", 2), candidate("b", 3), candidate("c", 4));
    let for_ever = |row: Row| Row { remaining: Duration::from_secs(3_600), ..row };
    for news in [held(8, &b, 0, 4), held(7, &b, 0, 5), held(7, &c, 0, 4), held(7, &again, 0, 4)] {
        let mut hand = Hand::new(fifteen_seconds().build().unwrap());
        hand.answer(Answer::Seen(for_ever(held(7, &b, 0, 4))));
        assert_eq!(hand.run_until_asked(6_000), &Query::Observe);
        hand.answer(Answer::Seen(for_ever(news.clone())));
        let known_since = hand.now;
        hand.run_until_take_over(60_000, &for_ever(news.clone()));
        assert!(hand.now > known_since + 15_000 + 150, "{} ms: {news:?}", hand.now);
    }
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
fn an_observer_only_reads() {
    let mut hand = Hand::new(fifteen_seconds().role(Role::Observer).build().unwrap());
    for step in 0..10 {
        assert_eq!(hand.query(), &Query::Observe);
        hand.answer(Answer::Seen(vacant(step)));
        hand.run_until_asked(1_000_000);
    }
}

/// What an observer, or a candidate that looks on, has told.
fn told(hand: &Hand) -> Vec<String> {
    let changes = hand.changes.iter().map(|change| match change {
        Change::Followed { term, .. } => term.to_string(),
        Change::Vacant => "vacant".into(),
        other => panic!("{other:?}"),
    });
    changes.collect()
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
    assert_eq!(told(&hand), ["vacant", "b (epoch 7)", "b (epoch 8)", "c (epoch 9)", "vacant"]);
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

/// The lease that counts is the holder's, whatever this process would ask for itself.
#[test]
fn without_jitter_a_silent_holder_is_taken_over_on_time() {
    let b = candidate("b", 2);
    for (ttl, drifts) in [(15_000, 150), (2_000, 20)] {
        let mut hand = Hand::new(fifteen_seconds().wake_jitter(ms(0)).build().unwrap());
        let remaining = Duration::from_secs(3_600);
        let row = Row { remaining, ttl: ms(ttl), ..held(7, &b, 0, 4) };
        hand.answer(Answer::Seen(row.clone()));
        let query = hand.run_until_take_over(60_000, &row);
        let Query::TakeOver { epoch: of, holder, renewals, .. } = query else {
            panic!("{query:?}")
        };
        assert_eq!((of, holder, renewals), (epoch(7), Some(b.clone()), 4));
        assert_eq!(hand.now, 1_000 + ttl + drifts + 1);
    }
}

/// Whether the registrations of a new process sweep, if these are answered in turn.
fn sweeps(answers: &[Result<Answer, Failure>]) -> Vec<bool> {
    let mut lease = Lease::new(fifteen_seconds().build().unwrap(), candidate("me", 1), 42);
    let mut sweeps = Vec::new();
    let mut now = at(1_000);
    let mut input = Input::Tick;
    loop {
        let step = lease.step(now, input);
        let Some(Action::Query { ticket, query, .. }) = step.action else {
            (now, input) = (step.wake_at.unwrap(), Input::Tick);
            continue;
        };
        let result = match query {
            Query::Register { sweep, .. } => {
                sweeps.push(sweep);
                let Some(answer) = answers.get(sweeps.len() - 1) else { return sweeps };
                answer.clone()
            }
            _ => Ok(Answer::Seen(held(7, &candidate("b", 2), 14_000, 0))),
        };
        input = Input::Event(Event::Answer { ticket, result });
    }
}

#[test]
fn registrations_sweep_until_nothing_is_left_to_sweep() {
    let (listed, unswept) = (|| Ok(Answer::Listed), || Ok(Answer::Unswept));
    assert_eq!(sweeps(&[listed(), listed()]), [true, false, false]);
    assert_eq!(sweeps(&[unswept(), unswept(), listed()]), [true, true, true, false]);
    // The sweep may be what has failed, and the entry itself must not suffer from that.
    let failed = [unswept(), Err(Failure::Ambiguous), listed(), listed()];
    assert_eq!(sweeps(&failed), [true, true, false, true, false]);
    assert_eq!(sweeps(&[Err(Failure::Fatal), listed()]), [true, false, false], "a missing right");
    let done = [listed(), Err(Failure::Transient), listed()];
    assert_eq!(sweeps(&done), [true, false, false, false], "nothing was left before it failed");
}

#[test]
fn a_failed_list_entry_is_tried_again_an_interval_later() {
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

#[test]
fn since_when_a_leader_leads_is_told_while_it_is_followed() {
    let other = candidate("b", 2);
    let row =
        |remaining| Answer::Seen(Row { elected_ms: Some(77), ..held(7, &other, remaining, 3) });
    let mut hand = Hand::new(fifteen_seconds().build().unwrap());
    assert_eq!(hand.lease.followed_since(), None);
    hand.answer(row(9_000));
    assert_eq!(hand.lease.followed_since(), Some(77));
    hand.run_until_asked(30_000);
    hand.answer(row(0));
    assert_eq!((hand.lease.followed(), hand.lease.followed_since()), (None, None));
}
