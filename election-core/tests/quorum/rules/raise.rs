//! A leader raises its epoch, to take in a peer that has promised a higher one.
//!
//! Rule: Bumps.
//! Rule: A lost past.

use super::*;

/// The node `a` of `count`, which leads in epoch 6 and has just offered itself for epoch 10, because
/// the last of its peers is bound to epoch 9.
fn raising(count: u8) -> Hand {
    let mut hand = Hand::leading(count);
    hand.run(1_000);
    hand.sent.clear();
    hand.hear(Peer::new(count - 1), replica(9));
    assert_eq!((hand.leads(), hand.quorum.promised()), (Some(6), epoch(10)));
    hand
}

/// The stamp of the newest frame of a kind, as its receivers echo it.
fn newest(hand: &Hand, is_wanted: fn(&Message) -> bool) -> u64 {
    let mut wanted = hand.sent.iter().map(|(_, message)| message).filter(|said| is_wanted(said));
    wanted.next_back().and_then(Message::stamp).expect("such a frame").at.as_nanos()
}

fn announced(hand: &Hand) -> Vec<Audience> {
    let announced =
        |(_, message): &&(Audience, Message)| matches!(message, Message::Announce { .. });
    hand.sent.iter().filter(announced).map(|(to, _)| *to).collect()
}

#[test]
fn what_was_vouched_for_before_still_counts_afterwards() {
    // N = 5: two echoes make a majority with this node.
    let mut hand = raising(5);
    let is_heartbeat = |said: &Message| matches!(said, Message::Heartbeat(_));
    hand.run(400);
    let (before, sent) = (hand.now, newest(&hand, is_heartbeat));
    hand.hear(C, echo(6, sent));
    hand.accept(B, 10);
    hand.accept(D, 10);
    hand.run(400);
    let sent = newest(&hand, is_heartbeat);
    hand.hear(E, echo(10, sent));
    assert_eq!((hand.leads(), hand.trusts().1), (Some(6), before + WINDOW));
}

#[test]
fn the_new_epoch_is_announced_until_that_is_echoed() {
    let mut hand = Hand::leading(3);
    let announcement = newest(&hand, |said| matches!(said, Message::Announce { .. }));
    hand.hear_all(&[B, C], echo(6, announcement));
    hand.sent.clear();
    hand.run(1_000);
    assert_eq!(announced(&hand), [], "everybody knows");
    hand.hear(C, replica(9));
    let offer = newest(&hand, |said| matches!(said, Message::Offer { .. }));
    hand.accept(C, 10);
    assert_eq!(announced(&hand), [Audience::All]);
    // A voter that echoes the offer has not seen the announcement.
    hand.hear(B, echo(10, offer));
    hand.sent.clear();
    hand.run(200);
    assert_eq!(announced(&hand), [Audience::All]);
    let announcement = newest(&hand, |said| matches!(said, Message::Announce { .. }));
    hand.hear(B, echo(10, announcement));
    hand.sent.clear();
    hand.run(200);
    assert_eq!(announced(&hand), [Audience::One(C)]);
}

#[test]
fn who_gives_a_raise_up_does_not_back_off() {
    let mut hand = raising(3);
    hand.event(Event::Health(false));
    hand.input(Input::Stopped(epoch(6)));
    hand.sent.clear();
    hand.event(Event::Health(true));
    assert_eq!(hand.offers(), [11], "it stands again at once");
}

#[test]
fn no_node_wins_an_epoch_below_the_least() {
    let least = Config::MAX_MIN_EPOCH;
    let config = || config(3, A).min_epoch(least);
    assert_eq!(config().build().unwrap().min_epoch(), least);
    // At a first start, which goes on as quickly as ever.
    let mut hand = Hand::new(config(), &Restored::Nothing);
    assert_eq!(hand.next_heartbeat().epoch, Epoch::NONE);
    hand.listen(2_000, &[(B, replica(0)), (C, replica(0))]);
    assert_eq!(hand.offers(), [least.get()]);
    // With a ballot of before; the epoch of a primary that leads is not too low.
    let mut hand = Hand::new(config(), &Restored::Ballot(ballot(3, 5, None)));
    hand.listen(BOOTED, &[(B, primary(6)), (C, replica(6))]);
    assert_eq!(hand.quorum.promised(), epoch(6));
    hand.disconnect(B);
    hand.listen(BOOTED + 6_000, &[(C, replica(6))]);
    assert_eq!(hand.offers(), [least.get()]);
    // So high a number is believed of the others, who were told the same.
    let mut hand = Hand::new(config(), &Restored::Ballot(ballot(3, 5, None)));
    hand.run_to(BOOTED);
    hand.offer(C, least.get(), offset(0));
    assert_eq!(hand.votes(), [(C, least.get())]);
    assert_eq!(hand.alerts(), [] as [&Alert; 0]);
}
