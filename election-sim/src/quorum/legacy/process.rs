//! The process around kevy-elect's rules: one thread that waits up to a heartbeat interval for a
//! frame, takes it, ticks, and only then tells its host who leads.

use super::elector::{Deed, Elector, Said, Tunables, system_jitter};
use election_core::{
    Change, Epoch, Incarnation, Input, Label, Loss, Protocol, Step, Tenure, Term, Timestamp,
    quorum::{
        Action, Audience, Ballot, Config, Event, Heartbeat, Maintenance, Members, Message, Peer,
        Position, Restored, Role,
    },
};
use std::{collections::VecDeque, time::Duration};

/// A process of kevy-elect. Its host leads while it is primary and hears a majority.
#[derive(Clone, Debug)]
pub(crate) struct Legacy {
    elector: Elector,
    members: Members,
    address: Label,
    interval: Duration,
    now: Timestamp,
    /// The frames that its thread has not taken yet.
    inbox: VecDeque<(Peer, Message)>,
    deeds: VecDeque<Deed>,
    /// The thread waits for its disk.
    saving: Option<Ballot>,
    /// When it tries again.
    retry_at: Option<Timestamp>,
    /// When it ticks although no frame has come.
    pump_at: Timestamp,
    /// The epoch of the newest election that it has won.
    won: Option<u64>,
    /// What its host was told.
    leads: Option<Epoch>,
    leaving: bool,
}

impl Legacy {
    /// The ballots that it writes: a disk tells them from those of the other protocol, as two files
    /// would.
    const WRITER: Incarnation = Incarnation::new(uuid::Uuid::nil());

    pub(crate) fn new(config: &Config, restored: &Restored) -> Self {
        let members = config.members().clone();
        let id = members.id(members.me()).map_or("", |id| id.as_str());
        let (least, most) = config.election_backoff();
        let tunables = Tunables {
            hb_interval: config.hb_interval(),
            down_after: config.down_after(),
            election_timeout: config.election_timeout(),
            backoff: least,
            jitter: system_jitter(id, most.saturating_sub(least)),
        };
        let saved = match restored {
            Restored::Ballot(ballot) if Self::wrote(ballot) => {
                Some((ballot.promised.get(), ballot.voted_for.is_some()))
            }
            _ => None,
        };
        Self {
            elector: Elector::new(members.me(), members.count(), tunables, saved),
            address: config.address().clone(),
            interval: config.hb_interval(),
            members,
            now: Timestamp::ZERO,
            inbox: VecDeque::new(),
            deeds: VecDeque::new(),
            saving: None,
            retry_at: None,
            pump_at: Timestamp::ZERO,
            won: None,
            leads: None,
            leaving: false,
        }
    }

    /// Whether a process of kevy-elect wrote this ballot.
    pub(crate) fn wrote(ballot: &Ballot) -> bool {
        ballot.incarnation == Self::WRITER
    }

    pub(crate) fn epoch(&self) -> Epoch {
        Epoch::new(self.elector.epoch())
    }

    pub(crate) fn role(&self) -> Role {
        self.elector.role()
    }

    pub(crate) fn followed(&self) -> Option<(Term, Option<Label>)> {
        let primary = self.elector.primary().filter(|peer| *peer != self.members.me())?;
        Some((self.term(self.epoch(), primary)?, None))
    }

    fn term(&self, epoch: Epoch, leader: Peer) -> Option<Term> {
        Some(Term { epoch, leader: self.members.id(leader)?.clone() })
    }

    /// One turn of its loop, with a frame or after a silence.
    fn pump(&mut self) {
        let frame = self.inbox.pop_front();
        if frame.is_none() && self.now < self.pump_at {
            return;
        }
        if let Some((from, message)) = frame {
            self.take(from, &message);
        }
        self.elector.tick(self.now);
        self.pump_at = self.now + self.interval;
        self.deeds.extend(self.elector.deeds.drain(..));
    }

    fn take(&mut self, from: Peer, message: &Message) {
        match message {
            Message::Heartbeat(heartbeat) => {
                let Heartbeat { epoch, role, position, .. } = *heartbeat;
                let said = Said { epoch: epoch.get(), role, offset: position.offset };
                self.elector.heartbeat(from, said, self.now);
            }
            Message::Offer { epoch, position, .. } => {
                self.elector.offer(from, epoch.get(), position.offset);
            }
            Message::Accept { epoch, .. } => self.elector.accept(from, epoch.get()),
            Message::Announce { epoch, .. } => self.elector.announcement(from, epoch.get()),
            // A verb that it does not know. Nobody sends it one.
            Message::Maintenance { .. } | Message::Lists { .. } => {}
        }
    }

