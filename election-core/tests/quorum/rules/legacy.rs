//! Peers that speak only the protocol of the seed: no stamps, no echoes, no flags.

use super::*;
use election_core::quorum::Heartbeat;

fn beat(hand: &mut Hand, from: Peer, number: u64, role: Role) -> Option<Change> {
    let (epoch, position) = (epoch(number), offset(0));
    let heartbeat = Heartbeat { epoch, role, position, extension: None };
    hand.message(from, Message::Heartbeat(heartbeat))
}

/// The node `a` of three, elected in epoch 6 by two peers that do not echo.
fn leading_old_peers() -> Hand {
    let mut hand = Hand::booted(3, A);
    beat(&mut hand, B, 5, Role::Replica);
    assert_eq!(hand.offers(), [6], "a peer that does not say counts as free");
    let accept = Message::Accept { epoch: epoch(6), stamp: None };
    assert!(matches!(hand.message(B, accept), Some(Change::Elected(_))));
    hand
}

#[test]
fn where_too_few_echo_trust_is_best_effort_and_that_is_reported() {
    let mut hand = leading_old_peers();
    hand.run(1_000);
    beat(&mut hand, B, 6, Role::Replica);
    assert_eq!(hand.trusts().1, BOOTED + 1_000 + WINDOW);
    assert_eq!(hand.faults(), [&Fault::BestEffort { begins: true }]);
    // One that echoes is enough of three.
    hand.hear(C, echo(6, 1));
    hand.run(200);
    assert_eq!(hand.faults().last(), Some(&&Fault::BestEffort { begins: false }));
    let trusted = hand.trusts();
    beat(&mut hand, B, 6, Role::Replica);
    assert_eq!(hand.trusts(), trusted, "now only echoes count");
}

#[test]
fn where_too_few_echo_a_higher_epoch_ends_the_tenure() {
    let mut hand = leading_old_peers();
    let change = beat(&mut hand, B, 9, Role::Replica);
    assert!(matches!(change, Some(Change::Lost { reason: Loss::Replaced, .. })), "{change:?}");
    // Where enough do, they tell whether it is over.
    let mut hand = Hand::leading(3);
    beat(&mut hand, C, 9, Role::Replica);
    assert_eq!(hand.leads(), Some(6));
}

#[test]
fn an_old_primary_is_supported_and_released() {
    let mut hand = Hand::booted(3, A);
    beat(&mut hand, C, 6, Role::Primary);
    assert_eq!(hand.quorum.supported(), Some((C, epoch(6))));
    assert_eq!(hand.echoes(), None);
    beat(&mut hand, C, 6, Role::Replica);
    assert_eq!(hand.quorum.supported(), None);
}

#[test]
fn what_cannot_be_ordered_does_not_release_what_was_echoed() {
    // The first frames on a new connection come without their extensions.
    let mut hand = Hand::following(3);
    hand.connections[C.index()] = 2;
    beat(&mut hand, C, 6, Role::Replica);
    assert_eq!(hand.quorum.supported(), Some((C, epoch(6))));
    hand.connections[C.index()] = 1;
    hand.disconnect(C);
    hand.connections[C.index()] = 2;
    beat(&mut hand, C, 6, Role::Replica);
    assert_eq!(hand.quorum.supported(), Some((C, epoch(6))));
}
