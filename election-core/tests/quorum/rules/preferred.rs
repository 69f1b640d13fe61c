//! The member that operators prefer: elected among equals, and given back what it had.

use super::*;
use core::time::Duration;
use election_core::quorum::{ConfigBuilder, ConfigError};

/// Three members, of which `c` is preferred.
fn prefers_c(me: Peer) -> ConfigBuilder {
    config(3, me).preferred_primary(id(C))
}

fn booted(me: Peer, reached: u64) -> Hand {
    let restored = Restored::Ballot(ballot(3, 5, None));
    let mut hand = Hand::with_data(prefers_c(me), &restored, Some(offset(reached)));
    assert_eq!((hand.leads(), hand.quorum.role()), (None, Role::Replica), "no claim to lead");
    hand.run_to(BOOTED);
    hand.sent.clear();
    hand
}

#[test]
fn among_equals_the_preferred_goes_first() {
    // Two declared primaries at epoch 1: in kevy-elect's protocol neither ever yields.
    let mut hand = booted(C, 0);
    hand.hear(A, replica(5));
    assert_eq!(hand.offers(), [6], "though its id is the highest");
    let mut hand = booted(A, 0);
    hand.hear(C, replica(5));
    assert_eq!(hand.offers(), []);
    hand.run(150);
    assert_eq!(hand.offers(), [6]);
    // If the preferred is not heard, nobody waits for it.
    let mut hand = booted(A, 0);
    hand.hear(B, replica(5));
    assert_eq!(hand.offers(), [6]);
}

#[test]
fn newer_data_go_before_preference() {
    let mut hand = booted(A, 9);
    hand.hear(C, replica(5));
    assert_eq!(hand.offers(), [6], "it has data that the preferred lacks");
    let mut hand = booted(C, 0);
    hand.hear(A, Beat { position: offset(9), ..replica(5) });
    hand.run(2_000);
    assert_eq!(hand.offers(), []);
}

#[test]
fn of_two_candidates_of_an_epoch_the_preferred_stands() {
    let mut hand = booted(A, 0);
    hand.hear(B, replica(5));
    assert_eq!(hand.offers(), [6]);
    hand.offer(C, 6, offset(0));
    assert_eq!(hand.votes(), [(C, 6)]);
    let mut hand = booted(C, 0);
    hand.hear(B, replica(5));
    hand.sent.clear();
    hand.offer(A, 6, offset(0));
    assert_eq!(hand.votes(), []);
}

/// `a` leads in epoch 6 with data up to 100, and fails back to `c` after 30 s if told to.
fn leads_for(fails_back: bool) -> Hand {
    let restored = Restored::Ballot(ballot(3, 5, None));
    let mut config = prefers_c(A);
    if fails_back {
        config = config.fail_back(Duration::from_secs(30));
    }
    let mut hand = Hand::with_data(config, &restored, Some(offset(100)));
    hand.run_to(BOOTED);
    hand.hear(B, replica(5));
    hand.accept(B, 6);
    assert_eq!(hand.leads(), Some(6));
    hand
}

/// Seconds go by. `b` echoes all the time, and `c` says this, if it says anything.
fn goes_on(hand: &mut Hand, seconds: u64, c: Option<Beat>) -> Option<Loss> {
    let before = hand.changes.len();
    for _ in 0..seconds * 5 {
        let newest = hand.next_heartbeat().extension.unwrap().stamp.at.as_nanos();
        hand.hear(B, echo(6, newest));
        if let Some(c) = c {
            let echo = Some(newest).filter(|_| c.availability == Busy);
            hand.hear(C, Beat { echo, ..c });
        }
        let lost = hand.changes[before..].iter().find_map(|change| match change {
            Change::Lost { reason, .. } => Some(*reason),
            _ => None,
        });
        if lost.is_some() {
            return lost;
        }
    }
    None
}

fn follows(reached: u64) -> Option<Beat> {
    Some(Beat { position: offset(reached), availability: Busy, ..replica(6) })
}

#[test]
fn who_has_come_back_and_stayed_leads_again() {
    let mut hand = leads_for(true);
    assert_eq!(goes_on(&mut hand, 20, None), None);
    assert_eq!(goes_on(&mut hand, 29, follows(100)), None, "it must stay");
    assert_eq!(goes_on(&mut hand, 12, follows(100)), Some(Loss::Resigned));
    let handed_over = hand.next_heartbeat().extension.unwrap().nominee;
    assert_eq!(handed_over, Some(C));
    let mut hand = leads_for(false);
    assert_eq!(goes_on(&mut hand, 120, follows(100)), None, "unless told to, it never does");
}

#[test]
fn who_comes_and_goes_does_not() {
    let mut hand = leads_for(true);
    for _ in 0..5 {
        assert_eq!(goes_on(&mut hand, 25, follows(100)), None);
        hand.disconnect(C);
        hand.restart(C);
        assert_eq!(goes_on(&mut hand, 2, follows(100)), None);
    }
    for _ in 0..5 {
        assert_eq!(goes_on(&mut hand, 25, follows(100)), None);
        assert_eq!(goes_on(&mut hand, 11, None), None, "silent");
    }
}

#[test]
fn who_lags_or_stands_aside_does_not() {
    let mut hand = leads_for(true);
    for reached in 1..30 {
        hand.event(Event::Position(offset(100 + 100 * reached)));
        assert_eq!(goes_on(&mut hand, 5, follows(100 * reached - 1)), None, "more than one look");
    }
    let mut hand = leads_for(true);
    let mut aside = follows(100).unwrap();
    aside.availability = BusyAside;
    assert_eq!(goes_on(&mut hand, 60, Some(aside)), None);
    // Who is behind by less than one look keeps up, and gets the rest when the work has stopped.
    let mut hand = leads_for(true);
    let mut lost = None;
    for reached in 1..10 {
        hand.event(Event::Position(offset(100 + 100 * reached)));
        lost = lost.or_else(|| goes_on(&mut hand, 5, follows(50 + 100 * reached)));
    }
    assert_eq!(lost, Some(Loss::Resigned));
}

#[test]
fn a_preference_that_cannot_work_is_refused() {
    let build = |config: ConfigBuilder| config.build().err();
    let soon = Duration::from_millis(9_999);
    let least = Duration::from_secs(10);
    let refused = ConfigError::FailBackTooSoon { after: soon, least };
    assert_eq!(build(prefers_c(A).fail_back(soon)), Some(refused));
    assert_eq!(build(prefers_c(A).fail_back(least)), None);
    assert_eq!(build(config(3, A).fail_back(least)), Some(ConfigError::NobodyPreferred));
}
