//! Automatic failover, paused and resumed for the whole cluster.
//!
//! Rule: Pauses.

mod ends;
mod orders;
mod proposals;

use super::*;
use election_core::quorum::{Ballot, Held, Hindrance, Maintenance, MaintenanceStatus, UnixMillis};

/// A pause that the member `by` was ordered, while `c` led.
fn pause(number: u32, by: Peer) -> Maintenance {
    Maintenance { number, issuer: by, paused: true, by, primary: Some(C), ..Maintenance::default() }
}

fn held(record: &Maintenance, agreed: bool) -> Held {
    let issuer = record.issuer.index() as u64;
    Held::new(u64::from(record.number) << 7 | issuer << 1 | u64::from(agreed))
}

fn known(hand: &Hand) -> MaintenanceStatus {
    hand.quorum.maintenance().expect("a record")
}

/// The records sent since the last look, and whether they were agreed.
fn records(hand: &mut Hand) -> Vec<(Audience, Maintenance, bool)> {
    let sent = core::mem::take(&mut hand.sent).into_iter();
    sent.filter_map(|(to, message)| match message {
        Message::Maintenance { record, agreed, .. } => Some((to, record, agreed)),
        _ => None,
    })
    .collect()
}

fn tell(hand: &mut Hand, from: Peer, record: Maintenance, agreed: bool) -> Option<Change> {
    let (epoch, stamp) = (hand.quorum.promised(), Some(hand.stamp(from)));
    hand.message(from, Message::Maintenance { epoch, record, left: None, agreed, stamp })
}

/// Node `a` of three, past its boot grace, which has this record in its ballot.
fn restarted(record: Maintenance) -> Hand {
    let ballot = Ballot { maintenance: record, ..ballot(3, 5, None) };
    Hand::booted_from(config(3, A), ballot, Some(offset(0)))
}

fn hindrance(hand: &Hand) -> Option<Hindrance> {
    hand.quorum.status(at(hand.now)).hindrance
}

#[test]
fn a_node_alone_pauses_nothing() {
    let mut hand = Hand::booted(3, A);
    let refused = Alert::MaintenanceRefused { heard: 1, needed: 2 };
    assert_eq!(hand.event(Event::Pause(None)), Some(Change::Alert(refused)));
    assert_eq!(hand.quorum.maintenance(), None);
    // Nor with peers that cannot record it: one of kevy-elect, and one that cannot read its ballot.
    let mut hand = Hand::booted(3, A);
    hand.hear(B, Beat { availability: Ineligible, ..replica(5) });
    hand.hear_old(C, 5, Role::Replica, 0);
    hand.event(Event::Pause(None));
    assert_eq!(hand.alerts().last(), Some(&&Alert::MaintenanceRefused { heard: 1, needed: 2 }));
    hand.run(1_000);
    assert_eq!(records(&mut hand), [], "kevy-elect's peers would drop the connection");
}

#[test]
fn a_majority_that_holds_a_proposal_makes_it_agreed() {
    let mut hand = Hand::leading(3);
    hand.sent.clear();
    hand.event(Event::Pause(None));
    let proposed = known(&hand).proposed.unwrap();
    assert_eq!((proposed.number, proposed.primary, proposed.by), (1, Some(A), A));
    assert_eq!(
        records(&mut hand),
        [(Audience::One(B), proposed, false), (Audience::One(C), proposed, false)]
    );
    assert!(!known(&hand).is_paused && hand.saved.len() == 1, "nobody acts on a proposal");
    hand.hear(B, Beat { holds: held(&proposed, false), ..echo(6, 0) });
    assert_eq!((known(&hand).record, known(&hand).proposed), (proposed, None));
    assert_eq!(hand.saved.last().unwrap().maintenance, proposed);
    assert_eq!((known(&hand).is_paused, known(&hand).recorded), (true, 1));
    assert_eq!(hand.alerts(), [&Alert::FailoverPaused { by: id(A), left: None }]);
    assert_eq!(hand.next_heartbeat().extension.unwrap().holds, held(&proposed, true));
    assert!(records(&mut hand).is_empty(), "looked at");
    hand.hear(B, Beat { holds: held(&proposed, false), ..echo(6, 0) });
    hand.run(200);
    assert_eq!(records(&mut hand)[0], (Audience::One(B), proposed, true), "until it is recorded");
    hand.hear(B, Beat { holds: held(&proposed, true), ..echo(6, 0) });
    assert_eq!(known(&hand).recorded, 2);
}

