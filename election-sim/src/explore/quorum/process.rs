//! One node: its disk, the real machine, its leader work, and the checkers' books about them.
//!
//! Everything is told relative to *now*, which every process takes for the same instant of its
//! clock ([`NOW`]). What the books hold is the least from which the invariants can be judged at
//! the very step that breaks them; most of it repeats what the machine itself must know, and so
//! adds no states, as long as the machine is right.

use super::votes::Said;
use crate::explore::model::Broken;
use election_core::{
    Change, Epoch, Incarnation, Input, Protocol, Timestamp,
    quorum::{
        Action, Audience, Ballot, Config, Connection, Event, Message, Peer, Position, Quorum,
        Restored, Role, Surroundings,
    },
};
use std::time::Duration;

/// What every clock reads. An hour leaves room for the past.
pub(super) const NOW: Timestamp = Timestamp::from_nanos(3_600_000_000_000);
/// A machine that has so much to do at once never comes to an end.
const MOST_STEPS: usize = 64;

/// One node, with or without a process on it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Node {
    pub(super) place: u8,
    /// Which life of the node this is, or was the last.
    pub(super) life: u8,
    /// What a crash would leave.
    pub(super) disk: Option<Ballot>,
    pub(super) offset: u64,
    pub(super) process: Option<Process>,
}

/// A process that runs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Process {
    pub(super) quorum: Quorum,
    /// When it wants to be called.
    pub(super) wake_at: Timestamp,
    pub(super) pending: Option<Ballot>,
    pub(super) work: Option<Work>,
    /// Its newest election, and when it first asked for votes.
    offered: Option<(Epoch, Timestamp)>,
    /// The newest instant that each member has vouched for.
    vouched: [Timestamp; 3],
    /// The epoch it said last.
    said: Epoch,
}

/// Leader work: what must never run twice at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Work {
    pub(super) epoch: Epoch,
    /// When it is ended by force.
    pub(super) stop_by: Timestamp,
    /// It has been told to stop.
    pub(super) told: bool,
}

/// What the world of a scope gives to every process.
#[derive(Debug)]
pub(super) struct World {
    pub(super) configs: Vec<Config>,
    pub(super) around: Surroundings,
    /// The data of each node.
    pub(super) offsets: Vec<u64>,
}

/// What came of telling a process something, beside its new state.
#[derive(Debug, Default)]
pub(super) struct Told {
    pub(super) frames: Vec<(Audience, Message)>,
    pub(super) said: Vec<Said>,
    /// What it broke, after saying all that.
    pub(super) broken: Option<Broken>,
}

type Verdict<T> = Result<T, Broken>;

fn broken<T>(check: &'static str, what: String) -> Verdict<T> {
    Err(Broken { check, what })
}

fn small(epoch: Epoch) -> u8 {
    u8::try_from(epoch.get()).unwrap_or(u8::MAX)
}

pub(super) fn incarnation(node: u8, life: u8) -> Incarnation {
    Incarnation::new(uuid::Uuid::from_u128(u128::from(node) << 8 | u128::from(life)))
}

/// The connection of a frame's sender: one for each of its lives.
fn connection(incarnation: Incarnation) -> Connection {
    Connection(incarnation.get().as_u64_pair().1 & 0xff)
}

impl Node {
    pub(super) fn new(place: u8, offset: u64) -> Self {
        Self { place, life: 0, disk: None, offset, process: None }
    }

    /// Starts a process, as a new incarnation.
    pub(super) fn start(&mut self, world: &World) -> Told {
        self.life += 1;
        let config = world.configs[usize::from(self.place)].clone();
        let restored = self.disk.clone().map_or(Restored::Nothing, Restored::Ballot);
        self.process = Some(Process {
            quorum: Quorum::new(config, incarnation(self.place, self.life), &restored, 0),
            wake_at: NOW,
            pending: None,
            work: None,
            offered: None,
            vouched: [Timestamp::ZERO; 3],
            said: Epoch::NONE,
        });
        let position = Position { history: 0, offset: self.offset };
        self.tell(Input::Event(Event::Position(position)), world)
    }

    /// The process ends.
    pub(super) fn crash(&mut self, saved: bool, wiped: bool) {
        let pending = self.process.take().and_then(|process| process.pending);
        if saved && pending.is_some() {
            self.disk = pending;
        }
        if wiped {
            (self.disk, self.offset) = (None, 0);
        }
    }

