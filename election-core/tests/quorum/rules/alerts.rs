//! The node reports what it cannot mend, and does not make it worse.

mod again;

use super::*;
use core::time::Duration;

#[test]
fn of_two_that_claim_one_epoch_neither_is_supported() {
    let mut hand = Hand::following(3);
    hand.hear(B, primary(6));
    let nodes = [id(C), id(B)];
    assert_eq!(hand.alerts(), [&Alert::TwoPrimaries { epoch: epoch(6), nodes }]);
    hand.run(1_000);
    hand.hear_all(&[B, C, B, C], primary(6));
    assert_eq!(hand.alerts().len(), 1);
    hand.run_to(BOOTED + 5_000);
    assert_eq!(hand.quorum.supported(), None);
    // A later election ends it.
    hand.hear(B, primary(7));
    assert_eq!(hand.quorum.supported(), Some((B, epoch(7))));
    hand.hear(C, primary(7));
    assert_eq!(hand.alerts().len(), 2, "those of a later epoch are told too");
}

#[test]
fn while_a_peer_shows_another_list_nobody_votes() {
    // Nodes with an old and a new list could elect two primaries.
    let mut hand = Hand::booted(3, A);
    hand.hear(B, Beat { availability: Busy, ..replica(5) });
    hand.hear(B, Beat { list: Some(1), ..replica(5) });
    assert_eq!(hand.alerts(), [&Alert::MembersDiffer { node: id(B) }]);
    hand.hear(C, replica(5));
    hand.run(1_000);
    assert_eq!(hand.offers(), []);
    hand.offer(C, 6, offset(0));
    assert_eq!(hand.votes(), []);
    hand.event(Event::Health(false)); // so that it does not campaign
    hand.run(5_000); // b is no longer heard
    hand.offer(C, 6, offset(0));
    assert_eq!(hand.votes(), [(C, 6)]);
}

/// A voter keeps to a primary for its own `down_after`, and the primary trusts it for the primary's:
/// nodes that were told different ones could elect a second primary beside the first.
#[test]
fn nodes_with_another_down_after_do_not_vote_with_each_other() {
    let of = |seconds| {
        let config = config(3, A).down_after(Duration::from_secs(seconds)).build().unwrap();
        config.members().fingerprint()
    };
    assert_ne!(of(5), of(8));
    // Nor does a node that was started with another one than its earlier life's.
    let old = Restored::Ballot(ballot(3, 5, None));
    let hand = Hand::new(config(3, A).down_after(Duration::from_secs(8)), &old);
    assert_eq!(hand.alerts(), [&Alert::MembersChanged]);
}

#[test]
fn a_peer_with_another_list_is_neither_followed_nor_counted() {
    let mut hand = Hand::booted(3, A);
    hand.hear(B, Beat { list: Some(1), ..primary(6) });
    assert_eq!((hand.quorum.followed(), hand.quorum.supported()), (None, None));
    let mut hand = Hand::leading(3);
    let sent = hand.next_heartbeat().extension.unwrap().stamp.at.as_nanos();
    hand.hear(B, replica(6));
    hand.hear(B, replica(6));
    hand.hear(C, Beat { list: Some(1), ..echo(6, sent) });
    assert_eq!(hand.trusts().1, BOOTED + WINDOW);
}

#[test]
fn a_hub_that_is_behind_says_whose_data_it_needs() {
    let newer = Beat { position: offset(9), ..replica(5) };
    let mut hand = Hand::booted(3, A);
    for _ in 0..20 {
        hand.run(200);
        hand.hear(B, newer);
        hand.hear(C, Beat { position: offset(8), ..newer });
        assert!(hand.now >= BOOTED + 3_000 || hand.alerts().is_empty(), "an election takes time");
    }
    assert_eq!(hand.alerts(), [&Alert::CatchUp { from: id(B) }]);
    // Once it has the data of one peer, that peer's vote elects it.
    hand.event(Event::Position(offset(8)));
    hand.run(200);
    assert_eq!(hand.offers().first(), Some(&6));
}

#[test]
fn a_list_that_turns_out_to_differ_voids_the_vote_under_way() {
    // The voter: a third member shows another list while the vote is being saved.
    let mut hand = Hand::booted(3, A);
    hand.slow_disk = true;
    hand.hear(B, Beat { availability: Busy, ..replica(5) });
    hand.offer(C, 6, offset(0));
    hand.hear(B, Beat { list: Some(1), availability: Busy, ..replica(5) });
    hand.finish_saving();
    assert_eq!((hand.votes(), hand.quorum.supported()), (vec![], None));
    // The candidate: a voter shows another list before its vote comes.
    let mut hand = Hand::booted(3, A);
    hand.hear(B, replica(5));
    assert_eq!(hand.offers(), [6]);
    hand.hear(B, Beat { list: Some(1), ..replica(5) });
    hand.accept(B, 6);
    assert_eq!(hand.leads(), None);
}

