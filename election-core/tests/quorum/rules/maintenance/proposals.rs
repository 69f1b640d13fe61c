//! Who takes an order, how long it waits for them, and what overtakes it.

use super::*;
use core::time::Duration;

/// A heartbeat of `from`, which was given another list of members.
fn other_list(hand: &mut Hand, from: Peer) {
    hand.hear(from, Beat { list: Some(1), ..replica(5) });
}

#[test]
fn an_order_counts_on_nobody_who_would_not_take_it() {
    type Peers = fn(&mut Hand);
    let table: [(&str, Peers); 3] = [
        ("b does not hear this node", |hand| {
            hand.hear(B, Beat { hears: false, ..replica(5) });
        }),
        ("b's connection has ended", |hand| {
            hand.hear(B, Beat { availability: Busy, ..replica(5) });
            hand.disconnect(B);
        }),
        ("b has another list of members", |hand| other_list(hand, B)),
    ];
    for (why, peers) in table {
        let mut hand = Hand::booted(3, A);
        peers(&mut hand);
        hand.event(Event::Pause(None));
        let refused = Alert::MaintenanceRefused { heard: 1, needed: 2 };
        assert_eq!(hand.alerts().last(), Some(&&refused), "{why}");
        assert_eq!(hand.quorum.maintenance(), None, "{why}");
    }
}

#[test]
fn who_must_not_vote_takes_no_order() {
    let mut hand = Hand::new(config(3, A), &Restored::Unusable);
    hand.run_to(BOOTED);
    hand.hear(B, replica(5));
    hand.hear(C, replica(5));
    hand.event(Event::Pause(None));
    let last = hand.alerts().last().copied().cloned();
    assert!(matches!(last, Some(Alert::MaintenanceRefused { .. })), "{last:?}");
    assert_eq!(hand.quorum.maintenance(), None);
}

#[test]
fn an_order_that_a_newer_record_overtakes_is_refused() {
    let mut hand = Hand::leading(5);
    hand.event(Event::Pause(None));
    tell(&mut hand, B, pause(2, B), true);
    assert_eq!(known(&hand).record, pause(2, B));
    let refused = Alert::MaintenanceRefused { heard: 1, needed: 3 };
    let paused = Alert::FailoverPaused { by: id(B), left: None };
    assert_eq!(hand.alerts(), [&refused, &paused]);
    hand.run(1);
    // This node leads, and makes itself the pause's primary.
    let proposed = known(&hand).proposed.unwrap();
    assert_eq!((proposed.number, proposed.by, proposed.primary), (3, B, Some(A)));
}

#[test]
fn an_order_outlasts_a_record_that_is_older() {
    let mut hand = Hand::booted(3, A);
    hand.hear(B, Beat { availability: Busy, ..replica(5) });
    tell(&mut hand, B, pause(1, B), false);
    hand.event(Event::Pause(None));
    let own = known(&hand).proposed.unwrap();
    assert_eq!((own.number, own.issuer), (2, A));
    tell(&mut hand, B, pause(1, B), true);
    assert_eq!((known(&hand).record, known(&hand).proposed), (pause(1, B), Some(own)));
    assert_eq!(hand.alerts(), [&Alert::FailoverPaused { by: id(B), left: None }]);
}

#[test]
fn what_is_agreed_is_told_at_once() {
    // However long it takes to record it here.
    for slow_disk in [false, true] {
        let mut hand = Hand::leading(3);
        hand.hear(C, echo(6, 0));
        hand.event(Event::Pause(None));
        let record = known(&hand).proposed.unwrap();
        hand.run(50);
        hand.sent.clear();
        hand.slow_disk = slow_disk;
        hand.hear(B, Beat { holds: held(&record, false), ..echo(6, 0) });
        let told = [B, C].map(|peer| (Audience::One(peer), record, true));
        assert_eq!(records(&mut hand), told);
    }
}

