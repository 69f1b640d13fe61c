//! What a node may do while it does not know its promises.
//!
//! Rule: Starting.

use super::*;

fn restored(count: u8) -> Restored {
    Restored::Ballot(ballot(count, 5, None))
}

#[test]
fn a_node_that_has_just_started_neither_votes_nor_asks() {
    // It may support a node that it does not remember.
    let mut hand = Hand::new(config(3, A), &restored(3));
    hand.run_to(BOOTED - 2);
    hand.hear_all(&[B, C], replica(5));
    hand.offer(C, 6, offset(0));
    assert_eq!((hand.votes(), hand.offers()), (vec![], vec![]));
    hand.run_to(BOOTED);
    assert_eq!(hand.offers(), [7]);
}

/// A node of three whose earlier life voted for `c` in epoch 6.
fn c_had_my_vote() -> Restored {
    Restored::Ballot(ballot(3, 6, Some(C)))
}

#[test]
fn only_support_by_an_earlier_vote_ends_the_boot_grace() {
    // That life voted when it supported nobody else. It may have heard of another primary, and
    // promised its epoch, while it still supported the one before.
    for (voted_for, at_once) in [(Some(C), true), (None, false), (Some(B), false)] {
        let old = Restored::Ballot(ballot(3, 6, voted_for));
        let mut hand = Hand::new(config(3, A), &old);
        hand.hear(C, primary(6));
        let supported = at_once.then_some((C, epoch(6)));
        assert_eq!(hand.quorum.supported(), supported, "{voted_for:?}");
        hand.listen(BOOTED, &[(C, primary(6))]);
        assert_eq!(hand.quorum.supported(), Some((C, epoch(6))), "then it does");
        if !at_once {
            continue;
        }
        let mut hand = Hand::new(config(3, A), &old);
        hand.hear(C, primary(6));
        assert_eq!(hand.next_heartbeat().extension.unwrap().availability, Busy);
        hand.offer(B, 7, offset(0));
        assert_eq!(hand.votes(), [], "it supports c");
        hand.hear(C, replica(6));
        hand.offer(B, 9, offset(0));
        assert_eq!(hand.votes(), [(B, 9)], "c has let go");
    }
}

#[test]
fn a_primary_below_the_promise_ends_no_boot_grace() {
    // The earlier life may have voted in epoch 5, for a node that acts by that vote.
    let mut hand = Hand::new(config(3, A), &restored(3));
    hand.hear(C, primary(4));
    hand.hear(C, replica(4));
    hand.run_to(BOOTED - 1);
    hand.offer(B, 6, offset(0));
    assert_eq!(hand.votes(), []);
}

#[test]
fn a_primary_of_kevy_elect_ends_no_boot_grace() {
    // It may have declared itself one, in the epoch that another has won.
    let mut hand = Hand::new(config(3, A), &c_had_my_vote());
    hand.hear_old(C, 6, Role::Primary, 0);
    assert_eq!(hand.quorum.supported(), Some((C, epoch(6))));
    hand.hear_old(C, 6, Role::Replica, 0);
    assert_eq!(hand.quorum.supported(), None);
    hand.offer(B, 7, offset(0));
    assert_eq!(hand.votes(), []);
    assert!(hand.quorum.status(at(hand.now)).boots_until.is_some());
}

#[test]
fn a_first_start_tells_that_it_is_free_before_it_asks() {
    // The node that starts last would otherwise hear of epoch 1 first, and wait out its grace.
    let mut hand = Hand::new(config(3, A), &Restored::Nothing);
    for peer in [B, C, B] {
        hand.hear(peer, replica(0));
        assert_eq!(hand.offers(), [], "the first frame may be older than this life");
    }
    hand.hear(C, replica(0));
    let (to, first) = &hand.sent[0];
    let Message::Heartbeat(first) = first else { panic!("{first:?}") };
    let said = (*to, first.epoch, first.extension.unwrap().availability);
    assert_eq!(said, (Audience::All, epoch(0), Free));
    assert_eq!(hand.offers(), [1]);
}

#[test]
fn a_first_start_needs_to_be_heard_by_all() {
    // The frames heard under b's id may come from a second process beside the b that is reached.
    let mut hand = Hand::new(config(3, A), &Restored::Nothing);
    hand.listen(2_000, &[(C, replica(0)), (B, Beat { hears: false, ..replica(0) })]);
    assert_eq!(hand.offers(), []);
    hand.hear(B, replica(0));
    assert_eq!(hand.offers(), [1]);
}

