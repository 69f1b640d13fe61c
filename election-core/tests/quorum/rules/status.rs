//! The answer to an operator's first question: why does nobody lead?

use super::*;
use election_core::quorum::{Connection, Hindrance, PeerStatus, Refusal, Status, wire::Dialect};

fn status(hand: &Hand) -> Status {
    hand.quorum.status(at(hand.now))
}

fn hindrance(hand: &Hand) -> Option<Hindrance> {
    status(hand).hindrance
}

fn peer(hand: &Hand, peer: Peer) -> PeerStatus {
    hand.quorum.peer_status(peer, at(hand.now)).expect("another member")
}

/// Why this node does not ask for votes, in words.
fn words(hand: &Hand) -> String {
    let members = hand.quorum.config().members();
    hindrance(hand).map_or_else(String::new, |hindrance| hindrance.named(members).to_string())
}

#[test]
fn a_node_that_waits_says_for_what() {
    let mut hand = Hand::new(config(3, A), &Restored::Ballot(ballot(3, 5, None)));
    assert_eq!(
        hindrance(&hand),
        Some(Hindrance::Boots { until: status(&hand).boots_until.unwrap() })
    );
    hand.run_to(BOOTED);
    assert_eq!(hindrance(&hand), Some(Hindrance::TooFewVotes { willing: 1, needed: 2 }));
    assert_eq!(words(&hand), "it can count on 1 of the 2 votes that it needs");
    hand.hear(B, Beat { position: offset(9), ..replica(5) });
    assert_eq!(hindrance(&hand), Some(Hindrance::NewerData(B)));
    assert_eq!(words(&hand), "b has newer data");
    hand.event(Event::Health(false));
    assert_eq!(hindrance(&hand), Some(Hindrance::Unfit));
    hand.event(Event::Health(true));
    hand.input(Input::Resign);
    assert!(matches!(hindrance(&hand), Some(Hindrance::StaysOut { .. })));
    hand.input(Input::Withdraw);
    assert_eq!(hindrance(&hand), Some(Hindrance::Leaves));
}

#[test]
fn a_node_is_ready_when_it_could_vote_among_a_majority() {
    let unready = |hand: &Hand| status(hand).unready;
    let apart = |heard| Some(Hindrance::Apart { heard, others: 4 });
    let mut hand = Hand::new(config(5, A), &Restored::Ballot(ballot(5, 5, None)));
    assert!(matches!(unready(&hand), Some(Hindrance::Boots { .. })), "whatever it hears");
    hand.run_to(BOOTED);
    assert_eq!(unready(&hand), apart(0));
    hand.hear(B, replica(5));
    hand.hear(C, Beat { hears: false, ..replica(5) });
    assert_eq!(unready(&hand), apart(1), "c does not hear it");
    let words = unready(&hand).unwrap().named(hand.quorum.config().members()).to_string();
    assert_eq!(words, "it and 1 of the 4 others hear each other, which is not a majority");
    let barred = Beat { availability: Ineligible, ..replica(5) };
    hand.hear(E, Beat { list: Some(1), ..barred });
    assert_eq!(unready(&hand), apart(1), "e has another list");
    hand.hear(C, Beat { availability: Busy, ..replica(5) });
    assert_eq!(unready(&hand), None, "three of five");
    hand.slow_disk = true;
    hand.offer(D, 6, offset(0));
    assert_eq!(unready(&hand), Some(Hindrance::Saves));
    hand.finish_saving();
    assert_eq!((unready(&hand), hand.quorum.supported()), (None, Some((D, epoch(6)))));
    hand.input(Input::Withdraw);
    assert_eq!(unready(&hand), Some(Hindrance::Leaves));
}

