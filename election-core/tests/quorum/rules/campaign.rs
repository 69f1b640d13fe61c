//! When a node asks for votes, and who goes first.
//!
//! Rule: Campaign.

use super::*;

#[test]
fn it_asks_once_a_majority_is_free_and_has_no_newer_data() {
    // What the node hears of four peers, and whether it then campaigns: neither an isolated node
    // nor one that lost a single link may disturb the others.
    let free = replica(5);
    let newer = Beat { position: offset(9), ..free };
    let busy = Beat { availability: Busy, ..free };
    let starting = Beat { availability: Waiting, ..free };
    let barred = Beat { availability: Ineligible, ..free };
    let deaf = Beat { hears: false, ..free };
    let table: [(&[Beat], bool); 9] = [
        (&[], false),
        (&[free], false),
        (&[free, free], true),
        (&[free, busy, busy, busy], false),
        (&[free, starting, starting, starting], false),
        (&[free, barred, barred, barred], false),
        (&[free, deaf, deaf, deaf], false),
        (&[free, newer, newer, newer], false),
        (&[free, free, newer, newer], true),
    ];
    for (heard, campaigns) in table {
        let mut hand = Hand::booted(5, A);
        for (place, beat) in (1..).zip(heard) {
            hand.hear(Peer::new(place), *beat);
        }
        hand.run(1_000);
        assert_eq!(!hand.offers().is_empty(), campaigns, "{} heard", heard.len());
        assert_eq!(hand.quorum.promised(), epoch(5 + u64::from(campaigns)), "no epoch is spent");
    }
}

#[test]
fn forked_data_is_not_newer() {
    let mut hand = Hand::booted(3, A);
    hand.event(Event::Position(Position { history: 4, offset: 120 }));
    let fork = Position { history: 3, offset: 500 };
    hand.hear(B, Beat { position: fork, ..replica(5) });
    assert_eq!(hand.offers(), [6]);
}

#[test]
fn a_peer_that_fell_silent_neither_votes_nor_is_waited_for() {
    let mut hand = Hand::booted(3, A);
    hand.input(Input::Resign); // stays out for three seconds
    hand.hear(B, replica(5));
    hand.run(5_000);
    assert_eq!(hand.offers(), [6]);
    let mut hand = Hand::booted(3, A);
    hand.hear(B, Beat { availability: Busy, ..replica(5) });
    hand.run(5_000);
    hand.hear(C, replica(5));
    assert_eq!(hand.offers(), [6]);
    let mut hand = Hand::booted(5, A);
    hand.hear(B, replica(5));
    hand.run(5_000);
    hand.hear(C, replica(5));
    hand.run(1_000);
    assert_eq!(hand.offers(), [], "b has not been heard for five seconds");
}

#[test]
fn it_waits_its_rank_and_no_longer() {
    // d waits for a and b, which do nothing. In kevy-elect's protocol it would wait for ever.
    let table = [(A, 0), (B, 1), (C, 2), (D, 3)];
    for (me, rank) in table {
        let mut hand = Hand::booted(5, me);
        for peer in [A, B, C, D].into_iter().filter(|peer| *peer != me) {
            hand.hear(peer, replica(5));
        }
        let since = BOOTED;
        hand.run_to(since + 150 * rank + 1_000);
        assert_eq!(hand.first_offer(), Some(since + 150 * rank), "{me:?}");
    }
}

#[test]
fn it_does_not_ask_while_it_supports_another() {
    let mut hand = Hand::following(3);
    hand.hear(B, replica(6));
    hand.run(1_000);
    assert_eq!(hand.offers(), []);
    hand.run_to(BOOTED + 5_000);
    hand.hear(B, replica(6));
    assert_eq!(hand.offers(), [7]);
}

#[test]
fn the_unfit_and_the_leaving_do_not_ask() {
    let inputs = [
        (Input::Event(Event::Health(false)), 4_000),
        (Input::Withdraw, 4_000),
        (Input::Resign, 2_900), // it comes back after three seconds
    ];
    for (input, stays_out) in inputs {
        let mut hand = Hand::booted(3, A);
        hand.input(input.clone());
        hand.hear(B, replica(5));
        hand.run(stays_out);
        assert_eq!(hand.offers(), [], "{input:?}");
        // Nor do they go on asking.
        let mut hand = Hand::booted(3, A);
        hand.hear(B, replica(5));
        assert_eq!(hand.quorum.role(), Role::Candidate);
        hand.sent.clear();
        hand.input(input.clone());
        assert_eq!(hand.quorum.role(), Role::Replica, "{input:?}");
        assert_eq!(hand.heartbeats().len(), 1, "its voters are set free at once");
        hand.accept(B, 6);
        assert_eq!(hand.leads(), None, "{input:?}");
    }
}