#[test]
fn a_first_start_does_not_count_who_cannot_read_its_ballot() {
    // It states epoch 0, but may have promised any epoch.
    let busy = Beat { availability: Busy, ..replica(0) };
    for (availability, waits) in [(Ineligible, true), (Busy, false)] {
        let mut hand = Hand::new(config(3, A), &Restored::Nothing);
        hand.listen(2_000, &[(C, busy), (B, Beat { availability, ..busy })]);
        assert_eq!(hand.offers(), []);
        assert_eq!(hand.next_heartbeat().extension.unwrap().availability == Waiting, waits);
        // Nor has the node heard a member of every majority.
        hand.listen(BOOTED, &[(C, busy), (B, Beat { availability, ..busy })]);
        hand.sent.clear();
        hand.offer(C, 1, offset(0));
        assert_eq!(hand.votes().is_empty(), waits);
    }
}

#[test]
fn it_says_whether_it_can_vote() {
    let says = |hand: &mut Hand| hand.next_heartbeat().extension.unwrap().availability;
    let mut hand = Hand::new(config(3, A), &restored(3));
    assert_eq!(says(&mut hand), Waiting);
    hand.run_to(BOOTED - 1);
    hand.sent.clear();
    hand.run_to(BOOTED);
    let (to, heartbeat) = hand.heartbeats().pop().expect("a heartbeat at once");
    assert_eq!((to, heartbeat.extension.unwrap().availability), (Audience::All, Free));
    hand.hear(C, primary(6));
    assert_eq!(says(&mut hand), Busy);
    let mut hand = Hand::new(config(3, A), &Restored::Unusable);
    hand.hear(C, primary(6));
    assert_eq!(says(&mut hand), Ineligible);
    hand.run_to(BOOTED + 6_000);
    assert_eq!(says(&mut hand), Ineligible);
    // Without a ballot the node has to hear the others first.
    let mut hand = Hand::new(config(3, A), &Restored::Nothing);
    hand.run_to(BOOTED + 10);
    assert_eq!(says(&mut hand), Waiting);
}

#[test]
fn it_says_whom_it_hears_and_at_once_to_who_is_new() {
    let mut hand = Hand::booted(3, A);
    hand.hear(C, replica(5));
    let (to, heartbeat) = hand.heartbeats().pop().expect("a heartbeat");
    assert_eq!(to, Audience::One(C));
    assert_eq!(heartbeat.extension.unwrap().hears, PeerSet::from_bits(0b100));
    hand.hear(C, replica(5));
    assert_eq!(hand.heartbeats(), [], "once");
    hand.hear(B, Beat { availability: Busy, ..replica(5) });
    hand.run(4_900);
    hand.hear(C, Beat { availability: Busy, ..replica(5) });
    let hears = |hand: &mut Hand| hand.next_heartbeat().extension.unwrap().hears;
    assert_eq!(hears(&mut hand), PeerSet::from_bits(0b100), "b has been silent for too long");
    hand.disconnect(C);
    assert_eq!(hears(&mut hand), PeerSet::default(), "nothing from c comes any more");
}

#[test]
fn an_unheard_or_experienced_member_ends_the_haste() {
    for heard in [&[replica(0), replica(1)][..], &[replica(0)]] {
        let mut hand = Hand::new(config(3, A), &Restored::Nothing);
        let heard: Vec<_> = [B, C].into_iter().zip(heard.iter().copied()).collect();
        hand.listen(2_000, &heard);
        assert_eq!(hand.offers(), [], "{} heard", heard.len());
    }
    // Nor does a node with a ballot skip the grace.
    let mut hand = Hand::new(config(3, A), &Restored::Ballot(ballot(3, 0, None)));
    hand.listen(2_000, &[(B, replica(0)), (C, replica(0))]);
    assert_eq!(hand.offers(), []);
}

#[test]
fn without_a_ballot_it_waits_for_every_majority() {
    // N = 5: it needs three of the four others. The candidate is one of them.
    for (heard, votes) in [(&[][..], false), (&[B], false), (&[B, C], true)] {
        let mut hand = Hand::new(config(5, A), &Restored::Nothing);
        let busy = Beat { availability: Busy, ..replica(3) };
        let beats = [heard, &[E]].concat().into_iter().map(|peer| (peer, busy));
        hand.listen(BOOTED, &beats.collect::<Vec<_>>());
        hand.sent.clear();
        hand.offer(E, 4, offset(0));
        assert_eq!(!hand.votes().is_empty(), votes, "{heard:?}");
    }
}

