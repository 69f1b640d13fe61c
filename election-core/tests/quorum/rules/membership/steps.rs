//! One node and the lists that it is told, step by step.

use super::*;
use crate::net::id as name;
use election_core::quorum::{Fingerprint, MemberChange, MemberList, Membership, Outline};

/// What a node with these lists says of them in its heartbeats.
fn outline(hand: &Hand, lists: &Membership) -> Outline {
    let members = |list: &MemberList| fingerprint(hand, lists, list);
    let accepted = lists.accepted().map(|(epoch, list)| (epoch, Fingerprint::new(members(list))));
    Outline { generation: lists.established().generation, accepted }
}

/// The fingerprint of one of these lists.
fn fingerprint(hand: &Hand, lists: &Membership, list: &MemberList) -> u64 {
    let origin = lists.origin();
    let ids = lists.ids().to_vec();
    let alone = MemberList { generation: list.generation, ..*list };
    let kept = ids.iter().enumerate().map(|(place, id)| {
        id.clone().filter(|_| alone.voters.contains(Peer::new(u8::try_from(place).unwrap())))
    });
    let alone = Membership::new(kept.collect(), origin, alone, None, None).unwrap();
    hand.quorum.config().members().fingerprint_of(&alone).get()
}

/// A heartbeat of a peer with these lists.
fn with(hand: &Hand, lists: &Membership, beat: Beat) -> Beat {
    let list = Some(fingerprint(hand, lists, lists.established()));
    Beat { list, lists: outline(hand, lists), ..beat }
}

/// The lists of the node, with a proposal of this epoch.
fn proposed(hand: &Hand, number: u64, change: &MemberChange) -> Membership {
    hand.quorum.lists().propose(epoch(number), change).unwrap()
}

fn tell(hand: &mut Hand, from: Peer, lists: &Membership) -> Option<Change> {
    let stamp = Some(hand.stamp(from));
    hand.message(from, Message::Lists { epoch: epoch(1), lists: lists.clone().into(), stamp })
}

/// The epoch of the proposal that the node says to have accepted.
fn says(hand: &mut Hand) -> Option<u64> {
    let accepted = hand.next_heartbeat().extension.unwrap().lists.accepted;
    accepted.map(|(epoch, _)| epoch.get())
}

#[test]
fn only_the_primary_that_it_follows_is_accepted_from() {
    let mut hand = Hand::following(3);
    let next = |number| proposed(&Hand::following(3), number, &add("d"));
    for (from, number) in [(B, 6), (C, 5), (C, 7)] {
        tell(&mut hand, from, &next(number));
        assert_eq!(says(&mut hand), None, "{from:?} {number}");
    }
    tell(&mut hand, C, &next(6));
    assert_eq!(says(&mut hand), Some(6));
    assert_eq!(hand.saved.last().unwrap().lists, next(6));
    // A later primary may have heard of nothing, and proposes another.
    hand.hear(C, replica(6));
    hand.hear(B, primary(8));
    let other = proposed(&Hand::following(3), 8, &add("e"));
    tell(&mut hand, B, &other);
    assert_eq!((says(&mut hand), &hand.saved.last().unwrap().lists), (Some(8), &other));
}

#[test]
fn a_proposal_from_below_the_promise_is_not_accepted() {
    // The primary has asked for this node's vote in a raise, and its proposal of before comes late.
    let mut hand = Hand::following(3);
    let late = proposed(&hand, 6, &add("d"));
    hand.offer(C, 7, offset(0));
    assert_eq!(hand.quorum.promised(), epoch(7));
    tell(&mut hand, C, &late);
    assert_eq!((says(&mut hand), hand.quorum.promised()), (None, epoch(7)));
}

#[test]
fn what_is_accepted_is_said_once_it_is_durable() {
    let mut hand = Hand::following(3);
    hand.slow_disk = true;
    let next = proposed(&hand, 6, &add("d"));
    tell(&mut hand, C, &next);
    assert_eq!((says(&mut hand), hand.quorum.lists().accepted()), (None, None));
    hand.finish_saving();
    assert_eq!(says(&mut hand), Some(6));
}