#[test]
fn a_proposal_that_a_minority_holds_is_refused_and_forgotten() {
    let mut hand = Hand::leading(5);
    hand.event(Event::Pause(None));
    let proposed = known(&hand).proposed.unwrap();
    for _ in 0..14 {
        hand.hear(B, Beat { holds: held(&proposed, false), ..echo(6, 0) });
        hand.run(200);
    }
    assert_eq!(hand.alerts(), [] as [&Alert; 0]);
    hand.hear(B, Beat { holds: held(&proposed, false), ..echo(6, 0) });
    hand.run(400);
    assert_eq!(hand.alerts(), [&Alert::MaintenanceRefused { heard: 2, needed: 3 }]);
    assert_eq!(hand.quorum.maintenance(), None);
    hand.hear(C, Beat { holds: held(&proposed, false), ..echo(6, 0) });
    assert_eq!(hand.quorum.maintenance(), None, "too late");
}

#[test]
fn only_the_proposer_decides_and_only_it_passes_its_proposal_on() {
    let mut hand = Hand::booted(3, A);
    hand.hear(B, replica(5));
    hand.hear(C, Beat { availability: Leaving, ..replica(5) });
    let record = pause(1, B);
    tell(&mut hand, B, record, false);
    assert_eq!(known(&hand).proposed, Some(record));
    assert_eq!(hand.next_heartbeat().extension.unwrap().holds, held(&record, false));
    hand.hear(B, Beat { holds: held(&record, false), ..replica(6) });
    hand.hear(C, Beat { availability: Leaving, ..replica(5) });
    hand.run(400);
    assert_eq!(records(&mut hand), []);
    assert!(!known(&hand).is_paused);
    hand.run(3_000);
    assert_eq!(hand.quorum.maintenance(), None, "its proposer is gone");
    assert_eq!(hand.alerts(), [] as [&Alert; 0], "nobody gave this node an order");
}

#[test]
fn the_higher_member_wins_between_equal_proposals() {
    let mut hand = Hand::leading(3);
    hand.event(Event::Pause(None));
    let own = known(&hand).proposed.unwrap();
    tell(&mut hand, B, pause(1, B), false);
    assert_eq!(known(&hand).proposed, Some(pause(1, B)));
    assert_eq!(hand.alerts(), [&Alert::MaintenanceRefused { heard: 1, needed: 2 }]);
    tell(&mut hand, C, Maintenance { issuer: A, by: A, ..own }, false);
    assert_eq!(known(&hand).proposed, Some(pause(1, B)));
    // The next order has a greater number.
    hand.event(Event::Pause(None));
    assert_eq!(known(&hand).proposed.unwrap().number, 2);
}

#[test]
fn while_it_is_paused_nobody_follows_a_silent_primary() {
    let mut hand = Hand::following(3);
    tell(&mut hand, C, pause(1, B), true);
    hand.disconnect(C);
    hand.listen(hand.now + 20_000, &[(B, replica(6))]);
    assert_eq!(hand.offers(), []);
    assert_eq!(hindrance(&hand), Some(Hindrance::Paused { by: B }));
    hand.offer(B, 7, offset(0));
    assert_eq!(hand.votes(), [], "nor does it vote for who does not know of the pause");
    hand.restart(C);
    hand.hear(C, replica(6));
    hand.sent.clear();
    hand.offer(C, 8, offset(0));
    assert_eq!(hand.votes(), [(C, 8)], "the last primary may come back");
}

#[test]
fn who_was_the_last_primary_leads_again_after_a_restart_of_all() {
    let mut hand = restarted(Maintenance { primary: Some(A), ..pause(3, B) });
    assert_eq!(hand.alerts(), [&Alert::FailoverPaused { by: id(B), left: None }]);
    hand.hear(B, replica(5));
    hand.accept(B, 6);
    assert_eq!(hand.leads(), Some(6));
    let mut hand = restarted(pause(3, B));
    hand.hear(B, replica(5));
    hand.run(9_000);
    assert_eq!(hand.offers(), [], "another was");
}

