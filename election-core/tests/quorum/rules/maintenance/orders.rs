//! What an order and a record change, and what they leave as it was.

use super::*;

#[test]
fn the_primary_in_office_may_take_its_voters_to_a_higher_epoch() {
    // It was elected before the pause, and is not part of the record yet.
    let mut hand = Hand::following(3);
    tell(&mut hand, C, Maintenance { primary: Some(B), ..pause(1, B) }, true);
    hand.sent.clear();
    hand.offer(C, 7, offset(0));
    assert_eq!(hand.votes(), [(C, 7)]);
}

#[test]
fn in_a_pause_no_other_is_elected_for_being_followed() {
    // c was followed, and is supported no more.
    let followed = || {
        let mut hand = Hand::following(4);
        let late = hand.stamp(C);
        hand.hear(C, primary(6));
        hand.run(3_000);
        hand.message(C, announcement(6, late));
        hand.run_to(BOOTED + 5_100);
        assert!(hand.quorum.supported().is_none() && hand.quorum.followed().is_some());
        hand.sent.clear();
        hand
    };
    let paused = Maintenance { primary: Some(B), ..pause(1, B) };
    let mut hand = followed();
    tell(&mut hand, B, paused, true);
    hand.offer(C, 7, offset(0));
    assert_eq!(hand.votes(), []);
    let mut hand = followed();
    hand.offer(D, 7, offset(0));
    assert_eq!(hand.votes(), [(D, 7)]);
    tell(&mut hand, B, paused, true);
    hand.offer(D, 8, offset(0));
    assert_eq!(hand.votes(), []);
    // c is supported still, but another has won.
    let mut hand = Hand::following(4);
    hand.slow_disk = true;
    hand.hear(B, primary(8));
    hand.hear(D, primary(9));
    hand.finish_saving();
    hand.slow_disk = false;
    tell(&mut hand, B, paused, true);
    hand.sent.clear();
    hand.offer(C, 10, offset(0));
    assert_eq!((hand.votes(), hand.quorum.promised()), (vec![], epoch(8)));
}

#[test]
fn another_order_of_a_pause_is_told_and_the_same_one_only_once() {
    let told = |by| Alert::FailoverPaused { by: id(by), left: None };
    let mut hand = Hand::following(3);
    tell(&mut hand, C, pause(1, B), true);
    assert_eq!(hand.alerts(), [&told(B)]);
    tell(&mut hand, C, Maintenance { primary: Some(A), ..pause(2, B) }, true);
    assert_eq!(hand.alerts(), [&told(B)], "its primary is another now");
    tell(&mut hand, C, pause(3, C), true);
    assert_eq!(hand.alerts(), [&told(B), &told(C)]);
}

#[test]
fn who_holds_a_proposal_counts_from_when_it_votes() {
    let mut hand = Hand::leading(3);
    let newest = |hand: &mut Hand| hand.next_heartbeat().extension.unwrap().stamp.at.as_nanos();
    let stamp = newest(&mut hand);
    hand.hear(B, echo(6, stamp));
    hand.hear(C, echo(6, stamp));
    hand.disconnect(C);
    hand.event(Event::Pause(None));
    let proposed = known(&hand).proposed.unwrap();
    let holds = Beat { holds: held(&proposed, false), ..echo(6, stamp) };
    for _ in 0..2 {
        hand.hear(B, Beat { availability: Waiting, ..holds });
        hand.run(200);
        assert_eq!(known(&hand).proposed, Some(proposed));
    }
    hand.hear(B, holds);
    assert_eq!((known(&hand).record, known(&hand).proposed), (proposed, None));
}

#[test]
fn every_heartbeat_reminds_who_is_behind() {
    // The first member, too.
    let mut hand = Hand::booted(3, B);
    hand.listen(BOOTED + 1_000, &[(C, primary(6)), (A, echo(6, 0))]);
    tell(&mut hand, C, pause(1, C), true);
    let holds = held(&pause(1, C), true);
    for _ in 0..4 {
        hand.hear(C, Beat { holds, ..primary(6) });
        hand.hear(A, echo(6, 0));
        records(&mut hand);
        hand.run(200);
        assert_eq!(records(&mut hand), [(Audience::One(A), pause(1, C), true)]);
    }
}

