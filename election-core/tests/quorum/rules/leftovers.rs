//! What one frame, one stop, one reading must not settle.

use super::*;

#[test]
fn a_wiped_node_counts_as_wiped_until_it_has_the_primarys_data() {
    // Nor does it have them if the primary itself lacks them, and its own are not known.
    for (own, led_by) in [(Some(offset(9)), 10), (None, 10), (None, 0)] {
        let lacking = Ballot { floor: offset(10), ..ballot(3, 5, None) };
        let mut hand = Hand::booted_from(config(3, A), lacking, own);
        hand.listen(BOOTED + 1_000, &[(C, Beat { position: offset(led_by), ..primary(6) })]);
        let floors: Vec<_> = hand.saved.iter().map(|saved| saved.floor).collect();
        assert!(floors.iter().all(|floor| *floor == offset(10)), "{own:?}: {floors:?}");
        hand.event(Event::Position(offset(10)));
        hand.listen(BOOTED + 2_000, &[(C, Beat { position: offset(10), ..primary(6) })]);
        assert_eq!(hand.saved.last().map(|saved| saved.floor), Some(Position::default()));
    }
}

#[test]
fn a_node_stands_again_once_its_replaced_work_ends() {
    let mut hand = Hand::leading(3);
    hand.hear(B, primary(7));
    assert_eq!(hand.leads(), None);
    let stands = |hand: &mut Hand| {
        hand.hear(B, primary(7));
        hand.next_heartbeat().extension.unwrap().availability.stands()
    };
    assert!(!stands(&mut hand), "its work still runs");
    hand.input(Input::Stopped(epoch(5)));
    assert!(!stands(&mut hand), "that was other work");
    hand.input(Input::Stopped(epoch(6)));
    assert!(stands(&mut hand));
}

#[test]
fn without_a_ballot_two_lives_of_a_peer_are_not_heard_as_one() {
    // The first frame of a life may have waited for its connection. What counts is told after it.
    let busy = Beat { availability: Busy, ..replica(3) };
    for (lives, votes) in [(1, true), (2, false)] {
        let mut hand = Hand::new(config(5, A), &Restored::Nothing);
        hand.hear(D, busy);
        if lives == 2 {
            hand.replace(D);
        }
        hand.listen(2_000, &[(B, busy), (E, busy)]);
        hand.hear(D, busy);
        hand.listen(BOOTED, &[(B, busy), (E, busy)]);
        hand.hear(D, busy);
        hand.sent.clear();
        hand.offer(E, 4, offset(0));
        assert_eq!(!hand.votes().is_empty(), votes, "{lives} lives");
    }
}

#[test]
fn a_heartbeat_withdraws_only_earlier_requests_of_its_sender() {
    type Meanwhile = fn(&mut Hand);
    let meanwhile: [(&str, bool, Meanwhile); 3] = [
        ("another node is a replica", true, |hand| {
            hand.run(1);
            hand.hear(B, replica(5));
        }),
        ("c was a replica before it asked", true, |hand| {
            let stamp = hand.old_stamp(C, 1);
            let early = hand.beat(replica(5), stamp);
            hand.message(C, early);
        }),
        ("c is a replica again", false, |hand| drop(hand.hear(C, replica(6)))),
    ];
    for (name, votes, meanwhile) in meanwhile {
        let mut hand = Hand::booted(3, A);
        hand.slow_disk = true;
        hand.stamp(C); // that of a frame which is still on its way
        hand.offer(C, 6, offset(0));
        meanwhile(&mut hand);
        hand.sent.clear();
        hand.finish_saving();
        assert_eq!(!hand.votes().is_empty(), votes, "{name}");
    }
}

#[test]
fn a_resign_request_while_draining_keeps_it_out() {
    for resigns in [false, true] {
        let mut hand = Hand::leading(3);
        hand.run_to(BOOTED + WINDOW - GRACE);
        assert_eq!(hand.quorum.draining(), Some(epoch(6)), "its trust has run out");
        if resigns {
            hand.input(Input::Resign);
        }
        hand.input(Input::Stopped(epoch(6)));
        hand.sent.clear();
        hand.hear(B, replica(6));
        hand.hear(C, replica(6));
        assert_eq!(hand.offers().is_empty(), resigns);
    }
}

