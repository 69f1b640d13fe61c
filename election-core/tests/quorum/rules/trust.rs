//! What a primary believes, how long, and what its peers have to do with it.
//!
//! Rule: Trust.

use super::*;

/// The number of the newest frame this node has sent, as its peers echo it.
fn newest_stamp(hand: &mut Hand) -> u64 {
    let heartbeat = hand.next_heartbeat();
    heartbeat.extension.unwrap().stamp.at.as_nanos()
}

#[test]
fn a_winner_trusts_from_its_first_offer() {
    // The latest offer would be too late an anchor: the voter may never have seen it.
    let mut hand = Hand::booted(3, A);
    hand.hear(B, replica(5));
    let offered = hand.now;
    hand.run(450); // two more offers
    let offers = hand.sent.iter();
    let offers = offers.filter(|(_, message)| matches!(message, Message::Offer { .. }));
    assert_eq!(offers.count(), 3);
    let Some(Change::Elected(tenure)) = hand.accept(B, 6) else { panic!("not elected") };
    assert_eq!(tenure.term.epoch, epoch(6));
    assert_eq!(millis(tenure.since), hand.now, "the step that made it the primary");
    assert_eq!(millis(tenure.stop_by), offered + WINDOW);
    assert_eq!(millis(tenure.until), offered + WINDOW - GRACE);
}

#[test]
fn trust_is_anchored_where_the_echoed_frame_was_sent() {
    // The echo comes three seconds late: trust counts from sending.
    let mut hand = Hand::leading(3);
    let sent = newest_stamp(&mut hand);
    let at_sending = millis(Timestamp::from_nanos(sent));
    hand.run(3_000);
    hand.hear(B, echo(6, sent));
    assert_eq!(hand.trusts(), (at_sending + WINDOW - GRACE, at_sending + WINDOW));
}

#[test]
fn the_majoritys_oldest_echo_counts() {
    // N = 5: two peers make a majority with this node.
    let mut hand = Hand::leading(5);
    let mut sent = || {
        let stamp = newest_stamp(&mut hand);
        (stamp, millis(Timestamp::from_nanos(stamp)))
    };
    let (first, second) = (sent(), sent());
    hand.hear(B, echo(6, second.0));
    assert_eq!(hand.trusts().1, BOOTED + WINDOW, "one is no majority");
    hand.hear(C, echo(6, first.0));
    assert_eq!(hand.trusts().1, first.1 + WINDOW);
    hand.hear(D, echo(6, second.0));
    assert_eq!(hand.trusts().1, second.1 + WINDOW);
    // Several echoes of one peer do not add up.
    let third = newest_stamp(&mut hand);
    hand.hear(B, echo(6, third));
    hand.hear(B, echo(6, third));
    assert_eq!(hand.trusts().1, second.1 + WINDOW);
}

#[test]
fn only_echoes_of_its_own_frames_under_its_own_epoch_count() {
    // b is heard, but supports another node, or nobody. Such heartbeats must not keep a primary
    // acting.
    type Wrong = fn(&mut Hand, u64);
    let wrong: [(&str, Wrong); 6] = [
        ("a lower epoch", |hand, sent| drop(hand.hear(B, echo(5, sent)))),
        ("a higher epoch", |hand, sent| drop(hand.hear(B, echo(9, sent)))),
        ("no echo", |hand, _| drop(hand.hear(B, Beat { echo: None, ..echo(6, 0) }))),
        ("a frame never sent", |hand, sent| drop(hand.hear(B, echo(6, sent + 1_000_000_000)))),
        ("of another life", |hand, sent| {
            let stamp = hand.stamp(B);
            let mut message = hand.beat(echo(6, sent), stamp);
            if let Message::Heartbeat(heartbeat) = &mut message {
                let extension = heartbeat.extension.as_mut().unwrap();
                let Attestation::Echo(echo) = &mut extension.attestation else { panic!("no echo") };
                echo.incarnation = life(98);
            }
            hand.message(B, message);
        }),
        ("of nobody", |hand, sent| {
            let stamp = hand.old_stamp(B, 0);
            let message = hand.beat(echo(6, sent), stamp);
            hand.message(Peer::new(7), message);
        }),
    ];
    for (name, wrong) in wrong {
        let mut hand = Hand::leading(3);
        let sent = newest_stamp(&mut hand);
        wrong(&mut hand, sent);
        assert_eq!(hand.trusts().1, BOOTED + WINDOW, "{name}");
    }
}

