//! When a pause ends by itself.

use super::*;
use core::time::Duration;
use election_core::quorum::{Remainder, UnixMillis};

/// An agreed record of a pause that ends by itself.
fn tell_left(hand: &mut Hand, from: Peer, record: Maintenance, left: Option<Duration>) {
    let (epoch, stamp) = (hand.quorum.promised(), Some(hand.stamp(from)));
    hand.message(from, Message::Maintenance { epoch, record, left, agreed: true, stamp });
}

const NOON: UnixMillis = UnixMillis(1_700_000_000_000);
const HOUR: Duration = Duration::from_secs(3_600);
const YEAR: u64 = 365 * 24 * 3_600_000;

/// The wall clock, so many milliseconds after noon.
fn after_noon(millis: u64) -> Event {
    Event::WallClock(UnixMillis(NOON.0 + millis))
}

/// Node `a` of three, which had this pause in its ballot at noon, with an hour left of it.
fn restarted_in_a_pause() -> Hand {
    restarted_with(HOUR)
}

fn restarted_with(left: Duration) -> Hand {
    let pause = Some(Remainder { left, at: Some(NOON) });
    let ballot = Ballot { maintenance: super::pause(3, B), pause, ..ballot(3, 5, None) };
    Hand::new(config(3, A), &Restored::Ballot(ballot))
}

#[test]
fn a_pause_for_a_while_ends_by_itself() {
    let mut hand = Hand::leading(3);
    hand.event(Event::Pause(Some(HOUR)));
    let proposed = known(&hand).proposed.unwrap();
    let holding = |agreed| Beat { holds: held(&proposed, agreed), ..echo(6, 0) };
    hand.hear(B, holding(false));
    let ends = hand.now + 3_600_000;
    assert_eq!(known(&hand).ends, Some(at(ends)));
    assert_eq!(hand.alerts(), [&Alert::FailoverPaused { by: id(A), left: Some(HOUR) }]);
    hand.listen(ends - 1, &[(B, holding(true)), (C, holding(true))]);
    assert!(known(&hand).is_paused);
    hand.listen(ends + 1, &[(B, holding(true)), (C, holding(true))]);
    assert!(!known(&hand).is_paused);
    assert_eq!(hand.alerts().last(), Some(&&Alert::FailoverResumed));
}

#[test]
fn a_frame_says_how_much_of_a_pause_is_left() {
    let mut hand = Hand::leading(3);
    hand.sent.clear();
    hand.event(Event::Pause(Some(HOUR)));
    hand.hear(B, Beat { holds: held(&known(&hand).proposed.unwrap(), false), ..echo(6, 0) });
    hand.run(10_000);
    let said = hand.sent.iter().filter_map(|(_, message)| match message {
        Message::Maintenance { left, stamp, .. } => {
            Some((left.unwrap(), u128::from(stamp.unwrap().at.as_nanos() / 1_000_000)))
        }
        _ => None,
    });
    let ends: Vec<_> = said.map(|(left, sent)| sent + left.as_millis()).collect();
    assert!(ends.len() > 3 && ends.iter().all(|end| *end == ends[0]), "{ends:?}");
}

/// The hosts' wall clocks may differ by anything.
#[test]
fn a_pause_is_counted_by_the_clock_of_the_node_itself() {
    for wall in [None, Some(0), Some(YEAR)] {
        let mut hand = Hand::booted(3, A);
        wall.map(|wall| hand.event(after_noon(wall)));
        hand.hear(B, replica(5));
        let record = Maintenance { since: Some(UnixMillis(NOON.0 + YEAR / 2)), ..pause(1, B) };
        tell_left(&mut hand, B, record, Some(HOUR));
        let ends = at(hand.now + 3_600_000);
        assert_eq!((known(&hand).ends, known(&hand).is_paused), (Some(ends), true));
        // Nor does it matter that somebody sets it.
        hand.event(after_noon(3 * YEAR));
        assert_eq!((known(&hand).ends, known(&hand).is_paused), (Some(ends), true));
    }
}

