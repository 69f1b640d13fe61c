//! Members that vote, but have no data and never lead.
//!
//! Rule: Witnesses.

use super::*;
use election_core::quorum::{Ballot, Config, ConfigBuilder, ConfigError, Copies, Heartbeat};

/// Three members, of which `c` is a witness.
fn pair(me: Peer) -> ConfigBuilder {
    config(3, me).witnesses([id(C)])
}

/// The ballot of a member of that list.
fn recorded(floor: u64) -> Ballot {
    let members = pair(A).build().unwrap().members().fingerprint();
    Ballot { members, floor: offset(floor), ..ballot(3, 5, None) }
}

/// The witness, past its boot grace, which has recorded this offset.
fn witness(floor: u64) -> Hand {
    Hand::booted_from(pair(C), recorded(floor), Some(offset(0)))
}

/// A data node, past its boot grace, with data up to this offset.
fn data_node(me: Peer, reached: u64) -> Hand {
    Hand::booted_from(pair(me), recorded(0), Some(offset(reached)))
}

/// The next heartbeat to a member that this node hears. (A member that it has not heard may be one
/// of kevy-elect, and is told no offset.)
#[track_caller]
fn told(hand: &mut Hand, peer: Peer) -> Heartbeat {
    hand.sent.clear();
    hand.run(200);
    let to = [Audience::All, Audience::One(peer)];
    hand.heartbeats().into_iter().rfind(|(audience, _)| to.contains(audience)).expect("one").1
}

fn leads(number: u64, reached: u64) -> Beat {
    Beat { position: offset(reached), ..primary(number) }
}

fn waits(number: u64, reached: u64) -> Beat {
    Beat { position: offset(reached), ..replica(number) }
}

#[test]
fn a_witness_votes_and_never_stands_for_election() {
    let mut hand = witness(0);
    hand.hear(A, replica(5));
    hand.hear(B, replica(5));
    let said = hand.next_heartbeat().extension.unwrap().availability;
    assert_eq!(said, FreeAside);
    hand.listen(BOOTED + 9_000, &[(A, replica(5)), (B, replica(5))]);
    assert_eq!(hand.offers(), []);
    assert_eq!(hand.alerts(), [] as [&Alert; 0]);
    hand.offer(A, 6, offset(0));
    assert_eq!(hand.votes(), [(A, 6)]);
}

#[test]
fn what_the_application_of_a_witness_says_of_data_means_nothing() {
    let mut hand = Hand::booted_from(pair(C), recorded(0), None);
    hand.event(Event::Position(offset(1_000)));
    assert_eq!(hand.next_heartbeat().position, offset(0));
    hand.offer(A, 6, offset(1));
    assert_eq!(hand.votes(), [(A, 6)]);
}

#[test]
fn it_votes_for_nobody_who_has_come_less_far_than_its_primary() {
    let mut hand = witness(0);
    hand.hear(A, leads(6, 100));
    hand.hear(A, leads(6, 100));
    assert_eq!(hand.quorum.supported(), Some((A, epoch(6))));
    hand.disconnect(A);
    hand.run(5_100);
    hand.sent.clear();
    hand.offer(B, 7, offset(99));
    assert_eq!(hand.votes(), []);
    hand.offer(B, 8, offset(100));
    assert_eq!(hand.votes(), [(B, 8)]);
}

#[test]
fn it_records_what_it_heard_and_says_only_what_is_recorded() {
    let mut hand = witness(0);
    hand.hear(A, leads(6, 100));
    hand.slow_disk = true;
    hand.hear(A, leads(6, 200));
    hand.hear(A, leads(6, 300));
    let floor = |hand: &Hand| hand.saving.as_ref().unwrap().floor;
    assert_eq!(floor(&hand), offset(200), "the next save waits for this one");
    assert_eq!(told(&mut hand, A).position, offset(100));
    hand.finish_saving();
    assert_eq!(floor(&hand), offset(300));
    assert_eq!(told(&mut hand, A).position, offset(200));
    hand.fail_saving();
    assert_eq!(told(&mut hand, A).position, offset(200), "nobody knows what is on the disk");
    assert_eq!(floor(&hand), offset(300), "tried again");
    hand.finish_saving();
    assert_eq!(told(&mut hand, A).position, offset(300));
}