#[test]
fn accepting_binds_the_vote_of_its_epoch() {
    // It still supports the primary before, and has not voted for this one.
    let mut hand = Hand::following(3);
    hand.hear(B, primary(8));
    assert_eq!(hand.saved.last().unwrap().voted_for, None);
    let next = proposed(&hand, 8, &add("d"));
    tell(&mut hand, B, &next);
    let saved = hand.saved.last().unwrap();
    assert_eq!((saved.voted_for.clone(), &saved.lists), (Some(id(B)), &next));
}

/// A candidate of five in epoch 6, which every peer would vote for.
fn candidate_of_five() -> Hand {
    let mut hand = Hand::booted(5, A);
    hand.hear_all(&[B, C, D, E], replica(5));
    assert_eq!(hand.offers(), [6]);
    hand
}

/// A vote of a peer that has accepted this.
fn vote(hand: &mut Hand, from: Peer, lists: &Membership) -> Option<Change> {
    let (stamp, accepted) = (Some(hand.stamp(from)), outline(hand, lists).accepted);
    hand.message(from, Message::Accept { epoch: epoch(6), stamp, accepted })
}

#[test]
fn a_winner_goes_on_with_the_newest_list_of_its_voters() {
    let mut hand = candidate_of_five();
    let (old, new) = (proposed(&hand, 3, &add("f")), proposed(&hand, 4, &remove("e")));
    vote(&mut hand, B, &old);
    vote(&mut hand, C, &new);
    assert_eq!(hand.leads(), None, "nobody knows yet which list that is");
    for (from, lists) in [(B, &old), (C, &new)] {
        hand.hear(from, with(&hand, lists, replica(6)));
        tell(&mut hand, from, lists);
        vote(&mut hand, from, lists);
    }
    assert_eq!(hand.leads(), Some(6));
    hand.run(1);
    let (in_force, list) = hand.saved.last().unwrap().lists.accepted().unwrap();
    assert_eq!((in_force, *list), (epoch(6), *new.accepted().unwrap().1), "as its own");
}

#[test]
fn the_newest_accepted_list_wins_whoever_accepted_it() {
    let first = Hand::booted(5, A).quorum.lists().clone();
    let old = first.propose(epoch(3), &add("f")).unwrap();
    for (number, wins) in [(4, true), (2, false)] {
        let other = first.propose(epoch(number), &remove("e")).unwrap();
        let ballot = Ballot { lists: old.clone(), ..ballot(5, 5, None) };
        let mut hand = Hand::booted_from(config(5, A), ballot, Some(offset(0)));
        hand.hear_all(&[C, D], replica(5));
        hand.hear(B, with(&hand, &other, replica(5)));
        assert_eq!(hand.offers(), [6]);
        tell(&mut hand, B, &other);
        vote(&mut hand, B, &other);
        hand.accept(C, 6);
        assert_eq!(hand.leads(), Some(6));
        hand.run(1);
        let (_, list) = hand.saved.last().unwrap().lists.accepted().unwrap();
        let newest = if wins { &other } else { &old };
        assert_eq!(list, newest.accepted().unwrap().1, "{number}");
    }
}

#[test]
fn a_vote_without_a_list_counts_at_once() {
    let mut hand = candidate_of_five();
    hand.accept(B, 6);
    hand.accept(C, 6);
    assert_eq!(hand.leads(), Some(6));
    assert_eq!(hand.quorum.lists().accepted(), None);
}

#[test]
fn a_candidate_that_learns_a_later_list_gives_up() {
    let mut hand = candidate_of_five();
    hand.accept(B, 6);
    let later = proposed(&hand, 5, &remove("e")).establish().unwrap();
    hand.hear(C, with(&hand, &later, replica(6)));
    tell(&mut hand, C, &later);
    assert_eq!((hand.quorum.role(), hand.quorum.config().members().count()), (Role::Replica, 4));
    hand.accept(D, 6);
    assert_eq!(hand.leads(), None, "the votes were counted by the list before");
}