#[test]
fn a_pause_that_was_recorded_is_not_recorded_again() {
    let mut hand = restarted(pause(3, B));
    assert_eq!((hand.saved.len(), known(&hand).recorded), (0, 1));
    hand.run(1_000);
    let restored = Restored::Ballot(Ballot { maintenance: pause(3, B), ..ballot(3, 5, None) });
    let mut hand = Hand::new(config(3, A), &restored);
    assert_eq!(records(&mut hand), [], "nobody has been heard");
}

#[test]
fn an_order_that_was_refused_leaves_the_record_as_it_was() {
    let mut hand = Hand::following(3);
    tell(&mut hand, C, pause(1, B), true);
    hand.hear(B, Beat { availability: Busy, holds: held(&pause(1, B), true), ..replica(6) });
    hand.event(Event::Resume);
    assert_eq!(known(&hand).proposed.unwrap().number, 2);
    hand.run(4_000);
    assert_eq!((known(&hand).record, known(&hand).proposed), (pause(1, B), None));
    assert!(known(&hand).is_paused);
}

#[test]
fn a_new_order_keeps_the_last_primary_of_the_pause() {
    let mut hand = restarted(pause(3, B));
    hand.hear(B, Beat { holds: held(&pause(3, B), true), ..replica(5) });
    hand.event(Event::Pause(None));
    assert_eq!(known(&hand).proposed.unwrap().primary, Some(C));
    // But not of one that is over.
    let mut hand = restarted(Maintenance { paused: false, ..pause(3, B) });
    hand.hear(B, replica(5));
    hand.event(Event::Pause(None));
    assert_eq!(known(&hand).proposed.unwrap().primary, None);
}

#[test]
fn a_primary_proposes_nothing_unless_failover_is_paused() {
    let mut hand = Hand::leading(3);
    let resumed = Maintenance { paused: false, primary: None, ..pause(1, B) };
    tell(&mut hand, B, resumed, true);
    hand.hear(C, Beat { holds: held(&resumed, true), ..echo(6, 0) });
    hand.run(400);
    assert_eq!((known(&hand).record, known(&hand).proposed), (resumed, None));
}

/// Somebody names the last number that there is, in the name of a member that is away. If that were
/// believed, no order could ever be given again.
#[test]
fn no_record_takes_the_place_of_all_later_ones() {
    let paused =
        |number| Maintenance { number, issuer: B, paused: true, by: B, ..Default::default() };
    for number in [u32::MAX, 1 << 20, (1 << 16) + 1] {
        for agreed in [true, false] {
            let mut hand = Hand::booted(3, A);
            tell(&mut hand, B, paused(number), agreed);
            assert_eq!(hand.quorum.maintenance(), None);
        }
    }
    let mut hand = Hand::booted(3, A);
    tell(&mut hand, B, paused(1 << 16), true);
    assert_eq!(hand.quorum.maintenance().map(|known| known.record.number), Some(1 << 16));
    // However often somebody does, a member that was away finds back in as long as it took.
    let (begin, mut newest) = (hand.now, 1 << 16);
    while hand.now < begin + 60_000 {
        for step in [1 << 16, (1 << 16) + 1] {
            tell(&mut hand, B, paused(newest + step), true);
            newest = hand.quorum.maintenance().map_or(0, |known| known.record.number);
        }
        hand.run(100);
    }
    assert!((5 << 16..=15 << 16).contains(&newest), "{newest:#x}");
    let mut away = Hand::booted(3, A);
    let begin = away.now;
    while away.quorum.maintenance().is_none() {
        assert!(away.now < begin + 75_000, "it does not find back");
        tell(&mut away, B, paused(newest), true);
        away.run(200);
    }
    assert_eq!(away.quorum.maintenance().map(|known| known.record.number), Some(newest));
}
