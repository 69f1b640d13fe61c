//! What lasts is told once. What has ended and begins again is told again.

use super::*;

/// The node and its peer: the first member, too.
const PAIRS: [(Peer, Peer); 2] = [(A, B), (B, A)];

#[test]
fn an_absurd_epoch_after_a_sound_one_is_told_again() {
    for (me, peer) in PAIRS {
        let mut hand = Hand::booted(3, me);
        let jump = Alert::EpochJump { node: id(peer), epoch: epoch(1 << 40) };
        hand.hear(peer, replica(1 << 40));
        hand.hear(peer, replica(1 << 40));
        assert_eq!(hand.alerts(), [&jump]);
        hand.hear(peer, Beat { availability: Busy, ..replica(5) });
        hand.hear(peer, replica(1 << 40));
        assert_eq!(hand.alerts(), [&jump, &jump], "and nothing else");
    }
}

/// Two processes run under one id and take turns.
fn two_processes(hand: &mut Hand, peer: Peer) {
    for _ in 0..3 {
        for other in [true, false] {
            hand.run(10);
            hand.lives[peer.index()] = if other { 8 } else { 7 };
            hand.connections[peer.index()] = if other { 2 } else { 1 };
            hand.hear(peer, Beat { availability: Busy, ..replica(5) });
        }
    }
}

#[test]
fn a_second_process_that_ends_and_comes_back_is_told_again() {
    for (me, peer) in PAIRS {
        let mut hand = Hand::booted(3, me);
        hand.hear(peer, Beat { availability: Busy, ..replica(5) });
        let twice = Alert::DuplicateId { node: id(peer) };
        two_processes(&mut hand, peer);
        assert_eq!(hand.alerts(), [&twice]);
        let over = hand.now + 6_000;
        hand.listen(over, &[(peer, Beat { availability: Busy, ..replica(5) })]);
        assert_eq!(hand.alerts(), [&twice]);
        two_processes(&mut hand, peer);
        assert_eq!(hand.alerts(), [&twice, &twice]);
    }
}

#[test]
fn a_list_that_differs_again_is_told_again() {
    let mut hand = Hand::booted(3, A);
    let differs = Alert::MembersDiffer { node: id(B) };
    for times in 1..4 {
        hand.hear(B, Beat { list: Some(1), ..replica(5) });
        assert_eq!(hand.alerts(), vec![&differs; times]);
        hand.hear(B, Beat { availability: Busy, ..replica(5) });
    }
}

#[test]
fn a_disk_that_fails_again_is_told_again() {
    let failed = |number| Alert::SaveFailed { epoch: epoch(number) };
    let mut hand = Hand::booted(3, A);
    hand.slow_disk = true;
    hand.hear(B, replica(5));
    for _ in 0..3 {
        hand.fail_saving();
        hand.run(200);
    }
    assert_eq!(hand.alerts(), [&failed(6)]);
    let differs = Alert::MembersDiffer { node: id(B) };
    hand.hear(B, Beat { list: Some(1), ..replica(5) });
    assert_eq!(hand.alerts(), [&failed(6), &differs], "nor when something else is told");
    hand.finish_saving();
    hand.hear(C, primary(9));
    hand.fail_saving();
    assert_eq!(hand.alerts(), [&failed(6), &differs, &failed(9)]);
}

#[test]
fn a_position_that_has_come_is_missed_no_more() {
    let restored = Restored::Ballot(ballot(3, 5, None));
    let mut hand = Hand::with_data(config(3, A), &restored, None);
    hand.run_to(BOOTED + 4_000);
    assert_eq!(hand.alerts(), [&Alert::PositionUnknown]);
    hand.event(Event::Position(offset(0)));
    hand.run(1_000);
    assert_eq!(hand.alerts(), [&Alert::PositionUnknown]);
}
