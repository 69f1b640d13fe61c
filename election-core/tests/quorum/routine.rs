//! A routine leads where the whole way leads: the hand compares them at every step.
//!
//! The tests of the rules meet few routines, because little of what matters is one. Here peers go on
//! as they do in a healthy cluster, and every few frames one of them differs in one respect.

use super::hand::*;
use core::time::Duration;
use election_core::{
    Alert, Input, Label, Random, Timestamp,
    quorum::{
        Attestation, Audience, Ballot, Connection, Event, Fingerprint, Heartbeat, Held,
        Maintenance, Message, Peer, PeerSet, Position, Restored, Role, Stamp,
    },
};

/// The newest stamp of a node that its peers can echo.
fn newest(hand: &Hand) -> Timestamp {
    let to_all = |(to, message): &(Audience, Message)| match message {
        Message::Heartbeat(heartbeat) if *to == Audience::All => heartbeat.extension,
        _ => None,
    };
    let said = hand.sent.iter().rev().find_map(to_all);
    said.map_or(Timestamp::ZERO, |said| said.stamp.at)
}

/// What `from` says as long as all goes on.
fn usual(hand: &mut Hand, from: Peer) -> Heartbeat {
    let promised = hand.quorum.promised().get();
    let beat = match (hand.leads(), hand.quorum.supported()) {
        (Some(_), _) => echo(promised, newest(hand).as_nanos()),
        (None, Some((node, number))) if node == from => match hand.quorum.followed() {
            Some(_) => primary(number.get()),
            None => candidate(number.get()),
        },
        (None, _) => Beat { availability: Busy, ..replica(promised) },
    };
    let stamp = hand.stamp(from);
    let Message::Heartbeat(heartbeat) = hand.beat(beat, stamp) else { panic!("no heartbeat") };
    heartbeat
}

/// Changes one thing that a heartbeat says, or where it comes from.
fn differ(
    hand: &Hand,
    random: &mut Random,
    from: Peer,
    heartbeat: &mut Heartbeat,
    connection: &mut Connection,
) {
    let few = random.up_to(3);
    let nth = usize::try_from(few).unwrap();
    let moved = |number: u64| (number + few).saturating_sub(1);
    let Some(said) = &mut heartbeat.extension else { return };
    match random.up_to(15) {
        0 if few == 3 => heartbeat.epoch = epoch(1 << 40),
        0 => heartbeat.epoch = epoch(moved(heartbeat.epoch.get())),
        1 => heartbeat.role = [Role::Primary, Role::Replica, Role::Candidate][nth % 3],
        2 => heartbeat.position = Position { history: few / 2, offset: few % 2 },
        3 => said.availability = [Free, Waiting, BusyAside, Leaving][nth],
        4 => said.attestation = Attestation::None,
        5 => said.attestation = Attestation::Token(epoch(moved(heartbeat.epoch.get()))),
        6 => {
            let at = newest(hand) + Duration::from_nanos(few);
            let incarnation = hand.quorum.incarnation();
            said.attestation = Attestation::Echo(Stamp { incarnation, at });
        }
        7 => {
            let other = Stamp { incarnation: life(7), at: newest(hand) };
            said.attestation = Attestation::Echo(other);
        }
        8 => said.fingerprint = Fingerprint::new(1),
        9 => said.nominee = Some([A, B, C, D][nth]),
        10 => said.holds = Held::new(few << 7 | 2),
        11 => said.hears = PeerSet::default(),
        12 => said.stamp = hand.old_stamp(from, nth),
        13 => said.stamp.incarnation = life(8),
        14 => *connection = Connection(few),
        _ => heartbeat.extension = None,
    }
}

/// Something else than a heartbeat happens.
fn happens(hand: &mut Hand, random: &mut Random, from: Peer) {
    let promised = hand.quorum.promised().get();
    let record = Maintenance { number: 1, issuer: B, by: B, ..Maintenance::default() };
    match random.up_to(17) {
        0 => drop(hand.input(Input::Resign)),
        1 => {
            if let Some(drained) = hand.quorum.draining() {
                hand.input(Input::Stopped(drained));
            }
        }
        2 => drop(hand.event(Event::Position(offset(random.up_to(2))))),
        3 => drop(hand.event(Event::Health(random.up_to(1) == 0))),
        4 => hand.disconnect(from),
        5 => hand.restart(from),
        6 => drop(hand.offer(from, promised + random.up_to(1), offset(0))),
        7 | 8 => drop(hand.accept(from, promised)),
        9 if random.up_to(1) == 0 => drop(hand.announce(from, promised, "x:1")),
        9 => {
            let (address, stamp) = (Label::new("x:1").unwrap(), Some(hand.old_stamp(from, 2)));
            let epoch = epoch(promised);
            hand.message(from, Message::Announce { epoch, address, token: epoch, stamp });
        }
        10 => hand.slow_disk = !hand.slow_disk,
        11 => {
            let (epoch, stamp) = (epoch(promised), Some(hand.stamp(from)));
            let record = Maintenance { paused: random.up_to(1) == 0, ..record };
            let agreed = random.up_to(1) == 0;
            hand.message(from, Message::Maintenance { epoch, record, left: None, agreed, stamp });
        }
        12 => drop(hand.event(Event::Pause(None))),
        13 => hand.run(6_000),
        // What lasts as long as a peer is heard, or as its echoes carry, is about to end.
        _ => hand.run_to(deadline(hand).saturating_sub(random.up_to(200)).max(hand.now)),
    }
}

