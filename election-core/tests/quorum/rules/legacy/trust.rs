//! How long a primary trusts peers that do not echo, and what deposes it.

use super::*;

/// The node `a` of three, elected in epoch 6 by two peers that do not echo.
fn leading_old_peers() -> Hand {
    let mut hand = Hand::booted(3, A);
    beat(&mut hand, B, 5, Role::Replica);
    assert_eq!(hand.offers(), [6], "a peer that does not say counts as free");
    let accept = Message::Accept { epoch: epoch(6), stamp: None, accepted: None };
    assert!(matches!(hand.message(B, accept), Some(Change::Elected(_))));
    hand
}

#[test]
fn where_too_few_echo_trust_is_best_effort_and_that_is_reported() {
    let mut hand = leading_old_peers();
    hand.run(1_000);
    beat(&mut hand, B, 6, Role::Replica);
    assert_eq!(hand.trusts().1, BOOTED + 1_000 + WINDOW);
    assert_eq!(hand.alerts(), [&Alert::BestEffort { begins: true }]);
    // One peer that echoes is enough of three.
    hand.hear(C, echo(6, 1));
    hand.run(200);
    assert_eq!(hand.alerts().last(), Some(&&Alert::BestEffort { begins: false }));
    let trusted = hand.trusts();
    beat(&mut hand, B, 6, Role::Replica);
    assert_eq!(hand.trusts(), trusted, "now only echoes count");
    // It ends with the leadership, too.
    let mut hand = leading_old_peers();
    beat(&mut hand, B, 6, Role::Replica);
    hand.event(Event::Health(false));
    hand.run(200);
    let begins = [true, false].map(|begins| Alert::BestEffort { begins });
    assert_eq!(hand.alerts(), begins.each_ref());
}

#[test]
fn where_too_few_echo_a_higher_epoch_ends_the_tenure() {
    let mut hand = leading_old_peers();
    let change = beat(&mut hand, B, 9, Role::Replica);
    assert!(matches!(change, Some(Change::Lost { reason: Loss::Replaced, .. })), "{change:?}");
    // A lower one does not: it may have been on its way for long.
    let mut hand = leading_old_peers();
    beat(&mut hand, B, 5, Role::Replica);
    assert_eq!(hand.leads(), Some(6));
    // If enough peers echo, they decide whether the leadership is over.
    let mut hand = Hand::leading(3);
    beat(&mut hand, C, 9, Role::Replica);
    assert_eq!(hand.leads(), Some(6));
}

#[test]
fn a_peer_echoes_while_it_hears_us_and_was_heard_lately() {
    // c would echo, but does not hear what there is to echo.
    let mut hand = leading_old_peers();
    hand.run(1_000);
    hand.hear(C, Beat { availability: Busy, hears: false, ..replica(6) });
    beat(&mut hand, B, 6, Role::Replica);
    assert_eq!(hand.trusts().1, BOOTED + 1_000 + WINDOW);
    // It was heard half a `down_after` ago, and then for longer.
    let mut hand = leading_old_peers();
    hand.hear(C, echo(6, 1));
    hand.run(2_500);
    beat(&mut hand, B, 6, Role::Replica);
    assert_eq!(hand.trusts().1, BOOTED + WINDOW);
    hand.run(1);
    beat(&mut hand, B, 6, Role::Replica);
    assert_eq!(hand.trusts().1, BOOTED + 2_501 + WINDOW);
}

#[test]
fn an_old_peer_is_told_the_address_up_to_the_leaders_epoch() {
    let announced = |hand: &mut Hand| {
        hand.sent.clear();
        hand.run(200);
        let sent = hand.sent.iter().filter_map(|(to, message)| match message {
            Message::Announce { .. } => Some(*to),
            _ => None,
        });
        sent.collect::<Vec<_>>()
    };
    let mut hand = leading_old_peers();
    beat(&mut hand, B, 5, Role::Replica);
    assert_eq!(announced(&mut hand), [Audience::All]);
    beat(&mut hand, B, 6, Role::Replica);
    assert_eq!(announced(&mut hand), [Audience::One(C)], "c has not been heard");
}

#[test]
fn whom_an_unheard_primary_has_deposed_waits_longer_each_time() {
    let mut hand = leading_old_peers();
    let mut waits = Vec::new();
    for round in 0..20_u64 {
        let number = hand.leads().unwrap();
        let change = beat(&mut hand, B, number + 1, Role::Replica);
        assert!(matches!(change, Some(Change::Lost { reason: Loss::Replaced, .. })), "{change:?}");
        let lost = hand.now;
        hand.input(Input::Stopped(epoch(number)));
        hand.sent.clear();
        while hand.leads().is_none() && hand.now < lost + 100_000 {
            hand.run(100);
            beat(&mut hand, B, number + 1, Role::Replica);
            if let [asked] = hand.offers()[..] {
                hand.message(
                    B,
                    Message::Accept { epoch: epoch(asked), stamp: None, accepted: None },
                );
            }
        }
        let doubled = round.min(4); // and never more than that
        let (least, most) = (2_500 << doubled, (5_000 << doubled) + 200);
        let waited = hand.now - lost;
        assert!((least..=most).contains(&waited), "{waited} in round {round}");
        waits.push(waited);
    }
    assert!(waits[..5].is_sorted(), "{waits:?}");
    let (least, most) = (waits[4..].iter().min().unwrap(), waits[4..].iter().max().unwrap());
    assert!(*least < 46_000 && *most > 74_000, "it may be any of these: {waits:?}");
}

#[test]
fn an_unheard_peer_does_not_depose_a_reachable_primary() {
    // Every member is heard, and none leads: somebody only has a higher epoch.
    let mut hand = leading_old_peers();
    beat(&mut hand, C, 6, Role::Replica);
    let change = beat(&mut hand, B, 9, Role::Replica);
    assert!(matches!(change, Some(Change::Lost { reason: Loss::Replaced, .. })), "{change:?}");
    hand.input(Input::Stopped(epoch(6)));
    hand.sent.clear();
    for _ in 0..5 {
        hand.run(200);
        beat(&mut hand, B, 9, Role::Replica);
        beat(&mut hand, C, 9, Role::Replica);
    }
    assert_eq!(hand.offers(), [10], "it need not stay out");
}