#[test]
fn one_member_elects_itself_and_trusts_itself_for_ever() {
    let mut hand = Hand::new(config(1, A), &Restored::Nothing);
    assert_eq!(hand.leads(), Some(1));
    hand.run(100_000_000);
    assert_eq!(hand.leads(), Some(1));
    assert_eq!(hand.wake_at, None, "nobody to talk to");
    // The hard stop comes when others would otherwise have had to wait.
    let change = hand.input(Input::Resign);
    let Some(Change::Lost { stop_by, .. }) = change else { panic!("{change:?}") };
    assert_eq!(millis(stop_by), hand.now + GRACE + 5_000);
}

#[test]
fn at_the_end_of_the_numbers_nobody_campaigns() {
    let mut hand = Hand::booted_from(config(3, A), ballot(3, u64::MAX, None), Some(offset(0)));
    hand.hear(B, replica(u64::MAX));
    hand.run(1_000);
    assert_eq!(hand.offers(), []);
}

/// After how many milliseconds `b` makes an offer, if `a` and `c` are free like this.
fn offers_beside(a: Availability, disconnects: bool) -> Option<u64> {
    let mut hand = Hand::booted(3, B);
    hand.hear(A, Beat { availability: a, hears: false, ..replica(5) }); // so `c` is needed
    if disconnects {
        hand.disconnect(A);
    }
    hand.sent.clear();
    let free = hand.now;
    hand.hear(C, replica(5));
    hand.run(1_000);
    Some(hand.first_offer()? - free)
}

#[test]
fn nobody_waits_for_a_better_peer_that_stands_aside() {
    for (availability, waits) in [
        (Free, 150),
        (Busy, 150),
        (Waiting, 150),
        (FreeAside, 0),
        (BusyAside, 0),
        (Leaving, 0),
        (Ineligible, 0),
        (Loading, 0),
    ] {
        assert_eq!(offers_beside(availability, false), Some(waits), "{availability:?}");
    }
    assert_eq!(offers_beside(Free, true), Some(0), "its connection has ended");
}

#[test]
fn who_stands_aside_says_so_and_still_votes() {
    let said = |hand: &mut Hand| hand.next_heartbeat().extension.unwrap().availability;
    // Who has resigned, for as long as it stays out.
    let mut hand = Hand::leading(3);
    hand.input(Input::Resign);
    hand.input(Input::Stopped(epoch(6)));
    let released = hand.heartbeats();
    let released = released.last().unwrap().1.extension.unwrap();
    assert_eq!(released.availability, FreeAside, "in the frame that lets the others in");
    hand.offer(B, 7, offset(0));
    assert_eq!(hand.votes(), [(B, 7)]);
    let mut hand = Hand::booted(3, A);
    hand.input(Input::Resign);
    assert_eq!(said(&mut hand), FreeAside);
    hand.run(3_000);
    assert_eq!(said(&mut hand), Free);
    // Who is unfit, while it follows and afterwards.
    let mut hand = Hand::following(3);
    assert_eq!(said(&mut hand), Busy);
    hand.event(Event::Health(false));
    assert_eq!(said(&mut hand), BusyAside);
    hand.hear(C, replica(6));
    assert_eq!(said(&mut hand), FreeAside);
    hand.event(Event::Health(true));
    assert_eq!(said(&mut hand), Free);
    // Whose work has not stopped after a successor was elected.
    let mut hand = Hand::leading(3);
    hand.hear(C, primary(8));
    assert_eq!(said(&mut hand), BusyAside);
    hand.input(Input::Stopped(epoch(6)));
    assert_eq!(said(&mut hand), Busy);
}

#[test]
fn epochs_heard_of_are_remembered_whoever_comes_back() {
    // A peer that was wiped or restored comes back with a lower epoch than it has shown.
    for restarts in [false, true] {
        let mut hand = Hand::booted(3, A);
        hand.hear(B, Beat { availability: Waiting, ..replica(9) });
        hand.disconnect(B);
        if restarts {
            hand.restart(B);
        } else {
            hand.connections[B.index()] += 1;
        }
        hand.hear(B, replica(5));
        assert_eq!(hand.offers(), [10]);
    }
}