#[test]
fn without_a_ballot_it_says_how_many_it_waits_for() {
    let busy = Beat { availability: Busy, ..replica(3) };
    let mut hand = Hand::new(config(5, A), &Restored::Nothing);
    hand.listen(BOOTED + 2_990, &[(B, busy)]);
    assert_eq!(hand.alerts(), [] as [&Alert; 0]);
    hand.listen(BOOTED + 3_200, &[(B, busy)]);
    assert_eq!(
        hand.alerts(),
        [&Alert::BallotMissing { needed: 2, missing: [C, D, E].map(id).to_vec() }]
    );
    hand.listen(20_000, &[(B, busy), (C, busy)]);
    assert_eq!(hand.alerts().len(), 1, "once");
    hand.listen(30_000, &[(B, busy), (C, busy), (D, busy)]);
    assert_eq!(hand.next_heartbeat().epoch, epoch(3));
    assert_eq!(hand.alerts().len(), 1);
}

#[test]
fn without_a_ballot_it_believes_nobody_who_does_not_hear_it() {
    // A second process under d's id would not hear it: this node's frames reach the true d.
    let busy = Beat { availability: Busy, ..replica(3) };
    for hears in [false, true] {
        let mut hand = Hand::new(config(5, A), &Restored::Nothing);
        hand.listen(BOOTED, &[(B, busy), (D, Beat { hears, ..busy }), (E, busy)]);
        hand.sent.clear();
        hand.offer(E, 4, offset(0));
        assert_eq!(!hand.votes().is_empty(), hears);
    }
}

#[test]
fn without_a_ballot_it_believes_nobody_with_another_list() {
    // In another list of members, this node's bit is another member's.
    for differs in [true, false] {
        let mut hand = Hand::new(config(3, A), &Restored::Nothing);
        let busy = Beat { availability: Busy, ..replica(3) };
        while hand.now < BOOTED {
            hand.hear(C, busy);
            hand.hear(B, Beat { list: differs.then_some(7), ..busy });
            hand.run(200);
        }
        assert_eq!(hand.quorum.promised() == epoch(0), differs);
    }
}

#[test]
fn without_a_ballot_it_doubts_who_may_still_vote() {
    // The node's earlier life may have voted, and d votes in the same election after it was heard
    // here. The default election timeout is 3 s: 3,061 ms by clocks that drift.
    let busy = Beat { availability: Busy, ..replica(3) };
    for (heard_until, votes) in [(4_300, false), (4_500, true)] {
        let mut hand = Hand::new(config(5, A), &Restored::Nothing);
        hand.listen(heard_until, &[(B, busy), (D, busy), (E, busy)]);
        hand.listen(BOOTED, &[(B, busy), (E, busy)]);
        hand.sent.clear();
        hand.offer(E, 4, offset(0));
        assert_eq!(!hand.votes().is_empty(), votes, "{heard_until}");
    }
    // However late the frames come, the time of sending counts.
    let mut hand = Hand::new(config(5, A), &Restored::Nothing);
    hand.hear(D, busy);
    hand.hear(D, busy);
    let stamp = hand.stamp(D);
    let late = hand.beat(busy, stamp);
    hand.listen(BOOTED + 100, &[(B, busy), (E, busy)]);
    hand.message(D, late);
    hand.sent.clear();
    hand.offer(E, 4, offset(0));
    assert_eq!(hand.votes(), []);
    // Another life of d does not continue where the last one was.
    let mut hand = Hand::new(config(5, A), &Restored::Nothing);
    hand.listen(3_000, &[(B, busy), (D, busy), (E, busy)]);
    hand.replace(D);
    hand.listen(BOOTED, &[(B, busy), (E, busy)]);
    hand.hear(D, busy);
    hand.sent.clear();
    hand.offer(E, 4, offset(0));
    assert_eq!(hand.votes(), []);
}