#[test]
fn a_recording_witness_still_supports_and_votes() {
    let mut hand = witness(0);
    hand.hear(A, leads(6, 100));
    hand.slow_disk = true;
    hand.hear(A, leads(6, 200));
    assert!(hand.saving.is_some());
    for _ in 0..3 {
        hand.hear(A, leads(6, 200));
        let newest = hand.old_stamp(A, 0);
        let echoed = told(&mut hand, A).extension.unwrap().attestation.echo().copied();
        assert_eq!(echoed, Some(newest), "a slow disk does not delay the echo");
    }
    // An offer that comes meanwhile is refused, and answered once the record is there.
    hand.hear(A, waits(6, 200));
    hand.sent.clear();
    hand.offer(B, 7, offset(200));
    assert_eq!(hand.votes(), []);
    hand.finish_saving();
    hand.slow_disk = false;
    hand.offer(B, 7, offset(200));
    assert_eq!(hand.votes(), [(B, 7)]);
}

#[test]
fn a_witness_remembers_until_an_operator_accepts_the_loss() {
    let mut hand = witness(100);
    hand.hear(B, waits(5, 50));
    assert_eq!(told(&mut hand, B).position, offset(100));
    hand.offer(B, 6, offset(50));
    assert_eq!(hand.votes(), []);
    let mut hand = Hand::booted_from(pair(C).accept_loss(true), recorded(100), Some(offset(0)));
    assert_eq!(hand.saved.last().map(|ballot| ballot.floor), Some(offset(0)), "for good");
    hand.offer(B, 6, offset(50));
    assert_eq!(hand.votes(), [(B, 6)]);
}

#[test]
fn a_data_node_that_lost_its_disk_can_accept_the_loss_too() {
    let start = |accepts: bool| {
        let config = pair(A).accept_loss(accepts);
        let mut hand = Hand::booted_from(config, recorded(100), Some(offset(0)));
        hand.hear(B, waits(5, 50));
        hand.sent.clear();
        hand.offer(B, 6, offset(50));
        hand.votes()
    };
    assert_eq!(start(false), []);
    assert_eq!(start(true), [(B, 6)]);
}

#[test]
fn a_start_with_nothing_to_catch_up_with_records_nothing() {
    // A witness has no data that it could lack.
    let mut hand = witness(100);
    hand.listen(BOOTED + 400, &[(B, leads(5, 100))]);
    assert_eq!(hand.quorum.supported(), Some((B, epoch(5))));
    let floors = hand.saved.iter().map(|ballot| ballot.floor).collect::<Vec<_>>();
    assert_eq!(floors, [offset(100)], "its vote is news, and its record is not");
    assert_eq!(hand.quorum.copies(offset(0)).data_nodes, 1, "b's, and none of its own");
    // Nor is there a loss to accept.
    let hand = Hand::booted_from(pair(A).accept_loss(true), recorded(0), Some(offset(0)));
    assert_eq!(hand.saved, []);
}

#[test]
fn a_wiped_witness_waits_for_what_it_may_have_recorded() {
    let mut hand = Hand::new(pair(C), &Restored::Nothing);
    while hand.now < BOOTED + 4_000 {
        hand.hear(B, waits(6, 50));
        hand.run(100);
    }
    assert_eq!(hand.quorum.promised(), Epoch::NONE, "a was the primary, perhaps");
    for _ in 0..50 {
        hand.hear(A, waits(6, 100));
        hand.hear(B, waits(6, 50));
        hand.run(100);
    }
    hand.sent.clear();
    hand.offer(B, 7, offset(50));
    assert_eq!(hand.votes(), []);
    hand.offer(A, 8, offset(100));
    assert_eq!(hand.votes(), [(A, 8)]);
    for _ in 0..2 {
        hand.hear(A, leads(8, 100));
    }
    assert_eq!(hand.saved.last().map(|ballot| ballot.floor), Some(offset(100)));
}

