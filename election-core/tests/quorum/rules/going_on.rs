//! What a heartbeat of a healthy cluster does to a node that leads or follows.

use super::*;

/// The newest stamp of a node that its peers can echo.
fn newest(hand: &Hand) -> Timestamp {
    let to_all = |(to, message): &(Audience, Message)| match message {
        Message::Heartbeat(heartbeat) if *to == Audience::All => heartbeat.extension,
        _ => None,
    };
    let said = hand.sent.iter().rev().find_map(to_all);
    said.map_or(Timestamp::ZERO, |said| said.stamp.at)
}

/// Node `a` of four, which follows `c`.
fn follower() -> Hand {
    let mut hand = Hand::following(4);
    let busy = Beat { availability: Busy, ..replica(6) };
    hand.listen(BOOTED + 1_000, &[(C, primary(6)), (B, busy), (D, busy)]);
    hand
}

/// The same, but its support will end before it forgets the primary.
fn follower_for_longer_than_support() -> Hand {
    let mut hand = follower();
    hand.run(50); // between two heartbeats of its own
    let late = hand.stamp(C);
    hand.hear(C, primary(6));
    hand.run(2_000);
    hand.message(C, announcement(6, late));
    hand
}

#[test]
fn a_follower_takes_what_a_frame_says_of_its_sender() {
    // A higher epoch that others have named before.
    let mut hand = follower();
    hand.hear(B, Beat { availability: Busy, ..replica(9) });
    hand.hear(C, Beat { token: 6, ..primary(6) });
    hand.hear(C, Beat { token: 6, ..primary(9) });
    assert_eq!(hand.quorum.supported(), Some((C, epoch(9))));
    // A second claim of one epoch.
    let mut hand = follower();
    hand.hear(B, primary(6));
    assert_eq!(hand.alerts().len(), 1);
    // The end of a candidacy that this node has voted for.
    let mut hand = follower();
    hand.hear(C, replica(6));
    hand.offer(B, 7, offset(0));
    hand.hear(B, candidate(7));
    assert_eq!(hand.quorum.supported(), Some((B, epoch(7))));
    hand.hear(B, replica(7));
    assert_eq!(hand.quorum.supported(), None);
    // The end of an office, though this node still supports another member.
    let mut hand = follower();
    hand.slow_disk = true;
    hand.hear(B, primary(8));
    hand.hear(D, primary(9));
    hand.finish_saving();
    assert_eq!(hand.quorum.supported(), Some((C, epoch(6))));
    assert_eq!(hand.quorum.followed().unwrap().0.leader, id(D));
    hand.hear(D, replica(9));
    assert!(hand.quorum.followed().is_none());
}

#[test]
fn a_primarys_frame_postpones_the_earlier_of_two_deadlines() {
    let mut hand = follower_for_longer_than_support();
    let ends = hand.quorum.status(at(hand.now)).supports.unwrap().2;
    hand.run_to(millis(ends) - 10);
    hand.hear(C, primary(6));
    assert_eq!(hand.quorum.supported(), Some((C, epoch(6))));
    assert!(hand.wake_at.unwrap() > ends);
}

#[test]
fn a_primary_with_less_data_completes_a_wiped_node() {
    let lacking = Ballot { floor: offset(10), ..ballot(3, 5, None) };
    let mut hand = Hand::booted_from(config(3, A), lacking, Some(offset(9)));
    hand.listen(BOOTED + 1_000, &[(C, Beat { position: offset(10), ..primary(6) })]);
    assert_eq!(hand.saved.last().unwrap().floor, offset(10));
    hand.hear(C, Beat { position: offset(9), ..primary(6) });
    assert_eq!(hand.saved.last().unwrap().floor, Position::default());
}

#[test]
fn best_effort_ends_as_soon_as_enough_echo() {
    let mut hand = Hand::leading(3);
    let beats = |hand: &mut Hand| {
        hand.run(200);
        newest(hand).as_nanos()
    };
    let stamp = beats(&mut hand);
    hand.hear(B, echo(6, stamp));
    hand.hear(C, echo(6, stamp));
    hand.replace(C);
    hand.run(2_700);
    hand.hear_old(C, 6, Role::Replica, 0);
    assert_eq!(hand.alerts(), [&Alert::BestEffort { begins: true }]);
    let stamp = beats(&mut hand);
    hand.hear(B, echo(6, stamp));
    assert_eq!(hand.alerts().last(), Some(&&Alert::BestEffort { begins: false }));
}

#[test]
fn the_first_member_may_learn_last_who_leads() {
    // The first member does not know of the leadership yet.
    let mut hand = Hand::booted(3, B);
    hand.hear(C, replica(5));
    hand.accept(C, 6);
    for unaware in [A, C, A, A, C] {
        hand.run(200);
        let stamp = newest(&hand).as_nanos();
        for peer in [A, C] {
            hand.hear(peer, echo(6, if peer == unaware { 0 } else { stamp }));
        }
    }
    assert_eq!(hand.leads(), Some(6));
}
