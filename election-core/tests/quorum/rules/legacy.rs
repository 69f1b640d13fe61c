//! Peers that speak only kevy-elect's protocol: no stamps, no echoes, no flags.
//!
//! Rule: kevy-elect's peers.

mod trust;

use super::*;
use election_core::quorum::Maintenance;

fn beat(hand: &mut Hand, from: Peer, number: u64, role: Role) -> Option<Change> {
    hand.hear_old(from, number, role, 0)
}

fn offer(hand: &mut Hand, from: Peer, number: u64) {
    let (epoch, position) = (epoch(number), offset(0));
    hand.message(from, Message::Offer { epoch, position, stamp: None });
}

/// `c` supports `a` for a moment longer, and `b` has made it an offer.
fn asked_too_early() -> Hand {
    let mut hand = Hand::booted(3, C);
    hand.hear_all(&[A, A], primary(6));
    hand.run(4_900);
    offer(&mut hand, B, 7);
    hand
}

#[test]
fn a_stamped_life_takes_nothing_from_a_present_old_peer() {
    let mut hand = Hand::booted(3, A);
    beat(&mut hand, C, 6, Role::Primary);
    hand.connections[C.index()] = 2;
    hand.hear(C, replica(9));
    assert_eq!(hand.quorum.followed().map(|(term, _)| term.epoch), Some(epoch(6)));
    assert_eq!(hand.alerts(), Vec::<&Alert>::new());
    // Both go on speaking.
    for _ in 0..2 {
        hand.connections[C.index()] = 1;
        beat(&mut hand, C, 6, Role::Primary);
        hand.connections[C.index()] = 2;
        hand.hear(C, replica(9));
    }
    assert_eq!(hand.alerts(), [&Alert::DuplicateId { node: id(C) }]);
    // It is the peer's upgrade if the old connection has ended.
    let mut hand = Hand::booted(3, A);
    beat(&mut hand, C, 6, Role::Replica);
    hand.disconnect(C);
    hand.connections[C.index()] = 2;
    hand.hear(C, primary(9));
    assert_eq!(hand.quorum.followed().map(|(term, _)| term.epoch), Some(epoch(9)));
    assert_eq!(hand.alerts(), Vec::<&Alert>::new());
}

#[test]
fn an_old_peer_that_would_refuse_by_its_own_rule_is_not_asked() {
    let mut hand = Hand::booted(3, B);
    beat(&mut hand, A, 5, Role::Replica);
    hand.run(2_000);
    assert_eq!(hand.offers(), [], "the lower id wins a tie");
    hand.event(Event::Position(offset(1)));
    hand.run(400);
    assert_eq!(hand.offers(), [6]);
    // If only its own data keeps this node out, that is reported.
    let mut hand = Hand::booted(3, A);
    hand.event(Event::Position(Position { history: 1, offset: 1 }));
    for _ in 0..30 {
        hand.hear_old(B, 5, Role::Replica, 7);
        hand.run(200);
    }
    assert_eq!(hand.offers(), []);
    assert_eq!(hand.alerts(), [&Alert::CatchUp { from: id(B) }]);
}

#[test]
fn a_fork_is_shown_as_no_data_and_ranks_behind_old_peers() {
    let mut hand = Hand::booted(3, A);
    hand.event(Event::Position(Position { history: 3, offset: 500 }));
    hand.hear_old(B, 5, Role::Replica, 7);
    hand.run(1_000);
    assert_eq!(hand.offers(), [], "by its own rule, b would refuse");
}

#[test]
fn old_peers_are_not_asked_against_a_living_primary() {
    // It leads an epoch below the promised one, so that this node cannot support it.
    let mut hand = Hand::booted(3, A);
    beat(&mut hand, C, 4, Role::Primary);
    beat(&mut hand, B, 4, Role::Replica);
    hand.run(1_000);
    assert_eq!(hand.offers(), []);
}

#[test]
fn an_old_candidate_that_came_too_early_is_not_kept_waiting() {
    let mut hand = asked_too_early();
    beat(&mut hand, B, 7, Role::Candidate);
    assert_eq!(hand.votes(), []);
    hand.run(200);
    assert_eq!(hand.votes(), [(B, 7)], "its only offer");
    // It has given up.
    let mut hand = asked_too_early();
    beat(&mut hand, B, 7, Role::Replica);
    hand.run(3_200);
    beat(&mut hand, B, 7, Role::Candidate);
    hand.run(200);
    assert!(!hand.votes().contains(&(B, 7)));
}

