//! Who gets a vote, and when the vote may be sent.
//!
//! Rule: Saving.
//! Rule: Votes.

use super::*;

/// A node in some state, an offer, and whether the offer gets a vote. If not, a heartbeat says why.
#[track_caller]
fn judged(mut hand: Hand, from: Peer, number: u64, position: Position, votes: bool) -> Hand {
    hand.sent.clear();
    hand.offer(from, number, position);
    let refusal = hand.sent.iter().any(|(to, message)| {
        *to == Audience::One(from) && matches!(message, Message::Heartbeat(_))
    });
    let given = hand.votes();
    assert_eq!(given, if votes { vec![(from, number)] } else { vec![] });
    assert_eq!(refusal, !votes, "a refusal teaches the epoch");
    hand
}

fn with_offset(mut hand: Hand, number: u64) -> Hand {
    hand.event(Event::Position(offset(number)));
    hand
}

#[test]
fn a_free_node_votes_for_data_as_new_as_its_own() {
    // The higher id gets an equal node's vote: ids only matter for the rank and for a tie in one
    // epoch.
    for (own, offered, votes) in [(7, 7, true), (7, 8, true), (8, 7, false)] {
        judged(with_offset(Hand::booted(3, A), own), C, 6, offset(offered), votes);
    }
}

#[test]
fn forked_data_does_not_win_by_its_length() {
    // The ex-primary has a higher offset, but of another history.
    let fork = Position { history: 3, offset: 500 };
    let mut hand = Hand::booted(3, A);
    hand.event(Event::Position(Position { history: 4, offset: 120 }));
    judged(hand, C, 6, fork, false);
}

#[test]
fn the_past_gets_no_votes() {
    judged(Hand::booted(3, A), C, 4, offset(0), false);
    // In the epoch that it is bound to, it has not voted yet.
    judged(Hand::booted(3, A), C, 5, offset(0), true);
    judged(Hand::booted(3, A), C, 0, offset(0), false);
}

#[test]
fn one_vote_an_epoch_even_across_a_restart() {
    for (voted_for, from, votes) in [(B, C, false), (C, C, true)] {
        let ballot = ballot(3, 6, Some(voted_for));
        let hand = Hand::booted_from(config(3, A), ballot, Some(offset(0)));
        judged(hand, from, 6, offset(0), votes);
    }
}

#[test]
fn a_repeated_offer_gets_the_same_vote_again() {
    let mut hand = judged(Hand::booted(3, A), C, 6, offset(0), true);
    for _ in 0..3 {
        hand = judged(hand, C, 6, offset(0), true);
    }
    assert_eq!(hand.saved.len(), 1);
    judged(hand, B, 6, offset(0), false);
}

#[test]
fn who_supports_a_live_primary_votes_for_nobody_else() {
    // b cannot hear c, but this node can. One cut link must not depose a primary.
    let hand = judged(Hand::following(3), B, 9, offset(9), false);
    assert_eq!(hand.quorum.supported(), Some((C, epoch(6))));
}

#[test]
fn a_primary_votes_for_nobody_draining_included() {
    // kevy-elect's protocol lets a primary accept an offer and stay primary.
    let hand = judged(Hand::leading(3), B, 9, offset(9), false);
    assert_eq!(hand.leads(), Some(6));
    let mut hand = Hand::leading(3);
    hand.input(Input::Resign);
    judged(hand, B, 9, offset(9), false);
}

#[test]
fn the_primary_in_office_gets_a_vote_whatever_its_data() {
    let mut hand = judged(with_offset(Hand::following(3), 50), C, 8, offset(1), true);
    assert_eq!(hand.quorum.supported(), Some((C, epoch(8))));
    // Under the old epoch it gets no more support.
    hand.hear(C, primary(6));
    assert_eq!(hand.echoes(), Some(hand.old_stamp(C, 1)));
}

