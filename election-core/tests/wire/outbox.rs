//! What a node still says to a peer, on which connection, and in which dialect.

use super::cluster::{LIFE, hear, heartbeat, members, stamp};
use core::time::Duration;
use election_core::{
    Epoch, Label, NodeId, Timestamp,
    quorum::{
        Connection, Heartbeat, Maintenance, Members, Message, Position, Role,
        wire::{Dialect, Encoder, MAX_ADDRESS, MAX_ID, Outbox},
    },
};

const DOWN: Duration = Duration::from_secs(5);

fn at(millis: u64) -> Timestamp {
    Timestamp::from_nanos(millis * 1_000_000)
}

/// Frames of `primary-east`, the `nth` that it sends.
fn beat(role: Role, epoch: u64, nth: u64) -> Message {
    let mut said = Heartbeat { role, epoch: Epoch::new(epoch), ..heartbeat() };
    said.extension.as_mut().unwrap().stamp.at = Timestamp::from_nanos(nth);
    Message::Heartbeat(said)
}

fn offer(epoch: u64, nth: u64) -> Message {
    let position = Position { history: 41, offset: 7 };
    Message::Offer { epoch: Epoch::new(epoch), position, stamp: Some(stamp(LIFE, nth)) }
}

fn accept(epoch: u64, nth: u64) -> Message {
    Message::Accept { epoch: Epoch::new(epoch), stamp: Some(stamp(LIFE, nth)), accepted: None }
}

fn announce(epoch: u64, nth: u64) -> Message {
    let (epoch, address) = (Epoch::new(epoch), Label::new("10.0.0.42:6004").unwrap());
    Message::Announce { epoch, address, token: epoch, stamp: Some(stamp(LIFE, nth)) }
}

fn record(epoch: u64, nth: u64) -> Message {
    Message::Maintenance {
        epoch: Epoch::new(epoch),
        record: Maintenance { number: 1, paused: true, ..Maintenance::default() },
        left: None,
        agreed: true,
        stamp: Some(stamp(LIFE, nth)),
    }
}

fn replica(nth: u64) -> Message {
    beat(Role::Replica, 42, nth)
}

fn outbox() -> Outbox {
    Outbox::new(Encoder::new(members("primary-east")).unwrap(), DOWN)
}

/// An outbox with a connection to a peer that has shown which dialect it understands.
fn open(dialect: Dialect) -> Outbox {
    let mut outbox = outbox();
    outbox.opened(at(0));
    outbox.heard(Connection(1), dialect, at(0));
    outbox
}

fn push(outbox: &mut Outbox, messages: impl IntoIterator<Item = Message>) {
    messages.into_iter().for_each(|message| outbox.push(&message, at(0)));
}

/// The connection takes everything. Returns what a peer of this protocol makes of it.
fn flush(outbox: &mut Outbox) -> Vec<Message> {
    let (messages, end) = hear(&take(outbox, usize::MAX));
    assert_eq!(end, Ok(()));
    messages
}

fn take(outbox: &mut Outbox, most: usize) -> Vec<u8> {
    let taken = outbox.bytes()[..most.min(outbox.bytes().len())].to_vec();
    outbox.written(taken.len(), at(0));
    taken
}

#[test]
fn frames_leave_in_order_and_only_the_newest_heartbeat_does() {
    let mut outbox = open(Dialect::Extended);
    push(&mut outbox, [replica(1), accept(42, 2), replica(3), announce(42, 4), replica(5)]);
    assert_eq!(outbox.frames().map(<[u8]>::len).sum::<usize>(), outbox.bytes().len());
    assert_eq!(outbox.frames().count(), 2, "a replica announces nothing");
    assert_eq!(flush(&mut outbox), [accept(42, 2), replica(5)]);
    assert!(outbox.is_empty() && outbox.bytes().is_empty());
}

#[test]
fn a_frame_that_has_begun_is_finished_and_a_newer_one_follows() {
    let mut outbox = open(Dialect::Extended);
    push(&mut outbox, [replica(1)]);
    let head = take(&mut outbox, 7);
    push(&mut outbox, [replica(2), accept(43, 3), replica(4)]);
    let all = [head, take(&mut outbox, usize::MAX)].concat();
    assert_eq!(hear(&all), (vec![replica(1), accept(43, 3), replica(4)], Ok(())));
}