    /// The ballot is durable, or is said not to be.
    pub(super) fn save_ends(&mut self, fails: bool, durable: bool, world: &World) -> Told {
        let pending = self.process.as_mut().and_then(|process| process.pending.take());
        let Some(ballot) = pending else { return Told::default() };
        let epoch = ballot.promised;
        if durable {
            self.disk = Some(ballot);
        }
        let event = if fails { Event::SaveFailed(epoch) } else { Event::Saved(epoch) };
        self.tell(Input::Event(event), world)
    }

    /// A frame arrives.
    pub(super) fn hear(&mut self, from: u8, message: &Message, world: &World) -> Told {
        let Some(stamp) = stamp_of(message) else { return Told::default() };
        let connection = connection(stamp.incarnation);
        let from = Peer::new(from);
        let message = message.clone();
        self.tell(Input::Event(Event::Received { from, connection, message }), world)
    }

    /// The connection that a life of a peer had to this node has ended.
    pub(super) fn disconnected(&mut self, from: u8, life: u8, world: &World) -> Told {
        let connection = Connection(u64::from(life));
        let from = Peer::new(from);
        self.tell(Input::Event(Event::Disconnected { from, connection }), world)
    }

    /// Steps of the machine until it has nothing more to do at this instant.
    pub(super) fn tell(&mut self, input: Input<Event>, world: &World) -> Told {
        let mut told = Told::default();
        let Some(mut process) = self.process.take() else { return told };
        let mut input = Some(input);
        for _ in 0..MOST_STEPS {
            let input = input.take().unwrap_or(Input::Tick);
            if let Err(broken) = process.step(self, input, world, &mut told) {
                told.broken = Some(broken);
                return told;
            }
            if process.wake_at > NOW {
                break;
            }
        }
        let still = &mut |_: Peer, at: Timestamp| at;
        process.quorum.rebase(NOW, NOW, &world.around, still);
        process.forget(&world.configs[usize::from(self.place)]);
        if !process.quorum.is_finished() {
            self.process = Some(process);
        }
        told
    }

    /// Lets so much of each node's time pass.
    pub(super) fn age(&mut self, by: &[Duration], world: &World) -> Verdict<()> {
        let here = usize::from(self.place);
        let Some(process) = &mut self.process else { return Ok(()) };
        let config = &world.configs[here];
        let longest = config.down_after() * 4 + world.around.lateness;
        let moved = &mut |peer: Peer, at: Timestamp| (at - by[peer.index()]).max(NOW - longest);
        process.quorum.rebase(NOW + by[here], NOW, &world.around, moved);
        if process.wake_at != Timestamp::MAX {
            process.wake_at = (process.wake_at - by[here]).max(NOW);
        }
        if let Some(work) = &mut process.work {
            work.stop_by = (work.stop_by - by[here]).max(NOW);
        }
        for at in process.vouched.iter_mut().chain(process.offered.iter_mut().map(|(_, at)| at)) {
            if *at != Timestamp::ZERO {
                *at = *at - by[here];
            }
        }
        process.forget(config);
        process.believes_in_time(here, config)
    }

    pub(super) fn works(&self) -> bool {
        self.work().is_some_and(|work| NOW < work.stop_by)
    }

    pub(super) fn work(&self) -> Option<Work> {
        self.process.as_ref()?.work
    }

    /// Below this epoch it neither votes nor leads any more, whatever becomes of it.
    pub(super) fn least(&self) -> u8 {
        let disk = self.disk.as_ref().map_or(Epoch::NONE, |ballot| ballot.promised);
        let Some(process) = &self.process else { return small(disk) };
        let quorum = &process.quorum;
        let led = process.work.map(|work| work.epoch);
        let open = quorum.campaigned().into_iter().chain(led);
        small(open.fold(disk.min(quorum.promised()), Epoch::min))
    }

    /// The highest epoch that it has bound itself to, or is about to.
    pub(super) fn bound(&self) -> u8 {
        let Some(process) = &self.process else { return 0 };
        let pending = process.pending.as_ref().map_or(Epoch::NONE, |ballot| ballot.promised);
        small(process.quorum.promised().max(pending))
    }
}

pub(super) fn stamp_of(message: &Message) -> Option<election_core::quorum::Stamp> {
    match message {
        Message::Heartbeat(heartbeat) => heartbeat.extension.map(|extension| extension.stamp),
        Message::Offer { stamp, .. }
        | Message::Accept { stamp, .. }
        | Message::Announce { stamp, .. } => *stamp,
    }
}