#[test]
fn what_passes_while_a_node_is_down_is_taken_off_a_pause() {
    let mut hand = restarted_in_a_pause();
    hand.input(Input::Tick);
    assert_eq!(hand.alerts(), [] as [&Alert; 0], "it does not know how much is left");
    hand.event(after_noon(3_000_000));
    let left = Some(Duration::from_secs(600));
    assert_eq!(hand.alerts(), [&Alert::FailoverPaused { by: id(B), left }]);
    hand.run_to(BOOTED);
    let ends = 1_000 + 600_000;
    assert_eq!(known(&hand).ends, Some(at(ends)));
    hand.run_to(ends - 1);
    assert!(known(&hand).is_paused);
    hand.run_to(ends + 1);
    assert!(!known(&hand).is_paused);
    hand.hear(B, replica(5));
    assert_eq!(hand.offers(), [6]);
    // A node that restarts after the end is never paused.
    let mut hand = restarted_in_a_pause();
    hand.event(after_noon(3_600_000));
    assert!(!known(&hand).is_paused);
}

#[test]
fn a_restart_makes_no_pause_longer() {
    for wall in [None, Some(UnixMillis(0)), Some(UnixMillis(NOON.0 - 1))] {
        let mut hand = restarted_in_a_pause();
        hand.run_to(1_000);
        wall.map(|wall| hand.event(Event::WallClock(wall)));
        assert_eq!(known(&hand).ends, Some(at(1_000 + 3_600_000)), "{wall:?}");
    }
}

/// Wall clocks count milliseconds, and what is left of a pause is more exact.
#[test]
fn the_end_of_a_pause_does_not_move_when_it_comes() {
    let mut hand = restarted_with(HOUR + Duration::from_nanos(300));
    hand.event(after_noon(60_000));
    let ends = known(&hand).ends.unwrap();
    assert_eq!(ends, at(hand.now + 3_540_000) + Duration::from_nanos(300));
    while hand.quorum.step(ends, Input::Tick).wake_at.is_some_and(|wake_at| wake_at <= ends) {}
    assert!(!known(&hand).is_paused);
}

#[test]
fn the_wall_clock_may_be_set_after_a_restart() {
    let mut hand = restarted_in_a_pause();
    hand.event(after_noon(YEAR));
    assert!(!known(&hand).is_paused);
    // It was wrong before. A ballot that is saved meanwhile does not believe it either.
    let saved = hand.saved.len();
    hand.run_to(BOOTED);
    hand.listen(hand.now + 4_000, &[(B, primary(6))]);
    assert!(hand.saved.len() > saved);
    let pause = hand.saved.last().unwrap().pause;
    assert_eq!(pause, Some(Remainder { left: HOUR, at: Some(NOON) }));
    hand.event(after_noon(3_540_000));
    assert!(known(&hand).is_paused);
    hand.run(60_001);
    assert!(!known(&hand).is_paused);
}

#[test]
fn a_ballot_keeps_what_is_left_of_a_pause() {
    let mut hand = Hand::booted(3, A);
    hand.event(after_noon(0));
    hand.hear(B, replica(5));
    tell_left(&mut hand, B, pause(1, B), Some(HOUR));
    assert_eq!(hand.saved.last().unwrap().pause, Some(Remainder { left: HOUR, at: Some(NOON) }));
    hand.run(60_000);
    let saved = hand.saved.len();
    hand.listen(hand.now + 4_000, &[(C, primary(7))]);
    assert!(hand.saved.len() > saved);
    let Remainder { left, at } = hand.saved.last().unwrap().pause.unwrap();
    assert!(left <= HOUR - Duration::from_secs(60));
    assert_eq!(u128::from(at.unwrap().0) + left.as_millis(), u128::from(NOON.0 + 3_600_000));
    // Nothing is left of one that was resumed.
    let resumed = Maintenance { paused: false, primary: None, ..pause(2, B) };
    tell(&mut hand, B, resumed, true);
    assert_eq!((hand.saved.last().unwrap().pause, known(&hand).ends), (None, None));
}