#[test]
fn a_vote_exists_only_once_it_is_durable() {
    // A vote that is sent before it is durable can be cast twice.
    let mut hand = Hand::booted(3, A);
    hand.slow_disk = true;
    hand.offer(C, 6, offset(0));
    hand.run(150);
    assert_eq!(hand.votes(), []);
    assert_eq!(hand.quorum.supported(), None);
    let ballot = hand.saving.clone().unwrap();
    assert_eq!((ballot.promised, ballot.voted_for), (epoch(6), Some(id(C))));
    hand.finish_saving();
    assert_eq!(hand.votes(), [(C, 6)]);
    assert_eq!(hand.quorum.supported(), Some((C, epoch(6))));
}

#[test]
fn what_is_being_saved_binds_already_and_offers_wait() {
    let mut hand = Hand::booted(3, A);
    hand.slow_disk = true;
    hand.offer(C, 8, offset(0));
    assert_eq!(hand.next_heartbeat().epoch, epoch(8));
    let mut hand = judged(hand, B, 7, offset(0), false);
    for rival in [8, 9] {
        hand = judged(hand, B, rival, offset(9), false);
    }
    hand = judged(hand, C, 7, offset(0), false);
    hand.offer(C, 8, offset(0));
    assert_eq!(hand.sent, [], "what waits is not refused");
    hand.finish_saving();
    assert_eq!(hand.votes(), [(C, 8)]);
    // What waits for the disk may also be the support of a primary, which is no vote.
    let mut hand = Hand::booted(3, A);
    hand.slow_disk = true;
    hand.hear(C, primary(8));
    judged(hand, C, 8, offset(0), false);
}

#[test]
fn a_vote_that_was_let_go_is_not_repeated_before_it_is_durable() {
    let mut hand = Hand::booted(3, A);
    hand.slow_disk = true;
    hand.offer(C, 8, offset(0));
    hand.hear(C, Beat { availability: Busy, ..replica(8) });
    let mut hand = judged(hand, C, 8, offset(0), false);
    hand.finish_saving();
    assert_eq!(hand.votes(), []);
    judged(hand, C, 8, offset(0), true);
}

#[test]
fn who_leaves_votes_no_more_and_epoch_zero_gets_no_votes() {
    let mut hand = Hand::booted(3, A);
    hand.input(Input::Withdraw);
    judged(hand, C, 6, offset(0), false);
    let hand = Hand::booted_from(config(3, A), ballot(3, 0, None), Some(offset(0)));
    judged(hand, C, 0, offset(0), false);
}

#[test]
fn only_the_primary_in_office_may_have_older_data() {
    // c has this node's vote and has not won.
    let hand = judged(Hand::booted(3, A), C, 6, offset(9), true);
    judged(with_offset(hand, 20), C, 7, offset(9), false);
}

#[test]
fn no_vote_is_given_against_a_known_winner_of_the_epoch() {
    // Two claim the epoch, so neither is supported any longer.
    let two_claim = || {
        let mut hand = Hand::following(4);
        hand.hear(D, primary(6));
        hand.listen(BOOTED + 6_000, &[(C, primary(6))]);
        assert_eq!(hand.quorum.supported(), None);
        assert_eq!(hand.quorum.followed().unwrap().0.leader, id(C));
        hand
    };
    judged(two_claim(), B, 6, offset(0), false);
    judged(two_claim(), C, 6, offset(0), true);
    // A higher epoch is not in dispute.
    let mut hand = two_claim();
    hand.hear(C, primary(7));
    assert_eq!(hand.quorum.supported(), Some((C, epoch(7))));
}

#[test]
fn a_vote_for_another_forgets_the_primary_that_is_not_supported() {
    let mut hand = Hand::new(config(5, A), &Restored::Nothing);
    let busy = Beat { availability: Busy, ..replica(6) };
    hand.listen(4_000, &[(B, busy), (C, primary(6)), (D, busy), (E, busy)]);
    hand.listen(BOOTED + 100, &[(B, busy), (D, busy), (E, busy)]);
    assert_eq!(hand.quorum.followed().unwrap().0.leader, id(C));
    assert_eq!(hand.quorum.supported(), None, "it has just learnt what it may have promised");
    hand.hear(C, Beat { position: offset(9), ..primary(5) });
    let mut hand = judged(hand, C, 8, offset(0), false);
    hand.offer(B, 9, offset(9));
    assert_eq!(hand.votes(), [(B, 9)]);
    assert_eq!(hand.quorum.followed(), None);
}

