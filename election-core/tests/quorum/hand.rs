//! One node by hand: the test plays its peers, its disk and its clock.

mod frames;
mod told;

pub(crate) use frames::*;

use core::time::Duration;
use election_core::{
    Alert, Change, Drift, Epoch, Incarnation, Input, Label, NodeId, Protocol, Step, Tenure,
    Timestamp,
    quorum::{
        Action, Attestation, Audience, Availability, Ballot, Config, ConfigBuilder, Connection,
        Event, Extension, Fingerprint, Heartbeat, Held, Maintenance, Message, Outline, Peer,
        PeerSet, Position, Quorum, Restored, Role, Stamp,
    },
};
use uuid::Uuid;

/// The node under test and its peers, by their places: the ids are `a`, `b`, `c`, …
pub(crate) const A: Peer = Peer::new(0);
pub(crate) const B: Peer = Peer::new(1);
pub(crate) const C: Peer = Peer::new(2);
pub(crate) const D: Peer = Peer::new(3);
pub(crate) const E: Peer = Peer::new(4);

pub(crate) use Availability::{
    Busy, BusyAside, Free, FreeAside, Ineligible, Leaving, Loading, Waiting,
};

/// When the boot grace is over: 5 s · 1.01/0.99, after 1 s.
pub(crate) const BOOTED: u64 = 6_102;
/// How long trust lasts, in milliseconds: 5 s · 0.99/1.01 − 100 ms.
pub(crate) const WINDOW: u64 = 4_801;
pub(crate) const GRACE: u64 = 500;

pub(crate) fn at(millis: u64) -> Timestamp {
    Timestamp::from_nanos(millis * 1_000_000)
}

pub(crate) fn epoch(number: u64) -> Epoch {
    Epoch::new(number)
}

pub(crate) fn offset(offset: u64) -> Position {
    Position { history: 0, offset }
}

pub(crate) fn life(number: u128) -> Incarnation {
    Incarnation::new(Uuid::from_u128(number))
}

pub(crate) fn id(peer: Peer) -> NodeId {
    let letters = (b'a'..=b'z').map(|letter| char::from(letter).to_string());
    let more = (26..).map(|place| format!("z{place}"));
    NodeId::new(&letters.chain(more).nth(peer.index()).unwrap()).unwrap()
}

pub(crate) fn ids(count: u8) -> Vec<NodeId> {
    (0..count).map(|place| id(Peer::new(place))).collect()
}

/// The default timing for `count` members, of which this is one.
pub(crate) fn defaults(count: u8, me: Peer) -> ConfigBuilder {
    Config::builder(id(me), ids(count), Label::new("10.0.0.1:6004").unwrap())
}

/// The same for clocks that drift by one per cent at most: its spans are close to round numbers.
pub(crate) fn config(count: u8, me: Peer) -> ConfigBuilder {
    defaults(count, me).drift(Drift::from_ppm(10_000).unwrap())
}

pub(crate) fn ballot(count: u8, promised: u64, voted_for: Option<Peer>) -> Ballot {
    let config = config(count, A).build().unwrap();
    Ballot {
        promised: epoch(promised),
        voted_for: voted_for.map(id),
        incarnation: life(1),
        members: config.members().fingerprint(),
        lists: config.members().first_lists(),
        floor: Position::default(),
        maintenance: Maintenance::default(),
        pause: None,
    }
}

pub(crate) struct Hand {
    pub(crate) quorum: Quorum,
    /// In milliseconds.
    pub(crate) now: u64,
    pub(crate) wake_at: Option<Timestamp>,
    pub(crate) changes: Vec<Change>,
    pub(crate) sent: Vec<(Audience, Message)>,
    /// The save that is outstanding.
    pub(crate) saving: Option<Ballot>,
    /// Whether saves are answered only by the test.
    pub(crate) slow_disk: bool,
    pub(crate) saved: Vec<Ballot>,
    /// The stamps of each peer's present life, in nanoseconds. Its clock reads the same as this
    /// node's.
    stamps: [Vec<u64>; 8],
    pub(crate) lives: [u128; 8],
    pub(crate) connections: [u64; 8],
}

impl Hand {
    pub(crate) fn new(config: ConfigBuilder, restored: &Restored) -> Self {
        Self::with_data(config, restored, Some(Position::default()))
    }

