//! One node: its disk, and what can happen to the process on it.

use super::{
    host::{Host, World, incarnation},
    process::{Process, Told, small},
};
use crate::explore::books::{NOW, Verdict, Work};
use election_core::{
    Epoch, Incarnation, Input, Protocol as _, Timestamp,
    quorum::{Connection, Event, Message, Peer, Position, Quorum, Restored},
};
use std::time::Duration;

/// A machine that takes more steps than this at one instant never comes to an end.
const MOST_STEPS: usize = 64;

/// One node, with or without a process on it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Node {
    pub(super) host: Host,
    pub(super) process: Option<Process>,
}

/// The connection of a frame's sender: each life of the sender has one.
fn connection(incarnation: Incarnation) -> Connection {
    Connection(incarnation.get().as_u64_pair().1 & 0xff)
}

impl Node {
    pub(super) fn new(place: u8, offset: u64) -> Self {
        Self { host: Host { place, life: 0, disk: None, offset }, process: None }
    }

    /// Starts a process, as a new incarnation.
    pub(super) fn start(&mut self, world: &World) -> Told {
        self.host.life += 1;
        let config = world.configs[usize::from(self.host.place)].clone();
        let restored = self.host.disk.clone().map_or(Restored::Nothing, Restored::Ballot);
        let incarnation = incarnation(self.host.place, self.host.life);
        let position = Position { history: 0, offset: self.host.offset };
        let quorum = Quorum::new(config, incarnation, &restored, Some(position), 0);
        self.process = Some(Process::new(quorum));
        self.tell(Input::Event(Event::Position(position)), world)
    }

    /// The process ends.
    pub(super) fn crash(&mut self, saved: bool, wiped: bool) {
        let pending = self.process.take().and_then(|process| process.pending);
        if saved && pending.is_some() {
            self.host.disk = pending;
        }
        if wiped {
            (self.host.disk, self.host.offset) = (None, 0);
        }
    }

    /// A save ends. The ballot is durable, or the save is reported failed.
    pub(super) fn save_ends(&mut self, fails: bool, durable: bool, world: &World) -> Told {
        let pending = self.process.as_mut().and_then(|process| process.pending.take());
        let Some(ballot) = pending else { return Told::default() };
        let epoch = ballot.promised;
        if durable {
            self.host.disk = Some(ballot);
        }
        let event = if fails { Event::SaveFailed(epoch) } else { Event::Saved(epoch) };
        self.tell(Input::Event(event), world)
    }

    /// A frame arrives.
    pub(super) fn hear(&mut self, from: u8, message: &Message, world: &World) -> Told {
        let Some(stamp) = message.stamp().copied() else { return Told::default() };
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

    /// Runs the machine until it has nothing more to do at this instant.
    pub(super) fn tell(&mut self, input: Input<Event>, world: &World) -> Told {
        let mut told = Told::default();
        let Some(mut process) = self.process.take() else { return told };
        let mut input = Some(input);
        for _ in 0..MOST_STEPS {
            let input = input.take().unwrap_or(Input::Tick);
            if let Err(broken) = process.step(&self.host, input, world, &mut told) {
                told.broken = Some(broken);
                return told;
            }
            if process.wake_at > NOW {
                break;
            }
        }
        let still = &mut |_: Peer, at: Timestamp| at;
        process.quorum.rebase(NOW, NOW, &world.around, still);
        process.forget(&world.configs[usize::from(self.host.place)]);
        if !process.quorum.is_finished() {
            self.process = Some(process);
        }
        told
    }

    /// Lets this much of each node's time pass.
    pub(super) fn age(&mut self, by: &[Duration], world: &World) -> Verdict<()> {
        let here = usize::from(self.host.place);
        let Some(process) = &mut self.process else { return Ok(()) };
        let config = &world.configs[here];
        process.age(by, here, config, &world.around);
        process.forget(config);
        process.believes_in_time(here, config)
    }

    pub(super) fn works(&self) -> bool {
        self.work().is_some_and(|work| NOW < work.stop_by)
    }

    pub(super) fn work(&self) -> Option<Work> {
        self.process.as_ref()?.work
    }

    /// The node neither votes nor leads below this epoch any more, whatever happens to it.
    pub(super) fn least(&self) -> u8 {
        let disk = self.host.disk.as_ref().map_or(Epoch::NONE, |ballot| ballot.promised);
        let Some(process) = &self.process else { return small(disk) };
        let quorum = &process.quorum;
        let led = process.work.map(|work| work.epoch);
        let open = quorum.campaigned().into_iter().chain(led);
        small(open.fold(disk.min(quorum.promised()), Epoch::min))
    }

    /// The highest epoch to which the node has bound itself, or is about to.
    pub(super) fn bound(&self) -> u8 {
        let Some(process) = &self.process else { return 0 };
        let pending = process.pending.as_ref().map_or(Epoch::NONE, |ballot| ballot.promised);
        small(process.quorum.promised().max(pending))
    }
}
