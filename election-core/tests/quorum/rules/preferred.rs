//! The member that operators prefer: elected among equals, and given back what it had.
//!
//! Rule: Failing back.

use super::*;
use core::time::Duration;
use election_core::quorum::{ConfigBuilder, ConfigError, Maintenance};

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
    leads_beside(fails_back, None)
}

/// The same, if `c` said this before.
fn leads_beside(fails_back: bool, c: Option<Beat>) -> Hand {
    let restored = Restored::Ballot(ballot(3, 5, None));
    let mut config = prefers_c(A);
    if fails_back {
        config = config.fail_back(Duration::from_secs(30));
    }
    let mut hand = Hand::with_data(config, &restored, Some(offset(100)));
    hand.run_to(BOOTED);
    c.map(|beat| hand.hear(C, beat));
    hand.hear(B, replica(5));
    hand.run(if c.is_some() { 150 } else { 0 });
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
            let echo = (c.availability == Busy).then_some(newest);
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
fn a_look_that_is_due_with_the_end_of_belief_hides_no_loss() {
    let mut hand = leads_for(true);
    assert_eq!(goes_on(&mut hand, 20, follows(100)), None);
    hand.now += 60_000;
    let change = hand.input(Input::Tick);
    assert!(matches!(change, Some(Change::Lost { reason: Loss::Expired, .. })), "{change:?}");
}

#[test]
fn who_comes_and_goes_does_not() {
    let mut hand = leads_for(true);
    for _ in 0..5 {
        assert_eq!(goes_on(&mut hand, 25, follows(100)), None);
        hand.replace(C);
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

#[test]
fn it_fails_back_after_one_look_and_the_time_that_was_set() {
    let there = Beat { position: offset(100), availability: Busy, ..replica(5) };
    let mut hand = leads_beside(true, Some(there));
    let elected = hand.now;
    assert_eq!(goes_on(&mut hand, 40, follows(100)), Some(Loss::Resigned));
    let resigned = hand.now - elected;
    assert!((35_000..35_400).contains(&resigned), "{resigned}");
}

#[test]
fn each_leadership_looks_anew() {
    let mut hand = leads_for(true);
    assert_eq!(goes_on(&mut hand, 29, follows(100)), None);
    hand.input(Input::Resign);
    hand.input(Input::Stopped(epoch(6)));
    hand.listen(hand.now + 3_000, &[(C, follows(100).unwrap())]);
    hand.hear(B, replica(6));
    hand.run(150); // c would be better
    hand.accept(B, 7);
    assert_eq!(hand.leads(), Some(7));
    let again = Beat { epoch: 7, ..follows(100).unwrap() };
    for _ in 0..50 {
        let newest = hand.next_heartbeat().extension.unwrap().stamp.at.as_nanos();
        hand.hear(B, echo(7, newest));
        hand.hear(C, Beat { echo: Some(newest), ..again });
    }
    assert_eq!(hand.leads(), Some(7), "it has led for ten seconds");
}

#[test]
fn it_fails_back_to_no_fork_no_older_version_and_not_in_a_pause() {
    let fork = Position { history: 1, offset: 500 };
    let mut hand = leads_for(true);
    let beat = Some(Beat { position: fork, ..follows(0).unwrap() });
    assert_eq!(goes_on(&mut hand, 60, beat), None, "its data are a fork");
    // It would not know that it was nominated.
    let mut hand = leads_for(true);
    for _ in 0..60 {
        assert_eq!(goes_on(&mut hand, 1, None), None);
        hand.hear_old(C, 6, Role::Replica, 100);
    }
    // Whoever paused failover wants the leadership to stay.
    let mut hand = leads_for(true);
    let record =
        Maintenance { number: 1, issuer: B, paused: true, by: B, since: None, primary: Some(A) };
    let (epoch, stamp) = (epoch(6), Some(hand.stamp(B)));
    hand.message(B, Message::Maintenance { epoch, record, left: None, agreed: true, stamp });
    let holds = Held::new(1 << 7 | 1 << 1 | 1);
    let beat = Some(Beat { holds, ..follows(100).unwrap() });
    assert_eq!(goes_on(&mut hand, 60, beat), None);
}
