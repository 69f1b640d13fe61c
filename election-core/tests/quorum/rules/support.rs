//! The support of a voter: whom it supports, what it echoes, and what ends it.
//!
//! Rule: Support.

use super::*;

#[test]
fn a_primarys_heartbeat_counts_as_its_announcement() {
    // The announcement is lost: a primary's heartbeat must do the same.
    let mut hand = Hand::booted(3, A);
    let followed = hand.hear(C, primary(6));
    let Some(Change::Followed { term, label: None, .. }) = followed else { panic!("{followed:?}") };
    assert_eq!((term.epoch, term.leader), (epoch(6), id(C)));
    assert_eq!(hand.saved.last().unwrap().promised, epoch(6));
    assert_eq!(hand.quorum.supported(), Some((C, epoch(6))));
    let told = hand.announce(C, 6, "c:1");
    assert!(matches!(told, Some(Change::Followed { label: Some(_), .. })), "{told:?}");
    assert_eq!(hand.hear(C, primary(6)), None);
}

#[test]
fn only_the_last_frame_that_extended_support_is_echoed() {
    let mut hand = Hand::following(3);
    hand.hear(C, primary(6));
    let extended = hand.old_stamp(C, 0);
    assert_eq!(hand.echoes(), Some(extended));
    // A frame of a past epoch is refused, and so is one of an epoch that is not promised yet.
    hand.hear(C, primary(4));
    assert_eq!(hand.echoes(), Some(extended));
    hand.hear(C, candidate(6));
    assert_eq!(hand.echoes(), Some(extended));
    hand.slow_disk = true;
    hand.hear(C, primary(9));
    assert_eq!(hand.echoes(), None, "bound to 9, which it does not support durably yet");
    hand.hear(C, primary(9));
    assert_eq!(hand.echoes(), None, "nor does a second frame make it durable");
    hand.finish_saving();
    assert_eq!(hand.echoes(), Some(hand.old_stamp(C, 0)));
}

#[test]
fn who_is_bound_elsewhere_echoes_nothing() {
    let mut hand = Hand::following(3);
    hand.slow_disk = true;
    hand.offer(C, 8, offset(0));
    hand.hear(C, primary(6));
    assert_eq!(hand.echoes(), None);
}

#[test]
fn support_lasts_down_after_and_its_end_is_told() {
    let mut hand = Hand::following(3);
    hand.run(70); // between two heartbeats of its own
    hand.hear(C, primary(6));
    let end = BOOTED + 5_070;
    hand.run_to(end - 1);
    assert_eq!(hand.quorum.supported(), Some((C, epoch(6))));
    assert_eq!(hand.changes.last().map(|change| matches!(change, Change::Vacant)), Some(false));
    hand.sent.clear();
    hand.run_to(end);
    assert_eq!(hand.quorum.supported(), None);
    assert_eq!(hand.changes.last(), Some(&Change::Vacant));
    let heartbeats = hand.heartbeats();
    let (to, heartbeat) = heartbeats.last().expect("a heartbeat at once");
    assert_eq!(*to, Audience::All);
    assert_eq!(heartbeat.extension.unwrap().availability, Free);
}

#[test]
fn a_frame_that_comes_after_the_end_revives_nothing() {
    let mut hand = Hand::following(3);
    hand.now = BOOTED + 5_000;
    hand.sent.clear();
    // The same step judges the end of support first: the vote goes to b.
    hand.offer(B, 9, offset(0));
    assert_eq!(hand.votes(), [(B, 9)]);
}

#[test]
fn heartbeats_count_once_and_in_order() {
    // Frames that were queued for long arrive after newer ones.
    let mut hand = Hand::following(3);
    hand.hear(C, primary(6));
    hand.hear(C, primary(6));
    let newest = hand.old_stamp(C, 0);
    hand.run(3_000);
    for ago in [0, 1, 2] {
        let stamp = hand.old_stamp(C, ago);
        let replayed = hand.beat(primary(6), stamp);
        hand.message(C, replayed);
    }
    assert_eq!(hand.echoes(), Some(newest));
    hand.run_to(BOOTED + 5_000);
    assert_eq!(hand.quorum.supported(), None, "the replay extended nothing");
}

