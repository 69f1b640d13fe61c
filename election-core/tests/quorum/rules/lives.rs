//! Lives and connections of a peer that follow each other or overlap: which of them count, and when.
//!
//! Rule: Identity.

use super::{identity::other_process, *};
use election_core::quorum::{Heard, Refusal, wire::Dialect};

/// What is known of `b`.
fn heard(hand: &Hand) -> Heard {
    hand.quorum.peer_status(B, at(hand.now)).unwrap().heard.expect("b was heard")
}

fn has_two_lives(hand: &Hand) -> bool {
    hand.quorum.peer_status(B, at(hand.now)).unwrap().refusal == Some(Refusal::TwoLives)
}

/// `b` says how far its data have come.
fn reports(hand: &mut Hand, reached: u64) {
    hand.hear(B, Beat { position: offset(reached), availability: Busy, ..replica(5) });
}

/// A heartbeat without a stamp.
fn plain(hand: &mut Hand, reached: u64) {
    hand.hear_old(B, 5, Role::Replica, reached);
}

#[test]
fn two_lives_on_one_connection_are_two_lives() {
    let mut hand = Hand::following(3);
    let busy = Beat { availability: Busy, ..replica(6) };
    hand.listen(BOOTED + 1_000, &[(C, primary(6)), (B, busy)]);
    hand.lives[B.index()] += 1;
    hand.hear(B, busy);
    assert!(has_two_lives(&hand));
    // Once the first has been silent for long enough, the second is its successor.
    let mut hand = Hand::following(3);
    hand.hear(B, busy);
    hand.listen(BOOTED + 5_000, &[(C, primary(6))]);
    hand.lives[B.index()] += 1;
    hand.hear(B, busy);
    assert!(!has_two_lives(&hand) && heard(&hand).incarnation == Some(life(8)));
}

#[test]
fn what_was_said_before_moves_nothing_wherever_it_comes_in() {
    for (connection, ago) in [(2, 1), (2, 0), (3, 1), (1, 1), (1, 0)] {
        let mut hand = Hand::following(3);
        hand.connections[B.index()] = 2;
        reports(&mut hand, 8);
        reports(&mut hand, 9);
        hand.listen(BOOTED + 400, &[(C, primary(6))]);
        let early = hand.beat(replica(5), hand.old_stamp(B, ago));
        hand.connections[B.index()] = connection;
        hand.message(B, early);
        assert_eq!(heard(&hand).position, offset(9), "{ago} ago on {connection}");
        assert!(!has_two_lives(&hand), "{ago} ago on {connection}");
        hand.connections[B.index()] = connection.max(2);
        hand.disconnect(B);
        assert!(!heard(&hand).is_connected, "{ago} ago on {connection}");
    }
}

#[test]
fn an_old_connection_without_stamps_is_no_other_life() {
    let mut hand = Hand::booted(3, A);
    hand.connections[B.index()] = 2;
    reports(&mut hand, 9);
    for _ in 0..2 {
        hand.connections[B.index()] = 1;
        plain(&mut hand, 1);
        let known = heard(&hand);
        assert_eq!((known.dialect, known.position), (Dialect::Extended, offset(9)));
        assert!(!has_two_lives(&hand));
        // Nor does one replace the life that has ended.
        hand.connections[B.index()] = 2;
        hand.disconnect(B);
        assert!(!heard(&hand).is_connected);
    }
}

#[test]
fn an_older_version_is_heard_on_its_next_connection() {
    let mut hand = Hand::booted(3, A);
    plain(&mut hand, 1);
    hand.connections[B.index()] += 1;
    plain(&mut hand, 2);
    assert_eq!(heard(&hand).position, offset(2));
}

#[test]
fn who_begins_to_stamp_on_its_connection_is_the_same_process() {
    let mut hand = Hand::booted(3, A);
    plain(&mut hand, 1);
    reports(&mut hand, 2);
    assert_eq!((heard(&hand).dialect, heard(&hand).position), (Dialect::Extended, offset(2)));
    assert!(!has_two_lives(&hand));
}

#[test]
fn an_older_life_does_not_come_back_on_its_connection() {
    // Its host was cut off, and nothing ended its connection. The next life has come and gone.
    let mut hand = Hand::booted(3, A);
    reports(&mut hand, 1);
    hand.run(5_000);
    hand.restart(B);
    reports(&mut hand, 2);
    hand.disconnect(B);
    other_process(&mut hand, B, false);
    hand.run(1);
    reports(&mut hand, 3);
    let known = heard(&hand);
    assert_eq!((known.incarnation, known.position), (Some(life(8)), offset(2)));
    assert!(!known.is_connected);
}

