//! Lives and connections: which process speaks.

use super::*;
use election_core::quorum::{Connection, Heard, Heartbeat, Refusal, wire::Dialect};

/// What another life of the supported node may say, on which connection. None of it counts as the
/// supported life's.
fn said_by_another_life(hand: &mut Hand) {
    hand.hear(C, candidate(6));
    hand.hear(C, replica(6));
    hand.hear(C, primary(6));
    hand.announce(C, 6, "c:1");
}

#[test]
fn another_life_of_the_primary_neither_releases_nor_extends() {
    // The end of a connection is not the end of a process: the first may live on, cut off for a
    // moment, and trust in what was echoed to it.
    let mut hand = Hand::following(3);
    let extended = hand.old_stamp(C, 0);
    hand.disconnect(C);
    assert_eq!(hand.quorum.supported(), Some((C, epoch(6))), "an end alone says nothing");
    hand.restart(C);
    for _ in 0..4 {
        said_by_another_life(&mut hand);
        assert_eq!(hand.quorum.supported(), Some((C, epoch(6))));
        assert_eq!(hand.echoes(), Some(extended));
    }
    hand.sent.clear();
    hand.offer(C, 7, offset(9));
    assert_eq!(hand.votes(), [], "nor does it get a vote that is pledged to the first");
    assert_eq!(hand.alerts(), [] as [&Alert; 0]);
    hand.run_to(BOOTED + 4_999);
    assert_eq!(hand.quorum.supported(), Some((C, epoch(6))));
}

#[test]
fn a_primary_that_restarts_in_time_is_replaced_when_support_has_run_out() {
    // A restarted primary goes on sending heartbeats but leads no more. In kevy-elect's protocol
    // its peers keep taking it for alive, and nobody leads.
    let mut hand = Hand::following(3);
    hand.disconnect(C);
    hand.restart(C);
    while hand.now < BOOTED + 4_900 {
        hand.run(100);
        hand.hear(C, replica(6));
        hand.hear(B, Beat { availability: Busy, ..replica(6) });
    }
    assert_eq!(hand.offers(), []);
    hand.run_to(BOOTED + 5_000);
    assert_eq!((hand.quorum.supported(), hand.quorum.followed()), (None, None));
    assert_eq!(hand.offers(), [7], "with its vote");
    // Or it gets support again, once it has been elected again.
    let mut hand = Hand::following(3);
    hand.disconnect(C);
    hand.restart(C);
    hand.hear(C, primary(8));
    assert_eq!(hand.quorum.supported(), Some((C, epoch(8))));
    assert_eq!(hand.echoes(), Some(hand.old_stamp(C, 0)));
}

#[test]
fn a_frame_without_a_stamp_does_not_hide_whose_support_it_is() {
    // The first frames on a new connection have no stamp, and the next come from another life.
    let mut hand = Hand::following(3);
    let extended = hand.old_stamp(C, 0);
    hand.disconnect(C);
    hand.connections[C.index()] += 1;
    let (epoch, role, position) = (epoch(6), Role::Primary, offset(0));
    let plain = Heartbeat { epoch, role, position, extension: None };
    hand.run(1_000);
    hand.message(C, Message::Heartbeat(plain));
    hand.disconnect(C);
    hand.restart(C);
    hand.hear(C, replica(6));
    assert_eq!(hand.quorum.supported(), Some((C, epoch)));
    assert_eq!(hand.echoes(), Some(extended));
    hand.sent.clear();
    let plain = Message::Offer { epoch: Epoch::new(7), position, stamp: None };
    hand.message(C, plain);
    assert_eq!(hand.votes(), []);
}

