//! A lease that is kept longer by the database, because its clock may step.
//!
//! Rule: A lease can allow for steps.

use super::*;

const HOUR: Duration = Duration::from_secs(3_600);

fn an_hour() -> ConfigBuilder {
    fifteen_seconds().wake_jitter(ms(0)).clock_step(HOUR)
}

/// The row of `b`, renewed so long ago, at the end of an hour and a lease.
fn renewed_ago(renewals: u64, ago: u64) -> Answer {
    let left = 3_600_000 + 15_000 - ago;
    Answer::Seen(held(7, &candidate("b", 2), left, renewals))
}

fn granted() -> Duration {
    HOUR + ms(15_000)
}

#[test]
fn keeping_a_lease_allows_for_steps_without_longer_trust() {
    let mut hand = Hand::new(an_hour().build().unwrap());
    assert!(
        matches!(hand.query(), Query::Attempt { ttl, clock_step: HOUR, .. } if *ttl == ms(15_000))
    );
    let won = Answer::Won { epoch: epoch(7), remaining: granted() };
    let Some(Change::Elected(tenure)) = hand.answer(won) else { panic!("not elected") };
    assert_eq!((tenure.until, tenure.stop_by), (at(12_500), at(15_000)));
    assert_eq!(
        hand.run_until_asked(6_000),
        &Query::Renew {
            epoch: epoch(7),
            ordinal: 1,
            ttl: ms(15_000),
            clock_step: HOUR,
            leads: true
        }
    );
    hand.answer(Answer::Renewed { remaining: granted(), resign_requested: false });
    let tenure = hand.lease.tenure(hand.time()).unwrap();
    assert_eq!((tenure.until, tenure.stop_by), (at(17_500), at(20_000)));
}

/// The row was first seen with the last renewal a while after that.
#[test]
fn a_silent_holder_is_judged_by_the_challengers_clock() {
    let mut hand = Hand::new(an_hour().build().unwrap());
    let first = hand.now;
    hand.answer(renewed_ago(4, 0));
    let query = loop {
        let query = hand.run_until_asked(first + 30_000).clone();
        match query {
            Query::Observe => hand.answer(renewed_ago(4, hand.now - first)),
            other => break other,
        };
    };
    assert_eq!(hand.now - first, 15_000 + 150 + 1, "the lease and the drift");
    let Query::TakeOver { ttl, clock_step, epoch: taken, renewals, .. } = query else {
        panic!("{query:?}")
    };
    assert_eq!((ttl, clock_step, taken, renewals), (ms(15_000), HOUR, epoch(7), 4));
}

/// Whoever sees a renewal late takes over late.
#[test]
fn a_follower_looks_when_the_holder_has_just_renewed() {
    let mut hand = Hand::new(an_hour().jitter(ms(1_000)).build().unwrap());
    hand.now = 20_000;
    hand.fail(Failure::Conflict);
    hand.run_until_asked(20_100);
    for ago in [1_500, 0, 5_800] {
        let before = hand.now;
        hand.answer(renewed_ago(4, ago));
        assert_eq!(hand.run_until_asked(before + 7_000), &Query::Observe);
        assert_eq!(hand.now - before, 6_000 - ago, "its interval and jitter after the renewal");
    }
    // Never at once, and if the renewal is overdue or has an age that cannot be, as always.
    let before = hand.now;
    hand.answer(renewed_ago(5, 5_999));
    hand.run_until_asked(before + 7_000);
    assert_eq!(hand.now - before, 100);
    for row in [renewed_ago(5, 6_100), renewed_ago(5, 10_000)] {
        let before = hand.now;
        hand.answer(row);
        hand.run_until_asked(before + 7_000);
        assert!((5_000..=6_000).contains(&(hand.now - before)), "{}", hand.now - before);
    }
    let before = hand.now;
    let row = Row { remaining: granted() + HOUR, ..held(7, &candidate("b", 2), 0, 6) };
    hand.answer(Answer::Seen(row));
    hand.run_until_asked(before + 7_000);
    assert!((5_000..=6_000).contains(&(hand.now - before)));
}

/// Nobody leads by it any more.
#[test]
fn a_lease_cut_to_its_least_length_has_no_allowance() {
    let mut hand = Hand::new(an_hour().at_least_for(ms(60_000)).build().unwrap());
    hand.answer(Answer::Won { epoch: epoch(7), remaining: HOUR + ms(60_000) });
    hand.input(Input::Resign);
    hand.asked = None;
    hand.input(Input::Stopped(epoch(7)));
    assert!(matches!(hand.query(), Query::Renew { clock_step: Duration::ZERO, .. }));
}

#[test]
fn a_step_is_rounded_up_and_at_most_a_year() {
    let step = |step| fifteen_seconds().clock_step(step).build().map(|config| config.clock_step());
    assert_eq!(step(Duration::from_nanos(1)), Ok(ms(1)));
    assert_eq!(step(Config::MAX_CLOCK_STEP), Ok(Config::MAX_CLOCK_STEP));
    let error = step(Config::MAX_CLOCK_STEP + Duration::from_nanos(1)).unwrap_err().to_string();
    assert!(error.contains("clock_step") && error.contains("a year"), "{error}");
}

/// A follower whose holder will renew in so long, and after how long it looks at the row again.
fn looks_again(seed: u64, wake_jitter: u64, due_in: i64) -> (u64, u64) {
    let config = fifteen_seconds().wake_jitter(ms(wake_jitter)).clock_step(HOUR).build().unwrap();
    let interval = u64::try_from(config.interval().as_millis()).unwrap();
    let mut hand = Hand::with(Lease::new(config, candidate("me", 1), seed));
    while hand.now < 10_000 {
        hand.answer(renewed_ago(2, 0));
        hand.run_until_asked(60_000);
    }
    let first = hand.now;
    hand.answer(renewed_ago(3, interval.checked_add_signed(-due_in).unwrap()));
    assert_eq!(hand.run_until_asked(60_000), &Query::Observe);
    (hand.now - first, interval)
}

#[test]
fn looks_are_spread_after_the_next_renewal_and_not_before() {
    let looks: BTreeSet<_> = (0..20).map(|seed| looks_again(seed, 2_000, 3_000).0).collect();
    assert!(looks.iter().all(|look| (3_000..=5_000).contains(look)), "{looks:?}");
    assert!(looks.len() > 10, "{looks:?}");
}

#[test]
fn a_renewal_that_is_due_this_very_moment_is_looked_at_soon() {
    let (look, interval) = looks_again(0, 0, 0);
    assert!(look < 1_000, "{look}");
    assert_eq!(looks_again(0, 0, -1), (interval, interval), "it is overdue");
}