#[test]
fn a_pause_ends_when_it_would_have_whoever_becomes_its_primary() {
    let mut hand = Hand::following(3);
    tell_left(&mut hand, C, pause(1, A), Some(HOUR));
    let ends = known(&hand).ends;
    assert_eq!(ends, Some(at(hand.now + 3_600_000)));
    hand.run(300);
    hand.hear(C, Beat { nominee: Some(A), ..primary(6) });
    hand.hear(B, replica(6));
    hand.hear(C, Beat { nominee: Some(A), ..replica(6) });
    hand.sent.clear();
    hand.accept(B, 7);
    let proposed = known(&hand).proposed.unwrap();
    assert_eq!(proposed.primary, Some(A));
    let said = hand.sent.iter().find_map(|(_, message)| match message {
        Message::Maintenance { left, .. } => Some(*left),
        _ => None,
    });
    assert_eq!(said, Some(Some(ends.unwrap().since(at(hand.now)))));
    hand.hear(B, Beat { holds: held(&proposed, false), ..echo(7, 0) });
    assert_eq!((known(&hand).record, known(&hand).ends), (proposed, ends));
}

#[test]
fn a_newer_record_ends_what_the_ballot_said_of_the_old_one() {
    for left in [None, Some(2 * HOUR)] {
        let mut hand = restarted_in_a_pause();
        hand.event(after_noon(0));
        hand.run_to(BOOTED);
        hand.hear(B, replica(5));
        tell_left(&mut hand, B, pause(4, B), left);
        let ends = left.map(|left| at(hand.now) + left);
        assert_eq!(hand.saved.last().unwrap().pause.map(|rest| rest.left), left);
        hand.event(after_noon(YEAR));
        assert_eq!((known(&hand).ends, known(&hand).is_paused), (ends, true));
    }
}

#[test]
fn the_end_of_a_pause_ends_no_order_that_waits() {
    let mut hand = Hand::following(3);
    tell_left(&mut hand, C, pause(1, B), Some(Duration::from_secs(1)));
    hand.hear(B, Beat { availability: Busy, holds: held(&pause(1, B), true), ..replica(6) });
    hand.run(500);
    hand.event(Event::Pause(None));
    assert_eq!(known(&hand).proposed.unwrap().number, 2);
    hand.run(600);
    assert!(!known(&hand).is_paused);
    assert_eq!(known(&hand).proposed.unwrap().number, 2, "it has three seconds");
}

#[test]
fn the_rest_of_a_pause_is_known_without_its_start() {
    let pause = Some(Remainder { left: HOUR, at: None });
    let ballot = Ballot { maintenance: super::pause(3, B), pause, ..ballot(3, 5, None) };
    let hand = Hand::new(config(3, A), &Restored::Ballot(ballot));
    assert_eq!(hand.alerts(), [&Alert::FailoverPaused { by: id(B), left: Some(HOUR) }]);
}

#[test]
fn what_pauses_nothing_does_not_end() {
    let mut hand = Hand::booted(3, A);
    hand.hear(B, replica(5));
    tell_left(&mut hand, B, Maintenance { paused: false, ..pause(1, B) }, Some(HOUR));
    assert_eq!((known(&hand).ends, known(&hand).is_paused), (None, false));
}

#[test]
fn an_order_says_when_it_was_given_to_the_millisecond() {
    let mut hand = Hand::booted(3, A);
    hand.event(after_noon(0));
    hand.run(10_000_000);
    hand.hear(B, replica(5));
    hand.event(Event::Pause(None));
    let since = known(&hand).proposed.unwrap().since;
    assert_eq!(since, Some(UnixMillis(NOON.0 + 10_000_000)));
}