#[test]
fn only_whom_a_node_follows_or_supports_names_the_successor() {
    let nominates = |by: Peer| {
        let mut hand = Hand::following(4);
        hand.hear(by, Beat { nominee: Some(D), ..replica(6) });
        hand.hear_all(&[D, B, C], replica(6));
        hand.run(149);
        hand.offers()
    };
    // Everybody waits for the successor that the primary has named, and for nobody else's.
    assert_eq!(nominates(B), [7]);
    assert_eq!(nominates(C), []);
}

#[test]
fn a_wiped_disk_hears_of_data_in_an_offer_too() {
    let busy = Beat { position: offset(4), availability: Busy, ..replica(3) };
    for (offered, votes) in [(8, false), (9, true)] {
        let mut hand = Hand::new(config(3, A), &Restored::Nothing);
        hand.listen(5_000, &[(B, busy), (C, busy)]);
        hand.offer(B, 4, offset(9));
        hand.listen(BOOTED + 100, &[(B, busy), (C, busy)]);
        hand.sent.clear();
        hand.offer(C, 10, offset(offered));
        assert_eq!(!hand.votes().is_empty(), votes, "{offered}");
    }
}

#[test]
fn without_a_ballot_a_new_cluster_has_nothing_to_promise() {
    // Three of the four others make it sure; the last never comes.
    let mut hand = Hand::new(config(5, A), &Restored::Nothing);
    let busy = Beat { availability: Busy, ..replica(0) };
    hand.listen(BOOTED + 100, &[(B, busy), (C, busy), (E, busy)]);
    assert_eq!(hand.saved, []);
    hand.sent.clear();
    hand.offer(E, 1, offset(0));
    assert_eq!((hand.votes(), hand.saved.len()), (vec![(E, 1)], 1));
}

#[test]
fn who_wins_an_election_has_caught_up() {
    let lacking = Ballot { floor: offset(10), ..ballot(3, 5, None) };
    let restored = Restored::Ballot(lacking);
    let mut hand = Hand::with_data(config(3, A), &restored, Some(offset(10)));
    hand.run_to(BOOTED + 4_000);
    assert_eq!(hand.alerts(), [] as [&Alert; 0], "it has a ballot");
    hand.hear(B, replica(5));
    assert_eq!(hand.saved.last().unwrap().floor, offset(10));
    hand.accept(B, 6);
    assert!(hand.leads().is_some());
    hand.run(200);
    assert_eq!(hand.saved.last().unwrap().floor, Position::default());
}

#[test]
fn a_restarted_lone_member_waits_out_its_earlier_work() {
    let mut hand = Hand::new(config(1, A), &Restored::Ballot(ballot(1, 5, Some(A))));
    hand.run_to(BOOTED - 1);
    assert_eq!(hand.leads(), None);
    hand.run_to(BOOTED);
    assert_eq!(hand.leads(), Some(6));
}

#[test]
fn a_vain_wait_for_better_candidates_begins_anew() {
    // b waits 150 ms for a.
    type Hinders = fn(&mut Hand, bool);
    let table: [(&str, Hinders); 3] = [
        ("it follows c", |hand, begins| {
            hand.hear(C, if begins { primary(5) } else { replica(5) });
        }),
        ("it is unfit", |hand, begins| drop(hand.event(Event::Health(!begins)))),
        ("a and c are bound", |hand, begins| {
            let availability = if begins { Busy } else { Free };
            hand.hear(A, Beat { availability, ..replica(5) });
            hand.hear(C, Beat { availability, ..replica(5) });
        }),
    ];
    for (name, hinders) in table {
        let mut hand = Hand::booted(3, B);
        hand.hear(A, replica(5));
        hand.hear(C, replica(5));
        hand.run(100);
        hinders(&mut hand, true);
        hand.run(500);
        hinders(&mut hand, false);
        hand.run(149);
        assert_eq!(hand.offers(), [], "{name}");
        hand.run(1);
        assert_eq!(hand.offers().len(), 1, "{name}");
    }
}

#[test]
fn who_takes_its_offer_back_before_it_was_made_asks_later() {
    let mut hand = Hand::booted(3, A);
    hand.slow_disk = true;
    hand.hear(B, replica(5));
    hand.hear(B, Beat { position: offset(1), ..replica(6) });
    hand.finish_saving();
    assert_eq!(hand.offers(), []);
    hand.slow_disk = false;
    hand.event(Event::Position(offset(1)));
    for _ in 0..70 {
        hand.hear(B, Beat { position: offset(1), ..replica(6) });
        hand.run(100);
    }
    assert_eq!(hand.offers()[..1], [7]);
}

