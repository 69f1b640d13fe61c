//! Which of several connections in a peer's name decides how the peer is addressed.

use super::cluster::{encode, heartbeat, members, upper};
use core::time::Duration;
use election_core::{
    Timestamp,
    quorum::{
        Connection, Message,
        wire::{Addressee, Decoder, Dialect, Incoming},
    },
};

const DOWN: Duration = Duration::from_secs(5);

fn at(millis: u64) -> Timestamp {
    Timestamp::from_nanos(millis * 1_000_000)
}

/// A connection to `replica-2`, and what comes in on it.
struct Line {
    decoder: Decoder,
    connection: Connection,
}

impl Line {
    fn new(number: u64) -> Self {
        Self { decoder: Decoder::new(members("replica-2")), connection: Connection(number) }
    }

    fn hears(&mut self, bytes: &[u8], addressee: &mut Addressee, millis: u64) -> bool {
        self.decoder.read(&mut &bytes[..]).unwrap();
        addressee.heard(self.connection, self.decoder.dialect(), at(millis))
    }
}

fn frame(dialect: Dialect) -> Vec<u8> {
    encode("primary-east", &Message::Heartbeat(heartbeat()), dialect)
}

#[test]
fn a_stranger_in_upper_case_takes_no_echo_from_the_primary() {
    let mut primary = Addressee::new(DOWN);
    let (mut own, mut stranger) = (Line::new(1), Line::new(2));
    assert!(own.hears(&frame(Dialect::Extended), &mut primary, 0), "send in full");
    for millis in (200..20_000).step_by(200) {
        stranger.hears(&upper(&frame(Dialect::Legacy)), &mut primary, millis - 100);
        assert_eq!(primary.dialect(), Dialect::Extended);
        assert!(!own.hears(&frame(Dialect::Extended), &mut primary, millis));
    }
    primary.ended(stranger.connection);
    assert_eq!(primary.dialect(), Dialect::Extended);
}

#[test]
fn a_stranger_in_lower_case_brings_no_extension_to_an_old_peer() {
    let mut old = Addressee::new(DOWN);
    let (mut own, mut stranger) = (Line::new(1), Line::new(2));
    own.hears(&upper(&frame(Dialect::Legacy)), &mut old, 0);
    assert!(!stranger.hears(&frame(Dialect::Legacy), &mut old, 100));
    assert_eq!(old.dialect(), Dialect::Legacy);
}

/// The stranger spoke while the member had no connection.
#[test]
fn a_silent_upper_case_peer_gives_way_to_lower_case() {
    for beats in [1, 5] {
        let mut peer = Addressee::new(DOWN);
        let (mut own, mut stranger) = (Line::new(2), Line::new(1));
        for beat in 0..beats {
            stranger.hears(&upper(&frame(Dialect::Legacy)), &mut peer, 200 * beat);
        }
        let missed = 200 * (beats - 1) + 1_250;
        let heard =
            (0..10_000).find(|millis| own.hears(&frame(Dialect::Legacy), &mut peer, *millis));
        assert_eq!(heard, Some(missed));
        stranger.hears(&upper(&frame(Dialect::Legacy)), &mut peer, missed + 1);
        assert_eq!(peer.dialect(), Dialect::Extended);
    }
}

#[test]
fn another_version_takes_over_once_the_old_one_is_silent() {
    let downgraded = |end: bool| {
        let mut peer = Addressee::new(DOWN);
        let (mut before, mut after) = (Line::new(1), Line::new(2));
        before.hears(&frame(Dialect::Extended), &mut peer, 0);
        peer.dialled();
        assert_eq!(peer.dialect(), Dialect::Legacy, "who answers is not known yet");
        before.hears(&frame(Dialect::Extended), &mut peer, 10);
        if end {
            peer.ended(before.connection);
            assert_eq!(peer.dialect(), Dialect::Legacy);
        }
        let old = upper(&frame(Dialect::Legacy));
        let heard = (100..6_000).step_by(100).find(|millis| {
            after.hears(&old, &mut peer, *millis);
            peer.dialect() == Dialect::Legacy
        });
        heard.unwrap()
    };
    assert_eq!((downgraded(true), downgraded(false)), (100, 5_100));
}

#[test]
fn greetings_halves_and_messages_are_told_apart() {
    let mut decoder = Decoder::new(members("replica-2"));
    let (greeting, message) = (frame(Dialect::Legacy), frame(Dialect::Extended));
    let bytes = [&greeting[..], &message[..], &message[..9]].concat();
    decoder.space()[..bytes.len()].copy_from_slice(&bytes);
    decoder.filled(bytes.len());
    assert_eq!(decoder.incoming(), Ok(Incoming::Greeting));
    assert_eq!(decoder.incoming(), Ok(Incoming::Message(Message::Heartbeat(heartbeat()))));
    assert_eq!(decoder.incoming(), Ok(Incoming::Incomplete));
    assert_eq!(decoder.pending(), 9);
}

#[test]
fn who_was_silent_for_down_after_speaks_no_longer_for_the_peer() {
    for (millis, listens) in [(4_999, Dialect::Extended), (5_000, Dialect::Legacy)] {
        let mut addressee = Addressee::new(DOWN);
        Line::new(1).hears(&frame(Dialect::Extended), &mut addressee, 0);
        Line::new(2).hears(&upper(&frame(Dialect::Legacy)), &mut addressee, millis);
        assert_eq!(addressee.dialect(), listens, "{millis}");
    }
}
