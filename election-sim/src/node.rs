//! One node as the world sees it: the real state machine, its clock, and its leader work.

use crate::{clock::Clock, net::Frame};
use election_core::{
    Candidate, Epoch, Input, Timestamp,
    lease::{Event, Lease, Ticket},
};
use std::collections::VecDeque;

/// One process and its machine. The process may be dead; the machine's clock goes on.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) lease: Option<Lease>,
    /// Which life of the process this is, from one.
    pub(crate) life: u32,
    pub(crate) candidate: Candidate,
    pub(crate) clock: Clock,
    /// What the clock gains when no fault says otherwise.
    pub(crate) ppm: i32,
    /// The latest reading that this life has seen.
    pub(crate) latest: Timestamp,
    pub(crate) paused: bool,
    /// Frames that a paused process has not taken yet.
    pub(crate) frames: VecDeque<Frame>,
    /// Inputs that a paused process has not taken yet.
    pub(crate) inbox: VecDeque<Input<Event>>,
    pub(crate) wake_at: Option<Timestamp>,
    pub(crate) work: Option<Work>,
    pub(crate) stuck: bool,
    pub(crate) requests_cut: bool,
    pub(crate) replies_cut: bool,
    /// Statements sent, over all lives.
    pub(crate) asked: u64,
    /// Writes sent, likewise.
    pub(crate) sent: u64,
    /// Numbers that its app has drawn, over all lives.
    pub(crate) drawn: u64,
    /// The newest setting of its app's timer.
    pub(crate) turn: u64,
    /// That timer has come while the process was paused.
    pub(crate) app_due: bool,
    /// The newest question.
    pub(crate) ticket: Option<Ticket>,
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

impl Node {
    /// Whether its leader work may be running at the true time `now`.
    pub(crate) fn works(&self, now: u64) -> bool {
        self.lease.is_some() && self.work.is_some_and(|work| self.read(now) < work.stop_by)
    }

    /// What the process takes for the time: never less than it has seen.
    pub(crate) fn read(&self, now: u64) -> Timestamp {
        self.clock.read(now).max(self.latest)
    }
}
