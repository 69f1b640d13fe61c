//! One node as the simulator sees it: the real state machine, its clock, and its leader work.

use super::{Environment, EventOf, net::Frame};
use crate::{app::Asked, clock::Clock};
use election_core::{Epoch, Input, Loss, Timestamp};
use std::{cell::Cell, collections::VecDeque, time::Duration};

/// One process and its machine. When the process is dead, the machine's clock goes on.
#[derive(Debug)]
pub(crate) struct Node<S: Environment> {
    pub(crate) machine: Option<S::Machine>,
    /// The state that only this protocol gives a node.
    pub(crate) state: S::NodeState,
    /// Which life of the process this is, from one.
    pub(crate) life: u32,
    pub(crate) clock: Clock,
    /// The clock's gain when no fault changes it.
    pub(crate) ppm: i32,
    /// The latest clock reading that this life has seen.
    pub(crate) latest: Timestamp,
    pub(crate) paused: bool,
    /// The process, paused from here on, may run once more: it stops in the middle of that, after so
    /// many calls.
    pub(crate) stall: Option<u64>,
    /// A process must start as soon as the machine goes on.
    pub(crate) start_due: bool,
    /// Frames for the app that a paused process has not taken yet.
    pub(crate) frames: VecDeque<Frame>,
    /// Inputs that a paused process has not taken yet.
    pub(crate) inbox: VecDeque<Input<EventOf<S>>>,
    pub(crate) wake_at: Option<Timestamp>,
    pub(crate) work: Option<Work>,
    pub(crate) stuck: bool,
    /// The number of writes sent, over all lives.
    pub(crate) sent: u64,
    /// The number of draws of the app, over all lives.
    pub(crate) drawn: u64,
    /// The number of the newest setting of the app's timer.
    pub(crate) turn: u64,
    /// The app's timer has fired while the process was paused.
    pub(crate) app_due: bool,
    /// When this life's app last asked whether it leads.
    pub(crate) asked: Cell<Option<Asked>>,
    /// The leadership that this life lost last.
    pub(crate) lost: Option<LostLeadership>,
}

/// The leader work of one epoch: what must never run twice at once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Work {
    pub(crate) epoch: Epoch,
    /// The time of the hard stop, by the node's clock.
    pub(crate) stop_by: Timestamp,
    /// The work has been told to stop.
    pub(crate) told: bool,
}

/// How a leadership ended, in true time since the start.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LostLeadership {
    pub(crate) epoch: Epoch,
    pub(crate) at: Duration,
    pub(crate) why: Loss,
    pub(crate) stop_by: Duration,
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
            stall: None,
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
            asked: Cell::new(None),
            lost: None,
        }
    }

    /// Whether its leader work may be running at the true time `now`.
    pub(crate) fn works(&self, now: u64) -> bool {
        self.machine.is_some() && self.work.is_some_and(|work| self.read(now) < work.stop_by)
    }

    /// The time that the process reads: never less than an earlier reading.
    pub(crate) fn read(&self, now: u64) -> Timestamp {
        self.clock.read(now).max(self.latest)
    }
}
