//! Lives and connections: which process speaks.
//!
//! Rule: Identity.

use super::*;
use election_core::quorum::Connection;

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
fn a_restarted_primary_is_replaced_once_support_ends() {
    // A restarted primary goes on sending heartbeats but leads no more. In kevy-elect's protocol
    // its peers keep taking it for alive, and nobody leads.
    let mut hand = Hand::following(3);
    hand.replace(C);
    while hand.now < BOOTED + 4_900 {
        hand.run(100);
        hand.hear(C, replica(6));
        hand.hear(B, Beat { availability: Busy, ..replica(6) });
    }
    assert_eq!(hand.offers(), []);
    hand.run_to(BOOTED + 5_000);
    assert_eq!((hand.quorum.supported(), hand.quorum.followed()), (None, None));
    assert_eq!(hand.offers(), [7], "with its vote");
    // Or it gets support again, once it has been elected again and the old support has ended.
    let mut hand = Hand::following(3);
    hand.replace(C);
    hand.listen(BOOTED + 4_700, &[(C, primary(8))]);
    assert_eq!(hand.quorum.supported(), Some((C, epoch(6))));
    assert_eq!(hand.echoes(), None);
    hand.listen(BOOTED + 5_200, &[(C, primary(8))]);
    assert_eq!(hand.quorum.supported(), Some((C, epoch(8))));
    assert!(hand.echoes().is_some());
}

#[test]
fn a_frame_without_a_stamp_does_not_hide_whose_support_it_is() {
    // The first frames on a new connection have no stamp, and the next come from another life.
    let mut hand = Hand::following(3);
    let extended = hand.old_stamp(C, 0);
    hand.disconnect(C);
    hand.connections[C.index()] += 1;
    hand.run(1_000);
    hand.hear_old(C, 6, Role::Primary, 0);
    hand.replace(C);
    hand.hear(C, replica(6));
    assert_eq!(hand.quorum.supported(), Some((C, epoch(6))));
    assert_eq!(hand.echoes(), Some(extended));
    hand.sent.clear();
    hand.message(C, Message::Offer { epoch: epoch(7), position: offset(0), stamp: None });
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
pub(super) fn other_process(hand: &mut Hand, peer: Peer, newer: bool) {
    let (life, connection) = (&mut hand.lives[peer.index()], &mut hand.connections[peer.index()]);
    if newer {
        (*life, *connection) = (*life + 1, *connection + 1);
    } else {
        (*life, *connection) = (*life - 1, *connection - 1);
    }
}

#[test]
fn a_restart_with_old_open_connections_is_one_process() {
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
    hand.hear_all(&[B, C, D, E], replica(5));
    assert_eq!(hand.quorum.role(), Role::Candidate);
    hand.accept(B, 6);
    hand.restart(B);
    hand.accept(B, 6);
    hand.accept(C, 6);
    assert_eq!(hand.leads(), None);
    hand.accept(D, 6);
    assert_eq!(hand.leads(), Some(6));
}

/// The one that voted may still run, and the other may vote for somebody else.
#[test]
fn a_vote_of_an_unstamped_life_is_void_once_it_is_replaced() {
    for (silent, votes) in [(1_250, false), (0, true)] {
        let mut hand = Hand::booted(5, A);
        hand.hear_all(&[C, D, E], replica(5));
        while hand.offers().is_empty() {
            hand.run(10);
        }
        hand.hear_old(B, 6, Role::Replica, 0);
        hand.message(B, Message::Accept { epoch: epoch(6), stamp: None, accepted: None });
        hand.run(silent);
        if silent > 0 {
            hand.connections[B.index()] += 1;
            hand.hear(B, replica(5));
        }
        assert_eq!(hand.quorum.role(), Role::Candidate);
        hand.accept(C, 6);
        assert_eq!(hand.leads().is_some(), votes);
    }
}

/// Its ballot binds whoever comes after it, and a life that goes on elsewhere is bound anyway.
#[test]
fn a_vote_outlives_the_connection_and_the_process_that_gave_it() {
    let reconnects: fn(&mut Hand) = |hand| hand.connections[B.index()] += 1;
    let restarts: fn(&mut Hand) = |hand| {
        hand.replace(B);
    };
    for comes_back in [reconnects, restarts] {
        let mut hand = Hand::booted(5, A);
        hand.hear_all(&[B, C, D, E], replica(5));
        while hand.offers().is_empty() {
            hand.run(10);
        }
        hand.accept(B, 6);
        comes_back(&mut hand);
        hand.hear(B, replica(5));
        hand.accept(C, 6);
        assert_eq!(hand.leads(), Some(6));
    }
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

/// Whoever has spoken in a peer's name while this node stood still, on a connection that has ended or
/// is silent, does not silence the peer, whose own connection goes on.
#[test]
fn a_peer_is_heard_again_after_another_has_spoken_in_its_name() {
    for ends in [true, false] {
        let mut hand = Hand::following(3);
        hand.run(5_001);
        hand.connections[C.index()] += 1;
        hand.hear_old(C, 1, Role::Replica, 0);
        if ends {
            hand.disconnect(C);
        }
        hand.connections[C.index()] -= 1;
        hand.listen(hand.now + 12_000, &[(C, primary(9))]);
        assert!(hand.quorum.followed().is_some(), "it is heard again; the other ends: {ends}");
    }
}

/// However long nobody else has been heard.
#[test]
fn an_ended_connection_is_never_heard_again() {
    let mut hand = Hand::following(3);
    hand.disconnect(C);
    hand.listen(hand.now + 12_000, &[(C, primary(9))]);
    assert_eq!(hand.quorum.followed(), None);
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

#[test]
fn a_peer_stays_heard_after_a_late_connection_ends() {
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