#[test]
fn a_candidate_with_an_older_list_gets_no_vote_but_the_list() {
    let mut hand = Hand::booted(5, A);
    hand.hear_all(&[B, C], replica(5));
    let first = hand.quorum.lists().clone();
    let later = first.propose(epoch(5), &remove("e")).unwrap().establish().unwrap();
    hand.hear(B, with(&hand, &later, replica(5)));
    tell(&mut hand, B, &later);
    hand.offer(D, 7, offset(0));
    assert_eq!(hand.votes(), [], "it has not said which list it has");
    for (lists, votes) in [(&first, vec![]), (&later, vec![(C, 7)])] {
        hand.hear(C, with(&hand, lists, candidate(7)));
        hand.run(200);
        let told = hand.sent.iter().any(|(to, message)| {
            *to == Audience::One(C) && matches!(message, Message::Lists { .. })
        });
        assert_eq!(told, votes.is_empty(), "who has it gets it no more");
        hand.sent.clear();
        hand.offer(C, 7, offset(0));
        assert_eq!(hand.votes(), votes);
    }
}

/// A primary of four in epoch 6 that has proposed a change.
fn proposes(change: &MemberChange) -> (Hand, Membership) {
    let mut hand = Hand::booted(4, A);
    hand.hear_all(&[B, C, D], replica(5));
    [B, C, D].iter().for_each(|voter| drop(hand.accept(*voter, 6)));
    assert_eq!(hand.leads(), Some(6));
    hand.event(Event::Position(offset(9)));
    hand.event(Event::ChangeMembers(change.clone()));
    let lists = hand.quorum.lists().clone();
    assert_eq!(lists.accepted().map(|(epoch, _)| epoch), Some(epoch(6)));
    (hand, lists)
}

/// Peers that have accepted the proposal go on to say so, and those that support the primary echo it.
fn hear_of(hand: &mut Hand, lists: &Membership, accept: &[Peer], echoing: &[Peer], data: u64) {
    for _ in 0..4 {
        let stamp = hand.next_heartbeat().extension.unwrap().stamp.at.as_nanos();
        for peer in accept {
            let beat = if echoing.contains(peer) { echo(6, stamp) } else { replica(6) };
            let beat = Beat { position: offset(data), availability: Busy, ..beat };
            hand.hear(*peer, with(hand, lists, beat));
        }
    }
}

fn generation(hand: &Hand) -> u64 {
    hand.quorum.lists().established().generation
}

/// Whether the change is in force once these peers have accepted it, with data up to here.
fn holds(change: &MemberChange, by: &[Peer], data: u64) -> bool {
    let (mut hand, lists) = proposes(change);
    hear_of(&mut hand, &lists, by, by, data);
    generation(&hand) == 1
}

#[test]
fn a_list_holds_once_majorities_of_both_lists_have_accepted_it() {
    let shrinks = remove("d");
    assert!(!holds(&shrinks, &[B], 9), "a majority of the new list only");
    assert!(holds(&shrinks, &[B, C], 9));
    assert!(holds(&shrinks, &[B, D], 9), "who leaves counts for the old list");
    let grows = add("e");
    assert!(!holds(&grows, &[B, C], 9), "the new member is not there");
    assert!(!holds(&grows, &[B, E], 9), "a majority of the new list only");
    assert!(holds(&grows, &[B, C, E], 9));
}

#[test]
fn a_member_without_the_data_does_not_count_for_a_new_list() {
    assert!(!holds(&remove("d"), &[B, C], 8));
}

#[test]
fn a_list_holds_only_while_its_majority_supports_the_primary() {
    let mut hand = Hand::booted(3, A);
    hand.hear_all(&[B, C], replica(5));
    hand.accept(B, 6);
    hand.event(Event::ChangeMembers(add("d")));
    let lists = hand.quorum.lists().clone();
    hear_of(&mut hand, &lists, &[B, C, D], &[B], 0);
    assert_eq!((hand.leads(), generation(&hand)), (Some(6), 0), "two of four");
    hear_of(&mut hand, &lists, &[B, C, D], &[B, C], 0);
    assert_eq!(generation(&hand), 1);
}