    pub(crate) fn with_data(
        config: ConfigBuilder,
        restored: &Restored,
        position: Option<Position>,
    ) -> Self {
        let config = config.build().unwrap();
        let quorum = Quorum::new(config, life(99), restored, position, 42);
        let mut hand = Self {
            quorum,
            now: 1_000,
            wake_at: None,
            changes: Vec::new(),
            sent: Vec::new(),
            saving: None,
            slow_disk: false,
            saved: Vec::new(),
            stamps: Default::default(),
            lives: [7; 8],
            connections: [1; 8],
        };
        hand.input(Input::Tick);
        hand
    }

    /// Node `me` of `count`, past its boot grace, bound to epoch 5 by its ballot. It has heard
    /// nobody.
    pub(crate) fn booted(count: u8, me: Peer) -> Self {
        let ballot = ballot(count, 5, None);
        Self::booted_from(config(count, me), ballot, Some(Position::default()))
    }

    /// A node past its boot grace, which has heard nobody.
    pub(crate) fn booted_from(
        config: ConfigBuilder,
        ballot: Ballot,
        position: Option<Position>,
    ) -> Self {
        let mut hand = Self::with_data(config, &Restored::Ballot(ballot), position);
        hand.run_to(BOOTED);
        hand.sent.clear();
        hand
    }

    /// The node `a` of `count`, elected in epoch 6 by all others. It made the offer and got the
    /// votes at [`BOOTED`].
    pub(crate) fn leading(count: u8) -> Self {
        let mut hand = Self::booted(count, A);
        for place in 1..count {
            hand.hear(Peer::new(place), replica(5));
        }
        for place in 1..count {
            hand.accept(Peer::new(place), 6);
        }
        assert!(hand.leads().is_some(), "{:?}", hand.quorum);
        hand
    }

    /// The node `a` of `count`, which follows `c` in epoch 6 since [`BOOTED`].
    pub(crate) fn following(count: u8) -> Self {
        let mut hand = Self::booted(count, A);
        hand.hear(C, primary(6));
        hand.hear(C, primary(6));
        assert_eq!(hand.quorum.supported(), Some((C, epoch(6))));
        hand.sent.clear();
        hand
    }

    /// Takes one step and the steps it asks for at once. Returns the first change.
    pub(crate) fn input(&mut self, input: Input<Event>) -> Option<Change> {
        let before = self.changes.len();
        self.step(input);
        for _ in 0..100 {
            if self.wake_at.is_none_or(|wake_at| wake_at > at(self.now)) {
                return self.changes.get(before).cloned();
            }
            self.step(Input::Tick);
        }
        panic!("it does not come to rest: {:?}", self.quorum);
    }

    fn step(&mut self, input: Input<Event>) {
        let Step { change, action, wake_at } = self.quorum.step(at(self.now), input);
        self.wake_at = wake_at;
        self.changes.extend(change);
        match action {
            None => {}
            Some(Action::Send { to, message }) => self.sent.push((to, message)),
            Some(Action::Save(ballot)) => {
                assert_eq!(self.saving.replace(ballot), None, "two saves at once");
                if !self.slow_disk {
                    self.finish_saving();
                }
            }
        }
    }

    /// The outstanding save succeeds.
    #[track_caller]
    pub(crate) fn finish_saving(&mut self) -> Option<Change> {
        let ballot = self.saving.take().expect("a save");
        let promised = ballot.promised;
        self.saved.push(ballot);
        self.event(Event::Saved(promised))
    }

    /// The outstanding save fails.
    #[track_caller]
    pub(crate) fn fail_saving(&mut self) -> Option<Change> {
        let ballot = self.saving.take().expect("a save");
        self.event(Event::SaveFailed(ballot.promised))
    }

    pub(crate) fn event(&mut self, event: Event) -> Option<Change> {
        self.input(Input::Event(event))
    }

    /// Lets time pass and wakes the machine whenever it asked for that.
    pub(crate) fn run_to(&mut self, millis: u64) {
        while let Some(wake_at) = self.wake_at {
            let due = wake_at.as_nanos().div_ceil(1_000_000);
            if due > millis {
                break;
            }
            self.now = self.now.max(due);
            self.input(Input::Tick);
        }
        self.now = millis;
    }

    pub(crate) fn run(&mut self, millis: u64) {
        self.run_to(self.now + millis);
    }
}

/// Whole milliseconds, to the nearest.
pub(crate) fn millis(time: Timestamp) -> u64 {
    Duration::from_nanos(time.as_nanos() + 500_000).as_millis().try_into().unwrap()
}
