//! Properties of one machine under any inputs, in any order, at any times.
//!
//! The tests of the rules cover the cases that somebody thought of. These properties cover the
//! others, with clocks that jump to the ends of their range and peers that say anything at all.

use super::hand::{A, ballot, config, id, life};
use core::time::Duration;
use election_core::{
    Change, Epoch, Input, Label, Protocol, Step, Timestamp,
    quorum::{
        Action, Attestation, Audience, Availability, Ballot, Connection, Event, Extension,
        Fingerprint, Heartbeat, Held, Maintenance, Message, Peer, PeerSet, Position, Quorum,
        Restored, Role, Stamp, UnixMillis,
    },
};
use proptest::{collection::vec, prelude::*, sample::select};

/// What is drawn for one step. References to the machine are filled in when the step is played.
#[derive(Clone, Debug)]
enum Draw {
    Input(Input<Event>),
    /// The outstanding save succeeds or fails.
    Disk(bool),
    /// A peer echoes the newest frame under the machine's own epoch.
    Echo(u8),
    /// A peer votes for the machine's candidacy.
    Vote(u8),
    /// The work of the last tenure stops.
    Stop,
}

type History = Vec<(u64, Draw)>;

fn any_config() -> ProptestConfig {
    ProptestConfig { failure_persistence: None, ..ProptestConfig::default() }
}

fn epochs() -> impl Strategy<Value = Epoch> {
    let ends = select(vec![0, 1 << 32, u64::MAX - 1, u64::MAX]);
    prop_oneof![8 => 0..12_u64, 1 => ends].prop_map(Epoch::new)
}

fn times() -> impl Strategy<Value = Timestamp> {
    let ends = select(vec![0, 1, u64::MAX - 1, u64::MAX]);
    prop_oneof![4 => 0..20_000_000_000_u64, 1 => ends].prop_map(Timestamp::from_nanos)
}

fn stamps() -> impl Strategy<Value = Stamp> {
    (select(vec![7_u128, 8, 99]), times())
        .prop_map(|(number, at)| Stamp { incarnation: life(number), at })
}

fn positions() -> impl Strategy<Value = Position> {
    (0..3_u64, 0..3_u64).prop_map(|(history, offset)| Position { history, offset })
}

fn peers() -> impl Strategy<Value = Peer> {
    prop_oneof![9 => 0..5_u8, 1 => any::<u8>()].prop_map(Peer::new)
}

fn extensions() -> impl Strategy<Value = Extension> {
    let own = config(5, A).build().unwrap().members().fingerprint();
    let fingerprints = prop_oneof![9 => Just(own), 1 => Just(Fingerprint::new(1))];
    let nominees = proptest::option::weighted(0.2, peers());
    let hears = any::<u64>().prop_map(PeerSet::from_bits);
    let said = (proptest::option::of(stamps()), availabilities(), nominees, fingerprints);
    let holds = prop_oneof![6 => Just(0_u64), 4 => 0..1_000_u64].prop_map(Held::new);
    (stamps(), said, (hears, holds), epochs()).prop_map(
        |(stamp, (echo, availability, nominee, fingerprint), (hears, holds), token)| Extension {
            stamp,
            attestation: match echo {
                Some(echo) => Attestation::Echo(echo),
                None if token == Epoch::NONE => Attestation::None,
                None => Attestation::Token(token),
            },
            availability,
            nominee,
            fingerprint,
            hears,
            holds,
        },
    )
}

fn availabilities() -> impl Strategy<Value = Availability> {
    use Availability::{Busy, BusyAside, Free, FreeAside, Ineligible, Leaving, Loading, Waiting};
    let others = vec![BusyAside, FreeAside, Waiting, Leaving, Ineligible, Loading];
    prop_oneof![3 => Just(Free), 3 => Just(Busy), 2 => select(others)]
}

fn records() -> impl Strategy<Value = Maintenance> {
    let times = || proptest::option::of((0..100_000_u64).prop_map(UnixMillis));
    let who = (peers(), peers(), proptest::option::of(peers()));
    (0..5_u32, any::<bool>(), who, times()).prop_map(
        |(number, paused, (issuer, by, primary), since)| Maintenance {
            number,
            issuer,
            paused,
            by,
            since,
            primary,
        },
    )
}