#[test]
fn an_offer_is_not_taken_up_in_the_name_of_another_life() {
    type Meanwhile = fn(&mut Hand);
    let meanwhile: [(&str, Meanwhile); 2] = [
        ("a newer version has replaced it", |hand| hand.disconnect(B)),
        ("two processes run under its id", |_| {}),
    ];
    for (name, meanwhile) in meanwhile {
        let mut hand = asked_too_early();
        beat(&mut hand, B, 7, Role::Candidate);
        meanwhile(&mut hand);
        hand.connections[B.index()] = 2;
        hand.hear(B, Beat { availability: Busy, ..candidate(7) });
        hand.run(2_000);
        assert_eq!((hand.quorum.supported(), hand.votes()), (None, vec![]), "{name}");
        assert_eq!(hand.quorum.promised(), epoch(6), "{name}, and the vote is not spent");
    }
}

/// Its second offer is judged again in the very step in which the vote for its first one becomes
/// durable. That vote must not leave under the second epoch, which is being saved.
#[test]
fn no_vote_leaves_under_a_promise_that_is_being_saved() {
    let mut hand = Hand::booted(3, C);
    hand.slow_disk = true;
    for number in [6, 7] {
        offer(&mut hand, B, number);
        beat(&mut hand, B, number, Role::Candidate);
    }
    hand.finish_saving();
    let saving = hand.saving.as_ref().map(|ballot| ballot.promised);
    assert_eq!((saving, hand.quorum.promised()), (Some(epoch(7)), epoch(7)));
    hand.run(20);
    assert_eq!(hand.votes(), []);
    hand.finish_saving();
    assert_eq!(hand.votes(), [(B, 7)]);
}

#[test]
fn an_old_primary_is_supported_until_it_has_stopped_by_itself() {
    let mut hand = Hand::booted(3, A);
    beat(&mut hand, C, 6, Role::Primary);
    beat(&mut hand, C, 6, Role::Primary);
    // `down_after` by the slowest clock, and four of its heartbeat intervals.
    hand.run(5_850);
    assert_eq!(hand.quorum.supported(), Some((C, epoch(6))));
    hand.run(100);
    assert_eq!(hand.quorum.supported(), None);
}

#[test]
fn silence_about_the_list_of_members_does_not_make_it_right() {
    let mut hand = Hand::booted(3, A);
    hand.event(Event::Health(false)); // so that it does not campaign
    hand.hear(B, Beat { list: Some(1), ..replica(5) });
    hand.disconnect(B);
    hand.connections[B.index()] = 2;
    beat(&mut hand, B, 5, Role::Replica);
    hand.offer(C, 6, offset(0));
    assert_eq!(hand.votes(), []);
}

/// The positions that the node states to everybody or to this peer.
fn offered_to(hand: &Hand, peer: Peer) -> Vec<u64> {
    let offsets = hand.sent.iter().filter_map(|(to, message)| {
        let meant = *to == Audience::All || *to == Audience::One(peer);
        match message {
            Message::Heartbeat(heartbeat) if meant => Some(heartbeat.position.offset),
            Message::Offer { position, .. } if meant => Some(position.offset),
            _ => None,
        }
    });
    offsets.collect()
}

#[test]
fn forked_data_does_not_win_an_old_peers_vote_by_length() {
    let forked = Position { history: 3, offset: 500 };
    let mut hand = Hand::booted(3, A);
    hand.event(Event::Position(forked));
    hand.hear(C, Beat { availability: Busy, ..replica(5) });
    hand.sent.clear();
    beat(&mut hand, B, 5, Role::Replica);
    let asked = hand.sent.iter().filter(|(_, message)| matches!(message, Message::Offer { .. }));
    let asked: Vec<_> = asked.map(|(to, _)| *to).collect();
    assert_eq!(asked, [Audience::One(B), Audience::One(C)], "one by one, at once");
    hand.run(400);
    assert!(hand.quorum.role() == Role::Candidate && offered_to(&hand, B).len() > 3);
    assert!(offered_to(&hand, B).iter().all(|offset| *offset == 0), "{:?}", hand.sent);
    assert!(offered_to(&hand, C).iter().all(|offset| *offset == 500), "{:?}", hand.sent);
    // Without histories nobody can tell a fork, and only the offset counts.
    let mut old = Hand::booted(3, A);
    old.event(Event::Position(offset(500)));
    beat(&mut old, B, 5, Role::Replica);
    offer(&mut old, B, 9);
    assert!(matches!(old.sent.last(), Some((Audience::One(B), _))), "a refusal");
    assert!(offered_to(&old, B).iter().all(|offset| *offset == 500), "{:?}", old.sent);
    // Once it has a primary's data, its offset means the same as the others'.
    beat(&mut hand, B, 7, Role::Primary);
    hand.event(Event::Position(Position { history: 4, offset: 120 }));
    hand.sent.clear();
    hand.run(200);
    assert!(offered_to(&hand, B).iter().all(|offset| *offset == 0), "{:?}", hand.sent);
    hand.hear_old(B, 7, Role::Primary, 120);
    hand.sent.clear();
    hand.run(400);
    assert!(offered_to(&hand, B).iter().all(|offset| *offset == 120), "{:?}", hand.sent);
    assert!(!hand.sent.is_empty());
}