#[test]
fn a_node_without_its_ballot_or_data_says_so() {
    let mut hand = Hand::new(config(5, A), &Restored::Nothing);
    hand.run_to(BOOTED);
    assert_eq!(hindrance(&hand), Some(Hindrance::BallotMissing { needed: 3 }));
    let mut hand = Hand::new(config(3, A), &Restored::Unusable);
    hand.run_to(BOOTED);
    assert_eq!(hindrance(&hand), Some(Hindrance::BallotUnusable));
    let mut hand = Hand::new(config(5, A), &Restored::Ballot(ballot(3, 5, None)));
    hand.run_to(BOOTED);
    assert_eq!(hindrance(&hand), Some(Hindrance::MembersChanged));
    let mut hand = Hand::with_data(config(3, A), &Restored::Ballot(ballot(3, 5, None)), None);
    assert_eq!(hindrance(&hand), Some(Hindrance::PositionUnknown));
    assert_eq!(status(&hand).position, None);
    hand.run_to(BOOTED);
    assert_eq!(status(&hand).unready, Some(Hindrance::PositionUnknown));
    let mut wiped = ballot(3, 5, None);
    wiped.floor = offset(7);
    let hand = Hand::booted_from(config(3, A), wiped, Some(offset(0)));
    assert_eq!(hindrance(&hand), Some(Hindrance::LacksData { floor: offset(7) }));
    assert_eq!(words(&hand), "it lost its disk and has not caught up with 7");
}

#[test]
fn a_node_that_learned_its_promises_records_them_first() {
    let mut hand = Hand::new(config(3, A), &Restored::Nothing);
    hand.slow_disk = true;
    hand.listen(BOOTED + 4_000, &[(B, replica(3)), (C, replica(3))]);
    assert_eq!(hindrance(&hand), Some(Hindrance::RecordsPromises));
    assert!(!status(&hand).is_durable);
}

#[test]
fn a_candidate_its_disk_and_its_back_off_are_seen() {
    let mut hand = Hand::booted(3, A);
    hand.slow_disk = true;
    hand.hear(B, replica(5));
    assert_eq!(hindrance(&hand), Some(Hindrance::Campaigns(epoch(6))));
    assert_eq!((status(&hand).promised, status(&hand).is_durable), (epoch(6), false));
    hand.finish_saving();
    assert!(status(&hand).is_durable);
    hand.listen(hand.now + 3_000, &[(B, replica(6))]);
    assert!(matches!(hindrance(&hand), Some(Hindrance::BacksOff { .. })), "{:?}", words(&hand));
    let mut hand = Hand::booted(3, B);
    hand.hear(A, replica(5));
    assert!(matches!(hindrance(&hand), Some(Hindrance::LetsOthersFirst { .. })));
}

#[test]
fn a_ballot_that_cannot_be_written_is_the_reason() {
    let mut hand = Hand::booted(3, A);
    hand.slow_disk = true;
    hand.offer(C, 6, offset(0));
    hand.fail_saving();
    assert_eq!(hindrance(&hand), Some(Hindrance::Saves));
    assert_eq!(status(&hand).voted_for, Some(C));
}

#[test]
fn a_follower_and_its_primary_are_seen() {
    let hand = Hand::following(3);
    let Some((node, number, until)) = status(&hand).supports else { panic!("{:?}", status(&hand)) };
    assert_eq!((node, number, millis(until)), (C, epoch(6), BOOTED + 5_000));
    assert_eq!(hindrance(&hand), Some(Hindrance::Supports { node: C, until }));
    assert_eq!(words(&hand), "it supports c");
    assert_eq!(status(&hand).availability, Busy);
    assert_eq!(status(&hand).next_deadline, hand.wake_at);
}

#[test]
fn a_primary_says_who_vouches_for_it_and_how_long() {
    let mut hand = Hand::leading(3);
    let said = status(&hand);
    assert_eq!((said.hindrance, said.supporters, said.majority), (Some(Hindrance::Leads), 2, 2));
    assert_eq!(said.tenure, hand.tenure());
    let until = peer(&hand, B).trusted_until.unwrap();
    assert_eq!(millis(until), hand.trusts().1);
    hand.run_to(BOOTED + WINDOW + 1);
    assert_eq!(status(&hand).supporters, 0, "the leadership is over");
    assert_eq!(hindrance(&hand), Some(Hindrance::Drains(epoch(6))));
    assert_eq!(peer(&hand, B).trusted_until, None);
    hand.run(200);
    assert_eq!(hindrance(&hand), Some(Hindrance::WorkGoesOn(epoch(6))));
}