fn lefts() -> impl Strategy<Value = Option<Duration>> {
    proptest::option::of((0..100_000_u64).prop_map(Duration::from_millis))
}

fn messages() -> impl Strategy<Value = Message> {
    let roles = select(vec![Role::Primary, Role::Replica, Role::Candidate]);
    let extended = || proptest::option::weighted(0.9, stamps());
    let beat = (epochs(), roles, positions(), proptest::option::weighted(0.9, extensions()));
    prop_oneof![
        6 => beat.prop_map(|(epoch, role, position, extension)| {
            Message::Heartbeat(Heartbeat { epoch, role, position, extension })
        }),
        2 => (epochs(), positions(), extended())
            .prop_map(|(epoch, position, stamp)| Message::Offer { epoch, position, stamp }),
        2 => (epochs(), extended()).prop_map(|(epoch, stamp)| Message::Accept { epoch, stamp }),
        1 => (epochs(), records(), lefts(), any::<bool>(), extended()).prop_map(
            |(epoch, record, left, agreed, stamp)| {
                Message::Maintenance { epoch, record, left, agreed, stamp }
            }
        ),
        1 => (epochs(), epochs(), extended()).prop_map(|(epoch, token, stamp)| {
            Message::Announce { epoch, address: Label::new("x:1").unwrap(), token, stamp }
        }),
    ]
}

fn draws() -> impl Strategy<Value = Draw> {
    let connections = || (1..4_u64).prop_map(Connection);
    let events = prop_oneof![
        12 => (peers(), connections(), messages())
            .prop_map(|(from, connection, message)| Event::Received { from, connection, message }),
        1 => (peers(), connections())
            .prop_map(|(from, connection)| Event::Disconnected { from, connection }),
        1 => epochs().prop_map(Event::Saved),
        1 => epochs().prop_map(Event::SaveFailed),
        1 => positions().prop_map(Event::Position),
        1 => any::<bool>().prop_map(Event::Health),
        1 => peers().prop_map(Event::HandOver),
    ];
    let inputs = prop_oneof![
        12 => events.prop_map(Input::Event),
        4 => Just(Input::Tick),
        1 => Just(Input::Resign),
        1 => epochs().prop_map(Input::Stopped),
    ];
    prop_oneof![
        10 => inputs.prop_map(Draw::Input),
        4 => prop_oneof![9 => Just(true), 1 => Just(false)].prop_map(Draw::Disk),
        3 => (1..5_u8).prop_map(Draw::Echo),
        4 => (1..5_u8).prop_map(Draw::Vote),
        2 => Just(Draw::Stop),
    ]
}

fn histories() -> impl Strategy<Value = History> {
    let waits = prop_oneof![
        4 => Just(0),
        8 => 0..300_000_000_u64,
        2 => 0..6_000_000_000_u64,
        1 => select(vec![1, u64::MAX]),
    ];
    vec((waits, draws()), 1..120)
}

fn restored() -> impl Strategy<Value = Restored> {
    let votes = select(vec![None, Some(A), Some(Peer::new(2))]);
    let kept = (0..6_u64, votes, select(vec![5_u8, 3]))
        .prop_map(|(promised, vote, count)| Restored::Ballot(ballot(count, promised, vote)));
    prop_oneof![2 => Just(Restored::Nothing), 6 => kept, 1 => Just(Restored::Unusable)]
}

/// The machine, its last requests, and what it must not contradict.
struct Played {
    quorum: Quorum,
    now: Timestamp,
    saving: Option<Ballot>,
    disk: Option<Ballot>,
    leads: Option<Epoch>,
    tenure: Option<election_core::Tenure>,
    told: Option<Epoch>,
    stamped: Timestamp,
    voted: Vec<(Epoch, Peer)>,
    last_epoch: Epoch,
}

impl Played {
    fn new(restored: &Restored, position: Option<Position>) -> Self {
        let configuration = config(5, A).build().unwrap();
        let disk = match restored {
            Restored::Ballot(ballot) => Some(ballot.clone()),
            _ => None,
        };
        Self {
            quorum: Quorum::new(configuration, life(99), restored, position, 1),
            now: Timestamp::ZERO,
            saving: None,
            disk,
            leads: None,
            tenure: None,
            told: None,
            stamped: Timestamp::ZERO,
            voted: Vec::new(),
            last_epoch: Epoch::NONE,
        }
    }