#[test]
fn without_a_ballot_it_promises_the_highest_epoch_unvoted() {
    let mut hand = Hand::new(config(3, A), &Restored::Nothing);
    let busy = |epoch| Beat { availability: Busy, ..replica(epoch) };
    hand.listen(BOOTED - 1, &[(B, busy(3)), (C, busy(8))]);
    assert_eq!(hand.quorum.promised(), epoch(0));
    hand.run_to(BOOTED);
    assert_eq!(hand.saved.last().unwrap().promised, epoch(8));
    hand.sent.clear();
    hand.offer(C, 8, offset(0)); // it may have voted for b in it
    assert_eq!(hand.votes(), []);
    hand.offer(C, 9, offset(0));
    assert_eq!(hand.votes(), [(C, 9)]);
}

#[test]
fn without_a_ballot_it_votes_once_its_promise_is_durable() {
    let mut hand = Hand::new(config(3, A), &Restored::Nothing);
    hand.slow_disk = true;
    let busy = |epoch| Beat { availability: Busy, ..replica(epoch) };
    hand.listen(BOOTED, &[(B, busy(3)), (C, busy(8))]);
    hand.sent.clear();
    hand.offer(C, 9, offset(0));
    assert_eq!(hand.votes(), []);
    hand.finish_saving();
    hand.offer(C, 9, offset(0));
    hand.finish_saving();
    assert_eq!(hand.votes(), [(C, 9)]);
}

#[test]
fn without_a_ballot_it_helps_nobody_with_older_data() {
    // The data that it acknowledged itself is gone with its disk.
    let start = || {
        let mut hand = Hand::new(config(3, A), &Restored::Nothing);
        let newer = Beat { position: offset(7), availability: Busy, ..replica(3) };
        hand.listen(4_900, &[(B, newer), (C, Beat { position: offset(4), ..replica(3) })]);
        hand.run_to(9_950); // b is no longer heard
        hand.sent.clear();
        hand
    };
    for (offered, votes) in [(6, false), (7, true)] {
        let mut hand = start();
        hand.offer(C, 9, offset(offered));
        assert_eq!(!hand.votes().is_empty(), votes, "offset {offered}");
    }
    let mut hand = start();
    hand.event(Event::Position(offset(4)));
    hand.hear(C, Beat { position: offset(4), ..replica(3) });
    assert_eq!(hand.offers(), [], "itself included");
    // Once it has all of its primary's data, its own data says what it acknowledged.
    let mut hand = start();
    hand.event(Event::Position(offset(5)));
    hand.hear(C, Beat { position: offset(5), ..primary(9) });
    hand.hear(C, Beat { position: offset(5), ..primary(9) });
    hand.hear(C, Beat { position: offset(5), ..replica(9) });
    hand.run(1_000);
    assert_eq!(hand.offers()[0], 10);
}

#[test]
fn without_a_ballot_it_supports_nobody_before_it_knows() {
    // It may have voted since for another candidate, which relies on that vote.
    let mut hand = Hand::new(config(5, A), &Restored::Nothing);
    hand.hear(C, primary(6));
    assert_eq!(hand.quorum.followed().unwrap().0.leader, id(C));
    assert_eq!((hand.quorum.supported(), hand.echoes()), (None, None));
    let busy = Beat { availability: Busy, ..replica(6) };
    hand.listen(BOOTED, &[(B, busy), (D, busy), (C, primary(6))]);
    hand.hear(C, primary(6));
    assert_eq!(hand.quorum.supported(), Some((C, epoch(6))));
}

#[test]
fn a_node_with_an_unreadable_ballot_only_follows() {
    let mut hand = Hand::new(config(3, A), &Restored::Unusable);
    assert_eq!(hand.alerts(), [&Alert::BallotUnusable]);
    hand.run_to(BOOTED);
    hand.hear_all(&[B, C], replica(5));
    hand.run(1_000);
    hand.offer(C, 6, offset(0));
    assert_eq!((hand.votes(), hand.saved.len()), (vec![], 0));
    hand.hear(C, primary(6));
    assert_eq!(hand.quorum.followed().unwrap().0.leader, id(C));
    assert_eq!(hand.echoes(), None);
}