    /// The next thing that its thread does. While it saves, it does nothing else.
    fn act(&mut self) -> Option<Action> {
        if self.retry_at.is_some_and(|at| at <= self.now) {
            self.retry_at = None;
            return self.saving.clone().map(Action::Save);
        }
        if self.saving.is_some() {
            return None;
        }
        let position = |offset| Position { history: 0, offset };
        let all = |message| Some(Action::Send { to: Audience::All, message });
        match self.deeds.pop_front()? {
            Deed::Save(epoch, vote) => {
                let ballot = Ballot {
                    promised: Epoch::new(epoch),
                    voted_for: vote.and_then(|peer| self.members.id(peer)).cloned(),
                    incarnation: Self::WRITER,
                    members: self.members.fingerprint(),
                    lists: self.members.first_lists(),
                    floor: Position::default(),
                    maintenance: Maintenance::default(),
                    pause: None,
                };
                self.saving = Some(ballot.clone());
                Some(Action::Save(ballot))
            }
            Deed::Heartbeat(Said { epoch, role, offset }) => {
                let (epoch, position, extension) = (Epoch::new(epoch), position(offset), None);
                all(Message::Heartbeat(Heartbeat { epoch, role, position, extension }))
            }
            Deed::Offer(epoch, offset) => {
                let (epoch, position) = (Epoch::new(epoch), position(offset));
                all(Message::Offer { epoch, position, stamp: None })
            }
            Deed::Accept(epoch, to) => {
                let message =
                    Message::Accept { epoch: Epoch::new(epoch), stamp: None, accepted: None };
                Some(Action::Send { to: Audience::One(to), message })
            }
            Deed::Announce(epoch) => {
                self.won = Some(epoch);
                let (epoch, address) = (Epoch::new(epoch), self.address.clone());
                all(Message::Announce { epoch, address, token: Epoch::NONE, stamp: None })
            }
        }
    }

    /// Tells its host when it begins or ceases to be a primary that hears a majority.
    fn tell(&mut self) -> Option<Change> {
        let rules = self.role() == Role::Primary && self.elector.has_quorum(self.now);
        let me = self.elector.me();
        match (self.leads, self.won.filter(|_| rules && !self.leaving)) {
            (None, Some(won)) => {
                self.leads = Some(Epoch::new(won));
                self.tenure(self.now).map(Change::Elected)
            }
            (Some(epoch), None) => {
                self.leads = None;
                let reason =
                    if self.role() == Role::Primary { Loss::Expired } else { Loss::Replaced };
                let term = self.term(epoch, me)?;
                Some(Change::Lost { term, reason, stop_by: self.now, successor: None })
            }
            _ => None,
        }
    }
}

impl Protocol for Legacy {
    type Event = Event;
    type Action = Action;

    fn step(&mut self, now: Timestamp, input: Input<Event>) -> Step<Action> {
        self.now = self.now.max(now);
        match input {
            Input::Event(Event::Received { from, message, .. }) => {
                self.inbox.push_back((from, message));
            }
            Input::Event(Event::Saved(_)) => self.saving = None,
            // Its host's disk code tries again until it succeeds.
            Input::Event(Event::SaveFailed(_)) => self.retry_at = Some(self.now + self.interval),
            Input::Event(Event::Position(position)) => self.elector.offset = position.offset,
            Input::Withdraw => self.leaving = true,
            // It knows neither of fitness nor of maintenance.
            Input::Event(
                Event::Health(_)
                | Event::ChangeMembers(_)
                | Event::HandOver(_)
                | Event::Disconnected { .. }
                | Event::Pause(_)
                | Event::Resume
                | Event::WallClock(_),
            )
            | Input::Tick
            | Input::Resign
            | Input::Stopped(_) => {}
        }
        let mut change = None;
        if self.saving.is_none() && self.deeds.is_empty() {
            self.pump();
        }
        let action = self.act();
        let rests = self.saving.is_none() && self.deeds.is_empty();
        if rests {
            change = self.tell();
        }
        let due = match () {
            () if self.saving.is_some() => self.retry_at,
            () if !rests || !self.inbox.is_empty() => Some(self.now),
            () => Some(self.pump_at),
        };
        Step { change, action, wake_at: due }
    }

    fn tenure(&self, _: Timestamp) -> Option<Tenure> {
        let term = self.term(self.leads?, self.elector.me())?;
        let (since, until, stop_by) = (Timestamp::ZERO, Timestamp::MAX, Timestamp::MAX);
        Some(Tenure { term, since, until, stop_by }) // such a process says nothing of time
    }

    fn is_finished(&self) -> bool {
        self.leaving && self.leads.is_none()
    }
}