    fn filled(&mut self, draw: Draw) -> Input<Event> {
        let from = |place, message| {
            let from = Peer::new(place);
            Input::Event(Event::Received { from, connection: Connection(9), message })
        };
        let stamp = Stamp { incarnation: life(7), at: self.now.max(Timestamp::from_nanos(1)) };
        match draw {
            Draw::Input(input) => input,
            Draw::Disk(works) => match self.saving.take() {
                None => Input::Tick,
                Some(ballot) if works => {
                    let promised = ballot.promised;
                    self.disk = Some(ballot);
                    Input::Event(Event::Saved(promised))
                }
                Some(ballot) => Input::Event(Event::SaveFailed(ballot.promised)),
            },
            Draw::Vote(place) => {
                let (epoch, stamp) = (self.quorum.promised(), Some(stamp));
                from(place, Message::Accept { epoch, stamp })
            }
            Draw::Echo(place) => {
                let at = self.stamped;
                let extension = Some(Extension {
                    stamp,
                    attestation: Attestation::Echo(Stamp { incarnation: life(99), at }),
                    availability: Availability::Busy,
                    nominee: None,
                    fingerprint: self.quorum.config().members().fingerprint(),
                    hears: PeerSet::from_bits(u64::MAX),
                    holds: Held::default(),
                });
                let epoch = self.last_epoch;
                let (role, position) = (Role::Replica, Position::default());
                from(place, Message::Heartbeat(Heartbeat { epoch, role, position, extension }))
            }
            Draw::Stop => Input::Stopped(self.told.unwrap_or(Epoch::NONE)),
        }
    }

    fn play(&mut self, wait: u64, draw: Draw) -> Result<(), TestCaseError> {
        self.now = self.now + Duration::from_nanos(wait);
        let input = self.filled(draw);
        self.answers(&input);
        let withdrawn = input == Input::Withdraw;
        let mut wake_at = self.step(input)?;
        for _ in 0..200 {
            if wake_at.is_none_or(|wake_at| self.now < wake_at) {
                return Ok(());
            }
            wake_at = self.step(Input::Tick)?;
        }
        prop_assert!(withdrawn, "it does not come to rest at {:?}", self.now);
        Ok(())
    }

    /// An answer counts, even if it was not drawn on purpose.
    fn answers(&mut self, input: &Input<Event>) {
        match input {
            Input::Event(Event::Saved(epoch)) => {
                if let Some(ballot) = self.saving.take_if(|ballot| ballot.promised == *epoch) {
                    self.disk = Some(ballot);
                }
            }
            Input::Event(Event::SaveFailed(epoch)) => {
                self.saving.take_if(|ballot| ballot.promised == *epoch);
            }
            _ => {}
        }
    }

    fn step(&mut self, input: Input<Event>) -> Result<Option<Timestamp>, TestCaseError> {
        let Step { change, action, wake_at } = self.quorum.step(self.now, input);
        if let Some(change) = change {
            self.changed(change)?;
        }
        let tenure = self.quorum.tenure(self.now);
        prop_assert_eq!(tenure.as_ref().map(|tenure| tenure.term.epoch), self.leads);
        prop_assert_eq!(self.quorum.is_leader(self.now), tenure.is_some());
        if let (Some(before), Some(after)) = (&self.tenure, &tenure) {
            prop_assert!(before.term != after.term || before.until <= after.until);
        }
        if let Some(tenure) = &tenure {
            prop_assert!(tenure.until <= tenure.stop_by);
            prop_assert!(tenure.until <= self.now + self.quorum.config().trust_window());
            prop_assert!(!self.quorum.is_leader(tenure.until));
        }
        self.tenure = tenure;
        match action {
            None => {}
            Some(Action::Save(ballot)) => {
                prop_assert!(self.saving.is_none(), "two saves at once");
                let known = self.disk.as_ref().map_or(Epoch::NONE, |ballot| ballot.promised);
                prop_assert!(known <= ballot.promised, "{known} became {ballot:?}");
                self.saving = Some(ballot);
            }
            Some(Action::Send { to, message }) => self.sent(to, &message)?,
        }
        Ok(wake_at)
    }

