//! What becomes of a candidacy, and when the next one begins.

use super::*;
use core::time::Duration;
use election_core::quorum::{Action, ConfigBuilder, Hindrance, Quorum};

#[test]
fn an_offer_is_made_only_once_the_own_vote_is_durable() {
    let mut hand = Hand::booted(3, A);
    hand.slow_disk = true;
    hand.hear(B, replica(5));
    hand.run(500);
    assert_eq!((hand.offers(), hand.quorum.role()), (vec![], Role::Replica));
    let ballot = hand.saving.clone().unwrap();
    assert_eq!((ballot.promised, ballot.voted_for), (epoch(6), Some(id(A))));
    hand.accept(B, 6); // perhaps meant for an earlier life
    assert_eq!(hand.leads(), None);
    let saved = hand.now;
    hand.finish_saving();
    assert_eq!(hand.offers(), [6]);
    hand.accept(B, 6);
    assert_eq!(hand.trusts().1, saved + WINDOW);
}

#[test]
fn whether_to_ask_is_judged_again_once_that_is_durable() {
    type Meanwhile = fn(&mut Hand);
    let meanwhile: [(&str, Meanwhile); 4] = [
        ("c has another list of members", |hand| {
            hand.hear(C, Beat { list: Some(7), ..replica(5) });
        }),
        ("b has a primary again", |hand| {
            hand.hear(B, Beat { availability: Busy, ..replica(6) });
        }),
        ("b has newer data", |hand| {
            hand.hear(B, Beat { position: offset(1), ..replica(6) });
        }),
        ("unhealthy", |hand| {
            hand.event(Event::Health(false));
        }),
    ];
    for (name, meanwhile) in meanwhile {
        let mut hand = Hand::booted(3, A);
        hand.slow_disk = true;
        hand.hear(B, replica(5));
        meanwhile(&mut hand);
        hand.finish_saving();
        assert_eq!(hand.offers(), [], "{name}");
    }
}

#[test]
fn an_offer_is_repeated_with_the_data_as_of_each_sending() {
    let mut hand = Hand::booted(3, A);
    hand.hear(B, replica(5));
    hand.event(Event::Position(offset(4)));
    hand.run(200);
    let offers = hand.sent.iter().filter_map(|(_, message)| match message {
        Message::Offer { position, .. } => Some(position.offset),
        _ => None,
    });
    assert_eq!(offers.collect::<Vec<_>>(), [0, 4]);
}

#[test]
fn a_candidacy_ends_and_the_next_comes_after_a_random_while() {
    let mut hand = Hand::booted(3, A);
    hand.hear(B, replica(5));
    hand.sent.clear();
    hand.run_to(BOOTED + 2_999);
    assert_eq!(hand.quorum.role(), Role::Candidate);
    hand.sent.clear();
    hand.run_to(BOOTED + 3_000);
    let beats = hand.heartbeats();
    assert!(matches!(beats[..], [(Audience::All, beat)] if beat.role == Role::Replica));
    hand.accept(B, 6);
    assert_eq!(hand.leads(), None, "a late vote is for nothing");
    for _ in 0..10 {
        hand.run(100);
        hand.hear(B, replica(6));
    }
    assert_eq!(hand.offers(), [], "it keeps still for a second at least");
    for _ in 0..45 {
        hand.run(100);
        hand.hear(B, replica(6));
    }
    assert_eq!(hand.offers()[0], 7);
}

/// How long it backs off after its first candidacy, in nanoseconds.
fn backs_off(config: ConfigBuilder, incarnation: u128, seed: u64) -> u64 {
    let restored = Restored::Ballot(ballot(3, 5, None));
    let mut hand = Hand::new(config.clone(), &restored);
    let (life, position) = (life(incarnation), Some(Position::default()));
    hand.quorum = Quorum::new(config.build().unwrap(), life, &restored, position, seed);
    hand.input(Input::Tick);
    hand.run_to(BOOTED);
    hand.hear(B, replica(5));
    hand.run(3_000);
    match hand.quorum.status(at(hand.now)).hindrance {
        Some(Hindrance::BacksOff { until }) => until.as_nanos() - at(hand.now).as_nanos(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn nodes_do_not_back_off_in_step() {
    let wait = |incarnation, seed| backs_off(config(3, A), incarnation, seed);
    assert_ne!(wait(1, 42), wait(2, 42));
    assert_ne!(wait(1, 42), wait(1, 43));
    assert_ne!(wait(1 << 64, 0), wait(2 << 64, 0));
}

#[test]
fn it_backs_off_for_as_long_as_is_configured() {
    let config = config(3, A).election_backoff(Duration::from_secs(2), Duration::from_secs(6));
    let waits: Vec<_> =
        (0..100).map(|life| backs_off(config.clone(), life, 42) / 1_000_000).collect();
    let (least, most) = (waits.iter().min().unwrap(), waits.iter().max().unwrap());
    assert!((2_000..=2_200).contains(least) && (5_800..=6_000).contains(most), "{waits:?}");
}

#[test]
fn a_primary_of_its_own_epoch_ends_a_candidacy() {
    let mut hand = Hand::booted(3, A);
    hand.hear(B, replica(5));
    hand.hear(C, primary(6));
    assert_eq!(hand.quorum.role(), Role::Replica);
    assert_eq!(hand.quorum.followed().unwrap().0.leader, id(C));
    hand.accept(B, 6);
    assert_eq!(hand.leads(), None);
}

#[test]
fn it_asks_again_at_the_end_of_its_back_off_to_the_nanosecond() {
    let mut hand = Hand::booted(3, A);
    hand.hear(B, replica(5));
    hand.run(3_000);
    let Some(Hindrance::BacksOff { until }) = hand.quorum.status(at(hand.now)).hindrance else {
        panic!("{:?}", hand.quorum)
    };
    hand.listen(until.as_nanos() / 1_000_000, &[(B, replica(6))]);
    let step = hand.quorum.step(until, Input::Tick);
    assert!(matches!(step.action, Some(Action::Save(_))), "{step:?}");
}
