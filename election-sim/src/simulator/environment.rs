//! What a protocol adds to the simulator: its state machine, the world that this machine deals with
//! (a database, or connections and disks), and its invariants.

use super::{Simulator, Told, Watched};
use crate::{
    deed::Process,
    fault::FaultKind,
    schedule::{Schedule, ScheduleError},
    socket::SocketDeed,
};
use election_core::{Input, Protocol, Timestamp};
use std::fmt::Debug;

/// The events of an environment's machine.
pub(crate) type EventOf<S> = <<S as Environment>::Machine as Protocol>::Event;
/// The actions of an environment's machine.
pub(crate) type ActionOf<S> = <<S as Environment>::Machine as Protocol>::Action;

/// One protocol and the part of the world that only this protocol has.
pub(crate) trait Environment: Watched + Debug {
    /// The state machine under test.
    type Machine: Protocol<Event: Clone + Debug + PartialEq> + Clone + Debug;
    /// What a node has in addition to its process.
    type NodeState: Debug;
    /// An event outside the processes that happens once.
    type Happening: Copy + Debug + PartialEq;
    /// A step's request, as checkers see it.
    type Asked;
    /// An input that a machine is about to get, as checkers see it.
    type Heard<'a>;
    /// An effect outside the processes, as checkers see it.
    type Done<'a>;
    /// The most requests of one process in a second.
    const MOST_QUESTIONS: u32;
    /// Whether the leader writes every time its leadership is extended.
    const WRITES_WHEN_EXTENDED: bool;

    /// The environment, before anything has happened.
    fn new(schedule: &Schedule) -> Result<Self, ScheduleError>;

    /// The state of this node.
    fn state(&self, schedule: &Schedule, node: usize) -> Self::NodeState;

    /// The machine of a process that starts on this node now. Its life is already counted.
    fn birth(simulator: &mut Simulator<Self>, node: usize) -> Option<Self::Machine>;

    /// The user's own process, which runs the machine of this life of the node itself.
    fn service(_: &mut Simulator<Self>, _node: usize) -> Option<Box<dyn Process<Self::Machine>>> {
        None
    }

    /// The elector of a user's own process has taken its first step.
    fn elector_born(_: &mut Simulator<Self>, _node: usize) {}

    /// The elector of a user's own process is about to get this input.
    fn takes(_: &mut Simulator<Self>, _node: usize, _input: &Input<EventOf<Self>>) {}

    /// A user's own process does something with its sockets.
    fn socket(_: &mut Simulator<Self>, _node: usize, _deed: SocketDeed) {}

    /// The process is about to take its first step.
    fn born(simulator: &mut Simulator<Self>, node: usize);

    /// The process is gone.
    fn died(simulator: &mut Simulator<Self>, node: usize);

    /// The machine of `onto` is a copy of that of `from`.
    fn cloned(simulator: &mut Simulator<Self>, from: usize, onto: usize);

    /// The machine of a node has taken a step.
    fn stepped(_: &mut Simulator<Self>, _node: usize) {}

    /// A step has requested this action.
    fn requested(_: &mut Simulator<Self>, _node: usize, _action: &ActionOf<Self>) {}

    /// Starts the action that a step at the local time `at` requested.
    fn perform(simulator: &mut Simulator<Self>, node: usize, action: ActionOf<Self>, at: Timestamp);

    /// Something happens outside the processes.
    fn happen(simulator: &mut Simulator<Self>, what: Self::Happening);

    /// Runs after every event.
    fn settle(simulator: &mut Simulator<Self>);

    /// A fault begins that may take effect in the environment.
    fn begin(simulator: &mut Simulator<Self>, index: usize, kind: &FaultKind);

    /// Recomputes which faults of this kind are in force.
    fn recompute(simulator: &mut Simulator<Self>, kind: &FaultKind);

    /// The report of a node's health.
    fn health(healthy: bool) -> EventOf<Self>;

    /// What checkers learn when this event is handed in.
    fn told(event: &EventOf<Self>) -> Option<Told>;

    /// Whether this event may have moved the end of a leadership.
    fn extends(event: &EventOf<Self>) -> bool;

    /// Whether a mailbox that ends with `last` can drop `next`, because `last` then includes it.
    fn coalesces(last: &mut EventOf<Self>, next: &EventOf<Self>) -> bool;
}