#[test]
fn a_second_process_with_the_primarys_id_releases_nobody() {
    // Two processes with one id: the first still trusts in what was echoed to it.
    let mut hand = Hand::following(3);
    hand.restart(C);
    hand.hear(C, replica(6));
    assert_eq!(hand.quorum.supported(), Some((C, epoch(6))));
    // Neither extends the support.
    hand.run(1_000);
    for _ in 0..3 {
        hand.hear(C, primary(6));
        other_process(&mut hand, C, false);
        hand.hear(C, primary(6));
        other_process(&mut hand, C, true);
    }
    assert_eq!(hand.alerts(), [&Alert::DuplicateId { node: id(C) }], "told once");
    hand.run_to(BOOTED + 5_000);
    assert_eq!(hand.quorum.supported(), None, "it runs out");
}

/// From now on `peer`'s frames come from its newer process, or from the one before.
fn other_process(hand: &mut Hand, peer: Peer, newer: bool) {
    let (life, connection) = (&mut hand.lives[peer.index()], &mut hand.connections[peer.index()]);
    if newer {
        (*life, *connection) = (*life + 1, *connection + 1);
    } else {
        (*life, *connection) = (*life - 1, *connection - 1);
    }
}

#[test]
fn a_restart_whose_old_connections_seem_open_is_no_second_process() {
    // The host lost its power, and nothing ended the connections of the process there.
    let busy = Beat { availability: Busy, ..replica(6) };
    let mut hand = Hand::following(3);
    hand.hear(B, busy);
    hand.hear(B, busy);
    let late = hand.beat(busy, hand.old_stamp(B, 0));
    hand.restart(B);
    hand.hear(B, busy);
    // One frame of the old life was late.
    let (from, connection) = (B, Connection(1));
    hand.event(Event::Received { from, connection, message: late });
    for _ in 0..40 {
        hand.run(200);
        hand.hear(C, primary(6));
        hand.hear(B, busy);
    }
    assert_eq!(hand.alerts(), [] as [&Alert; 0]);
    // If the old life goes on, it has never ended.
    other_process(&mut hand, B, false);
    for _ in 0..2 {
        assert_eq!(hand.alerts(), [] as [&Alert; 0]);
        hand.hear(B, busy);
        other_process(&mut hand, B, true);
        hand.hear(B, busy);
        other_process(&mut hand, B, false);
    }
    assert_eq!(hand.alerts(), [&Alert::DuplicateId { node: id(B) }]);
}

#[test]
fn two_processes_with_one_id_have_no_vote_between_them() {
    let mut hand = Hand::booted(5, A);
    for peer in [B, C, D, E] {
        hand.hear(peer, replica(5));
    }
    assert_eq!(hand.quorum.role(), Role::Candidate);
    hand.accept(B, 6);
    hand.restart(B);
    hand.accept(B, 6);
    hand.accept(C, 6);
    assert_eq!(hand.leads(), None);
    hand.accept(D, 6);
    assert_eq!(hand.leads(), Some(6));
}

#[test]
fn a_life_that_fell_silent_gives_way_to_the_next() {
    // The host lost power, and nothing ended the connection.
    let mut hand = Hand::following(3);
    hand.hear(B, Beat { availability: Busy, ..replica(6) });
    hand.restart(B);
    hand.hear(B, replica(6));
    for _ in 0..10 {
        hand.run(500);
        hand.hear(C, primary(6));
        hand.hear(B, replica(6));
    }
    let until = hand.now;
    hand.run(1);
    hand.hear(C, Beat { availability: Busy, ..replica(6) });
    hand.hear(B, replica(6));
    assert_eq!(hand.offers(), [7], "b is heard again at {until}");
}

/// Connections may be accepted in another order than they were made in: what was sent last counts.
#[test]
fn the_newest_frame_says_which_connection_counts() {
    let mut hand = Hand::following(3);
    hand.connections[C.index()] = 2;
    hand.hear(C, primary(6));
    let first = hand.old_stamp(C, 0);
    hand.connections[C.index()] = 3;
    let late = hand.beat(primary(6), first);
    hand.message(C, late);
    hand.connections[C.index()] = 2;
    hand.run(10);
    hand.hear(C, primary(6));
    let second = hand.old_stamp(C, 0);
    assert_eq!(hand.echoes(), Some(second), "the earlier connection is the one that goes on");
    // The other one, which came late, has only had old frames, and ends.
    hand.connections[C.index()] = 3;
    hand.disconnect(C);
    hand.connections[C.index()] = 2;
    hand.run(10);
    hand.hear(C, primary(6));
    assert_ne!(hand.echoes(), Some(second), "it is heard as before");
    assert_eq!(hand.alerts(), [] as [&Alert; 0], "it is the same process");
}

