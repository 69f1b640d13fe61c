//! How far and how fast the frames of others can lead a node's epochs.
//!
//! Rule: Leaps.

use super::*;

/// The greatest leap at once.
const LEAP: u64 = 1 << 32;
/// In the tests' timing, in milliseconds.
const DOWN_AFTER: u64 = 5_000;

fn jumps(hand: &Hand) -> usize {
    let alerts = hand.alerts();
    alerts.iter().filter(|alert| matches!(alert, Alert::EpochJump { .. })).count()
}

#[test]
fn no_frame_leaps_beyond_all_elections() {
    // In kevy-elect's protocol, one frame with an absurd epoch blocks elections for ever.
    let bound = 5 + LEAP;
    for (number, leaps) in [(bound, false), (bound + 1, true), (u64::MAX, true)] {
        let mut hand = Hand::booted(3, A);
        hand.hear(B, replica(number));
        let alert = Alert::EpochJump { node: id(B), epoch: epoch(number) };
        assert_eq!(hand.alerts(), if leaps { vec![&alert] } else { vec![] });
        assert_eq!(hand.offers(), if leaps { vec![] } else { vec![number + 1] });
    }
    let mut hand = Hand::booted(3, A);
    for _ in 0..3 {
        hand.hear(B, primary(u64::MAX));
        hand.offer(B, u64::MAX, offset(0));
    }
    assert_eq!(hand.alerts().len(), 1, "told once");
    assert_eq!((hand.quorum.followed(), hand.quorum.promised()), (None, epoch(5)));
}

#[test]
fn a_returning_member_follows_any_higher_epoch() {
    // Somebody led the others' epochs away for a minute, in small enough steps.
    let far = 5 + 12 * LEAP;
    for restored in [Restored::Ballot(ballot(3, 5, None)), Restored::Nothing] {
        let mut hand = Hand::new(config(3, A), &restored);
        let away = 60_000;
        let others = [(C, primary(far)), (B, Beat { availability: Busy, ..replica(far) })];
        hand.listen(hand.now + 2 * DOWN_AFTER, &others);
        assert_eq!((hand.quorum.supported(), jumps(&hand)), (None, 2), "{restored:?}");
        hand.listen(hand.now + away, &others);
        assert_eq!(jumps(&hand), 2, "told once of each");
        assert_eq!(hand.quorum.supported(), Some((C, epoch(far))), "{restored:?}");
        // What it knows outlives this life.
        assert_eq!(hand.saved.last().map(|ballot| ballot.promised), Some(epoch(far)));
    }
}

#[test]
fn two_of_three_elect_although_one_was_led_far_away() {
    // Only b was, and c is dead.
    let far = 5 + 3 * LEAP;
    let mut hand = Hand::booted(3, A);
    let begin = hand.now;
    let mut offers = Vec::new();
    while offers.is_empty() && hand.now < begin + 4 * DOWN_AFTER {
        hand.listen(hand.now + 200, &[(B, replica(far))]);
        offers = hand.offers();
    }
    assert_eq!(offers, [far + 1]);
    hand.accept(B, far + 1);
    assert_eq!(hand.leads(), Some(far + 1));
}

#[test]
fn a_node_at_its_ceiling_can_be_elected() {
    let mut hand = Hand::booted(3, A);
    hand.hear(B, replica(5 + LEAP));
    assert_eq!(hand.offers(), [6 + LEAP]);
    hand.accept(B, 6 + LEAP);
    assert_eq!(hand.leads(), Some(6 + LEAP));
    assert_eq!(jumps(&hand), 0);
}

#[test]
fn nobody_leads_a_node_faster_than_others_can_follow() {
    let mut hand = Hand::booted(3, A);
    let begin = hand.now;
    while hand.now < begin + 60_000 {
        // As far as this node lets itself be led by one frame, a little too far, and in many small
        // steps.
        for number in [LEAP, LEAP + 1].into_iter().chain([1_000; 50]) {
            hand.offer(B, hand.quorum.promised().get() + number, offset(9));
        }
        hand.run(100);
    }
    let promised = hand.quorum.promised().get();
    let periods = (hand.now - begin).div_ceil(DOWN_AFTER);
    assert!(promised > 5 + LEAP, "it is led: {promised}");
    assert!(promised <= 5 + (periods + 2) * LEAP, "{} leaps", promised / LEAP);
}

#[test]
fn one_leap_is_allowed_in_each_period_and_none_is_saved_up() {
    let mut hand = Hand::booted(3, A);
    hand.run(1_000_000);
    for _ in 0..20 {
        hand.hear(B, replica(5 + 3 * LEAP));
    }
    assert_eq!(jumps(&hand), 1);
    assert_eq!(hand.offers(), [], "however long nobody has leapt");
    hand.run(DOWN_AFTER - 1);
    hand.hear(B, replica(5 + 2 * LEAP + 1));
    assert_eq!(hand.offers(), []);
    hand.run(1);
    for number in [5 + 2 * LEAP + 1, 5 + 3 * LEAP + 1, 5 + 3 * LEAP] {
        assert_eq!(hand.offers(), []);
        hand.hear(B, replica(number));
    }
    assert_eq!(hand.offers(), [5 + 3 * LEAP + 1]);
}