#[test]
fn belief_ends_at_its_deadline_without_a_step() {
    let hand = Hand::leading(3);
    let (until, _) = hand.trusts();
    assert!(hand.quorum.is_leader(at(until - 1)));
    assert!(!hand.quorum.is_leader(at(until)));
    let until = hand.tenure().unwrap().until;
    assert!(!hand.quorum.is_leader(until), "to the nanosecond");
    assert_eq!(hand.quorum.tenure(Timestamp::MAX), None);
}

#[test]
fn a_primary_that_nobody_echoes_says_that_it_is_over() {
    // The primary reaches the others, but does not hear that they support it: it must step down.
    let mut hand = Hand::leading(5);
    let (until, stop_by) = hand.trusts();
    hand.run_to(until);
    let Some(Change::Lost { reason, stop_by: told, successor, .. }) = hand.changes.last() else {
        panic!("{:?}", hand.changes)
    };
    assert_eq!((*reason, millis(*told), successor.clone()), (Loss::Expired, stop_by, None));
    // An echo that arrives now is too late, however new its frame.
    let sent = hand.heartbeats().last().unwrap().1.extension.unwrap().stamp.at.as_nanos();
    hand.hear(B, echo(6, sent));
    hand.hear(C, echo(6, sent));
    assert_eq!(hand.leads(), None);
}

#[test]
fn an_echo_that_comes_with_the_end_is_too_late() {
    let mut hand = Hand::leading(3);
    let sent = newest_stamp(&mut hand);
    hand.now = BOOTED + WINDOW - GRACE;
    let change = hand.hear(B, echo(6, sent));
    assert!(matches!(change, Some(Change::Lost { reason: Loss::Expired, .. })), "{change:?}");
    assert_eq!(hand.leads(), None);
}

#[test]
fn a_peer_bound_to_a_higher_epoch_is_taken_in_without_an_outage() {
    let mut hand = Hand::leading(3);
    hand.sent.clear();
    hand.hear(C, replica(9));
    assert_eq!(hand.saved.last().unwrap().promised, epoch(10));
    assert_eq!(hand.offers(), [10]);
    assert_eq!(hand.leads(), Some(6));
    // Until it has won that, it leads under the old epoch; one bump at a time.
    hand.hear(C, replica(12));
    let beat = hand.next_heartbeat();
    assert_eq!((beat.epoch, beat.role), (epoch(6), Role::Primary));
    // A peer that has promised the new epoch to this node still supports it.
    let sent = beat.extension.unwrap().stamp.at.as_nanos();
    hand.hear(B, echo(10, sent));
    assert_eq!(hand.trusts().1, millis(Timestamp::from_nanos(sent)) + WINDOW);
    assert_eq!(hand.accept(B, 10), None, "it goes on leading");
    assert_eq!(hand.leads(), Some(6), "the token is that of the first election");
    assert_eq!(hand.offers(), [13], "and then the next");
    assert_eq!(hand.next_heartbeat().epoch, epoch(10));
}

#[test]
fn a_bump_that_fails_is_tried_again_higher() {
    let mut hand = Hand::leading(3);
    hand.hear(C, replica(9));
    for _ in 0..20 {
        let sent = newest_stamp(&mut hand);
        hand.hear(B, echo(6, sent));
    }
    hand.sent.clear();
    hand.run(1); // the first offer stood for three seconds
    assert_eq!(hand.saved.last().unwrap().promised, epoch(11));
    assert_eq!((hand.leads(), hand.quorum.role()), (Some(6), Role::Primary));
}