/// When belief or support ends, in milliseconds.
fn deadline(hand: &Hand) -> u64 {
    let belief = hand.tenure().map(|tenure| tenure.until);
    let supports = hand.quorum.status(at(hand.now)).supports;
    belief.or(supports.map(|(_, _, until)| until)).map_or(0, millis)
}

fn start(seed: u64) -> Hand {
    let restored = |count| Restored::Ballot(ballot(count, 5, None));
    match seed % 8 {
        0 | 1 => Hand::leading(3),
        2 => Hand::following(3),
        3 => Hand::following(4),
        4 => Hand::new(config(3, A), &restored(3)),
        5 => Hand::new(config(3, A), &Restored::Nothing),
        6 => {
            let lacking = Ballot { floor: offset(2), ..ballot(3, 5, None) };
            Hand::new(config(3, A), &Restored::Ballot(lacking))
        }
        _ => Hand::with_data(config(4, A), &restored(4), None),
    }
}

#[test]
fn a_routine_leads_where_the_whole_way_leads() {
    let mut led = 0;
    for seed in 0..300 {
        let (mut hand, mut random) = (start(seed), Random::new(seed));
        for _ in 0..150 {
            let from = if random.up_to(1) == 0 { B } else { C };
            if random.up_to(20) == 0 {
                happens(&mut hand, &mut random, from);
            }
            if hand.saving.is_some() && random.up_to(2) == 0 {
                hand.finish_saving();
            }
            let mut heartbeat = usual(&mut hand, from);
            let mut connection = Connection(hand.connections[from.index()]);
            if random.up_to(12) == 0 {
                differ(&hand, &mut random, from, &mut heartbeat, &mut connection);
            }
            let message = Message::Heartbeat(heartbeat);
            hand.event(Event::Received { from, connection, message });
            hand.run(random.up_to(300));
            led += u32::from(hand.leads().is_some());
        }
    }
    assert!(led > 1_000, "too few of these led: {led}");
}

/// Node `a` of four, which follows `c` and has a routine.
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
    let (address, token) = (Label::new("c:1").unwrap(), epoch(6));
    hand.message(C, Message::Announce { epoch: token, address, token, stamp: Some(late) });
    hand
}

#[test]
fn in_a_routine_what_a_frame_says_of_its_sender_is_news() {
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
fn a_routine_ends_before_the_frame_that_comes_after_its_end() {
    let mut hand = follower();
    hand.now = BOOTED + 6_000;
    hand.hear(C, primary(6));
    let mut hand = Hand::leading(3);
    hand.run(200);
    let stamp = newest(&hand).as_nanos();
    hand.hear(B, echo(6, stamp));
    hand.hear(C, echo(6, stamp));
    hand.run(1_000);
    let stamp = newest(&hand).as_nanos();
    hand.now = hand.trusts().0;
    hand.hear(B, echo(6, stamp));
    assert_eq!(hand.leads(), None);
}

#[test]
fn in_a_routine_the_first_of_two_deadlines_counts() {
    let mut hand = follower_for_longer_than_support();
    let ends = hand.quorum.status(at(hand.now)).supports.unwrap().2;
    hand.run_to(millis(ends) - 10);
    hand.hear(C, primary(6));
    assert_eq!(hand.quorum.supported(), Some((C, epoch(6))));
    assert!(hand.wake_at.unwrap() > ends);
}

#[test]
fn a_routine_primary_with_less_data_completes_a_wiped_node() {
    let lacking = Ballot { floor: offset(10), ..ballot(3, 5, None) };
    let restored = Restored::Ballot(lacking);
    let mut hand = Hand::with_data(config(3, A), &restored, Some(offset(9)));
    hand.run_to(BOOTED);
    hand.listen(BOOTED + 1_000, &[(C, Beat { position: offset(10), ..primary(6) })]);
    assert_eq!(hand.saved.last().unwrap().floor, offset(10));
    hand.hear(C, Beat { position: offset(9), ..primary(6) });
    assert_eq!(hand.saved.last().unwrap().floor, Position::default());
}

#[test]
fn in_a_routine_the_end_of_best_effort_is_told_with_a_heartbeat() {
    let mut hand = Hand::leading(3);
    let beats = |hand: &mut Hand| {
        hand.run(200);
        newest(hand).as_nanos()
    };
    let stamp = beats(&mut hand);
    hand.hear(B, echo(6, stamp));
    hand.hear(C, echo(6, stamp));
    hand.disconnect(C);
    hand.restart(C);
    hand.run(2_700);
    let (epoch, role, position) = (epoch(6), Role::Replica, offset(0));
    hand.message(C, Message::Heartbeat(Heartbeat { epoch, role, position, extension: None }));
    assert_eq!(hand.alerts(), [&Alert::BestEffort { begins: true }]);
    let stamp = beats(&mut hand);
    hand.hear(B, echo(6, stamp));
    beats(&mut hand);
    assert_eq!(hand.alerts().last(), Some(&&Alert::BestEffort { begins: false }));
}

#[test]
fn who_leads_from_another_place_has_the_same_routine() {
    // The first member does not know of the leadership yet.
    let mut hand = Hand::new(config(3, B), &Restored::Ballot(ballot(3, 5, None)));
    hand.run_to(BOOTED);
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