#[test]
fn only_a_replicas_heartbeat_releases() {
    // c has restarted in place, as it were: a heartbeat as replica must end its support.
    let roles = [(Role::Replica, true), (Role::Candidate, false), (Role::Primary, false)];
    for (role, releases) in roles {
        let mut hand = Hand::following(3);
        hand.hear(C, Beat { role, ..primary(6) });
        assert_eq!(hand.quorum.supported().is_none(), releases, "{role:?}");
        assert_eq!(hand.quorum.followed().is_none(), releases, "{role:?}");
        let said = hand.next_heartbeat().extension.unwrap().availability;
        assert_eq!(said == Free, releases, "{role:?}");
    }
}

#[test]
fn a_heartbeat_from_before_the_offer_does_not_release() {
    let mut hand = Hand::booted(3, A);
    hand.offer(C, 6, offset(0));
    hand.offer(C, 6, offset(0)); // overtakes the heartbeat sent before it
    let stamp = hand.old_stamp(C, 1);
    let early = hand.beat(replica(5), stamp);
    hand.message(C, early);
    assert_eq!(hand.quorum.supported(), Some((C, epoch(6))));
    hand.hear(C, replica(6));
    assert_eq!(hand.quorum.supported(), None);
}

#[test]
fn others_do_not_release() {
    let mut hand = Hand::following(3);
    hand.hear(B, replica(6));
    assert_eq!(hand.quorum.supported(), Some((C, epoch(6))));
    assert_eq!(hand.quorum.followed().unwrap().0.leader, id(C));
}

#[test]
fn a_higher_primary_is_followed_at_once_and_supported_later() {
    // The one before may still count on this node, in a list of members that the new primary's voters
    // do not know.
    let mut hand = Hand::following(3);
    hand.hear(B, primary(8));
    let leader = |hand: &Hand| hand.quorum.followed().unwrap().0.leader;
    assert_eq!((leader(&hand), hand.quorum.supported()), (id(B), Some((C, epoch(6)))));
    hand.hear(C, primary(6));
    assert_eq!((leader(&hand), hand.echoes()), (id(B), None), "it echoes neither");
    hand.run_to(BOOTED + 4_900);
    hand.hear(B, primary(8));
    hand.run_to(BOOTED + 5_000);
    assert_eq!(hand.quorum.supported(), Some((B, epoch(8))), "from the frame that came meanwhile");
    assert_eq!(hand.echoes(), Some(hand.old_stamp(B, 0)));
    // What the primary takes back meanwhile gets no support.
    let mut hand = Hand::following(3);
    hand.hear(B, primary(8));
    hand.hear(B, replica(8));
    hand.run_to(BOOTED + 5_000);
    assert_eq!(hand.quorum.supported(), None);
}

#[test]
fn a_primary_without_this_nodes_vote_is_recorded_as_its_vote() {
    let mut hand = Hand::booted(3, A);
    hand.slow_disk = true;
    hand.hear(C, primary(6));
    hand.finish_saving();
    assert_eq!(hand.quorum.supported(), Some((C, epoch(6))), "before that is on the disk");
    hand.finish_saving();
    let votes = hand.saved.iter().map(|ballot| (ballot.promised.get(), ballot.voted_for.clone()));
    assert_eq!(votes.collect::<Vec<_>>(), [(6, None), (6, Some(id(C)))]);
}

#[test]
fn a_new_epoch_of_the_same_tenure_is_no_new_term() {
    for says in [6, 0] {
        let mut hand = Hand::following(3);
        assert_eq!(hand.hear(C, Beat { token: says, ..primary(9) }), None);
        assert_eq!(hand.quorum.followed().unwrap().0.epoch, epoch(6));
        assert_eq!(hand.quorum.supported(), Some((C, epoch(9))));
    }
}

#[test]
fn who_comes_late_learns_the_epoch_that_the_tenure_began_with() {
    // The primary raised the epoch from 6 to 9 before this node heard of it; work is fenced by 6.
    let term = Term { epoch: epoch(6), leader: id(C) };
    for announced in [false, true] {
        let mut hand = Hand::booted(3, A);
        let change = if announced {
            let (stamp, address) = (Some(hand.old_stamp(C, 0)), Label::new("c:1").unwrap());
            let (epoch, token) = (epoch(9), epoch(6));
            hand.message(C, Message::Announce { epoch, address, token, stamp })
        } else {
            hand.hear(C, Beat { token: 6, ..primary(9) })
        };
        let followed = change.expect("a change");
        assert!(
            matches!(&followed, Change::Followed { term: told, .. } if *told == term),
            "{followed:?}"
        );
        assert_eq!(hand.quorum.followed().unwrap().0, term);
    }
    // So is the successor that has deposed this node.
    let mut hand = Hand::leading(3);
    let lost = hand.hear(C, Beat { token: 8, ..primary(9) }).expect("a change");
    let successor = Term { epoch: epoch(8), leader: id(C) };
    assert!(
        matches!(&lost, Change::Lost { successor: Some(told), .. } if *told == successor),
        "{lost:?}"
    );
    hand.run(50);
    hand.event(Event::Position(offset(0)));
    assert!(!hand.changes.iter().any(|change| matches!(change, Change::Followed { .. })));
}

