//! One member of a quorum under arbitrary times, frames and disks: forwards, backwards, to the
//! ends of `u64`; frames nobody sent, echoes of what was sent, saves answered late, twice or never.
//! Nothing panics, changes alternate, no vote leaves before it is durable, the promise never goes
//! back, trust is never longer than its window, and a machine that is left alone comes to rest.
#![no_main]

use arbitrary::Arbitrary;
use election_core::{
    Change, Epoch, Incarnation, Input, Label, NodeId, Protocol, Timestamp,
    quorum::{
        Action, Attestation, Audience, Availability, Ballot, Config, Connection, Event, Extension,
        Fingerprint, Heartbeat, Held, Maintenance, MemberChange, Members, Membership, Message,
        Outline, Peer, PeerSet, Position, Quorum, Restored, Role, Stamp, UnixMillis,
    },
};
use libfuzzer_sys::fuzz_target;
use std::time::Duration;
use uuid::Uuid;

#[derive(Arbitrary, Debug)]
struct Script {
    members: u8,
    me: u8,
    down_after_ms: u16,
    new_peers: bool,
    witnesses: u8,
    disk: Disk,
    seed: u64,
    acts: Vec<(When, Act)>,
}

#[derive(Arbitrary, Debug)]
enum Disk {
    Nothing,
    Unusable,
    Ballot { promised: u8, voted_for: Option<u8>, foreign: bool, floor: u8 },
}

#[derive(Arbitrary, Debug)]
enum When {
    After(u16),
    Due,
    JustBefore,
    At(u64),
}

#[derive(Arbitrary, Debug)]
enum Act {
    Tick,
    /// Every peer says that it has no primary, or echoes the last frame it heard.
    Beats {
        down: bool,
    },
    /// Every peer votes for this node.
    Votes,
    Received {
        from: u8,
        connection: u8,
        said: Said,
    },
    Disconnected {
        from: u8,
        connection: u8,
    },
    Saved(u8),
    SaveFailed(u8),
    /// Whatever is being saved has been saved.
    Done,
    Position {
        history: u8,
        offset: u8,
    },
    Health(bool),
    HandOver(u8),
    Pause(Option<u16>),
    Resume,
    WallClock(u32),
    Change {
        adds: bool,
        place: u8,
    },
    Resign,
    Stopped(u8),
    Withdraw,
}

#[derive(Arbitrary, Debug)]
enum Said {
    Heartbeat {
        epoch: u8,
        role: u8,
        offset: u8,
        life: Option<u8>,
        echo: Option<u8>,
        says: u8,
        nominee: Option<u8>,
        other_list: bool,
    },
    Offer {
        epoch: u8,
        offset: u8,
        life: Option<u8>,
    },
    Accept {
        epoch: u8,
        life: Option<u8>,
    },
    Announce {
        epoch: u8,
        life: Option<u8>,
    },
    Lists {
        adds: bool,
        place: u8,
        epoch: u8,
        holds: bool,
        life: Option<u8>,
    },
    Record {
        number: u8,
        issuer: u8,
        primary: Option<u8>,
        left: Option<u8>,
        paused: bool,
        agreed: bool,
        life: Option<u8>,
    },
}

fuzz_target!(|script: Script| {
    let count = script.members % 7 + 1;
    let me = Peer::new(script.me % count);
    let address = Label::new("127.0.0.1:6004").expect("an address");
    let down_after = Duration::from_millis(u64::from(script.down_after_ms) + 100);
    let builder = Config::builder(id(me), (0..count).map(|place| id(Peer::new(place))), address);
    let is_witness = |place: &u8| script.witnesses & 1 << place != 0;
    let witnesses = (0..count).filter(is_witness).map(|place| id(Peer::new(place)));
    let builder = builder.down_after(down_after).new_peers(script.new_peers);
    let Ok(config) = builder.witnesses(witnesses).build() else {
        return;
    };
    Run::new(config, count, &script.disk, script.seed).play(script.acts);
});

struct Run {
    quorum: Quorum,
    config: Config,
    members: Members,
    /// The lists that were told last.
    told: Option<Membership>,
    count: u8,
    now: Timestamp,
    latest: Timestamp,
    wake_at: Option<Timestamp>,
    /// What is being saved, and what the disk holds.
    saving: Option<Ballot>,
    saved: Option<Ballot>,
    promised: Epoch,
    /// When this node's frames were sent: what echoes name.
    sent: Vec<Timestamp>,
    leads: Option<Epoch>,
}