#[test]
fn what_is_superseded_does_not_leave() {
    let candidate = |epoch, nth| beat(Role::Candidate, epoch, nth);
    let primary = |epoch, nth| beat(Role::Primary, epoch, nth);
    for (pushed, left) in [
        (vec![offer(7, 1), candidate(7, 2)], vec![offer(7, 1), candidate(7, 2)]),
        (vec![offer(7, 1), offer(7, 2)], vec![offer(7, 2)]),
        (vec![offer(7, 1), beat(Role::Replica, 7, 2)], vec![beat(Role::Replica, 7, 2)]),
        (vec![offer(7, 1), announce(7, 2)], vec![announce(7, 2)]),
        (vec![offer(7, 1), accept(7, 2)], vec![accept(7, 2)]),
        // A primary takes in a peer by an election that it asks for while it leads.
        (vec![offer(8, 1), primary(7, 2)], vec![offer(8, 1), primary(7, 2)]),
        (vec![offer(8, 1), primary(8, 2)], vec![primary(8, 2)]),
        (
            vec![accept(7, 1), beat(Role::Replica, 7, 2)],
            vec![accept(7, 1), beat(Role::Replica, 7, 2)],
        ),
        (vec![accept(7, 1), accept(7, 2)], vec![accept(7, 2)]),
        (vec![offer(7, 1), record(7, 2)], vec![offer(7, 1), record(7, 2)]),
        (vec![offer(7, 1), record(8, 2)], vec![record(8, 2)]),
        (vec![offer(7, 1), candidate(8, 2)], vec![candidate(8, 2)]),
        (vec![accept(7, 1), offer(7, 2)], vec![accept(7, 1), offer(7, 2)]),
        (vec![announce(7, 1), record(7, 2)], vec![announce(7, 1), record(7, 2)]),
        (vec![record(7, 1), announce(7, 2)], vec![record(7, 1), announce(7, 2)]),
        (vec![announce(7, 1), accept(8, 2)], vec![accept(8, 2)]),
        (vec![record(7, 1), record(7, 2)], vec![record(7, 2)]),
        (vec![record(7, 1), accept(8, 2)], vec![record(7, 1), accept(8, 2)]),
        (vec![accept(7, 1), beat(Role::Replica, 8, 2)], vec![beat(Role::Replica, 8, 2)]),
        (vec![announce(7, 1), primary(7, 2)], vec![announce(7, 1), primary(7, 2)]),
        (vec![announce(7, 1), offer(8, 2)], vec![announce(7, 1), offer(8, 2)]),
        (vec![announce(7, 1), announce(8, 2)], vec![announce(8, 2)]),
        (vec![announce(7, 1), beat(Role::Replica, 7, 2)], vec![beat(Role::Replica, 7, 2)]),
    ] {
        let mut outbox = open(Dialect::Extended);
        push(&mut outbox, pushed.clone());
        assert_eq!(flush(&mut outbox), left, "{pushed:?}");
    }
}

#[test]
fn a_new_connection_begins_with_only_the_last_heartbeat() {
    let mut outbox = open(Dialect::Extended);
    push(&mut outbox, [replica(1), offer(43, 2)]);
    take(&mut outbox, 9);
    outbox.closed();
    assert!(outbox.is_empty() && !outbox.is_open());
    push(&mut outbox, [accept(44, 3), announce(45, 4)]);
    outbox.opened(at(0));
    outbox.heard(Connection(1), Dialect::Extended, at(0));
    assert_eq!(flush(&mut outbox), [replica(1)], "half a frame is not continued");
    // It may have been lost with the connection that had taken it.
    outbox.opened(at(0));
    outbox.heard(Connection(1), Dialect::Extended, at(0));
    assert_eq!(flush(&mut outbox), [replica(1)]);
    push(&mut outbox, [replica(5)]);
    assert_eq!(flush(&mut outbox), [replica(5)]);
}

#[test]
fn a_peer_that_is_heard_gets_everything_again_in_full() {
    let mut outbox = outbox();
    outbox.opened(at(0));
    push(&mut outbox, [offer(42, 1), beat(Role::Candidate, 42, 2)]);
    assert_eq!(flush(&mut outbox), [], "greetings");
    outbox.heard(Connection(1), Dialect::Extended, at(0));
    assert_eq!(flush(&mut outbox), [offer(42, 1), beat(Role::Candidate, 42, 2)]);
    outbox.heard(Connection(1), Dialect::Extended, at(0));
    assert!(outbox.is_empty(), "once is enough");
}

