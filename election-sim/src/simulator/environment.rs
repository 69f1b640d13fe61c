//! What a protocol brings along: its state machine, what that machine deals with (a database, or
//! connections and disks), and what must hold of it.

use super::{Simulator, Told, Watched};
use crate::{
    fault::FaultKind,
    schedule::{Schedule, ScheduleError},
};
use election_core::{Protocol, Timestamp};
use std::fmt::Debug;

/// What the machine of an environment is told.
pub(crate) type EventOf<S> = <<S as Environment>::Machine as Protocol>::Event;
/// What the machine of an environment asks for.
pub(crate) type ActionOf<S> = <<S as Environment>::Machine as Protocol>::Action;

/// One protocol and the part of the world that only it has.
pub(crate) trait Environment: Watched + Debug {
    /// The state machine under test.
    type Machine: Protocol<Event: Clone + Debug + PartialEq> + Clone + Debug;
    /// What a node has beside its process.
    type NodeState: Debug;
    /// What happens once, outside the processes.
    type Happening: Copy + Debug + PartialEq;
    /// What a step has asked for, as checkers see it.
    type Asked;
    /// What is about to be handed to a machine, as checkers see it.
    type Heard<'a>;
    /// What has taken effect outside, as checkers see it.
    type Done<'a>;
    /// Whether whoever leads writes whenever its leadership is extended.
    const WRITES_WHEN_EXTENDED: bool;

    /// The surroundings, before anything has happened.
    fn new(schedule: &Schedule) -> Result<Self, ScheduleError>;

    /// What this node has.
    fn state(&self, schedule: &Schedule, node: usize) -> Self::NodeState;

    /// The machine of a process that starts on this node now, in a life that was just counted.
    fn birth(simulator: &mut Simulator<Self>, node: usize) -> Option<Self::Machine>;

    /// The process is about to take its first step.
    fn born(simulator: &mut Simulator<Self>, node: usize);

    /// The process is gone.
    fn died(simulator: &mut Simulator<Self>, node: usize);

    /// The machine of `onto` is a copy of that of `from`.
    fn cloned(simulator: &mut Simulator<Self>, from: usize, onto: usize);

    /// Starts what a step at the local time `at` has asked for.
    fn perform(simulator: &mut Simulator<Self>, node: usize, action: ActionOf<Self>, at: Timestamp);

    /// Something happens.
    fn happen(simulator: &mut Simulator<Self>, what: Self::Happening);

    /// Comes after everything that happens.
    fn settle(simulator: &mut Simulator<Self>);

    /// A fault begins that may take effect in the surroundings.
    fn begin(simulator: &mut Simulator<Self>, index: usize, kind: &FaultKind);

    /// Looks again at what of this kind is in force.
    fn recompute(simulator: &mut Simulator<Self>, kind: &FaultKind);

    /// The report of a node's health.
    fn health(healthy: bool) -> EventOf<Self>;

    /// What checkers are told when this is handed in.
    fn told(event: &EventOf<Self>) -> Option<Told>;

    /// Whether this can have moved the end of a leadership.
    fn extends(event: &EventOf<Self>) -> bool;

    /// Whether a mailbox that ends with `last` need not take `next`, too, which is then in `last`.
    fn coalesces(last: &mut EventOf<Self>, next: &EventOf<Self>) -> bool;
}