impl Run {
    fn new(config: Config, count: u8, disk: &Disk, seed: u64) -> Self {
        let members = config.members().clone();
        let restored = match disk {
            Disk::Nothing => Restored::Nothing,
            Disk::Unusable => Restored::Unusable,
            Disk::Ballot { promised, voted_for, foreign, floor } => {
                let voted_for = voted_for.map(|place| id(Peer::new(place % count)));
                let list = if *foreign { Fingerprint::new(7) } else { members.fingerprint() };
                Restored::Ballot(Ballot {
                    promised: number(*promised),
                    voted_for,
                    incarnation: life(9),
                    members: list,
                    lists: members.first_lists(),
                    floor: Position { history: 0, offset: u64::from(*floor) },
                    maintenance: Maintenance::default(),
                    pause: None,
                })
            }
        };
        let saved = match &restored {
            Restored::Ballot(ballot) => Some(ballot.clone()),
            _ => None,
        };
        let position = (seed % 4 != 0).then(Position::default);
        let quorum = Quorum::new(config.clone(), life(0), &restored, position, seed);
        Self {
            promised: quorum.promised(),
            quorum,
            config,
            members,
            told: None,
            count,
            now: Timestamp::ZERO,
            latest: Timestamp::ZERO,
            wake_at: None,
            saving: None,
            saved,
            sent: Vec::new(),
            leads: None,
        }
    }

    fn play(mut self, acts: Vec<(When, Act)>) {
        self.step(Input::Tick);
        for (when, act) in acts {
            self.now = match when {
                When::After(millis) => self.now + Duration::from_millis(u64::from(millis)),
                When::Due => self.wake_at.unwrap_or(self.now),
                When::JustBefore => self.wake_at.unwrap_or(self.now) - Duration::from_nanos(1),
                When::At(nanos) => Timestamp::from_nanos(nanos),
            };
            match act {
                Act::Beats { down } => self.receive_from_all(|run| run.beat(down)),
                Act::Votes => self.receive_from_all(|run| Message::Accept {
                    epoch: run.quorum.promised(),
                    stamp: run.stamp(Some(0)),
                    accepted: None,
                }),
                act => {
                    if let Some(input) = self.input(act) {
                        self.step(input);
                    }
                }
            }
        }
        // Left alone, it does not spin: no more than a few steps at one instant.
        self.now = self.latest;
        for _ in 0..64 {
            if self.wake_at.is_none_or(|at| at > self.now) {
                return;
            }
            self.step(Input::Tick);
        }
        panic!("still busy after 64 steps at {:?}", self.now);
    }

    fn input(&mut self, act: Act) -> Option<Input<Event>> {
        Some(Input::Event(match act {
            Act::Tick | Act::Beats { .. } | Act::Votes => return Some(Input::Tick),
            Act::Resign => return Some(Input::Resign),
            Act::Stopped(epoch) => return Some(Input::Stopped(number(epoch))),
            Act::Withdraw => return Some(Input::Withdraw),
            Act::Received { from, connection, said } => Event::Received {
                from: self.peer(from),
                connection: Connection(u64::from(connection % 4)),
                message: self.message(said),
            },
            Act::Disconnected { from, connection } => Event::Disconnected {
                from: self.peer(from),
                connection: Connection(u64::from(connection % 4)),
            },
            Act::Saved(epoch) => {
                // An old report may come again, but never in the place of one that is due.
                let epoch = number(epoch);
                let known = self.saved.as_ref().is_some_and(|ballot| ballot.promised >= epoch);
                let due = self.saving.as_ref().is_some_and(|ballot| ballot.promised == epoch);
                (known && !due).then_some(Event::Saved(epoch))?
            }
            Act::SaveFailed(epoch) => {
                self.saving = None;
                Event::SaveFailed(number(epoch))
            }
            Act::Done => {
                let ballot = self.saving.take()?;
                let epoch = ballot.promised;
                self.saved = Some(ballot);
                Event::Saved(epoch)
            }
            Act::Position { history, offset } => Event::Position(Position {
                history: u64::from(history % 4),
                offset: u64::from(offset),
            }),
            Act::Health(healthy) => Event::Health(healthy),
            Act::HandOver(to) => Event::HandOver(self.peer(to)),
            Act::Pause(lasts) => {
                Event::Pause(lasts.map(|millis| Duration::from_millis(u64::from(millis))))
            }
            Act::Change { adds, place } => Event::ChangeMembers(change(adds, place)),
            Act::Resume => Event::Resume,
            Act::WallClock(millis) => Event::WallClock(UnixMillis(u64::from(millis))),
        }))
    }