#[test]
fn a_repeated_offer_extends_support() {
    let mut hand = judged(Hand::booted(3, A), C, 6, offset(0), true);
    hand.run_to(BOOTED + 1_000);
    hand = judged(hand, C, 6, offset(0), true);
    hand.run_to(BOOTED + 5_999);
    assert_eq!(hand.quorum.supported(), Some((C, epoch(6))));
    hand.run_to(BOOTED + 6_000);
    assert_eq!(hand.quorum.supported(), None);
}

#[test]
fn a_failed_save_binds_and_no_vote_leaves_until_it_succeeds() {
    let mut hand = Hand::booted(3, A);
    hand.slow_disk = true;
    hand.offer(C, 8, offset(0));
    hand.fail_saving();
    assert_eq!(hand.alerts(), [&Alert::SaveFailed { epoch: epoch(8) }]);
    assert_eq!(hand.next_heartbeat().epoch, epoch(8), "epochs never go back");
    let mut hand = judged(hand, B, 7, offset(0), false);
    assert_eq!(hand.saving.as_ref().unwrap().promised, epoch(8));
    hand.fail_saving();
    hand = judged(hand, B, 9, offset(0), false);
    hand.run(200);
    hand.finish_saving();
    assert_eq!(hand.votes(), [(C, 8)]);
    assert_eq!(hand.alerts().len(), 1, "told once");
}

#[test]
fn everything_is_judged_again_once_the_vote_is_durable() {
    type Meanwhile = fn(&mut Hand);
    let table: [(&str, bool, Meanwhile); 8] = [
        ("nothing", true, |_| {}),
        ("two processes speak for c", false, |hand| {
            hand.lives[C.index()] += 1;
            hand.hear(C, candidate(6));
        }),
        ("c has another list of members", false, |hand| {
            hand.hear(C, Beat { list: Some(7), ..candidate(6) });
        }),
        ("own data moved", false, |hand| {
            hand.event(Event::Position(offset(9)));
        }),
        ("c took its offer back", false, |hand| {
            hand.hear(C, replica(6));
        }),
        ("c became another process", false, |hand| {
            hand.replace(C);
            hand.hear(C, candidate(6));
        }),
        ("b won that election", false, |hand| {
            hand.hear(B, primary(6));
        }),
        ("the offer is too old", false, |hand| hand.run(5_000)),
    ];
    for (name, votes, meanwhile) in table {
        let mut hand = Hand::booted(3, A);
        hand.slow_disk = true;
        hand.offer(C, 6, offset(0));
        meanwhile(&mut hand);
        hand.sent.clear();
        hand.finish_saving();
        assert_eq!(hand.votes().len(), usize::from(votes), "{name}");
        let supports = hand.quorum.supported().is_some_and(|(node, _)| node == C);
        assert_eq!(supports, votes, "{name}");
    }
}

/// A candidate in epoch 6 with the vote of `d`, one short of a majority of five.
fn candidate_of_five(me: Peer) -> Hand {
    let mut hand = Hand::booted(5, me);
    for peer in (0..5).map(Peer::new).filter(|peer| *peer != me) {
        hand.hear(peer, replica(5));
    }
    hand.run(1_000);
    assert_eq!(hand.quorum.role(), Role::Candidate);
    hand.accept(E, 6);
    hand
}

#[test]
fn the_better_of_two_candidates_gets_the_others_vote() {
    // Within one epoch b yields to a (a lower id) and not to d. It must discard its own tally
    // first.
    let mut hand = judged(candidate_of_five(B), D, 6, offset(0), false);
    hand.slow_disk = true;
    hand.offer(A, 6, offset(0));
    let ballot = hand.saving.clone().unwrap();
    assert_eq!((ballot.promised, ballot.voted_for), (epoch(6), Some(id(A))));
    assert_eq!(hand.votes(), [], "its own vote was for itself until that is durable");
    hand.accept(C, 6);
    hand.finish_saving();
    assert_eq!(hand.votes(), [(A, 6)]);
    hand.accept(D, 6);
    assert_eq!((hand.leads(), hand.quorum.role()), (None, Role::Replica));
}