#[test]
fn every_repetition_of_an_offer_goes_to_all_whom_it_differs_for() {
    let mut hand = Hand::booted(3, A);
    hand.event(Event::Position(Position { history: 3, offset: 500 }));
    hand.hear(C, Beat { availability: Busy, ..replica(5) });
    beat(&mut hand, B, 5, Role::Replica);
    hand.run(100);
    // Something to tell, so that heartbeats go between the offers.
    let (epoch, stamp) = (hand.quorum.promised(), Some(hand.stamp(C)));
    let record = Maintenance { number: 1, issuer: C, by: C, ..Maintenance::default() };
    hand.message(C, Message::Maintenance { epoch, record, left: None, agreed: true, stamp });
    hand.sent.clear();
    hand.run(1_000);
    let times = |peer| {
        let offers = hand.sent.iter().filter_map(|(to, message)| match message {
            Message::Offer { stamp, .. } if *to == Audience::One(peer) => {
                Some(millis(stamp.unwrap().at))
            }
            _ => None,
        });
        offers.collect::<Vec<_>>()
    };
    assert!(times(B).len() >= 4, "{:?}", times(B));
    assert_eq!(times(B), times(C));
}

#[test]
fn the_data_of_a_leader_have_not_forked_while_it_leads() {
    let mut hand = Hand::booted(3, A);
    hand.event(Event::Position(Position { history: 3, offset: 500 }));
    beat(&mut hand, B, 5, Role::Replica);
    hand.hear(C, replica(5));
    hand.accept(C, 6);
    assert!(hand.leads().is_some());
    hand.sent.clear();
    hand.run(400);
    assert!(offered_to(&hand, B).contains(&500), "{:?}", hand.sent);
    assert!(!offered_to(&hand, B).contains(&0), "{:?}", hand.sent);
    // Another may lead next without what this node wrote last.
    hand.event(Event::Health(false));
    hand.sent.clear();
    hand.run(400);
    assert!(offered_to(&hand, B).contains(&0), "{:?}", hand.sent);
    assert!(!offered_to(&hand, B).contains(&500), "{:?}", hand.sent);
}

#[test]
fn who_voted_for_an_old_candidate_waits_longer() {
    // Another voter may make it primary as late as its election timeout, 3 s later.
    let voted = |stamped: bool| {
        let mut hand = Hand::booted(3, A);
        let (number, position) = (epoch(6), offset(0));
        let stamp = stamped.then(|| hand.stamp(C));
        hand.message(C, Message::Offer { epoch: number, position, stamp });
        assert_eq!(hand.quorum.supported(), Some((C, epoch(6))));
        let voted = hand.now;
        while hand.quorum.supported().is_some() {
            hand.run(50);
        }
        hand.now - voted
    };
    assert_eq!(voted(true), 5_000);
    let old = voted(false);
    assert!((8_850..9_000).contains(&old), "{old} ms");
}

#[test]
fn leadership_is_handed_over_to_no_old_peer() {
    let mut hand = Hand::booted(3, A);
    for _ in 0..3 {
        hand.hear(B, replica(5));
        beat(&mut hand, C, 5, Role::Replica);
        hand.run(200);
    }
    hand.accept(B, 6);
    assert_eq!(hand.leads(), Some(6));
    beat(&mut hand, C, 6, Role::Replica);
    let refused = Alert::HandOverRefused { to: Some(id(C)), heard: true };
    assert_eq!(hand.event(Event::HandOver(C)), Some(Change::Alert(refused)));
    assert_eq!(hand.leads(), Some(6));
}

/// Which of these get a heartbeat.
fn told<const N: usize>(hand: &mut Hand, peers: [Peer; N]) -> [bool; N] {
    hand.sent.clear();
    hand.run(400);
    let told = |to: &Audience, peer| *to == Audience::All || *to == Audience::One(peer);
    let sent = hand.heartbeats();
    peers.map(|peer| sent.iter().any(|(to, _)| told(to, peer)))
}