impl Process {
    fn step(
        &mut self,
        node: &Node,
        input: Input<Event>,
        world: &World,
        told: &mut Told,
    ) -> Verdict<()> {
        let here = usize::from(node.place);
        let config = &world.configs[here];
        self.listen(&input);
        let bound = self.quorum.promised();
        let step = self.quorum.step(NOW, input);
        self.wake_at = step.wake_at.unwrap_or(Timestamp::MAX);
        match &step.change {
            Some(change) => self.changed(node, change, told),
            None => {
                let tenure = self.quorum.tenure(NOW);
                if let (Some(work), Some(tenure)) = (&mut self.work, tenure) {
                    if !work.told {
                        work.stop_by = tenure.stop_by;
                    }
                }
            }
        }
        if let Some(action) = step.action {
            self.asks(node, action, world, told)?;
        }
        let now = self.quorum.promised();
        if now < bound {
            return broken(
                "epochs",
                format!("node {here} was bound to epoch {bound}, is to {now}"),
            );
        }
        self.trusts_enough(here, config)?;
        self.believes_in_time(here, config)
    }

    /// Writes down what it is told.
    fn listen(&mut self, input: &Input<Event>) {
        match input {
            Input::Stopped(epoch) => {
                self.work.take_if(|work| work.epoch == *epoch);
            }
            Input::Event(Event::Received { from, message, .. }) => match message {
                Message::Heartbeat(heartbeat) => {
                    let echo =
                        heartbeat.extension.and_then(|extension| extension.bond.echo().copied());
                    let own = self.quorum.incarnation();
                    if let Some(echo) = echo.filter(|echo| echo.incarnation == own) {
                        self.vouch(*from, echo.at);
                    }
                }
                Message::Accept { epoch, .. } => {
                    if let Some((_, at)) = self.offered.filter(|(offered, _)| offered == epoch) {
                        self.vouch(*from, at);
                    }
                }
                Message::Offer { .. } | Message::Announce { .. } => {}
            },
            _ => {}
        }
    }

    fn vouch(&mut self, by: Peer, at: Timestamp) {
        if let Some(vouched) = self.vouched.get_mut(by.index()) {
            *vouched = at.max(*vouched);
        }
    }

    fn changed(&mut self, node: &Node, change: &Change, told: &mut Told) {
        match change {
            Change::Elected(tenure) => {
                let epoch = tenure.term.epoch;
                self.work = Some(Work { epoch, stop_by: tenure.stop_by, told: false });
                told.said.push(Said::Leads { epoch: small(epoch), life: node.life, elected: true });
            }
            Change::Lost { stop_by, .. } => {
                if let Some(work) = &mut self.work {
                    *work = Work { stop_by: (*stop_by).max(NOW), told: true, ..*work };
                }
            }
            Change::Followed { .. } | Change::Vacant | Change::Fault(_) => {}
        }
    }

    /// What must hold of what it asks for.
    fn asks(&mut self, node: &Node, action: Action, world: &World, told: &mut Told) -> Verdict<()> {
        let place = node.place;
        match action {
            Action::Save(mut ballot) => {
                // Nobody reads it; it would only tell lives apart.
                ballot.incarnation = incarnation(place, 0);
                self.pending = Some(ballot);
                return Ok(());
            }
            Action::Send { to, message } => {
                match (&message, to) {
                    (Message::Heartbeat(heartbeat), _) => {
                        let (epoch, role) = (heartbeat.epoch, heartbeat.role);
                        self.beats(node, epoch, role, told)?;
                    }
                    (Message::Offer { epoch, .. }, _) => {
                        if self.offered.is_none_or(|(offered, _)| offered != *epoch) {
                            self.offered = Some((*epoch, NOW));
                        }
                        self.votes(node, *epoch, place, world, told)?;
                    }
                    (Message::Accept { epoch, .. }, Audience::One(whom)) => {
                        let whom = u8::try_from(whom.index()).unwrap_or(u8::MAX);
                        self.votes(node, *epoch, whom, world, told)?;
                    }
                    (Message::Announce { epoch, .. }, _) => {
                        let (epoch, life) = (small(*epoch), node.life);
                        told.said.push(Said::Leads { epoch, life, elected: true });
                    }
                    (Message::Accept { .. }, Audience::All) => {}
                }
                told.frames.push((to, message));
            }
        }
        Ok(())
    }

    fn beats(&mut self, node: &Node, epoch: Epoch, role: Role, told: &mut Told) -> Verdict<()> {
        let place = node.place;
        let before = std::mem::replace(&mut self.said, epoch);
        if epoch < before {
            return broken("epochs", format!("node {place} says epoch {epoch} after {before}"));
        }
        if role == Role::Primary {
            let (epoch, life) = (small(epoch), node.life);
            told.said.push(Said::Leads { epoch, life, elected: false });
        }
        if role == Role::Replica && self.work.is_some_and(|work| NOW < work.stop_by) {
            return broken("drained", format!("node {place} lets others lead while its work runs"));
        }
        Ok(())
    }