#[test]
fn one_life_counts_again_down_after_the_other_was_last_heard() {
    for (begins, moves) in [(0, false), (0, true), (1, true)] {
        let mut hand = Hand::booted(3, A);
        reports(&mut hand, 1);
        hand.run(1_000);
        let second = hand.now;
        hand.restart(B);
        reports(&mut hand, 2);
        hand.run(1_000);
        other_process(&mut hand, B, false);
        hand.connections[B.index()] += if moves { 2 } else { 0 };
        reports(&mut hand, 3);
        assert_eq!(heard(&hand).position, offset(1), "nobody knows which of the two this is");
        hand.run_to(second + 4_999);
        assert!(has_two_lives(&hand) && !heard(&hand).is_fresh);
        hand.run_to(second + 5_000);
        assert!(!has_two_lives(&hand) && heard(&hand).is_fresh, "{moves}");
        hand.connections[B.index()] += begins;
        reports(&mut hand, 4);
        assert_eq!(heard(&hand).position, offset(4), "{moves}");
    }
    // To the millisecond, a life that is silent for as long gives way at once.
    let mut hand = Hand::booted(3, A);
    reports(&mut hand, 1);
    hand.run(5_000);
    hand.restart(B);
    reports(&mut hand, 2);
    assert!(!has_two_lives(&hand) && heard(&hand).position == offset(2));
}

#[test]
fn two_processes_are_told_apart_from_one_that_reconnects() {
    let mut hand = Hand::booted(3, A);
    reports(&mut hand, 1);
    hand.restart(B);
    reports(&mut hand, 1);
    for turn in 1..=300_u16 {
        // The first on new connections, the second on its own.
        hand.lives[B.index()] = if turn % 2 == 1 { 7 } else { 8 };
        hand.connections[B.index()] = if turn % 2 == 1 { 2 + u64::from(turn) } else { 2 };
        let told = usize::from(turn >= 3);
        reports(&mut hand, 1);
        assert_eq!(hand.alerts().len(), told, "after {turn} turns");
        assert!(has_two_lives(&hand));
    }
    // After a pause, the turns count anew.
    let mut hand = Hand::booted(3, A);
    reports(&mut hand, 1);
    hand.restart(B);
    reports(&mut hand, 1);
    let second = hand.now;
    hand.run(1);
    other_process(&mut hand, B, false);
    reports(&mut hand, 1);
    hand.run_to(second + 5_000);
    for newer in [true, false] {
        other_process(&mut hand, B, newer);
        reports(&mut hand, 1);
    }
    assert_eq!(hand.alerts(), [] as [&Alert; 0]);
}

/// A stranger may have said it, while the member had no connection. An older version that runs speaks
/// again.
#[test]
fn a_stamped_life_waits_for_an_unstamped_one_until_silent() {
    for (later, beats) in [(true, 1), (false, 1), (true, 3)] {
        let mut hand = Hand::booted(3, A);
        reports(&mut hand, 1);
        hand.disconnect(B);
        hand.connections[B.index()] = 3;
        for _ in 0..beats {
            hand.run(200);
            plain(&mut hand, 2);
        }
        let last = hand.now;
        // On its next connection, whichever of the two was accepted first.
        hand.connections[B.index()] = if later { 4 } else { 2 };
        hand.run(200);
        reports(&mut hand, 3);
        assert!(has_two_lives(&hand), "an older version may run beside it");
        hand.run_to(last + 1_249);
        reports(&mut hand, 4);
        assert!(has_two_lives(&hand) && heard(&hand).position == offset(2));
        hand.run_to(last + 1_250);
        reports(&mut hand, 5);
        let known = heard(&hand);
        assert_eq!((known.dialect, known.position), (Dialect::Extended, offset(5)));
        assert!(!has_two_lives(&hand) && known.is_fresh);
        assert_eq!(known.at, at(hand.now), "and counts for as long as any other");
        assert_eq!(hand.alerts(), [] as [&Alert; 0]);
        // From now on it is the member, whatever else is said in its name.
        hand.connections[B.index()] = 9;
        plain(&mut hand, 6);
        assert_eq!(heard(&hand).position, offset(5));
    }
}

/// Only a life without stamps, and only for one with stamps.
#[test]
fn no_other_life_gives_way_before_down_after() {
    for (stamped, later) in [(true, true), (false, false)] {
        let mut hand = Hand::booted(3, A);
        let says = |hand: &mut Hand, reached| {
            if stamped { reports(hand, reached) } else { plain(hand, reached) }
        };
        hand.connections[B.index()] = 5;
        says(&mut hand, 1);
        let first = hand.now;
        hand.lives[B.index()] += 1;
        hand.connections[B.index()] = if later { 6 } else { 4 };
        hand.run_to(first + 4_999);
        says(&mut hand, 2);
        assert_eq!(heard(&hand).position, offset(1), "{stamped}");
        assert_eq!(has_two_lives(&hand), stamped);
    }
}

/// Both beat.
#[test]
fn an_older_version_beside_a_newer_one_is_a_second_process() {
    let mut hand = Hand::booted(3, A);
    for turn in 0..40 {
        hand.connections[B.index()] = 1;
        plain(&mut hand, 1);
        hand.run(1_000);
        hand.connections[B.index()] = 2;
        reports(&mut hand, 2);
        assert!(has_two_lives(&hand), "turn {turn}");
        hand.run(200);
    }
    assert_eq!(hand.alerts(), [&Alert::DuplicateId { node: id(B) }]);
}