    fn message(&self, said: Said) -> Message {
        let at = |offset: u8| Position { history: 0, offset: u64::from(offset) };
        match said {
            Said::Heartbeat { epoch, role, offset, life, echo, says, nominee, other_list } => {
                let role = [Role::Primary, Role::Replica, Role::Candidate][usize::from(role % 3)];
                let extension = self.stamp(life).map(|stamp| Extension {
                    stamp,
                    attestation: match echo.and_then(|back| self.echo(back)) {
                        Some(echo) => Attestation::Echo(echo),
                        None if says < 128 => Attestation::None,
                        None => Attestation::Token(number(epoch.saturating_sub(says % 3))),
                    },
                    availability: [
                        Availability::Busy,
                        Availability::Free,
                        Availability::Waiting,
                        Availability::Ineligible,
                        Availability::BusyAside,
                        Availability::FreeAside,
                        Availability::Leaving,
                        Availability::Loading,
                    ][usize::from(says % 8)],
                    nominee: nominee.map(|place| self.peer(place)),
                    fingerprint: match (&self.told, other_list) {
                        (None, true) => Fingerprint::new(1),
                        (Some(told), true) => self.members.fingerprint_of(told),
                        (_, false) => self.quorum.config().members().fingerprint(),
                    },
                    hears: PeerSet::from_bits(if says < 32 { 0 } else { u64::MAX }),
                    holds: Held::new(u64::from(says) * u64::from(epoch % 2)),
                    lists: self.outline(other_list),
                });
                let (epoch, position) = (number(epoch), at(offset));
                Message::Heartbeat(Heartbeat { epoch, role, position, extension })
            }
            Said::Offer { epoch, offset, life } => Message::Offer {
                epoch: number(epoch),
                position: at(offset),
                stamp: self.stamp(life),
            },
            Said::Accept { epoch, life } => {
                let accepted = self.outline(true).accepted;
                Message::Accept { epoch: number(epoch), stamp: self.stamp(life), accepted }
            }
            Said::Lists { adds, place, epoch, holds, life } => {
                let (of, change) = (self.quorum.lists(), change(adds, place));
                let next = of.propose(number(epoch).max(Epoch::new(1)), &change);
                let next = if holds { next.and_then(|next| next.establish()) } else { next };
                let (epoch, stamp) = (self.quorum.promised(), self.stamp(life));
                let lists = next.unwrap_or_else(|| of.clone());
                Message::Lists { epoch, lists: lists.into(), stamp }
            }
            Said::Record { number, issuer, primary, left, paused, agreed, life } => {
                let issuer = self.peer(issuer);
                let record = Maintenance {
                    number: u32::from(number),
                    issuer,
                    paused,
                    by: issuer,
                    since: None,
                    primary: primary.map(|peer| self.peer(peer)),
                };
                let (epoch, stamp) = (self.quorum.promised(), self.stamp(life));
                let left = left.map(|millis| Duration::from_millis(u64::from(millis)));
                Message::Maintenance { epoch, record, left, agreed, stamp }
            }
            Said::Announce { epoch, life } => Message::Announce {
                epoch: number(epoch),
                address: Label::new("127.0.0.1:7000").expect("an address"),
                token: number(epoch),
                stamp: self.stamp(life),
            },
        }
    }

    fn receive_from_all(&mut self, message: impl Fn(&Self) -> Message) {
        let others: Vec<_> = self.members.others().collect();
        for from in others {
            let (connection, message) = (Connection(3), message(self));
            self.step(Input::Event(Event::Received { from, connection, message }));
        }
    }

    fn beat(&self, down: bool) -> Message {
        let stamp = self.stamp(Some(0)).expect("a life");
        let extension = Extension {
            stamp,
            attestation: self
                .echo(0)
                .filter(|_| !down)
                .map_or(Attestation::None, Attestation::Echo),
            availability: if down { Availability::Free } else { Availability::Busy },
            nominee: None,
            fingerprint: self.quorum.config().members().fingerprint(),
            hears: PeerSet::from_bits(u64::MAX),
            holds: Held::default(),
            lists: Outline {
                generation: self.quorum.lists().established().generation,
                accepted: self.outline(true).accepted,
            },
        };
        Message::Heartbeat(Heartbeat {
            epoch: self.quorum.promised(),
            role: Role::Replica,
            position: Position::default(),
            extension: Some(extension),
        })
    }