#[test]
fn nobody_waits_for_a_witness_nor_asks_for_its_data() {
    // The witness has the lowest id, and would be the better candidate.
    let list = |me| config(3, me).witnesses([id(A)]);
    let fingerprint = list(B).build().unwrap().members().fingerprint();
    let ballot = Ballot { members: fingerprint, ..ballot(3, 5, None) };
    let mut hand = Hand::booted_from(list(B), ballot, Some(offset(0)));
    hand.hear(A, Beat { availability: Waiting, ..replica(5) });
    hand.hear(C, replica(5));
    assert_eq!(hand.offers(), [6]);
}

#[test]
fn a_node_overtaken_by_a_witness_says_what_is_missing() {
    let reports = |heard: &[(Peer, Beat)]| {
        let mut hand = data_node(B, 50);
        hand.listen(BOOTED + 4_000, heard);
        assert_eq!(hand.offers(), []);
        hand.alerts().into_iter().cloned().collect::<Vec<_>>()
    };
    let recorded = Beat { availability: FreeAside, ..waits(5, 100) };
    assert_eq!(reports(&[(C, recorded)]), [Alert::DataOutOfReach { witness: id(C) }]);
    // A node that has newer data is named first, even if the witness has recorded still more.
    let behind = Beat { availability: FreeAside, ..waits(5, 60) };
    assert_eq!(reports(&[(A, behind), (C, recorded)]), [Alert::CatchUp { from: id(A) }]);
}

#[test]
fn a_primary_learns_how_many_nodes_have_a_position() {
    let mut hand = data_node(A, 100);
    let copies = |hand: &Hand, reached| {
        let Copies { data_nodes, witnesses } = hand.quorum.copies(offset(reached));
        (data_nodes, witnesses)
    };
    assert_eq!((copies(&hand, 0), copies(&hand, 101)), ((1, 0), (0, 0)), "nobody else was heard");
    hand.hear(B, waits(5, 60));
    hand.hear(C, Beat { availability: FreeAside, ..waits(5, 80) });
    assert_eq!([60, 80, 100].map(|at| copies(&hand, at)), [(2, 1), (1, 1), (1, 0)]);
    hand.disconnect(B);
    hand.run(9_000);
    assert_eq!(copies(&hand, 60), (2, 1), "its disk still has it");
    hand.restart(B);
    hand.hear(B, Beat { availability: Loading, ..waits(5, 60) });
    assert_eq!(copies(&hand, 60), (1, 1), "nobody knows");
    hand.hear(B, Beat { position: Position { history: 3, offset: 900 }, ..replica(5) });
    assert_eq!(copies(&hand, 60), (1, 1), "another history");
}

#[test]
fn an_older_version_never_waits_for_a_witness() {
    // Its candidates stand back for whoever has the higher offset.
    let mut hand = witness(100);
    hand.hear(B, waits(5, 50));
    hand.sent.clear();
    hand.run(200);
    let shown: Vec<_> = hand.heartbeats().iter().map(|(to, beat)| (*to, beat.position)).collect();
    assert!(shown.contains(&(Audience::One(A), offset(0))), "{shown:?}");
    assert!(shown.contains(&(Audience::One(B), offset(100))), "{shown:?}");
}

#[test]
fn a_list_that_leaves_nobody_to_lead_is_refused() {
    let build = |config: ConfigBuilder| config.build().map(|_: Config| ());
    assert_eq!(build(config(3, A).witnesses(ids(3))), Err(ConfigError::NoDataNode));
    assert_eq!(build(config(3, A).witnesses([id(D)])), Err(ConfigError::NotAMember(id(D))));
    let preferred = pair(A).preferred_primary(id(C));
    assert_eq!(build(preferred), Err(ConfigError::WitnessPreferred(id(C))));
}

#[test]
fn lists_with_and_without_a_witness_do_not_vote_together() {
    let mut hand = data_node(A, 0);
    let without = config(3, B).build().unwrap().members().fingerprint().get();
    let told = hand.hear(B, Beat { list: Some(without), ..replica(5) });
    assert_eq!(told, Some(Change::Alert(Alert::MembersDiffer { node: id(B) })));
}