    fn changed(&mut self, change: Change) -> Result<(), TestCaseError> {
        match change {
            Change::Elected(tenure) => {
                prop_assert_eq!(self.leads, None);
                prop_assert!(self.told.is_none_or(|last| last < tenure.term.epoch));
                self.leads = Some(tenure.term.epoch);
            }
            Change::Lost { term, stop_by, .. } => {
                prop_assert_eq!(self.leads.take(), Some(term.epoch));
                self.told = Some(term.epoch);
                if let Some(tenure) = &self.tenure {
                    let alone = tenure.stop_by == Timestamp::MAX;
                    prop_assert!(alone || stop_by <= tenure.stop_by || stop_by <= self.now);
                }
            }
            Change::Followed { term, .. } => {
                prop_assert_eq!(self.leads, None);
                prop_assert_ne!(term.leader, id(A));
            }
            Change::Vacant => prop_assert_eq!(self.leads, None),
            Change::Alert(_) => {}
        }
        Ok(())
    }

    fn sent(&mut self, to: Audience, message: &Message) -> Result<(), TestCaseError> {
        let (stamp, vote) = match message {
            Message::Heartbeat(heartbeat) => {
                self.last_epoch = heartbeat.epoch;
                prop_assert!(heartbeat.epoch <= self.quorum.promised());
                (heartbeat.extension.map(|extension| extension.stamp), None)
            }
            Message::Offer { epoch, stamp, .. } => (*stamp, Some((*epoch, A))),
            Message::Accept { epoch, stamp } => {
                let Audience::One(candidate) = to else {
                    return Err(TestCaseError::fail("a vote for everybody"));
                };
                (*stamp, Some((*epoch, candidate)))
            }
            Message::Maintenance { stamp, .. } | Message::Announce { stamp, .. } => (*stamp, None),
        };
        let at = stamp.expect("a stamp").at;
        prop_assert!(self.stamped < at || at == Timestamp::MAX, "stamps grow");
        self.stamped = at;
        let Some((epoch, candidate)) = vote else { return Ok(()) };
        let durable = self.disk.as_ref().filter(|ballot| ballot.promised == epoch);
        let for_whom = durable.and_then(|ballot| ballot.voted_for.clone());
        prop_assert_eq!(for_whom, Some(id(candidate)), "not durable: {:?}", message);
        let second =
            |(of, before): &(Epoch, Peer)| *of == epoch && *before != candidate && *before != A;
        prop_assert!(!self.voted.iter().any(second), "a second vote: {:?}", self.voted);
        self.voted.push((epoch, candidate));
        Ok(())
    }
}

proptest! {
    #![proptest_config(any_config())]

    #[test]
    fn no_history_panics_or_breaks_a_promise(
        restored in restored(),
        position in proptest::option::weighted(0.75, positions()),
        history in histories(),
    ) {
        let mut played = Played::new(&restored, position);
        for (wait, draw) in history {
            played.play(wait, draw)?;
        }
    }

    #[test]
    fn the_same_history_gives_the_same_machine(
        restored in restored(),
        position in proptest::option::weighted(0.75, positions()),
        history in histories(),
    ) {
        let play = || {
            let mut played = Played::new(&restored, position);
            for (wait, draw) in history.clone() {
                played.play(wait, draw)?;
            }
            Ok::<_, TestCaseError>(played.quorum)
        };
        prop_assert_eq!(play()?, play()?);
    }

    #[test]
    fn who_leaves_gets_done(
        restored in restored(),
        position in proptest::option::weighted(0.75, positions()),
        history in histories(),
    ) {
        let mut played = Played::new(&restored, position);
        for (wait, draw) in history {
            played.play(wait, draw)?;
        }
        played.play(0, Draw::Input(Input::Withdraw))?;
        played.play(0, Draw::Stop)?;
        played.play(6_000_000_000, Draw::Disk(true))?;
        played.play(6_000_000_000, Draw::Disk(true))?;
        let ends = played.now == Timestamp::MAX;
        prop_assert!(ends || played.quorum.is_finished(), "{:?}", played.quorum);
    }
}
