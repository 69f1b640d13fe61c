//! Every end of a leadership: first belief ends, then the work, then the others may elect.
//!
//! Rule: Every end.

use super::*;

/// The roles of this node in the heartbeats of the last steps.
fn roles(hand: &mut Hand) -> Vec<Role> {
    hand.heartbeats().iter().map(|(_, heartbeat)| heartbeat.role).collect()
}

fn lost(change: Option<Change>) -> (Loss, u64) {
    let Some(Change::Lost { reason, stop_by, .. }) = change else { panic!("{change:?}") };
    (reason, millis(stop_by))
}

#[test]
fn belief_ends_first_whatever_the_reason() {
    let table = [
        (Input::Resign, Loss::Resigned),
        (Input::Event(Event::Health(false)), Loss::Unhealthy), // a hung disk
        (Input::Event(Event::HandOver(B)), Loss::Resigned),
        (Input::Withdraw, Loss::Withdrawn),
    ];
    for (input, reason) in table {
        let mut hand = Hand::leading(3);
        let (_, stop_by) = hand.trusts();
        assert_eq!(lost(hand.input(input)), (reason, stop_by));
        assert_eq!(hand.leads(), None);
        assert_eq!(hand.quorum.draining(), Some(epoch(6)));
        assert!(!hand.quorum.is_finished());
    }
}

#[test]
fn primary_heartbeats_go_on_for_a_grace_and_then_stop() {
    let mut hand = Hand::leading(3);
    hand.run(100);
    hand.sent.clear();
    let ended = hand.now;
    hand.input(Input::Resign);
    assert_eq!(roles(&mut hand), [Role::Primary], "at once");
    hand.run_to(ended + GRACE - 1);
    assert_eq!(roles(&mut hand), [Role::Primary; 2]);
    hand.run_to(BOOTED + WINDOW);
    hand.offer(B, 7, offset(0));
    assert_eq!(hand.sent, [], "neither keeps them out any longer nor lets them in");
}

/// A process that stood still learns of its loss when the grace would end behind trust.
#[test]
fn nobody_is_kept_out_by_heartbeats_past_the_end_of_trust() {
    let (_, stop_by) = Hand::leading(3).trusts();
    for late in 1..GRACE {
        let mut hand = Hand::leading(3);
        hand.now = stop_by - late;
        hand.input(Input::Tick);
        assert_eq!(hand.leads(), None);
        hand.run_to(stop_by);
        hand.sent.clear();
        hand.run_to(stop_by + GRACE);
        assert!(!roles(&mut hand).contains(&Role::Primary), "{late} ms before: {:?}", hand.sent);
    }
}

#[test]
fn only_the_end_of_the_work_of_that_epoch_lets_the_others_in() {
    let mut hand = Hand::leading(3);
    hand.input(Input::Resign);
    hand.run(1_000);
    hand.sent.clear();
    hand.input(Input::Stopped(epoch(5)));
    assert_eq!(hand.sent, []);
    hand.input(Input::Stopped(epoch(6)));
    assert_eq!(roles(&mut hand), [Role::Replica]);
    assert_eq!(hand.quorum.draining(), None);
}

#[test]
fn a_stop_that_is_reported_before_the_loss_is_not_remembered() {
    let mut hand = Hand::leading(3);
    hand.input(Input::Stopped(epoch(6)));
    assert_eq!(hand.leads(), Some(6));
    hand.input(Input::Resign);
    assert_eq!(hand.quorum.draining(), Some(epoch(6)));
}

#[test]
fn unstopped_work_admits_others_after_trust_and_margin() {
    let mut hand = Hand::leading(3);
    hand.input(Input::Resign);
    hand.run_to(BOOTED + WINDOW + 99);
    hand.sent.clear();
    hand.run_to(BOOTED + WINDOW + 100);
    assert_eq!(roles(&mut hand), [Role::Replica]);
    // It does not campaign before it has let go of its old leadership.
    for _ in 0..50 {
        hand.run(200);
        hand.hear(B, replica(6));
    }
    assert_eq!(hand.offers(), []);
    hand.input(Input::Stopped(epoch(6)));
    hand.run(200);
    assert_eq!(hand.offers(), [7]);
}

#[test]
fn a_handover_waits_for_the_nominee_to_have_all_data() {
    let mut hand = Hand::leading(3);
    hand.event(Event::Position(offset(9)));
    hand.hear(B, Beat { availability: Busy, position: offset(7), ..replica(6) });
    hand.sent.clear();
    hand.event(Event::HandOver(B));
    let beats = hand.heartbeats();
    let nominees: Vec<_> = beats.iter().map(|(_, b)| b.extension.unwrap().nominee).collect();
    assert_eq!(nominees, [Some(B)], "at once");
    hand.input(Input::Stopped(epoch(6)));
    assert_eq!(hand.sent, []);
    hand.hear(B, Beat { availability: Busy, position: offset(9), ..replica(6) });
    let beats = hand.heartbeats();
    assert_eq!(beats.len(), 1);
    assert_eq!((beats[0].1.role, beats[0].1.extension.unwrap().nominee), (Role::Replica, Some(B)));
}