#[test]
fn a_planned_handover_makes_the_successor_the_last_primary() {
    let mut hand = Hand::following(3);
    tell(&mut hand, C, pause(1, B), true);
    hand.hear(C, Beat { nominee: Some(A), ..primary(6) });
    hand.hear(B, replica(6));
    hand.hear(C, Beat { nominee: Some(A), ..replica(6) });
    assert_eq!(hand.offers(), [7]);
    hand.accept(B, 7);
    assert_eq!(hand.leads(), Some(7));
    let record = known(&hand).proposed.unwrap();
    assert_eq!((record.number, record.by, record.primary), (2, B, Some(A)), "the order is b's");
    hand.hear(B, Beat { holds: held(&record, false), ..echo(7, 0) });
    assert_eq!(known(&hand).record, record);
    // A voter, too, knows that the primary made room on purpose.
    let mut hand = Hand::following(3);
    tell(&mut hand, C, pause(1, B), true);
    hand.hear(B, replica(6));
    hand.hear(C, Beat { nominee: Some(B), ..primary(6) });
    hand.hear(C, Beat { nominee: Some(B), ..replica(6) });
    hand.sent.clear();
    hand.offer(B, 7, offset(0));
    assert_eq!(hand.votes(), [(B, 7)]);
}

#[test]
fn a_leader_keeps_its_own_rules_of_trust() {
    let mut hand = Hand::leading(3);
    tell(&mut hand, B, Maintenance { primary: Some(A), ..pause(1, B) }, true);
    hand.run_to(BOOTED + WINDOW + 1);
    assert_eq!(hand.leads(), None, "it has lost its majority");
}

#[test]
fn a_node_that_was_away_is_told_and_records_it() {
    let mut hand = Hand::booted(3, A);
    hand.hear(B, Beat { holds: held(&pause(4, B), true), ..replica(5) });
    tell(&mut hand, B, pause(4, B), true);
    assert_eq!(hand.saved.last().unwrap().maintenance, pause(4, B));
    tell(&mut hand, B, pause(3, C), true);
    assert_eq!(known(&hand).record, pause(4, B), "an older record is late");
    // It passes on what it has.
    hand.sent.clear();
    hand.hear(C, replica(5));
    hand.run(400);
    assert_eq!(records(&mut hand)[0], (Audience::One(C), pause(4, B), true));
    hand.hear(C, Beat { holds: held(&pause(4, B), true), ..replica(5) });
    hand.run(400);
    assert_eq!(records(&mut hand), []);
}

#[test]
fn what_is_stated_as_recorded_is() {
    let mut hand = Hand::booted(3, A);
    hand.hear(B, replica(5));
    hand.slow_disk = true;
    tell(&mut hand, B, pause(1, B), true);
    let stated = |hand: &mut Hand| hand.next_heartbeat().extension.unwrap().holds;
    hand.hear(C, replica(5));
    assert_eq!(stated(&mut hand), held(&pause(1, B), false));
    assert_eq!(known(&hand).recorded, 0);
    hand.fail_saving();
    assert_eq!(stated(&mut hand), held(&pause(1, B), false));
    hand.finish_saving();
    assert_eq!(stated(&mut hand), held(&pause(1, B), true));
}

#[test]
fn resuming_is_an_order_like_any_other() {
    let mut hand = restarted(pause(3, B));
    hand.hear(B, Beat { holds: held(&pause(3, B), true), ..replica(5) });
    hand.event(Event::Resume);
    let record = known(&hand).proposed.unwrap();
    assert_eq!((record.number, record.paused), (4, false));
    assert!(known(&hand).is_paused, "until a majority has it");
    hand.hear(B, Beat { holds: held(&record, false), ..replica(5) });
    assert_eq!(hand.alerts().last(), Some(&&Alert::FailoverResumed));
    assert_eq!(hand.offers(), [6]);
}

/// As `date --utc` writes these instants.
#[test]
fn the_wall_clock_is_shown_as_people_read_it() {
    for (seconds, text) in [
        (0, "1970-01-01T00:00:00Z"),
        (951_782_399, "2000-02-28T23:59:59Z"),
        (951_782_400, "2000-02-29T00:00:00Z"),
        (951_868_800, "2000-03-01T00:00:00Z"),
        (1_735_689_599, "2024-12-31T23:59:59Z"),
        (1_795_392_436, "2026-11-23T00:07:16Z"),
        (4_107_542_400, "2100-03-01T00:00:00Z"),
        (253_402_300_800, "10000-01-01T00:00:00Z"),
    ] {
        assert_eq!(UnixMillis(seconds * 1_000 + 999).to_string(), text);
    }
    assert!(UnixMillis(u64::MAX).to_string().starts_with("584556019-04-03T14:25:51"));
}