    /// It gives its vote, or asks for others and so gives it to itself.
    fn votes(
        &mut self,
        node: &Node,
        epoch: Epoch,
        whom: u8,
        world: &World,
        told: &mut Told,
    ) -> Verdict<()> {
        let place = node.place;
        let members = world.configs[usize::from(place)].members();
        let durable = node.disk.as_ref().is_some_and(|ballot| {
            let voted = ballot.voted_for.as_ref();
            ballot.promised == epoch && voted == members.id(Peer::new(whom))
        });
        if !durable {
            let left = node.disk.as_ref().map(|ballot| ballot.promised);
            return broken(
                "durable",
                format!("node {place} votes in epoch {epoch}; a crash now would leave {left:?}"),
            );
        }
        told.said.push(Said::Votes { epoch: small(epoch), whom });
        let works = self.work.is_some_and(|work| NOW < work.stop_by);
        if works && (whom != place || self.work.is_some_and(|work| work.told)) {
            return broken("drained", format!("node {place} votes while its work runs"));
        }
        let data = |node: u8| world.offsets.get(usize::from(node)).copied().unwrap_or(0);
        let id = members.id(Peer::new(whom));
        let followed = self.quorum.followed();
        let follows = followed.is_some_and(|(term, _)| Some(&term.leader) == id);
        if whom != place && data(whom) < node.offset && !follows {
            return broken("newest", format!("node {place} votes for older data, node {whom}'s"));
        }
        Ok(())
    }

    /// Trust lasts no longer than a majority has vouched for.
    fn trusts_enough(&self, here: usize, config: &Config) -> Verdict<()> {
        let Some(work) = self.work.filter(|work| !work.told) else { return Ok(()) };
        let Some(bound) = self.vouched_until(config) else { return Ok(()) };
        if work.stop_by <= bound + GRAIN {
            return Ok(());
        }
        let late = work.stop_by.since(bound);
        broken("trust", format!("node {here} may work on {} for {late:?} too long", work.epoch))
    }

    /// Belief ends a grace before trust.
    fn believes_in_time(&self, here: usize, config: &Config) -> Verdict<()> {
        let Some(work) = self.work else { return Ok(()) };
        let Some(bound) = self.vouched_until(config) else { return Ok(()) };
        if NOW >= bound - config.grace() + GRAIN && self.quorum.is_leader(NOW) {
            return broken(
                "trust",
                format!("node {here} believes in {} after its time", work.epoch),
            );
        }
        Ok(())
    }

    /// Until when a majority vouches for it; `None` where it is one by itself.
    fn vouched_until(&self, config: &Config) -> Option<Timestamp> {
        let needed = config.members().count() / 2;
        let mut vouched = self.vouched;
        vouched.sort_unstable();
        let majority = vouched.iter().rev().nth(needed.checked_sub(1)?)?;
        Some(*majority + window(config))
    }

    /// Leaves out of the books what cannot matter any more.
    fn forget(&mut self, config: &Config) {
        let campaigned = self.quorum.campaigned();
        self.offered.take_if(|(epoch, _)| campaigned != Some(*epoch));
        if self.work.is_none() && campaigned.is_none() {
            self.vouched = [Timestamp::ZERO; 3];
        }
        let least = self.work.map_or(self.quorum.promised(), |work| work.epoch);
        if self.said <= least.min(self.quorum.promised()) {
            self.said = Epoch::NONE; // it says nothing lower unless it is bound to less
        }
        if let Some(work) = &mut self.work {
            work.stop_by = floor(work.stop_by);
        }
        let oldest = NOW - window(config);
        if let Some((_, at)) = &mut self.offered {
            *at = floor(*at).max(oldest);
        }
        for at in &mut self.vouched {
            *at = if *at <= oldest { Timestamp::ZERO } else { floor(*at) };
        }
    }
}

/// Frames of one instant bear stamps that are less than this apart.
pub(super) const GRAIN: Duration = Duration::from_nanos(GRAIN_NANOS);
const GRAIN_NANOS: u64 = 1_000;

fn floor(at: Timestamp) -> Timestamp {
    at - Duration::from_nanos(at.as_nanos() % GRAIN_NANOS)
}

/// By the rule, and not by the configuration's own computation of it.
fn window(config: &Config) -> Duration {
    let drift = u128::from(config.drift().ppm());
    let window = config.down_after().as_nanos() * (1_000_000 - drift) / (1_000_000 + drift);
    Duration::from_nanos(u64::try_from(window).unwrap_or(u64::MAX)).saturating_sub(config.margin())
}