#[test]
fn a_greeting_that_has_begun_is_finished_and_then_sent_in_full() {
    let mut outbox = outbox();
    outbox.opened(at(0));
    push(&mut outbox, [replica(1)]);
    let head = take(&mut outbox, 7);
    outbox.heard(Connection(1), Dialect::Extended, at(0));
    push(&mut outbox, [accept(43, 2)]);
    let all = [head, take(&mut outbox, usize::MAX)].concat();
    assert_eq!(hear(&all), (vec![replica(1), accept(43, 2)], Ok(())));
    assert!(outbox.is_empty());
}

#[test]
fn what_has_not_begun_follows_the_dialect() {
    let mut outbox = open(Dialect::Extended);
    push(&mut outbox, [replica(1)]);
    let head = take(&mut outbox, 7);
    push(&mut outbox, [accept(43, 2)]);
    outbox.ended(Connection(1), at(0));
    assert_eq!(outbox.dialect(), Dialect::Legacy, "who speaks next is not known");
    let bytes = [head, take(&mut outbox, usize::MAX)].concat();
    assert_eq!(hear(&bytes), (vec![replica(1)], Ok(())), "the vote is a greeting");
    outbox.heard(Connection(2), Dialect::Extended, at(0));
    assert_eq!(flush(&mut outbox), [accept(43, 2)]);
}

#[test]
fn a_connection_that_takes_no_frame_for_down_after_is_to_be_cut() {
    let mut outbox = outbox();
    outbox.push(&replica(1), at(0));
    assert_eq!(outbox.cut_at(), None, "nobody can take it");
    outbox.opened(at(100));
    outbox.heard(Connection(1), Dialect::Extended, at(150));
    for beats in 1..100 {
        outbox.push(&replica(1 + beats), at(100 + 200 * beats));
    }
    assert_eq!(outbox.cut_at(), Some(at(5_100)), "a newer heartbeat has waited as long");
    outbox.written(1, at(300));
    assert_eq!(outbox.cut_at(), Some(at(5_100)), "a byte is no frame");
    outbox.push(&replica(200), at(400));
    let rest = outbox.frames().next().unwrap().len();
    outbox.written(rest, at(500));
    assert_eq!(outbox.cut_at(), Some(at(5_500)), "the next frame waits from now on");
    outbox.written(usize::MAX, at(600));
    assert_eq!(outbox.cut_at(), None);
    outbox.push(&replica(201), at(700));
    outbox.closed();
    assert_eq!(outbox.cut_at(), None);
}

#[test]
fn the_longest_frames_of_all_kinds_find_room_at_once() {
    let id = |letter: &str| NodeId::new(&letter.repeat(MAX_ID)).unwrap();
    let all = Members::new(vec![id("a"), id("b")], &id("a")).unwrap();
    let mut outbox = Outbox::new(Encoder::new(all).unwrap(), DOWN);
    let most = Epoch::new(u64::MAX);
    let (stamp, position) =
        (stamp(u128::MAX, u64::MAX), Position { history: u64::MAX, offset: u64::MAX });
    let address = Label::new(&"x".repeat(MAX_ADDRESS)).unwrap();
    let Message::Heartbeat(mut said) = beat(Role::Primary, u64::MAX, u64::MAX) else { return };
    said.position = position;
    let announced = Message::Announce { epoch: most, address, token: most, stamp: Some(stamp) };
    outbox.opened(at(0));
    outbox.heard(Connection(1), Dialect::Extended, at(0));
    push(&mut outbox, [announced.clone()]);
    outbox.written(1, at(0));
    let offered = Message::Offer { epoch: most, position, stamp: Some(stamp) };
    push(&mut outbox, [announced, offered, Message::Heartbeat(said)]);
    assert_eq!(outbox.frames().count(), 3);
    assert!(outbox.bytes().len() < 1_300, "{outbox:?}");
    assert!(size_of::<Outbox>() <= 5_120, "{}", size_of::<Outbox>());
}

#[test]
fn debug_shows_the_state_and_no_bytes() {
    let mut outbox = open(Dialect::Legacy);
    push(&mut outbox, [replica(1)]);
    let shown = format!("{outbox:?}");
    assert!(shown.contains("is_open: true") && shown.contains("frames: 1"), "{shown}");
    assert!(!shown.contains("primary-east"), "{shown}");
}