#[test]
fn a_node_without_a_ballot_saves_its_promises_first() {
    // A ballot with no promise in it would hide that the disk was lost.
    let mut hand = Hand::new(config(3, A), &Restored::Nothing);
    hand.hear(B, replica(5));
    tell(&mut hand, B, pause(1, B), true);
    assert!(known(&hand).is_paused);
    assert_eq!(hand.saved, []);
    hand.listen(BOOTED + 4_000, &[(B, replica(5)), (C, replica(5))]);
    let last = hand.saved.last().unwrap();
    assert_eq!((last.promised, last.maintenance), (epoch(5), pause(1, B)));
    let mut hand = Hand::new(config(3, A), &Restored::Unusable);
    hand.hear(B, replica(5));
    tell(&mut hand, B, pause(1, B), true);
    hand.run(9_000);
    assert_eq!(hand.saved, [], "the operator needs the file as it is");
}

#[test]
fn a_record_of_another_list_means_nothing() {
    let mut hand = Hand::booted(3, A);
    hand.hear(B, replica(5));
    tell(&mut hand, B, Maintenance { primary: Some(E), ..pause(1, B) }, true);
    assert_eq!(hand.quorum.maintenance(), None);
    let old = Ballot { maintenance: pause(1, B), ..ballot(3, 5, None) };
    let hand = Hand::new(config(5, A).new_peers(true), &Restored::Ballot(old));
    assert_eq!(hand.quorum.maintenance(), None);
}

#[test]
fn a_cluster_of_one_pauses_at_once() {
    let mut hand = Hand::booted(1, A);
    hand.event(Event::Pause(None));
    assert!(known(&hand).is_paused);
    assert_eq!((known(&hand).recorded, known(&hand).record.primary), (1, Some(A)));
    hand.event(Event::Resume);
    assert!(!known(&hand).is_paused);
}

#[test]
fn a_leadership_that_ends_with_a_proposal_in_one_step_is_told() {
    let mut hand = Hand::leading(3);
    hand.event(Event::Pause(None));
    hand.now += 60_000; // the process stood still
    hand.input(Input::Tick);
    let lost = |change: &Change| matches!(change, Change::Lost { reason: Loss::Expired, .. });
    assert_eq!(hand.changes.iter().filter(|change| lost(change)).count(), 1);
    assert!(hand.alerts().contains(&&Alert::MaintenanceRefused { heard: 1, needed: 2 }));
}

#[test]
fn only_an_operators_order_is_reported_as_refused() {
    // A primary that was handed over to makes itself part of the pause that it was itself ordered
    // once. Nobody waits for an answer to that.
    let mut hand = Hand::following(3);
    tell(&mut hand, C, pause(1, A), true);
    hand.hear(C, Beat { nominee: Some(A), ..primary(6) });
    hand.hear(B, replica(6));
    hand.hear(C, Beat { nominee: Some(A), ..replica(6) });
    hand.accept(B, 7);
    assert_eq!(known(&hand).proposed.unwrap().primary, Some(A));
    hand.listen(hand.now + 4_000, &[(B, echo(7, 0))]);
    assert_eq!(hand.alerts(), [&Alert::FailoverPaused { by: id(A), left: None }]);
}

#[test]
fn a_candidate_is_refused_while_a_record_is_saved() {
    let mut hand = Hand::booted(3, A);
    hand.slow_disk = true;
    tell(&mut hand, B, Maintenance { paused: false, ..pause(1, B) }, true);
    assert!(hand.saving.is_some());
    hand.sent.clear();
    hand.offer(C, 6, offset(0));
    assert!(
        matches!(hand.sent[..], [(Audience::One(C), Message::Heartbeat(_))]),
        "{:?}",
        hand.sent
    );
    hand.finish_saving();
    hand.offer(C, 6, offset(0));
    hand.finish_saving();
    assert_eq!(hand.votes(), [(C, 6)]);
}

#[test]
fn nobody_waits_for_who_may_not_be_elected_in_a_pause() {
    let record = Maintenance { primary: Some(C), ..pause(1, B) };
    let ballot = Ballot { maintenance: record, ..ballot(3, 5, None) };
    let mut hand = Hand::booted_from(config(3, C), ballot, Some(offset(0)));
    hand.hear(A, replica(5));
    assert_eq!(hand.offers(), [6], "a and b would be better, but did not lead");
}