#[test]
fn newer_data_beats_a_lower_id() {
    judged(candidate_of_five(B), D, 6, offset(1), true);
    let hand = candidate_of_five(B);
    judged(with_offset(hand, 1), A, 6, offset(0), false);
}

#[test]
fn who_yields_or_votes_sets_its_voters_free() {
    let mut hand = candidate_of_five(B);
    hand.sent.clear();
    hand.offer(A, 6, offset(0));
    let freed = |(to, heartbeat): &(Audience, election_core::quorum::Heartbeat)| {
        *to == Audience::All && heartbeat.role == Role::Replica
    };
    assert!(hand.heartbeats().iter().any(freed));
}

#[test]
fn votes_count_once_and_for_the_election_they_name() {
    let mut hand = candidate_of_five(B);
    for _ in 0..3 {
        hand.accept(E, 6);
    }
    hand.accept(D, 5);
    hand.accept(D, 7);
    hand.accept(Peer::new(7), 6); // a stranger's vote
    assert_eq!(hand.leads(), None);
    assert!(matches!(hand.accept(D, 6), Some(Change::Elected(_))));
}

#[test]
fn an_offer_from_before_it_was_taken_back_gets_nothing() {
    let mut hand = Hand::booted(3, A);
    hand.hear(C, Beat { availability: Busy, ..candidate(5) });
    hand.hear(C, Beat { availability: Busy, ..replica(5) });
    hand.sent.clear();
    let stamp = Some(hand.old_stamp(C, 1));
    let position = offset(0);
    hand.message(C, Message::Offer { epoch: epoch(6), position, stamp });
    assert_eq!(hand.votes(), []);
    assert_eq!(hand.quorum.supported(), None);
}

#[test]
fn who_has_won_an_epoch_keeps_its_vote_in_it() {
    // A better candidate of the same epoch comes too late: this election has had its winner.
    let mut hand = Hand::booted(3, B);
    hand.hear(A, replica(5));
    hand.hear(C, replica(5));
    hand.run(200);
    hand.accept(C, 6);
    assert_eq!(hand.leads(), Some(6));
    hand.input(Input::Resign);
    hand.input(Input::Stopped(epoch(6)));
    assert_eq!(hand.quorum.role(), Role::Replica);
    hand.sent.clear();
    hand.offer(A, 6, offset(9));
    assert_eq!(hand.votes(), []);
    hand.offer(A, 7, offset(9));
    assert_eq!(hand.votes(), [(A, 7)]);
}

#[test]
fn a_save_of_another_epoch_releases_no_vote() {
    // A driver that gave up waiting may report an earlier save after it has begun the next one.
    let mut hand = Hand::booted(3, A);
    hand.slow_disk = true;
    hand.offer(C, 8, offset(0));
    for other in [5, 7, 9] {
        hand.event(Event::Saved(epoch(other)));
        hand.event(Event::SaveFailed(epoch(other)));
        assert_eq!(hand.votes(), [], "{other}");
    }
    assert_eq!(hand.alerts(), [] as [&Alert; 0]);
    hand.finish_saving();
    assert_eq!(hand.votes(), [(C, 8)]);
    hand.event(Event::Saved(epoch(8)));
    assert_eq!(hand.votes(), [], "once");
}

#[test]
fn a_save_that_nobody_waits_for_settles_nothing() {
    let mut hand = Hand::booted(3, A);
    hand.slow_disk = true;
    hand.event(Event::SaveFailed(epoch(5)));
    assert_eq!(hand.alerts(), [] as [&Alert; 0]);
    hand.offer(C, 8, offset(0));
    hand.fail_saving();
    hand.event(Event::Saved(epoch(8)));
    assert_eq!((hand.votes(), hand.quorum.supported()), (vec![], None));
}
