//! Elections call by call: what each answer leads to.

use super::*;
use election_core::{
    Namespace,
    lease::{Candidacy, ConfigError, Registration},
};

const TTL: Duration = Duration::from_secs(20);

fn candidacy() -> Candidacy {
    let candidate = candidate("me", 1);
    let registration = Registration { namespace: Namespace::default(), candidate, label: None };
    Candidacy::new(registration).set_expire(TTL).unwrap()
}

#[test]
fn the_expiry_is_bounded_as_a_lease_is() {
    let nano = Duration::from_nanos(1);
    for fits in [Config::MIN_TTL, Config::MAX_TTL] {
        assert_eq!(
            candidacy().set_expire(fits).unwrap().register(),
            Query::Register { ttl: fits, sweep: false }
        );
    }
    let short = Config::MIN_TTL - nano;
    assert_eq!(candidacy().set_expire(short), Err(ConfigError::TtlTooShort(short)));
    let long = Config::MAX_TTL + nano;
    assert_eq!(candidacy().set_expire(long), Err(ConfigError::TtlTooLong(long)));
}

#[test]
fn the_least_epoch_is_bounded_exactly() {
    assert!(candidacy().min_epoch(Config::MAX_MIN_EPOCH).is_ok());
}

#[test]
fn the_step_of_the_clock_is_bounded_exactly() {
    assert!(candidacy().clock_step(Config::MAX_CLOCK_STEP).is_ok());
    let long = Config::MAX_CLOCK_STEP + Duration::from_nanos(1);
    assert_eq!(candidacy().clock_step(long), Err(ConfigError::ClockStepTooLong(long)));
}

#[test]
fn who_stands_lists_itself_and_takes_a_vacant_row() {
    let mut who = candidacy();
    let me = who.registration().candidate.clone();
    let mut round = who.elect();
    assert_eq!(round.query(), &Query::Register { ttl: TTL, sweep: false });
    assert_eq!(round.advance(Answer::Listed), None);
    assert_eq!(
        round.query(),
        &Query::Attempt { seen: epoch(0), ttl: TTL, clock_step: Duration::ZERO }
    );
    let led = round.advance(won(7)).expect("its row");
    assert_eq!((led.epoch, led.remaining, led.ttl), (epoch(7), ms(15_000), TTL));
    assert_eq!((led.renewals, led.resign_requested), (0, false));
    assert_eq!(led.live_holder().map(|holder| &holder.candidate), Some(&me));
}

#[test]
fn who_holds_the_row_renews_it_under_the_next_ordinal() {
    let mut who = candidacy();
    let me = who.registration().candidate.clone();
    for requested in [false, true] {
        let mut round = elects(&mut who);
        assert_eq!(round.advance(Answer::Seen(held(7, &me, 9_000, 4))), None);
        assert_eq!(
            round.query(),
            &Query::Renew {
                epoch: epoch(7),
                ordinal: 5,
                ttl: TTL,
                clock_step: Duration::ZERO,
                leads: false
            }
        );
        let renewed = Answer::Renewed { remaining: TTL, resign_requested: requested };
        let led = round.advance(renewed).expect("its row");
        assert_eq!((led.epoch, led.renewals, led.remaining), (epoch(7), 5, TTL));
        assert_eq!(led.resign_requested, requested);
    }
}

#[test]
fn another_holder_is_told_at_once() {
    let mut who = candidacy();
    let mut round = elects(&mut who);
    let row = held(7, &candidate("b", 2), 9_000, 4);
    assert_eq!(round.advance(Answer::Seen(row.clone())), Some(row));
}

#[test]
fn races_end_after_three() {
    let mut who = candidacy();
    let me = who.registration().candidate.clone();
    // Renewed too late each time, or vacant and taken by somebody each time.
    for (row, left) in [(held(7, &me, 9_000, 4), ms(0)), (vacant(7), vacant(7).remaining)] {
        let mut round = elects(&mut who);
        let mut races = 0;
        let told = loop {
            if let Some(told) = round.advance(Answer::Seen(row.clone())) {
                break told;
            }
            races += 1;
            assert!(races <= 3, "it goes on for ever");
        };
        assert_eq!((races, told), (3, Row { remaining: left, ..row }));
    }
}

#[test]
fn a_renewal_that_comes_too_late_is_a_race() {
    let mut who = candidacy();
    let me = who.registration().candidate.clone();
    let mut round = elects(&mut who);
    for _ in 0..2 {
        assert_eq!(round.advance(Answer::Seen(held(7, &me, 9_000, 4))), None);
        assert_eq!(round.advance(Answer::Gone), None);
        assert_eq!(
            round.query(),
            &Query::Attempt { seen: epoch(7), ttl: TTL, clock_step: Duration::ZERO }
        );
    }
    let told = round.advance(Answer::Seen(held(7, &me, 9_000, 4))).expect("four are too many");
    assert_eq!(told, held(7, &me, 0, 4), "a snapshot may say so for ever; it does not lead");
    assert!(!who.leads(&told));
}

#[test]
fn another_that_holds_the_row_after_all_races_is_told_as_it_is() {
    let mut who = candidacy();
    let mut round = who.elect();
    assert_eq!(round.advance(Answer::Unswept), None, "listed, which is no race");
    for _ in 0..3 {
        assert_eq!(round.advance(Answer::Seen(vacant(7))), None);
    }
    let row = held(8, &candidate("b", 2), 9_000, 0);
    assert_eq!(round.advance(Answer::Seen(row.clone())), Some(row));
}

#[test]
fn who_leaves_vacates_its_own_term_only() {
    let mut who = candidacy();
    let me = who.registration().candidate.clone();
    let rows = [
        (held(7, &me, 9_000, 1), true),
        (held(7, &me, 0, 1), true), // whoever reads the row next need not judge by its time
        (held(7, &candidate("b", 2), 9_000, 1), false),
        (vacant(7), false),
    ];
    for (row, own) in rows {
        let mut round = who.unregister();
        assert_eq!(round.query(), &Query::Observe);
        assert_eq!(round.advance(Answer::Seen(row.clone())), None);
        if own {
            assert_eq!(round.query(), &Query::Resign { epoch: epoch(7) });
            assert_eq!(round.advance(Answer::Released), None);
        }
        assert_eq!(round.query(), &Query::Unregister);
        assert_eq!(round.advance(Answer::Listed), Some(row), "as it was before");
    }
}