#[test]
fn a_tenure_that_ended_unnoticed_is_told_from_the_next() {
    let mut hand = Hand::following(3);
    let change = hand.hear(C, primary(9)).expect("a change");
    let next = Term { epoch: epoch(9), leader: id(C) };
    assert!(matches!(&change, Change::Followed { term, .. } if *term == next), "{change:?}");
}

#[test]
fn a_token_above_the_epoch_is_none() {
    let mut hand = Hand::booted(3, A);
    hand.hear(C, Beat { token: 90, ..primary(9) });
    assert_eq!(hand.quorum.followed().unwrap().0.epoch, epoch(9));
}

#[test]
fn a_primary_says_the_epoch_that_its_tenure_began_with() {
    let mut hand = Hand::leading(3);
    hand.hear(B, replica(8));
    hand.accept(B, 9);
    let heartbeat = hand.next_heartbeat();
    assert_eq!((heartbeat.role, heartbeat.epoch), (Role::Primary, epoch(9)));
    assert_eq!(heartbeat.extension.unwrap().attestation.token(), epoch(6));
    hand.input(Input::Resign);
    let heartbeat = hand.next_heartbeat();
    assert_eq!(heartbeat.role, Role::Primary, "drains");
    assert_eq!(heartbeat.extension.unwrap().attestation.token(), epoch(6));
    hand.input(Input::Stopped(epoch(6)));
    assert_eq!(hand.next_heartbeat().extension.unwrap().attestation.token(), Epoch::NONE);
}

#[test]
fn epoch_zero_has_no_primary() {
    let mut hand = Hand::new(config(3, A), &Restored::Nothing);
    hand.hear(C, primary(0));
    assert_eq!(hand.quorum.followed(), None);
}

fn followed(hand: &Hand) -> Option<Peer> {
    let (term, _) = hand.quorum.followed()?;
    [A, B, C, D, E].into_iter().find(|peer| id(*peer) == term.leader)
}

#[test]
fn an_announcement_extends_support_unless_overtaken() {
    for (overtaken, ends) in [(false, BOOTED + 8_000), (true, BOOTED + 5_000)] {
        let mut hand = Hand::following(3);
        let early = hand.old_stamp(C, 1);
        let newest = hand.old_stamp(C, 0);
        hand.run(3_000);
        let stamp = if overtaken { early } else { hand.stamp(C) };
        hand.message(C, announcement(6, stamp));
        assert_eq!(hand.echoes(), Some(if overtaken { newest } else { stamp }));
        hand.run_to(ends - 1);
        assert_eq!(hand.quorum.supported(), Some((C, epoch(6))), "{overtaken}");
        hand.run_to(ends);
        assert_eq!(hand.quorum.supported(), None, "{overtaken}");
        assert_eq!(hand.saved.len(), 2, "nothing but the promise, and whom it supports");
    }
}

#[test]
fn a_primary_heard_once_is_followed_no_longer_than_others() {
    let mut hand = Hand::booted(3, A);
    hand.hear(C, primary(6));
    hand.run_to(BOOTED + 4_999);
    assert_eq!(followed(&hand), Some(C));
    hand.run_to(BOOTED + 5_000);
    assert_eq!(followed(&hand), None);
    // Nor does another primary, of the past, keep it in office.
    let mut hand = Hand::following(3);
    hand.listen(BOOTED + 5_000, &[(B, primary(5))]);
    assert_eq!(followed(&hand), None);
    // A node that supports nobody yet follows all the same.
    let mut hand = Hand::new(config(5, A), &Restored::Nothing);
    hand.listen(9_000, &[(C, primary(6))]);
    assert_eq!((followed(&hand), hand.quorum.supported()), (Some(C), None));
    assert!(!hand.changes.contains(&Change::Vacant), "{:?}", hand.changes);
}

#[test]
fn a_primary_is_followed_while_it_raises_its_voters_epoch() {
    let mut hand = Hand::following(3);
    hand.slow_disk = true;
    hand.offer(C, 8, offset(0));
    assert_eq!(hand.quorum.promised(), epoch(8));
    hand.listen(BOOTED + 7_000, &[(C, primary(6))]);
    assert_eq!(followed(&hand), Some(C));
}