#[test]
fn a_changed_list_must_be_confirmed_once() {
    // A member of three wrote the ballot, and the list now has five: an old and a new list can each
    // have a majority.
    let old = || Restored::Ballot(ballot(3, 5, Some(B)));
    let try_it = |hand: &mut Hand| {
        hand.run_to(BOOTED);
        hand.sent.clear();
        hand.offer(C, 6, offset(0));
        hand.votes()
    };
    let mut hand = Hand::new(config(5, A), &old());
    assert_eq!(hand.alerts(), [&Alert::MembersChanged]);
    assert_eq!(try_it(&mut hand), []);
    hand.hear(C, primary(6));
    assert_eq!(hand.echoes(), None, "nor does it support");
    let mut hand = Hand::new(config(5, A).new_peers(true), &old());
    assert_eq!(hand.alerts(), [] as [&Alert; 0]);
    let members = hand.quorum.config().members().fingerprint();
    let saved = hand.saved.last().unwrap();
    assert_eq!(
        (saved.promised, saved.voted_for.clone(), saved.members),
        (epoch(5), Some(id(B)), members)
    );
    assert_eq!(try_it(&mut hand), [(C, 6)]);
}

#[test]
fn a_vote_for_who_is_no_longer_a_member_stays_given() {
    let mut old = ballot(3, 6, None);
    old.voted_for = Some(election_core::NodeId::new("gone").unwrap());
    let mut hand = Hand::booted_from(config(3, A), old, Some(offset(0)));
    hand.offer(C, 6, offset(0));
    assert_eq!(hand.votes(), []);
}

#[test]
fn a_wiped_node_that_starts_again_still_knows_that_it_was_wiped() {
    let mut hand = Hand::new(config(3, A), &Restored::Nothing);
    let busy = |position| Beat { position, availability: Busy, ..replica(3) };
    hand.listen(BOOTED, &[(B, busy(offset(7))), (C, busy(offset(4)))]);
    let ballot = hand.saved.last().unwrap().clone();
    assert_eq!((ballot.promised, ballot.floor), (epoch(3), offset(7)));
    let start = || Hand::booted_from(config(3, A), ballot.clone(), Some(offset(0)));
    for (offered, votes) in [(6, false), (7, true)] {
        let mut hand = start();
        hand.offer(C, 9, offset(offered));
        assert_eq!(!hand.votes().is_empty(), votes, "offset {offered}");
        assert!(hand.saved.iter().all(|ballot| ballot.floor == offset(7)), "{:?}", hand.saved);
    }
    // Until it has its primary's data. The end of the loss must be saved, too.
    let mut hand = start();
    hand.event(Event::Position(offset(5)));
    hand.hear(C, Beat { position: offset(5), ..primary(9) });
    hand.hear(C, Beat { position: offset(5), ..primary(9) });
    let whole = hand.saved.last().unwrap();
    assert_eq!((whole.promised, whole.floor), (epoch(9), offset(0)));
    assert_eq!(hand.quorum.supported(), Some((C, epoch(9))));
}

/// A primary that has started again, and reads its data still, says nothing of how far these have come.
#[test]
fn a_wiped_node_has_caught_up_with_nobody_who_reads_its_data() {
    let wiped = Ballot { floor: offset(7), ..ballot(3, 5, None) };
    let mut hand = Hand::booted_from(config(3, A), wiped, Some(offset(0)));
    hand.hear(C, Beat { position: offset(7), ..primary(9) });
    assert_eq!(hand.quorum.supported(), Some((C, epoch(9))));
    assert_eq!(hand.saved.last().unwrap().floor, offset(7));
    hand.replace(C);
    let loading = Beat { position: offset(0), availability: Loading, ..replica(9) };
    hand.hear(C, loading);
    assert!(hand.saved.iter().all(|ballot| ballot.floor == offset(7)), "{:?}", hand.saved);
    hand.listen(BOOTED + 6_000, &[(B, Beat { position: offset(6), ..replica(9) }), (C, loading)]);
    hand.sent.clear();
    hand.offer(B, 10, offset(6));
    assert_eq!(hand.votes(), [], "it may have acknowledged 7 itself");
}

#[test]
fn a_node_whose_list_has_changed_leaves_its_ballot_alone() {
    // A new record would name the new list, and the next start would vote without anybody's consent.
    let mut old = ballot(3, 5, None);
    old.floor = offset(7);
    let config = config(5, A).accept_loss(true);
    let mut hand = Hand::booted_from(config, old, Some(offset(7)));
    for _ in 0..3 {
        hand.hear(C, Beat { position: offset(7), ..primary(6) });
        hand.run(200);
    }
    assert_eq!(hand.saved, []);
}