#[test]
fn a_peer_is_heard_on_though_a_connection_that_came_late_has_ended() {
    let mut hand = Hand::following(3);
    let known = hand.old_stamp(C, 0);
    let living = hand.connections[C.index()];
    hand.connections[C.index()] = living + 1;
    let late = hand.beat(primary(6), known);
    hand.message(C, late);
    hand.disconnect(C);
    hand.connections[C.index()] = living;
    hand.run(10);
    hand.hear(C, primary(6));
    assert_eq!(hand.echoes(), Some(hand.old_stamp(C, 0)));
}

#[test]
fn frames_of_an_ended_connection_are_nothing() {
    let mut hand = Hand::following(3);
    let extended = hand.old_stamp(C, 0);
    hand.disconnect(C);
    hand.hear(C, replica(6));
    assert_eq!(hand.quorum.supported(), Some((C, epoch(6))));
    hand.restart(C);
    hand.hear(C, candidate(6));
    hand.lives[C.index()] -= 1;
    hand.connections[C.index()] -= 1;
    hand.hear(C, primary(6));
    assert_eq!(hand.echoes(), Some(extended));
    assert_eq!(hand.alerts(), [] as [&Alert; 0], "the old one is known to be over");
}

#[test]
fn a_frame_in_its_own_name_is_reported_and_ignored() {
    let mut hand = Hand::booted(3, A);
    hand.hear(A, primary(9));
    assert_eq!(hand.alerts(), [&Alert::DuplicateId { node: id(A) }]);
    assert_eq!(hand.quorum.followed(), None);
}

#[test]
fn strangers_are_ignored() {
    // Frames of ids that are not members do not count.
    let mut hand = Hand::booted(3, A);
    let stranger = Peer::new(3);
    hand.hear(stranger, primary(9));
    hand.offer(stranger, 9, offset(9));
    hand.announce(stranger, 9, "x:1");
    assert_eq!((hand.quorum.followed(), hand.quorum.promised()), (None, epoch(5)));
}

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
    let (epoch, role, position) = (epoch(5), Role::Replica, offset(reached));
    hand.message(B, Message::Heartbeat(Heartbeat { epoch, role, position, extension: None }));
}

#[test]
fn two_lives_on_one_connection_are_two_lives() {
    // In the routine of a follower, too.
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
fn who_goes_on_elsewhere_is_there_when_its_first_connection_ends() {
    let mut hand = Hand::following(3);
    hand.listen(BOOTED + 1_000, &[(C, primary(6)), (B, replica(6))]);
    hand.connections[B.index()] = 2;
    reports(&mut hand, 1);
    hand.connections[B.index()] = 1;
    hand.disconnect(B);
    assert!(heard(&hand).is_connected);
}

#[test]
fn what_was_said_before_moves_nothing_wherever_it_comes_in() {
    for (connection, ago) in [(2, 1), (3, 1), (1, 1), (1, 0)] {
        let mut hand = Hand::following(3);
        hand.connections[B.index()] = 2;
        reports(&mut hand, 8);
        reports(&mut hand, 9);
        hand.listen(BOOTED + 400, &[(C, primary(6))]);
        let early = Beat { position: offset(8 + 1 - ago), availability: Busy, ..replica(5) };
        let early = hand.beat(early, hand.old_stamp(B, usize::try_from(ago).unwrap()));
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
fn two_processes_are_told_apart_from_one_however_often_they_connect_and_speak() {
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