#[test]
fn records_of_strangers_and_other_lists_mean_nothing() {
    let mut hand = Hand::booted(3, A);
    hand.hear(C, replica(5));
    for strange in [Maintenance { issuer: E, ..pause(1, B) }, Maintenance { by: E, ..pause(1, B) }]
    {
        tell(&mut hand, C, strange, true);
        assert_eq!(hand.quorum.maintenance(), None, "{strange:?}");
    }
    other_list(&mut hand, B);
    tell(&mut hand, B, pause(1, B), true);
    assert_eq!(hand.quorum.maintenance(), None);
}

/// Other nodes that start for the first time, too, would see a member that has been in an election.
#[test]
fn a_pause_recorded_at_first_start_is_free_before_any_vote() {
    let mut hand = Hand::new(config(3, A), &Restored::Nothing);
    hand.hear(B, replica(0));
    tell(&mut hand, B, Maintenance { primary: Some(A), ..pause(1, B) }, true);
    hand.sent.clear();
    for _ in 0..3 {
        hand.hear(B, replica(0));
        hand.hear(C, replica(0));
    }
    assert!(hand.quorum.role() == Role::Candidate, "{:?}", hand.quorum);
    let free = hand
        .heartbeats()
        .into_iter()
        .find(|(_, beat)| beat.extension.is_some_and(|said| said.availability == Free));
    assert_eq!(free.map(|(to, beat)| (to, beat.epoch)), Some((Audience::All, epoch(0))));
}

#[test]
fn a_proposal_that_is_repeated_waits_no_longer() {
    let mut hand = Hand::booted(3, A);
    hand.hear(B, Beat { availability: Busy, ..replica(5) });
    let first = hand.now;
    for _ in 0..14 {
        tell(&mut hand, B, pause(1, B), false);
        hand.run(200);
    }
    tell(&mut hand, B, pause(1, B), false);
    hand.run_to(first + 2_999);
    assert_eq!(known(&hand).proposed, Some(pause(1, B)));
    hand.run_to(first + 3_000);
    assert_eq!(hand.quorum.maintenance(), None);
}

#[test]
fn an_agreed_record_that_is_repeated_moves_no_end() {
    let mut hand = Hand::booted(3, A);
    hand.hear(B, Beat { availability: Busy, ..replica(5) });
    let left = Some(Duration::from_secs(600));
    let (epoch, record) = (hand.quorum.promised(), pause(1, B));
    for _ in 0..3 {
        let stamp = Some(hand.stamp(B));
        hand.message(B, Message::Maintenance { epoch, record, left, agreed: true, stamp });
        assert_eq!(known(&hand).ends, Some(at(BOOTED + 600_000)));
        hand.run(1_000);
    }
}

#[test]
fn nobody_gets_a_record_who_could_not_read_it_or_is_gone() {
    let restored = Ballot { maintenance: pause(3, B), ..ballot(5, 5, None) };
    let mut hand = Hand::booted_from(config(5, A), restored, Some(offset(0)));
    hand.hear(B, replica(5));
    hand.hear_old(C, 5, Role::Replica, 0);
    other_list(&mut hand, D);
    hand.hear(E, replica(5));
    hand.disconnect(E);
    hand.sent.clear();
    hand.run(400);
    let told = records(&mut hand);
    assert!(!told.is_empty() && told.iter().all(|(to, ..)| *to == Audience::One(B)), "{told:?}");
}

#[test]
fn who_holds_a_proposal_does_not_get_it_again() {
    let mut hand = Hand::leading(5);
    hand.event(Event::Pause(None));
    let proposed = known(&hand).proposed.unwrap();
    hand.hear(B, Beat { holds: held(&proposed, false), ..echo(6, 0) });
    hand.sent.clear();
    hand.run(200);
    let others = [C, D, E].map(|peer| (Audience::One(peer), proposed, false));
    assert_eq!(records(&mut hand), others);
}

#[test]
fn who_cannot_record_gets_an_agreed_record_once() {
    let mut hand = restarted(pause(3, B));
    let unable = Beat { availability: Ineligible, ..replica(5) };
    hand.hear(C, unable);
    hand.run(200);
    assert_eq!(records(&mut hand), [(Audience::One(C), pause(3, B), true)]);
    hand.hear(C, Beat { holds: held(&pause(3, B), false), ..unable });
    hand.run(1_000);
    assert_eq!(records(&mut hand), []);
}