#[test]
fn a_maintenance_record_waits_for_a_peer_that_knows_it() {
    let mut outbox = open(Dialect::Legacy);
    push(&mut outbox, [record(7, 1), replica(2)]);
    assert_eq!(outbox.frames().count(), 1, "kevy-elect would close the connection");
    assert_eq!(flush(&mut outbox), [], "a greeting");
    outbox.heard(Connection(1), Dialect::Extended, at(0));
    assert_eq!(flush(&mut outbox), [record(7, 1), replica(2)]);
}

/// A peer that has dialled anew greets, and waits to be heard before it says anything that counts.
#[test]
fn a_greeting_is_answered_at_once_and_once_for_each_connection() {
    let mut outbox = open(Dialect::Extended);
    push(&mut outbox, [accept(42, 0), replica(1)]);
    assert_eq!(flush(&mut outbox), [accept(42, 0), replica(1)]);
    let mut greets = |connection: u64| {
        let connection = Connection(connection);
        outbox.ended(Connection(1), at(1));
        outbox.heard(connection, Dialect::Extended, at(1));
        let before = flush(&mut outbox);
        outbox.greeted(connection, at(1));
        (before, flush(&mut outbox))
    };
    // The old connection has ended; on the new one the peer has not heard this node yet.
    assert_eq!(greets(2), (vec![], vec![replica(1)]));
    assert_eq!(greets(2), (vec![], vec![]), "once");
    // A second connection, while the first speaks for the peer, is a stranger's.
    assert_eq!(greets(3), (vec![], vec![]), "a stranger");
    let mut closed = Outbox::new(Encoder::new(members("primary-east")).unwrap(), DOWN);
    push(&mut closed, [replica(1)]);
    closed.heard(Connection(2), Dialect::Extended, at(1));
    closed.greeted(Connection(2), at(1));
    assert!(closed.is_empty(), "there is no connection to answer on");
    closed.opened(at(2));
    closed.heard(Connection(2), Dialect::Extended, at(2));
    assert_eq!(flush(&mut closed), [replica(1)], "which begins with the heartbeat");
}

#[test]
fn whatever_the_connection_has_taken_nothing_of_is_replaced() {
    let mut outbox = open(Dialect::Extended);
    push(&mut outbox, [accept(42, 1), replica(2)]);
    let first = outbox.frames().next().unwrap().len();
    let head = take(&mut outbox, first);
    push(&mut outbox, [replica(3)]);
    let all = [head, take(&mut outbox, usize::MAX)].concat();
    assert_eq!(hear(&all), (vec![accept(42, 1), replica(3)], Ok(())));
}

#[test]
fn a_greeting_sent_after_the_peer_is_known_does_not_count() {
    let mut outbox = outbox();
    outbox.opened(at(0));
    push(&mut outbox, [replica(1)]);
    let greeting = outbox.frames().next().unwrap().len();
    let head = take(&mut outbox, 7);
    outbox.heard(Connection(1), Dialect::Extended, at(0));
    let all = [head, take(&mut outbox, greeting - 7), take(&mut outbox, usize::MAX)].concat();
    assert_eq!(hear(&all), (vec![replica(1)], Ok(())));
}

#[test]
fn what_waits_for_nothing_cuts_no_connection() {
    let mut outbox = open(Dialect::Extended);
    push(&mut outbox, [record(7, 1)]);
    assert_eq!(outbox.cut_at(), Some(at(5_000)));
    outbox.ended(Connection(1), at(1));
    assert_eq!((outbox.bytes(), outbox.cut_at()), (&b""[..], None), "who speaks next may be old");
}

#[test]
fn an_old_peer_gets_its_own_frames_and_nothing_twice() {
    let mut outbox = open(Dialect::Legacy);
    push(&mut outbox, [offer(43, 1), beat(Role::Candidate, 43, 2)]);
    outbox.heard(Connection(1), Dialect::Legacy, at(0));
    let bytes = take(&mut outbox, usize::MAX);
    let plain = |frame: &str| frame.replace(' ', "\r\n");
    let offer = "*4 $5 offer $2 43 $12 primary-east $1 7 ";
    let beat = "*5 $2 hb $2 43 $12 primary-east $9 candidate $7 1234567 ";
    assert_eq!(String::from_utf8(bytes).unwrap(), plain(offer) + &plain(beat));
    outbox.heard(Connection(1), Dialect::Legacy, at(0));
    assert!(outbox.is_empty());
}