#[test]
fn each_member_says_why_it_would_not_vote() {
    let mut hand = Hand::booted(5, B);
    let refusal = |hand: &Hand, of| peer(hand, of).refusal;
    assert_eq!((refusal(&hand, A), peer(&hand, A).heard), (Some(Refusal::NotHeard), None));
    hand.hear(A, replica(5));
    hand.hear(C, Beat { availability: Loading, ..replica(5) });
    hand.hear(D, Beat { hears: false, ..replica(5) });
    hand.hear(E, Beat { position: offset(1), ..replica(5) });
    assert_eq!(refusal(&hand, A), None);
    assert_eq!(refusal(&hand, C), Some(Refusal::NotFree(Loading)));
    assert_eq!(refusal(&hand, D), Some(Refusal::DoesNotHear));
    assert_eq!(refusal(&hand, E), Some(Refusal::NewerData));
    assert_eq!(hindrance(&hand), Some(Hindrance::NewerData(E)), "with its data, three would vote");
    hand.restart(A);
    hand.hear(A, replica(5));
    assert_eq!(refusal(&hand, A), Some(Refusal::TwoLives));
    let me = hand.quorum.config().members().me();
    assert_eq!(hand.quorum.peer_status(me, at(hand.now)), None);
    assert_eq!(hand.quorum.peer_status(Peer::new(5), at(hand.now)), None);
}

#[test]
fn what_was_heard_of_a_member_is_seen_with_its_age() {
    let mut hand = Hand::booted(3, A);
    hand.hear(B, Beat { position: offset(4), ..primary(5) });
    hand.run(700);
    let heard = peer(&hand, B).heard.unwrap();
    assert_eq!((millis(heard.at), heard.role, heard.position), (BOOTED, Role::Primary, offset(4)));
    assert_eq!((heard.dialect, heard.incarnation), (Dialect::Extended, Some(life(7))));
    assert_eq!(heard.epoch, epoch(5));
    assert!(heard.is_fresh && heard.is_connected && heard.hears_me);
    hand.disconnect(B);
    hand.run(5_000);
    let heard = peer(&hand, B).heard.unwrap();
    assert!(!heard.is_fresh && !heard.is_connected);
}

#[test]
fn a_members_connection_is_known_until_it_ends() {
    let mut hand = Hand::booted(3, A);
    let listens_on = |hand: &Hand| hand.quorum.listens_on(B);
    assert_eq!(listens_on(&hand), None);
    for connection in [1, 3] {
        hand.connections[B.index()] = connection;
        hand.hear(B, replica(5));
        assert_eq!(listens_on(&hand), Some(Connection(connection)));
    }
    hand.connections[B.index()] = 1;
    hand.disconnect(B);
    assert_eq!(listens_on(&hand), Some(Connection(3)), "another one ended");
    hand.connections[B.index()] = 3;
    hand.disconnect(B);
    assert_eq!(listens_on(&hand), None);
    assert_eq!(hand.quorum.listens_on(Peer::new(3)), None, "the list ends before it");
}

/// Whoever knows that somebody is supported whom it does not hear cannot say that nobody leads.
#[test]
fn support_of_a_member_that_is_not_heard_is_seen() {
    let mut hand = Hand::booted(3, A);
    hand.lives[C.index()] = 30; // that of nobody else
    let unheard = |hand: &Hand| peer(hand, B).heard.unwrap().supports_unheard;
    hand.hear(B, replica(5));
    assert!(!unheard(&hand), "b supports nobody");
    hand.hear(B, echo(6, 0));
    assert!(!unheard(&hand), "b supports this node");
    let of_c = |hand: &mut Hand| {
        let echoed = Stamp { at: at(1), incarnation: life(hand.lives[C.index()]) };
        let stamp = hand.stamp(B);
        let mut message = hand.beat(Beat { availability: Busy, ..replica(6) }, stamp);
        if let Message::Heartbeat(heartbeat) = &mut message {
            heartbeat.extension.as_mut().unwrap().attestation = Attestation::Echo(echoed);
        }
        hand.message(B, message);
    };
    of_c(&mut hand);
    assert!(unheard(&hand), "b supports c, which was never heard");
    hand.hear(C, replica(6));
    assert!(!unheard(&hand), "c is heard");
    hand.restart(C);
    of_c(&mut hand);
    assert!(unheard(&hand), "another life of c");
    hand.run(4_900);
    assert!(unheard(&hand));
    hand.run(200);
    assert!(!unheard(&hand), "b is not heard any more");
    of_c(&mut hand);
    hand.hear(B, replica(6));
    assert!(!unheard(&hand), "b supports nobody any more");
}