#[test]
fn a_busy_disk_delays_pledges_but_not_following() {
    let mut hand = Hand::booted(4, A);
    hand.slow_disk = true;
    hand.hear(B, primary(8));
    hand.hear(C, primary(9));
    hand.hear(B, primary(8));
    assert_eq!(followed(&hand), Some(C));
    // A vote that waits for the disk is given, though somebody has won meanwhile.
    let mut hand = Hand::booted(4, A);
    hand.slow_disk = true;
    hand.offer(B, 8, offset(0));
    hand.hear(C, primary(9));
    hand.sent.clear();
    hand.finish_saving();
    assert_eq!(hand.votes(), [(B, 8)]);
    // Who steps down meanwhile is forgotten, though another is still supported.
    let mut hand = Hand::following(4);
    hand.slow_disk = true;
    hand.hear(B, primary(8));
    assert_eq!((followed(&hand), hand.quorum.supported()), (Some(B), Some((C, epoch(6)))));
    hand.hear(B, replica(8));
    assert_eq!((followed(&hand), hand.quorum.supported()), (None, Some((C, epoch(6)))));
    // Support that waits for it is not given, if the primary has gone on, or another claims the epoch.
    for (other, number, list) in [(C, 9, None), (D, 8, None), (C, 8, Some(7))] {
        let mut hand = Hand::booted(4, A);
        hand.slow_disk = true;
        hand.hear(C, primary(8));
        hand.hear(other, Beat { list, ..primary(number) });
        hand.finish_saving();
        assert_eq!(hand.quorum.supported(), None, "{other:?}");
    }
}

#[test]
fn an_offer_overtaken_by_a_candidates_heartbeat_counts() {
    let mut hand = Hand::booted(3, A);
    let offered = Some(hand.stamp(C));
    hand.hear(C, Beat { availability: Busy, ..candidate(6) });
    let position = offset(0);
    hand.sent.clear();
    hand.message(C, Message::Offer { epoch: epoch(6), position, stamp: offered });
    assert_eq!(hand.votes(), [(C, 6)]);
}

#[test]
fn a_heartbeat_without_an_address_takes_no_address_away() {
    let mut hand = Hand::following(3);
    assert!(hand.announce(C, 6, "c:1").is_some());
    assert_eq!(hand.announce(C, 6, "c:1"), None, "known");
    hand.hear(C, Beat { nominee: Some(B), ..primary(6) });
    let (_, address) = hand.quorum.followed().unwrap();
    assert_eq!(address, Some(Label::new("c:1").unwrap()));
    let told = hand.announce(C, 6, "c:2");
    assert!(
        matches!(told, Some(Change::Followed { label: Some(label), .. }) if label.as_str() == "c:2")
    );
}

#[test]
fn a_late_request_of_the_followed_primary_does_not_depose_it() {
    // The heartbeat was given before the announcement that came first.
    let mut hand = Hand::following(3);
    let (early, late) = (hand.stamp(C), hand.stamp(C));
    hand.message(C, announcement(6, late));
    let early = hand.beat(replica(6), early);
    hand.message(C, early);
    assert_eq!((followed(&hand), hand.quorum.supported()), (Some(C), Some((C, epoch(6)))));
}

#[test]
fn an_announcement_from_before_the_end_changes_nothing() {
    let mut hand = Hand::following(3);
    hand.hear(C, primary(6));
    hand.hear(C, Beat { availability: Busy, ..replica(6) });
    let overtaken = announcement(6, hand.old_stamp(C, 1));
    hand.message(C, overtaken);
    assert_eq!(hand.quorum.supported(), None);
    assert_eq!(hand.quorum.followed(), None);
}

#[test]
fn a_primary_of_the_past_is_not_followed() {
    let mut hand = Hand::booted(3, A);
    hand.hear(C, primary(4));
    assert_eq!((hand.quorum.followed(), hand.quorum.supported()), (None, None));
}

#[test]
fn a_second_life_does_not_prolong_the_firsts_support() {
    let mut hand = Hand::following(3);
    hand.run(3_000);
    hand.disconnect(C);
    hand.restart(C);
    hand.hear(C, primary(6));
    hand.hear(C, primary(6));
    hand.run_to(BOOTED + 5_000);
    assert_eq!(hand.quorum.supported(), None);
}
