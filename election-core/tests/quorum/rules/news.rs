//! What an application is told of leaderships, and when.

use super::*;
use core::time::Duration;

#[test]
fn nobody_is_told_of_a_vacancy_before_a_vote_was_possible() {
    let mut hand = Hand::new(config(3, A), &Restored::Ballot(ballot(3, 5, None)));
    hand.run_to(BOOTED - 1);
    assert_eq!(hand.changes, []);
    hand.run_to(BOOTED);
    assert_eq!(hand.changes, [Change::Vacant]);
    hand.run(60_000);
    assert_eq!(hand.changes, [Change::Vacant], "once");
}

#[test]
fn losing_the_followed_primary_is_told_while_booting_too() {
    let mut hand = Hand::new(config(3, A), &Restored::Ballot(ballot(3, 5, None)));
    hand.slow_disk = true; // its support would end the boot grace
    hand.hear(C, primary(6));
    assert!(matches!(hand.changes[..], [Change::Followed { .. }]), "{:?}", hand.changes);
    assert_eq!(hand.hear(C, replica(6)), Some(Change::Vacant));
    assert!(hand.now < BOOTED);
}

#[test]
fn who_wins_over_the_followed_primary_tells_of_no_vacancy() {
    let mut hand = Hand::booted(3, A);
    let campaigns = |hand: &mut Hand| {
        while hand.saving.is_none() {
            hand.hear(B, replica(5));
            hand.run(100);
        }
    };
    hand.slow_disk = true;
    campaigns(&mut hand);
    hand.hear(C, primary(7)); // followed, but not supported while the vote is being saved
    hand.finish_saving();
    campaigns(&mut hand);
    hand.finish_saving();
    hand.accept(B, 8);
    hand.run(100);
    let [Change::Vacant, Change::Followed { .. }, Change::Elected(_)] = &hand.changes[..] else {
        panic!("{:?}", hand.changes)
    };
}

#[test]
fn who_leads_is_told_of_nobody_else() {
    let mut hand = Hand::leading(3);
    let stamp = hand.next_heartbeat().extension.unwrap().stamp.at.as_nanos();
    hand.hear(B, echo(6, stamp));
    let told = &hand.changes;
    assert!(matches!(told[..], [Change::Vacant, Change::Elected(_)]), "{told:?}");
}

#[test]
fn an_end_and_whom_to_follow_are_told_at_one_instant() {
    // Without a grace it drains in silence from then on, and whom it follows is not recorded yet.
    for grace in [GRACE, 0] {
        let config = config(3, A).grace(Duration::from_millis(grace));
        let mut hand = Hand::new(config, &Restored::Ballot(ballot(3, 5, None)));
        hand.run_to(BOOTED);
        hand.hear(B, replica(5));
        hand.accept(B, 6);
        hand.now = BOOTED + WINDOW; // the process stood still
        hand.slow_disk = true;
        hand.hear(C, primary(8));
        let [.., Change::Lost { reason: Loss::Expired, .. }, Change::Followed { term, .. }] =
            &hand.changes[..]
        else {
            panic!("{:?}", hand.changes)
        };
        assert_eq!((&term.leader, term.epoch), (&id(C), epoch(8)));
    }
}
