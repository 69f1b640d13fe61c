//! One node as the simulator sees it: the real state machine, its clock, and its leader work.

use super::{Environment, EventOf, net::Frame};
use crate::clock::Clock;
use election_core::{Epoch, Input, Timestamp};
use std::collections::VecDeque;

/// One process and its machine. The process may be dead; the machine's clock goes on.
#[derive(Debug)]
pub(crate) struct Node<S: Environment> {
    pub(crate) machine: Option<S::Machine>,
    /// What only this protocol gives a node.
    pub(crate) state: S::NodeState,
    /// Which life of the process this is, from one.
    pub(crate) life: u32,
    pub(crate) clock: Clock,
    /// What the clock gains when no fault says otherwise.
    pub(crate) ppm: i32,
    /// The latest reading that this life has seen.
    pub(crate) latest: Timestamp,
    pub(crate) paused: bool,
    /// A process is to start as soon as the machine goes on.
    pub(crate) start_due: bool,
    /// Frames for its app that a paused process has not taken yet.
    pub(crate) frames: VecDeque<Frame>,
    /// Inputs that a paused process has not taken yet.
    pub(crate) inbox: VecDeque<Input<EventOf<S>>>,
    pub(crate) wake_at: Option<Timestamp>,
    pub(crate) work: Option<Work>,
    pub(crate) stuck: bool,
    /// Writes sent, over all lives.
    pub(crate) sent: u64,
    /// Numbers that its app has drawn, over all lives.
    pub(crate) drawn: u64,
    /// The newest setting of its app's timer.
    pub(crate) turn: u64,
    /// That timer has come while the process was paused.
    pub(crate) app_due: bool,
}

/// Leader work of one epoch: what must never run twice at once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Work {
    pub(crate) epoch: Epoch,
    /// When it is ended by force, by the node's clock.
    pub(crate) stop_by: Timestamp,
    /// It has been told to stop.
    pub(crate) told: bool,
}

impl<S: Environment> Node<S> {
    pub(crate) fn new(state: S::NodeState, clock: Clock, ppm: i32) -> Self {
        Self {
            machine: None,
            state,
            life: 0,
            clock,
            ppm,
            latest: Timestamp::ZERO,
            paused: false,
            start_due: false,
            frames: VecDeque::new(),
            inbox: VecDeque::new(),
            wake_at: None,
            work: None,
            stuck: false,
            sent: 0,
            drawn: 0,
            turn: 0,
            app_due: false,
        }
    }

    /// Whether its leader work may be running at the true time `now`.
    pub(crate) fn works(&self, now: u64) -> bool {
        self.machine.is_some() && self.work.is_some_and(|work| self.read(now) < work.stop_by)
    }

    /// What the process takes for the time: never less than it has seen.
    pub(crate) fn read(&self, now: u64) -> Timestamp {
        self.clock.read(now).max(self.latest)
    }
}