#[test]
fn a_list_counts_once_it_is_durable() {
    let (mut hand, lists) = proposes(&remove("d"));
    hand.slow_disk = true;
    for peer in [B, C] {
        hand.run(200);
        let stamp = hand.next_heartbeat().extension.unwrap().stamp.at.as_nanos();
        let beat = Beat { position: offset(9), ..echo(6, stamp) };
        hand.hear(peer, with(&hand, &lists, beat));
    }
    let count = |hand: &Hand| hand.quorum.config().members().count();
    assert!(hand.saving.is_some());
    assert_eq!((count(&hand), hand.quorum.lists()), (4, &lists));
    hand.finish_saving();
    assert_eq!(count(&hand), 3);
}

#[test]
fn a_primary_that_hears_of_a_later_list_stops() {
    let (mut hand, _) = proposes(&remove("d"));
    let other = Hand::booted(4, A);
    let later = proposed(&other, 7, &remove("c")).establish().unwrap();
    hand.hear(B, with(&hand, &later, replica(6)));
    let change = tell(&mut hand, B, &later);
    assert!(matches!(change, Some(Change::Lost { reason: Loss::Replaced, .. })), "{change:?}");
    assert_eq!(hand.quorum.lists().established().generation, 1);
}

#[test]
fn a_vote_for_a_member_that_is_gone_stays_given() {
    let restored = Restored::Ballot(ballot(4, 6, Some(D)));
    let mut hand = Hand::new(config(4, A), &restored);
    hand.run_to(BOOTED);
    let mut lists = hand.quorum.lists().clone();
    for change in [remove("d"), add("e")] {
        lists = lists.propose(epoch(6), &change).unwrap().establish().unwrap();
    }
    assert_eq!(lists.propose(epoch(6), &add("f")).unwrap().ids()[3], Some(name("f")));
    hand.hear(C, with(&hand, &lists, replica(6)));
    tell(&mut hand, C, &lists);
    assert_eq!(hand.saved.last().unwrap().voted_for, Some(id(A)), "another has its place");
    hand.event(Event::Position(offset(1)));
    assert_eq!(hand.quorum.lists(), &lists);
    assert_eq!(hand.quorum.status(at(hand.now)).voted_for, Some(A), "as good as spent");
    let next = lists.propose(epoch(6), &add("f")).unwrap();
    hand.hear(C, with(&hand, &next, primary(6)));
    tell(&mut hand, C, &next);
    assert_eq!(hand.saved.last().unwrap().voted_for, Some(id(A)));
}

#[test]
fn a_fresh_node_records_no_list_before_it_knows_its_promises() {
    let mut hand = Hand::new(config(3, A), &Restored::Nothing);
    let mut lists = hand.quorum.lists().clone();
    for (change, members) in [(add("d"), 4), (add("e"), 5)] {
        lists = lists.propose(epoch(6), &change).unwrap().establish().unwrap();
        hand.hear(C, with(&hand, &lists, replica(6)));
        tell(&mut hand, C, &lists);
        assert_eq!(hand.quorum.config().members().count(), members);
    }
    assert_eq!(hand.saved, [], "a later life would take that for its promises");
    // It has heard a member of every majority when it has heard three of the others.
    let told =
        |hand: &Hand, peers: [Peer; 2]| peers.map(|peer| (peer, with(hand, &lists, replica(6))));
    let (two, third) = (told(&hand, [B, C]), told(&hand, [B, D]));
    hand.listen(BOOTED + 9_000, &two);
    assert_eq!(hand.saved, []);
    hand.listen(BOOTED + 18_000, &third);
    let first = hand.saved.first().map(|ballot| (ballot.promised, &ballot.lists));
    assert_eq!(first, Some((epoch(6), &lists)));
}

#[test]
fn a_node_without_a_ballot_takes_over_what_it_may_have_accepted() {
    let mut hand = Hand::new(config(3, A), &Restored::Nothing);
    let next = proposed(&hand, 6, &remove("c"));
    let said = |hand: &Hand| [B, C].map(|peer| (peer, with(hand, &next, replica(6))));
    let heard = said(&hand);
    hand.listen(BOOTED + 9_000, &heard);
    assert_eq!(hand.saved, [], "it does not know what they have accepted");
    tell(&mut hand, B, &next);
    hand.listen(BOOTED + 18_000, &heard);
    assert_eq!(hand.saved.last().map(|ballot| &ballot.lists), Some(&next));
}