    /// What a peer says of its lists: those that were told last, or none but the first.
    fn outline(&self, told: bool) -> Outline {
        let Some(told) = self.told.as_ref().filter(|_| told) else { return Outline::default() };
        let next = told.establish().map(|next| self.members.fingerprint_of(&next));
        let accepted = told.accepted().map(|(epoch, _)| epoch).zip(next);
        Outline { generation: told.established().generation, accepted }
    }

    /// One of a peer's lives, at about now; what is missing is missing from old peers' frames.
    fn stamp(&self, choice: Option<u8>) -> Option<Stamp> {
        choice.map(|choice| Stamp {
            incarnation: life(u128::from(choice % 3) + 1),
            at: self.now + Duration::from_millis(u64::from(choice / 3)),
        })
    }

    /// A frame of this node's that a peer has heard.
    fn echo(&self, back: u8) -> Option<Stamp> {
        let at = *self.sent.get(self.sent.len().checked_sub(usize::from(back % 8) + 1)?)?;
        Some(Stamp { incarnation: life(0), at })
    }

    fn peer(&self, place: u8) -> Peer {
        // One more than there are: a driver's mistake must not break the machine.
        Peer::new(place % (self.count + 1))
    }

    fn step(&mut self, input: Input<Event>) {
        if let Input::Event(Event::Received { message: Message::Lists { lists, .. }, .. }) = &input
        {
            self.told = Some((**lists).clone());
        }
        let step = self.quorum.step(self.now, input);
        self.latest = self.latest.max(self.now);
        match step.change {
            Some(Change::Elected(tenure)) => {
                assert_eq!(self.leads, None, "elected twice");
                assert_ne!(tenure.term.epoch, Epoch::NONE, "epoch zero leads");
                self.leads = Some(tenure.term.epoch);
            }
            Some(Change::Lost { term, .. }) => {
                assert_eq!(self.leads.take(), Some(term.epoch), "lost what was not led");
            }
            Some(Change::Followed { .. } | Change::Vacant) => assert_eq!(self.leads, None),
            Some(Change::Alert(_)) | None => {}
        }
        self.wake_at = step.wake_at;
        match step.action {
            Some(Action::Save(ballot)) => {
                assert!(self.saving.is_none(), "two saves at once");
                self.saving = Some(ballot);
            }
            Some(Action::Send { to, message }) => self.judge(to, &message),
            None => {}
        }
        assert!(self.quorum.promised() >= self.promised, "the promise goes back");
        self.promised = self.quorum.promised();
        let tenure = self.quorum.tenure(self.now);
        assert_eq!(tenure.as_ref().map(|tenure| tenure.term.epoch), self.leads);
        if let Some(tenure) = tenure {
            let alone = self.quorum.config().members().count() == 1;
            assert!(alone || tenure.until <= self.latest + self.config.trust_window());
        }
    }

    fn judge(&mut self, to: Audience, message: &Message) {
        let voted = |epoch: Epoch, who: Peer| {
            let ballot = self.saved.as_ref().expect("a vote without a ballot");
            assert_eq!(ballot.promised, epoch, "a vote that is not durable");
            assert_eq!(ballot.voted_for.as_ref(), self.members.id(who), "another vote is durable");
        };
        match message {
            Message::Offer { epoch, .. } => voted(*epoch, self.members.me()),
            Message::Accept { epoch, .. } => {
                let Audience::One(to) = to else { panic!("a vote for everybody") };
                voted(*epoch, to);
            }
            Message::Heartbeat(_)
            | Message::Maintenance { .. }
            | Message::Lists { .. }
            | Message::Announce { .. } => {}
        }
        let stamp = message.stamp().copied();
        let stamp = stamp.expect("whoever sends says who it is");
        assert_eq!(stamp.incarnation, life(0));
        self.sent.push(stamp.at);
    }
}

/// Somebody joins who has one place more than there are, or a member leaves.
fn change(adds: bool, place: u8) -> MemberChange {
    let id = id(Peer::new(place % 9));
    if adds { MemberChange::Add { id, witness: place > 127 } } else { MemberChange::Remove(id) }
}

/// Few epochs, so that scripts meet them again.
fn number(epoch: u8) -> Epoch {
    Epoch::new(u64::from(epoch % 16))
}

fn id(peer: Peer) -> NodeId {
    let letter = char::from(b'a' + u8::try_from(peer.index()).expect("a few"));
    NodeId::new(&letter.to_string()).expect("a name")
}

fn life(number: u128) -> Incarnation {
    Incarnation::new(Uuid::from_u128(number + 1))
}