/// Has led by this peer's vote, and hears nobody any more.
fn deserted(me: Peer, voter: Peer, old: &[Peer], resigns: bool) -> Hand {
    let mut hand = Hand::booted(3, me);
    for _ in 0..3 {
        if !old.contains(&voter) {
            hand.hear(voter, replica(5));
        }
        old.iter().for_each(|peer| drop(beat(&mut hand, *peer, 5, Role::Replica)));
        hand.run(200);
    }
    let stamp = (!old.contains(&voter)).then(|| hand.stamp(voter));
    hand.message(voter, Message::Accept { epoch: epoch(6), stamp, accepted: None });
    assert_eq!(hand.leads(), Some(6));
    if resigns {
        hand.input(Input::Resign);
    }
    while hand.leads().is_some() {
        hand.run(100);
    }
    // It keeps the others out until its work has had the time that it was promised.
    assert_eq!(told(&mut hand, [voter]), [true]);
    hand.input(Input::Stopped(epoch(6)));
    hand.run(8_000);
    hand
}

#[test]
fn only_a_forsaken_primary_is_silent_and_only_to_old_peers() {
    // Never heard, so not known to be old.
    assert_eq!(told(&mut deserted(B, A, &[], false), [A, C]), [true, true]);
    assert_eq!(told(&mut deserted(B, A, &[C], false), [A, C]), [true, false]);
    assert_eq!(told(&mut deserted(A, B, &[B, C], false), [B, C]), [false, false]);
    // One that has resigned stands again.
    assert_eq!(told(&mut deserted(A, B, &[C], true), [B, C]), [true, true]);
    // One that has never led has nobody to hold up.
    let mut hand = Hand::booted(3, A);
    beat(&mut hand, C, 5, Role::Replica);
    hand.run(8_000);
    assert_eq!(told(&mut hand, [B, C]), [true, true]);
}

#[test]
fn a_forsaken_primary_that_supports_another_stays_silent() {
    let mut hand = Hand::booted(5, A);
    for _ in 0..3 {
        hand.hear(B, replica(5));
        hand.hear(C, replica(5));
        beat(&mut hand, E, 5, Role::Replica);
        hand.run(200);
    }
    hand.accept(B, 6);
    hand.accept(C, 6);
    assert_eq!(hand.leads(), Some(6));
    while hand.leads().is_some() {
        hand.run(100);
    }
    hand.input(Input::Stopped(epoch(6)));
    hand.run(8_000);
    hand.hear(D, replica(6));
    hand.offer(D, 20, offset(0));
    assert_eq!(hand.votes(), [(D, 20)]);
    for _ in 0..8 {
        assert_eq!(told(&mut hand, [D, E]), [true, false]);
    }
}

#[test]
fn a_forsaken_primary_leaves_though_it_tells_nobody() {
    let mut hand = deserted(A, B, &[B, C], false);
    hand.input(Input::Withdraw);
    hand.sent.clear();
    hand.run(500);
    assert_eq!(hand.heartbeats(), []);
    assert!(hand.quorum.is_finished(), "{:?}", hand.quorum);
}

#[test]
fn a_forsaken_primary_is_silent_towards_old_peers() {
    // Old peers that heard it would wait for it to stand, though it hears nobody.
    let told = |hand: &mut Hand| told(hand, [B, C]);
    let forsaken = || deserted(A, B, &[C], false);
    // Until it sees another primary,
    let mut hand = forsaken();
    beat(&mut hand, C, 7, Role::Primary);
    hand.run(12_000);
    assert_eq!(told(&mut hand), [true, true]);
    // or hears enough members to take part in an election.
    let mut hand = forsaken();
    hand.hear(B, replica(6));
    assert_eq!(told(&mut hand), [true, true]);
    hand.run(6_000);
    assert_eq!(told(&mut hand), [true, false]);
}

#[test]
fn what_cannot_be_ordered_does_not_release_what_was_echoed() {
    let mut hand = Hand::following(3);
    hand.connections[C.index()] = 2;
    beat(&mut hand, C, 6, Role::Replica);
    assert_eq!(hand.quorum.supported(), Some((C, epoch(6))));
    hand.connections[C.index()] = 1;
    hand.disconnect(C);
    hand.connections[C.index()] = 2;
    beat(&mut hand, C, 6, Role::Replica);
    assert_eq!(hand.quorum.supported(), Some((C, epoch(6))));
}

#[test]
fn an_unstamped_frame_takes_nothing_from_a_present_life() {
    let mut hand = Hand::following(3);
    hand.listen(BOOTED + 2_000, &[(C, primary(6))]);
    let echoed = hand.echoes().unwrap();
    hand.connections[C.index()] = 2;
    beat(&mut hand, C, 7, Role::Primary);
    beat(&mut hand, C, 6, Role::Replica);
    assert_eq!(hand.echoes(), Some(echoed), "{:?}", hand.quorum);
    hand.connections[C.index()] = 1;
    hand.hear(C, primary(6));
    assert!(hand.echoes().unwrap().at > echoed.at);
    assert_eq!(hand.alerts(), Vec::<&Alert>::new());
}
