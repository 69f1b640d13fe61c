//! To whom a frame goes, and when no frame may go at all.

use super::*;

#[test]
fn what_everybody_may_see_goes_to_all_in_one_frame() {
    // Every peer can tell histories apart, and may see the offset of data that have perhaps forked.
    let mut hand = Hand::booted(3, A);
    hand.event(Event::Position(Position { history: 3, offset: 500 }));
    hand.hear(C, Beat { availability: Busy, ..replica(5) });
    hand.sent.clear();
    hand.hear(B, replica(5));
    let offers = hand.sent.iter().filter_map(|(to, message)| match message {
        Message::Offer { position, .. } => Some((*to, position.offset)),
        _ => None,
    });
    assert_eq!(offers.collect::<Vec<_>>(), [(Audience::All, 500)]);
    hand.sent.clear();
    hand.run(200);
    let beats = hand.heartbeats();
    assert!(
        matches!(beats[..], [(Audience::All, beat)] if beat.position.offset == 500),
        "{beats:?}"
    );
}

#[test]
fn a_heartbeat_to_all_answers_everybody() {
    let mut hand = Hand::booted(3, A);
    hand.event(Event::Health(false)); // so that it does not campaign
    hand.hear(B, replica(5));
    hand.run(400);
    hand.sent.clear();
    hand.now = hand.wake_at.unwrap().as_nanos().div_ceil(1_000_000);
    hand.offer(B, 4, offset(0)); // below its promise
    assert!(matches!(hand.heartbeats()[..], [(Audience::All, _)]), "nothing more to b");
}

#[test]
fn who_is_alone_and_leaves_has_nobody_to_tell() {
    let mut hand = Hand::new(config(1, A), &Restored::Ballot(ballot(1, 5, None)));
    hand.slow_disk = true;
    hand.run_to(BOOTED);
    assert!(hand.saving.is_some(), "its vote for itself");
    hand.input(Input::Withdraw);
    assert!(hand.quorum.is_finished());
}
