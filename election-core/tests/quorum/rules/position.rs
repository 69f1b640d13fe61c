//! A node that does not know yet how far its data have come. Its position in a heartbeat means
//! nothing.

use super::*;

/// Node `a` of three, past its boot grace, with a ballot, whose application still reads its data.
fn loading() -> Hand {
    Hand::booted_from(config(3, A), ballot(3, 5, None), None)
}

fn said(hand: &mut Hand) -> Availability {
    hand.next_heartbeat().extension.unwrap().availability
}

#[test]
fn who_does_not_know_its_data_helps_to_elect_nobody() {
    // The old primary is dead. This node has the data that they both acknowledged, and has not been
    // told yet; the third is behind.
    let mut hand = loading();
    assert_eq!(said(&mut hand), Loading);
    hand.hear(B, Beat { position: offset(50), ..replica(5) });
    hand.offer(B, 6, offset(50));
    assert_eq!(hand.votes(), []);
    hand.run(2_000);
    assert_eq!(hand.offers(), [], "nor does it ask for votes");
    hand.event(Event::Position(offset(100)));
    assert_eq!(hand.offers(), [7]);
    hand.offer(B, 8, offset(50));
    assert_eq!(hand.votes(), []);
}

#[test]
fn while_loading_it_supports_and_keeps_its_primary() {
    let mut hand = loading();
    for _ in 0..2 {
        hand.hear(C, Beat { position: offset(50), ..primary(6) });
    }
    assert_eq!(hand.quorum.supported(), Some((C, epoch(6))));
    assert_eq!(said(&mut hand), Loading, "its position means nothing yet");
    hand.offer(C, 7, offset(50));
    assert_eq!(hand.votes(), [(C, 7)], "the primary takes others in");
    hand.hear(C, replica(7));
    hand.offer(C, 8, offset(50));
    assert_eq!(hand.votes(), []);
}

#[test]
fn a_position_that_stays_unknown_is_reported() {
    let told = |hand: &Hand| hand.alerts() == [&Alert::PositionUnknown];
    // Alone, as a follower, and as the only member.
    let mut alone = loading();
    let mut follower = loading();
    let mut only = Hand::with_data(config(1, A), &Restored::Nothing, None);
    while follower.now < BOOTED + 2_900 {
        follower.hear(C, primary(6));
        follower.run(100);
    }
    alone.run_to(BOOTED + 2_900);
    only.run_to(BOOTED + 2_900);
    assert!(!told(&alone) && !told(&follower));
    follower.hear(C, primary(6));
    for hand in [&mut alone, &mut follower, &mut only] {
        hand.run_to(BOOTED + 4_000);
        assert!(told(hand), "{:?}", hand.changes);
    }
    assert_eq!(only.leads(), None);
    only.event(Event::Position(offset(3)));
    assert_eq!(only.leads(), Some(1));
}

#[test]
fn a_first_start_waits_until_every_member_knows_its_data() {
    // Without ballots nobody waits out a boot grace; an unknown position must not hide behind that.
    let mut hand = Hand::with_data(config(3, B), &Restored::Nothing, Some(offset(50)));
    for _ in 0..10 {
        hand.run(100);
        hand.hear(A, Beat { availability: Loading, ..replica(0) });
        hand.hear(C, Beat { position: offset(50), ..replica(0) });
    }
    assert_eq!(hand.offers(), []);
    hand.hear(A, Beat { position: offset(100), ..replica(0) });
    hand.run(1_000);
    assert_eq!(hand.offers(), [1], "c has no newer data");
    let mut hand = Hand::with_data(config(3, B), &Restored::Nothing, None);
    for _ in 0..10 {
        hand.run(100);
        hand.hear(A, replica(0));
        hand.hear(C, replica(0));
    }
    assert_eq!(hand.offers(), []);
    assert_eq!(said(&mut hand), Loading);
}

#[test]
fn a_wiped_disk_learns_nothing_from_who_does_not_know_its_data() {
    // Its position would put the floor below what both may have acknowledged.
    let mut hand = Hand::new(config(3, A), &Restored::Nothing);
    while hand.now < BOOTED + 4_000 {
        hand.hear(B, Beat { availability: Loading, ..replica(6) });
        hand.hear(C, Beat { position: offset(50), ..replica(6) });
        hand.run(100);
    }
    assert_eq!(hand.quorum.promised(), Epoch::NONE);
    for _ in 0..50 {
        hand.hear(B, Beat { position: offset(100), ..replica(6) });
        hand.run(100);
    }
    assert_eq!(hand.quorum.promised(), epoch(6));
    hand.sent.clear();
    hand.offer(C, 7, offset(50));
    assert_eq!(hand.votes(), []);
    hand.offer(B, 8, offset(100));
    assert_eq!(hand.votes(), [(B, 8)]);
}

#[test]
fn that_the_data_are_known_at_last_is_told_at_once() {
    let restored = Restored::Ballot(ballot(3, 5, None));
    let mut hand = Hand::with_data(config(3, A), &restored, None);
    hand.run_to(BOOTED + 70); // between two heartbeats
    hand.sent.clear();
    hand.event(Event::Position(offset(9)));
    let told = hand.heartbeats();
    let [(Audience::All, told)] = &told[..] else { panic!("{told:?}") };
    assert_eq!((told.position, told.extension.unwrap().availability), (offset(9), Free));
}

#[test]
fn old_versions_see_only_data_that_continue_the_primarys() {
    // What the primary says, and which offset a peer then sees that was not heard yet.
    let own = Position { history: 3, offset: 5 };
    let (same, ahead, behind) = (own, Position { offset: 9, ..own }, Position { offset: 4, ..own });
    let fork = Position { history: 4, offset: 9 };
    for (its, shown) in [(same, 5), (ahead, 5), (behind, 0), (fork, 0)] {
        let mut hand = Hand::booted(4, A);
        hand.event(Event::Position(own));
        let beat = Beat { position: its, ..primary(6) };
        hand.listen(BOOTED + 400, &[(C, beat)]);
        hand.sent.clear();
        hand.run(200);
        let to_b = |to: &Audience| matches!(to, Audience::All | Audience::One(B));
        let sent = hand.heartbeats();
        let told = sent.iter().find(|(to, _)| to_b(to)).expect("a heartbeat");
        assert_eq!(told.1.position.offset, shown, "{its:?}");
    }
}

#[test]
fn nobody_counts_as_having_what_it_may_not_have() {
    let start = Position::default();
    let restored = Restored::Ballot(ballot(3, 5, None));
    let hand = Hand::with_data(config(3, A), &restored, None);
    assert_eq!(hand.quorum.copies(start).data_nodes, 0, "it does not know its data");
    let mut hand = Hand::booted(3, A);
    hand.hear(B, replica(5));
    assert_eq!(hand.quorum.copies(start).data_nodes, 2);
    hand.hear(B, Beat { list: Some(1), ..replica(5) });
    assert_eq!(hand.quorum.copies(start).data_nodes, 1, "b was given another list");
}