#[test]
fn another_that_has_won_ends_it_at_once() {
    let mut hand = Hand::leading(3);
    let change = hand.hear(C, primary(8));
    let Some(Change::Lost { reason, stop_by, successor, .. }) = change else {
        panic!("{change:?}")
    };
    assert_eq!((reason, stop_by), (Loss::Replaced, at(hand.now)));
    assert_eq!(successor.unwrap().epoch, epoch(8));
    assert_eq!(hand.quorum.supported(), Some((C, epoch(8))));
    assert_eq!(hand.quorum.draining(), Some(epoch(6)));
    // A leadership that was won before this node's own says nothing.
    let mut hand = Hand::leading(3);
    hand.hear(C, primary(4));
    assert_eq!((hand.leads(), hand.alerts()), (Some(6), vec![]));
}

#[test]
fn an_announcement_goes_to_who_is_heard_again() {
    let mut hand = Hand::leading(3);
    let sent = newest_stamp(&mut hand);
    hand.hear(B, echo(6, sent));
    for _ in 0..26 {
        let sent = newest_stamp(&mut hand);
        hand.hear(C, echo(6, sent));
        hand.run(200);
    }
    hand.sent.clear();
    hand.hear(B, echo(6, sent)); // which it had already reported
    let announced = |(to, message): &(Audience, Message)| {
        *to == Audience::One(B) && matches!(message, Message::Announce { .. })
    };
    assert!(hand.sent.iter().any(announced), "{:?}", hand.sent);
    // Or in another life, however soon.
    hand.sent.clear();
    hand.hear(B, echo(6, sent));
    assert!(!hand.sent.iter().any(announced), "{:?}", hand.sent);
    hand.replace(B);
    hand.hear(B, replica(6));
    assert!(hand.sent.iter().any(announced), "{:?}", hand.sent);
}

#[test]
fn an_announcement_is_repeated_for_who_missed_it() {
    let mut hand = Hand::leading(3);
    hand.sent.clear();
    let mut announcements = 0;
    for _ in 0..50 {
        hand.run(200);
        let mut newest = 0;
        for (_, message) in core::mem::take(&mut hand.sent) {
            match message {
                Message::Announce { .. } => announcements += 1,
                Message::Heartbeat(beat) => {
                    newest = beat.extension.unwrap().stamp.at.as_nanos();
                }
                _ => {}
            }
        }
        hand.hear_all(&[B, C], echo(6, newest));
    }
    assert!((2..=4).contains(&announcements), "{announcements} in ten seconds");
}

#[test]
fn frames_of_one_instant_get_two_stamps_and_equal_trust() {
    let mut hand = Hand::leading(3);
    hand.run(50);
    let now = hand.now;
    hand.sent.clear();
    for _ in 0..100 {
        hand.offer(B, 7, offset(0)); // each is refused by a heartbeat
    }
    let beats = hand.heartbeats();
    let stamps = beats.iter().map(|(_, beat)| beat.extension.unwrap().stamp.at);
    let stamps: Vec<u64> = stamps.map(Timestamp::as_nanos).collect();
    assert!(stamps.len() == 100 && stamps.is_sorted_by(|a, b| a < b), "{stamps:?}");
    hand.hear(B, echo(6, *stamps.last().unwrap()));
    let true_end = at(now) + hand.quorum.config().trust_window();
    assert!(hand.tenure().unwrap().stop_by <= true_end);
}

#[test]
fn a_clock_that_goes_back_revives_nothing() {
    // A reading counts for no less than the latest one before it.
    let mut hand = Hand::leading(3);
    hand.run_to(BOOTED + WINDOW - GRACE - 1);
    assert_eq!(hand.leads(), Some(6));
    let stamped = hand.next_heartbeat().extension.unwrap().stamp.at;
    assert_eq!(hand.leads(), None);
    hand.now -= 3_000;
    assert_eq!(hand.leads(), None, "asked");
    hand.sent.clear();
    hand.hear(B, Beat { availability: Busy, ..replica(6) });
    hand.input(Input::Stopped(epoch(6)));
    assert_eq!(hand.leads(), None, "after a step");
    let beats = hand.heartbeats();
    assert!(beats.iter().all(|(_, beat)| beat.extension.unwrap().stamp.at > stamped), "{beats:?}");
    // Support counts from the latest reading, too.
    let mut hand = Hand::following(3);
    hand.now += 2_000;
    hand.input(Input::Tick);
    hand.now -= 2_000;
    hand.hear(C, primary(6));
    hand.run_to(BOOTED + 6_999);
    assert_eq!(hand.quorum.supported(), Some((C, epoch(6))));
    hand.run_to(BOOTED + 7_000);
    assert_eq!(hand.quorum.supported(), None);
}