/// The leader `a` of three, whose peers have its data. `c` was last heard like this.
fn beside(c: Beat) -> Hand {
    let mut hand = Hand::leading(3);
    hand.hear(B, Beat { availability: Busy, ..replica(6) });
    hand.hear(C, c);
    hand
}

#[test]
fn nobody_hands_over_to_a_member_that_could_not_follow() {
    let busy = Beat { availability: Busy, ..replica(6) };
    let refused = |mut hand: Hand, to: Peer, heard: bool| {
        let to_id = (to.index() < 3).then(|| id(to));
        let alert = Alert::HandOverRefused { to: to_id, heard };
        for _ in 0..2 {
            assert_eq!(hand.event(Event::HandOver(to)), Some(Change::Alert(alert.clone())));
        }
        assert_eq!(hand.leads(), Some(6));
    };
    refused(beside(busy), Peer::new(9), false);
    refused(beside(Beat { hears: false, ..busy }), C, false);
    for availability in [BusyAside, FreeAside, Waiting, Leaving, Ineligible, Loading] {
        refused(beside(Beat { availability, ..busy }), C, true);
    }
    let mut hand = beside(busy);
    hand.disconnect(C);
    refused(hand, C, false);
    // Two processes run as c.
    let mut hand = beside(busy);
    hand.restart(C);
    hand.hear(C, busy);
    hand.changes.clear();
    refused(hand, C, false);
    // c has been silent for too long; b keeps a in office.
    let mut hand = beside(busy);
    for _ in 0..3 {
        hand.run(1_500);
        let sent = hand.next_heartbeat().extension.unwrap().stamp.at.as_nanos();
        hand.hear(B, echo(6, sent));
    }
    refused(hand, C, false);
    // Such orders to others are as usual.
    let mut hand = beside(busy);
    assert_eq!(lost(hand.event(Event::HandOver(C))).0, Loss::Resigned);
    let mut hand = beside(busy);
    assert_eq!(hand.event(Event::HandOver(A)), None, "it leads already");
    assert_eq!(hand.leads(), Some(6));
    let mut hand = Hand::following(3);
    assert_eq!(hand.event(Event::HandOver(B)), None, "it does not lead");
}

#[test]
fn a_handover_does_not_wait_for_a_nominee_that_has_gone() {
    let behind = Beat { availability: Busy, position: offset(7), ..replica(6) };
    let handing_over = || {
        let mut hand = beside(behind);
        hand.event(Event::Position(offset(9)));
        let change = hand.event(Event::HandOver(C));
        assert_eq!(lost(change).0, Loss::Resigned);
        hand.input(Input::Stopped(epoch(6)));
        hand.run(100);
        assert_eq!((hand.quorum.role(), hand.quorum.draining()), (Role::Primary, None));
        hand
    };
    let mut hand = handing_over();
    hand.disconnect(C);
    assert_eq!(hand.quorum.role(), Role::Replica, "its connection has ended");
    let mut hand = handing_over();
    hand.hear(C, Beat { availability: BusyAside, ..behind });
    assert_eq!(hand.quorum.role(), Role::Replica, "it has become unfit");
    // If nothing tells, the wait ends with trust and margin.
    let mut hand = handing_over();
    hand.run_to(BOOTED + WINDOW + 99);
    assert_eq!(hand.quorum.role(), Role::Primary);
    hand.run_to(BOOTED + WINDOW + 100);
    assert_eq!(hand.quorum.role(), Role::Replica);
}

#[test]
fn the_nominee_answers_every_change_of_its_data_at_once() {
    let mut hand = Hand::following(3);
    hand.hear(C, Beat { nominee: Some(A), ..primary(6) });
    assert_eq!(hand.heartbeats().len(), 1, "the primary may know an old position");
    for step in 1..5 {
        hand.event(Event::Position(offset(step)));
        let beats = hand.heartbeats();
        assert_eq!(beats.len(), 1);
        assert_eq!(beats[0].1.position, offset(step));
    }
    // The others do not.
    let mut hand = Hand::following(3);
    hand.hear(C, Beat { nominee: Some(B), ..primary(6) });
    hand.event(Event::Position(offset(1)));
    assert_eq!(hand.sent, []);
}

#[test]
fn who_resigned_stays_out_for_a_while() {
    let mut hand = Hand::leading(3);
    hand.input(Input::Resign);
    hand.input(Input::Stopped(epoch(6)));
    let released = hand.now;
    hand.sent.clear();
    for _ in 0..29 {
        hand.run(100);
        hand.hear(B, replica(6));
    }
    assert_eq!(hand.offers(), []);
    hand.run_to(released + 3_000);
    assert_eq!(hand.offers(), [7]);
}