#[test]
fn an_announcement_of_an_epoch_that_is_taken_wins_nothing() {
    let two = |one: Peer, other: Peer| Alert::TwoPrimaries {
        epoch: epoch(6),
        nodes: [id(one), id(other)],
    };
    // By another member: a follower supports neither any longer.
    let mut hand = Hand::following(3);
    let extended = hand.old_stamp(C, 0);
    hand.run(500);
    hand.announce(B, 6, "b:1");
    hand.announce(C, 6, "c:1");
    assert_eq!(hand.alerts(), [&two(C, B)]);
    assert_eq!(hand.echoes(), Some(extended));
    assert_eq!(hand.quorum.followed().unwrap().0.leader, id(C));
    // The leader goes on.
    let mut hand = Hand::leading(3);
    hand.announce(B, 6, "b:1");
    assert_eq!(hand.alerts(), [&two(A, B)]);
    assert_eq!((hand.leads(), hand.quorum.followed()), (Some(6), None));
    // Nor does an announcement take back a vote of that epoch for another.
    let mut hand = Hand::booted(3, A);
    hand.offer(C, 6, offset(0));
    assert_eq!(hand.votes(), [(C, 6)]);
    hand.announce(B, 6, "b:1");
    hand.offer(B, 6, offset(9));
    assert_eq!(hand.votes(), []);
}

#[test]
fn missing_data_is_told_anew_in_every_outage() {
    let newer = Beat { position: offset(9), ..replica(5) };
    let need = Alert::CatchUp { from: id(B) };
    let mut hand = Hand::booted(3, A);
    hand.event(Event::Health(false));
    hand.listen(BOOTED + 4_000, &[(B, newer), (C, newer)]);
    assert_eq!(hand.alerts(), [&need]);
    // It votes for who has the data, but that comes to nothing.
    hand.offer(B, 6, offset(9));
    assert_eq!(hand.quorum.supported(), Some((B, epoch(6))));
    let newer = Beat { epoch: 6, ..newer };
    hand.listen(BOOTED + 6_000, &[(B, newer), (C, newer)]);
    assert_eq!(hand.alerts(), [&need]);
    hand.listen(BOOTED + 8_000, &[(B, newer), (C, newer)]);
    assert_eq!(hand.alerts(), [&need, &need]);
}

#[test]
fn data_that_were_there_for_a_moment_are_missed_anew() {
    let newer = Beat { position: offset(9), ..replica(5) };
    let mut hand = Hand::booted(3, C);
    hand.listen(BOOTED + 4_000, &[(A, newer), (B, newer)]);
    assert_eq!(hand.alerts().len(), 1);
    hand.event(Event::Position(offset(9)));
    let newer = Beat { position: offset(10), ..newer };
    hand.hear(A, newer);
    hand.hear(B, newer);
    assert_eq!(hand.offers(), [], "it lets the others go first");
    assert_eq!(hand.alerts().len(), 2);
}

#[test]
fn missing_data_is_told_only_after_an_election_had_its_time() {
    let newer = |number| Beat { position: offset(9), ..replica(number) };
    // The first start of all has waited for no boot grace, and waits for none now.
    let mut hand = Hand::new(config(3, A), &Restored::Nothing);
    hand.listen(4_100, &[(B, newer(0)), (C, newer(0))]);
    assert_eq!(hand.alerts(), [] as [&Alert; 0]);
    hand.listen(4_600, &[(B, newer(0)), (C, newer(0))]);
    assert_eq!(hand.alerts(), [&Alert::CatchUp { from: id(B) }]);
    // Trust runs out, and nothing else has kept this node from waiting.
    let mut hand = Hand::leading(3);
    let ended = BOOTED + WINDOW - GRACE;
    hand.listen(ended + 2_900, &[(B, newer(6)), (C, newer(6))]);
    assert_eq!((hand.leads(), hand.alerts()), (None, vec![]));
    hand.listen(ended + 3_300, &[(B, newer(6)), (C, newer(6))]);
    assert_eq!(hand.alerts(), [&Alert::CatchUp { from: id(B) }]);
}

#[test]
fn who_would_not_lead_with_newer_data_either_asks_for_none() {
    let newer = Beat { position: offset(9), ..replica(5) };
    let heard = [(B, newer), (C, newer)];
    let restored = Restored::Ballot(ballot(3, 5, None));
    let mut hand = Hand::with_data(config(3, A), &restored, None);
    hand.listen(BOOTED + 4_000, &heard);
    assert_eq!(hand.alerts(), [&Alert::PositionUnknown]);
    let witness = config(3, A).witnesses([id(A)]);
    let fingerprint = witness.clone().build().unwrap().members().fingerprint();
    let restored = Restored::Ballot(Ballot { members: fingerprint, ..ballot(3, 5, None) });
    let mut hand = Hand::new(witness, &restored);
    hand.listen(BOOTED + 4_000, &heard);
    assert_eq!(hand.alerts(), [] as [&Alert; 0]);
}

#[test]
fn who_could_be_elected_but_for_itself_misses_no_data() {
    let mut hand = Hand::booted(5, A);
    hand.event(Event::Health(false));
    let newer = Beat { position: offset(9), ..replica(5) };
    hand.listen(BOOTED + 5_000, &[(B, replica(5)), (C, replica(5)), (D, newer)]);
    assert_eq!(hand.alerts(), [] as [&Alert; 0]);
}