#[test]
fn a_successor_that_was_named_is_waited_for_once() {
    let mut hand = Hand::following(4);
    hand.hear(C, Beat { nominee: Some(D), ..primary(6) });
    hand.hear(B, primary(7)); // another has won
    hand.sent.clear();
    hand.hear_all(&[D, C, B], replica(7));
    hand.run(149);
    assert_eq!(hand.offers(), [8]);
}

#[test]
fn without_a_ballot_it_says_when_one_more_would_do() {
    let mut hand = Hand::new(config(3, A), &Restored::Nothing);
    hand.listen(BOOTED + 4_000, &[(B, Beat { availability: Busy, ..replica(3) })]);
    assert_eq!(hand.alerts(), [&Alert::BallotMissing { needed: 1, missing: vec![id(C)] }]);
}

#[test]
fn who_leads_or_leaves_is_not_free() {
    let said = |hand: &mut Hand| hand.next_heartbeat().extension.unwrap().availability;
    let mut hand = Hand::leading(3);
    assert_eq!(said(&mut hand), Busy);
    hand.event(Event::Health(false));
    assert_eq!(said(&mut hand), BusyAside);
    let mut hand = Hand::booted(3, A);
    hand.input(Input::Withdraw);
    assert_eq!(said(&mut hand), Leaving);
}

#[test]
fn who_leads_follows_nobody() {
    let mut hand = Hand::following(3);
    let late = hand.stamp(C);
    hand.run(1_000);
    hand.hear(C, primary(6));
    hand.run(2_000);
    // An announcement that was overtaken prolongs no support, but tells that somebody led.
    hand.message(C, announcement(6, late));
    hand.run_to(BOOTED + 6_000);
    assert_eq!(hand.quorum.supported(), None);
    assert!(hand.quorum.followed().is_some());
    hand.hear(B, replica(6));
    hand.accept(B, 7);
    assert_eq!((hand.leads(), hand.quorum.followed()), (Some(7), None));
}

#[test]
fn a_successor_that_was_named_in_vain_is_named_no_longer() {
    let mut hand = Hand::leading(3);
    hand.hear(B, Beat { availability: Busy, ..replica(6) });
    hand.event(Event::HandOver(B));
    hand.input(Input::Stopped(epoch(6)));
    assert_eq!(hand.next_heartbeat().extension.unwrap().nominee, Some(B));
    hand.run(4_600); // b does nothing
    hand.accept(C, 7);
    assert_eq!(hand.leads(), Some(7));
    assert_eq!(hand.next_heartbeat().extension.unwrap().nominee, None, "it is going to stay");
}

#[test]
fn a_leaving_candidate_ends_once_all_voters_are_told() {
    // One by one: a peer that was not heard yet must not see how long the data are.
    let mut hand = Hand::booted(3, A);
    hand.event(Event::Position(Position { history: 3, offset: 500 }));
    hand.hear(B, replica(5));
    assert_eq!(hand.quorum.role(), Role::Candidate);
    let mut told = |input| {
        let sent = hand.quorum.step(at(hand.now), input).action;
        (sent.is_some(), hand.quorum.is_finished())
    };
    assert_eq!(told(Input::Withdraw), (true, false));
    assert_eq!(told(Input::Tick), (true, true));
}

#[test]
fn leadership_never_goes_to_a_differing_or_unknown_member() {
    let refused = |hand: &mut Hand, to: Peer| {
        let change = hand.event(Event::HandOver(to));
        let alert = change.as_ref().is_some_and(|change| matches!(change, Change::Alert(_)));
        alert && hand.leads() == Some(6)
    };
    // c was given another list; what its bits and its vote mean is unknown.
    let mut hand = Hand::leading(3);
    hand.hear(C, Beat { list: Some(1), availability: Busy, ..replica(6) });
    assert!(refused(&mut hand, C));
    // Of c nothing but its vote has come.
    let mut hand = Hand::booted(3, A);
    hand.hear(B, replica(5));
    hand.accept(C, 6);
    assert!(refused(&mut hand, C));
    hand.hear(C, Beat { availability: Busy, ..replica(6) });
    assert!(!refused(&mut hand, C));
}

#[test]
fn a_leaving_node_is_finished_once_its_work_has_stopped() {
    assert!(!Hand::booted(3, A).quorum.is_finished());
    let mut hand = Hand::leading(3);
    hand.hear(B, primary(7));
    hand.input(Input::Withdraw);
    hand.run(1_000);
    assert!(!hand.quorum.is_finished());
    hand.input(Input::Stopped(epoch(6)));
    hand.run(1_000);
    assert!(hand.quorum.is_finished());
}