#[test]
fn a_vote_in_a_raise_of_the_epoch_vouches_for_its_offer() {
    // N = 5: one vote and one echo make a majority with this node.
    let mut hand = Hand::leading(5);
    hand.run(1_000);
    hand.hear(D, replica(9));
    let offered = hand.now;
    assert_eq!(hand.quorum.promised(), epoch(10));
    hand.run(400);
    let sent = newest_stamp(&mut hand);
    hand.hear(C, echo(10, sent));
    assert_eq!(hand.trusts().1, BOOTED + WINDOW);
    hand.accept(B, 10);
    assert_eq!(hand.trusts().1, offered + WINDOW);
    // Once that is won, everybody is told the new epoch at once.
    hand.sent.clear();
    hand.accept(C, 10);
    let announced = |(to, message): &(Audience, Message)| {
        *to == Audience::All
            && matches!(message, Message::Announce { epoch: told, .. } if *told == epoch(10))
    };
    assert!(hand.sent.iter().any(announced), "{:?}", hand.sent);
}

#[test]
fn raising_the_epoch_waits_for_the_disk() {
    let mut hand = Hand::leading(3);
    hand.event(Event::Pause(None));
    let proposed = hand.quorum.maintenance().unwrap().proposed.unwrap();
    hand.slow_disk = true;
    let number = u64::from(proposed.number) << 7 | (proposed.issuer.index() as u64) << 1;
    hand.hear(B, Beat { holds: Held::new(number), ..echo(6, 0) });
    assert!(hand.saving.is_some(), "the agreed pause is being recorded");
    hand.hear(C, Beat { holds: Held::new(number), ..replica(9) });
    assert_eq!(hand.quorum.promised(), epoch(6));
    hand.finish_saving();
    assert_eq!(hand.saving.as_ref().unwrap().promised, epoch(10));
    hand.finish_saving();
    // The votes of that election make nobody a leader again.
    hand.slow_disk = false;
    hand.run_to(BOOTED + WINDOW - GRACE);
    assert_eq!(hand.quorum.draining(), Some(epoch(6)), "its trust has run out");
    let raised = hand.quorum.promised().get();
    assert_eq!(hand.accept(C, raised), None);
    assert_eq!((hand.leads(), hand.quorum.draining()), (None, Some(epoch(6))));
}

#[test]
fn trust_never_moves_back_when_stamps_ran_ahead() {
    let mut hand = Hand::leading(5);
    let trusted = hand.tenure().unwrap();
    let sent = newest_stamp(&mut hand);
    for _ in 0..100 {
        hand.offer(B, 7, offset(0)); // each is refused by a heartbeat with a stamp of its own
    }
    hand.hear(C, echo(6, sent)); // one is no majority
    assert_eq!(hand.tenure().unwrap(), trusted);
    // Who wins with stamps that ran ahead trusts none the longer.
    let mut hand = Hand::booted(3, A);
    for _ in 0..100 {
        hand.offer(B, 4, offset(0));
    }
    hand.hear(B, replica(5));
    let offered = at(hand.now);
    assert_eq!(hand.offers(), [6]);
    hand.accept(B, 6);
    assert!(hand.tenure().unwrap().stop_by <= offered + hand.quorum.config().trust_window());
}

#[test]
fn to_hear_that_it_is_well_ends_no_leadership() {
    let mut hand = Hand::leading(3);
    assert_eq!(hand.event(Event::Health(true)), None);
    assert_eq!(hand.leads(), Some(6));
}