#[test]
fn data_is_missing_only_if_a_majority_would_vote_but_for_it() {
    // The third of seven hears these others.
    let free = replica(5);
    let newer = Beat { position: offset(9), ..free };
    let newest = Beat { position: offset(10), ..free };
    let too_few = |willing| Hindrance::TooFewVotes { willing, needed: 4 };
    let table: [(&[Beat], Hindrance); 7] = [
        (&[], too_few(1)),
        (&[newer, newer], too_few(1)),
        (&[free, newer], too_few(2)),
        (&[newer, newer, newer], Hindrance::NewerData(B)),
        (&[newer, newest, newer], Hindrance::NewerData(D)),
        (&[newest, newer, newer], Hindrance::NewerData(B)),
        (&[free, free, newer], Hindrance::NewerData(E)),
    ];
    for (nth, (heard, hinders)) in table.into_iter().enumerate() {
        let mut hand = Hand::booted(7, C);
        for (peer, beat) in [B, D, E].into_iter().zip(heard) {
            hand.hear(peer, *beat);
        }
        assert_eq!(hindrance(&hand), Some(hinders), "{nth}");
    }
    // One of kevy-elect, with a lower id, would stand itself: it is there, too.
    for (heard, hinders) in [(1, too_few(1)), (2, Hindrance::NewerData(B))] {
        let mut hand = Hand::booted(7, C);
        hand.hear_old(A, 5, Role::Replica, 0);
        assert_eq!(peer(&hand, A).refusal, Some(Refusal::Outranks));
        for peer in [B, D].into_iter().take(heard) {
            hand.hear(peer, newer);
        }
        assert_eq!(hindrance(&hand), Some(hinders), "{heard}");
    }
}

#[test]
fn status_is_of_the_asked_instant_and_never_of_the_past() {
    let hand = Hand::leading(3);
    let (until, stop_by) = (hand.tenure().unwrap().until, hand.tenure().unwrap().stop_by);
    let trusted = peer(&hand, B).trusted_until.unwrap();
    assert!(until < trusted && trusted <= stop_by);
    let at_last = hand.quorum.status(Timestamp::from_nanos(trusted.as_nanos() - 1));
    assert_eq!((at_last.supporters, at_last.tenure), (2, None), "c has not vouched");
    assert_eq!(hand.quorum.status(trusted).supporters, 1, "itself");
    assert!(hand.quorum.status(Timestamp::ZERO).tenure.is_some_and(|own| own.until == until));
    let fresh = |time| hand.quorum.peer_status(B, time).unwrap().heard.unwrap().is_fresh;
    assert!(fresh(Timestamp::ZERO) && fresh(at(BOOTED + 4_999)) && !fresh(at(BOOTED + 5_000)));
}

#[test]
fn a_status_says_what_there_is() {
    let mut hand = Hand::booted(3, A);
    assert_eq!(status(&hand).boots_until, None);
    let fork = Position { history: 3, offset: 500 };
    hand.event(Event::Position(fork));
    assert_eq!(status(&hand).position, Some(fork), "what some peers are not to see, too");
    hand.hear(C, replica(5));
    hand.accept(C, 6);
    assert_eq!(hand.leads(), Some(6));
    assert_eq!(peer(&hand, B).trusted_until, None, "b has not been heard");
    hand.hear_old(B, 6, Role::Replica, 0);
    assert_eq!(peer(&hand, B).heard.unwrap().dialect, Dialect::Legacy);
    let alone = Hand::new(config(1, A), &Restored::Nothing);
    assert_eq!(status(&alone).next_deadline, None);
}