#[test]
fn who_leaves_is_finished_once_everybody_may_go_on_without_it() {
    let mut hand = Hand::leading(3);
    hand.input(Input::Withdraw);
    hand.sent.clear();
    hand.quorum.step(at(hand.now), Input::Stopped(epoch(6))).action.expect("a farewell");
    assert!(hand.quorum.is_finished());
    // This holds even if the same step has something more urgent to do.
    let mut hand = Hand::leading(3);
    hand.slow_disk = true;
    hand.hear(C, replica(9));
    hand.fail_saving();
    hand.input(Input::Withdraw);
    hand.now += 200;
    hand.quorum.step(at(hand.now), Input::Stopped(epoch(6))).action.expect("a save");
    assert!(!hand.quorum.is_finished());
    hand.quorum.step(at(hand.now), Input::Tick).action.expect("a farewell");
    assert!(hand.quorum.is_finished());
    let mut hand = Hand::following(3);
    hand.input(Input::Withdraw);
    assert!(hand.quorum.is_finished());
    let mut hand = Hand::booted(3, A);
    hand.hear(B, replica(5));
    assert_eq!(hand.quorum.role(), Role::Candidate);
    hand.sent.clear();
    hand.input(Input::Withdraw);
    assert_eq!(roles(&mut hand), [Role::Replica]);
    assert!(hand.quorum.is_finished());
}

#[test]
fn a_replaced_draining_leader_blocks_others_until_work_stops() {
    // The machine slept with its clock, so another was elected before trust had run out here.
    let mut hand = Hand::leading(3);
    hand.input(Input::Resign);
    hand.sent.clear();
    hand.hear(C, primary(8));
    hand.offer(B, 9, offset(9));
    hand.run(1_000);
    assert_eq!(hand.sent, [], "it neither keeps others out nor lets them in, and has no vote");
    assert_eq!(hand.quorum.draining(), Some(epoch(6)));
    assert_eq!(hand.quorum.followed().unwrap().0.epoch, epoch(8));
    hand.hear(C, primary(8));
    hand.sent.clear();
    hand.input(Input::Stopped(epoch(6)));
    assert_eq!(roles(&mut hand), [Role::Replica]);
    assert!(hand.echoes().is_some(), "it supports its successor");
    hand.hear(C, replica(8));
    hand.run(200);
    assert_eq!(hand.offers(), [10], "it need not stay out: another has led");
    // If nobody says that the work has stopped, the end of trust decides.
    let mut hand = Hand::leading(3);
    hand.input(Input::Resign);
    hand.hear(C, primary(8));
    hand.run_to(BOOTED + WINDOW + 99);
    hand.sent.clear();
    hand.run_to(BOOTED + WINDOW + 100);
    assert_eq!(roles(&mut hand), [Role::Replica]);
}

#[test]
fn one_member_leads_again_however_late_its_work_stops() {
    // No other node's heartbeat would cause the next look.
    for stops_after in [0, 500, 4_000, 20_000] {
        let mut hand = Hand::new(config(1, A), &Restored::Nothing);
        hand.event(Event::Health(false));
        hand.event(Event::Health(true));
        hand.run(stops_after);
        hand.input(Input::Stopped(epoch(1)));
        hand.run(10_000);
        assert_eq!(hand.leads(), Some(2), "stopped after {stops_after} ms");
    }
}

/// `me` of four has data up to `own`, `d` up to `of_d`, and the others up to 9. They follow `a`,
/// which hands over to `c` and steps down. Returns after how many milliseconds `me` makes an offer.
fn offers_after(me: Peer, own: u64, of_d: u64) -> Option<u64> {
    let mut hand = Hand::booted(4, me);
    let position = offset(9);
    let of = |peer| if peer == D { offset(of_d) } else { position };
    hand.event(Event::Position(offset(own)));
    hand.hear(A, Beat { position, ..primary(6) });
    let peers = [B, C, D].into_iter().filter(|peer| *peer != me);
    for peer in peers.clone() {
        hand.hear(peer, Beat { position: of(peer), availability: Busy, ..replica(6) });
    }
    hand.hear(A, Beat { position, nominee: Some(C), ..primary(6) });
    let free = hand.now;
    hand.hear(A, Beat { position, nominee: Some(C), ..replica(6) });
    for peer in peers {
        hand.hear(peer, Beat { position: of(peer), ..replica(6) });
    }
    hand.run(2_000);
    Some(hand.first_offer()? - free)
}

#[test]
fn the_nominee_waits_for_nobody_and_nobody_for_who_nominates() {
    // c hears two lower ids; b waits for c as the nominee, d also for two lower ids.
    assert_eq!(offers_after(C, 9, 9), Some(0));
    assert_eq!(offers_after(B, 9, 9), Some(1_500));
    assert_eq!(offers_after(D, 9, 9), Some(1_800));
    // Newer data goes before the nomination: c waits for b and d, like any other node.
    assert_eq!(offers_after(C, 9, 10), Some(300));
    assert_eq!(offers_after(B, 10, 9), Some(1_500), "but c may not know of it");
}

#[test]
fn who_resigned_comes_back_once_another_has_led() {
    let mut hand = Hand::leading(3);
    hand.input(Input::Resign);
    hand.input(Input::Stopped(epoch(6)));
    hand.hear(C, primary(7));
    hand.sent.clear();
    hand.hear(C, replica(7));
    assert_eq!(hand.offers(), [8]);
}
