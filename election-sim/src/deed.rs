//! The real code of a node, as the simulator sees it: what it does, and what arrives for it.

use crate::{
    app::{Order, Resource, WriteError},
    draw::Draw,
    socket::{SocketDeed, SocketEvent},
};
use election_core::{Change, Input, Protocol, Timestamp};

/// The real code of one life of a node.
pub(crate) trait Process<P: Protocol> {
    /// Something has come for the elector: an answer, a notification, or an operator's order.
    fn receive(&mut self, input: Input<P::Event>);

    /// Whether anybody waits for this: an answer whose question was dropped reaches nobody.
    fn awaits(&self, event: &P::Event) -> bool;

    /// A frame has come from the service of another node.
    fn receive_frame(&mut self, from: usize, bytes: Vec<u8>);

    /// Something has happened to a socket. Returns whether a task waits for it.
    fn receive_socket(&mut self, event: SocketEvent) -> bool;

    /// The resource has decided on the `nth` write of the node, or nobody knows.
    fn receive_verdict(&mut self, nth: u64, verdict: Result<(), WriteError>);

    /// Runs whatever is ready. Returns what it did, in order, and when it is to run again.
    fn run(&mut self, moment: &mut Moment) -> (Vec<Deed<P>>, Option<Timestamp>);
}

/// What a process sees of the world while it runs.
#[derive(Debug)]
pub(crate) struct Moment {
    pub(crate) now: Timestamp,
    /// After so many calls the clock reads this: the process has stopped in between.
    pub(crate) stall: Option<(u64, Timestamp)>,
    /// True time since the start, in nanoseconds.
    pub(crate) elapsed: u64,
    pub(crate) draw: Draw,
    /// The number of draws of the node, over all lives.
    pub(crate) drawn: u64,
    /// The number of writes of the node, over all lives.
    pub(crate) sent: u64,
    pub(crate) resource: Resource,
    /// Somebody is going to read the notes.
    pub(crate) read: bool,
}

/// What a process has done.
pub(crate) enum Deed<P: Protocol> {
    /// Its driver has taken an input out of its mailbox.
    Took(Input<P::Event>),
    /// Its machine has taken a step.
    Stepped(Box<P>, Option<Change>),
    /// Its step has requested this.
    Requested(P::Action),
    /// Its driver has begun an action that was requested at this time.
    Acted(P::Action, Timestamp),
    /// What is the same for every protocol.
    Did(Effect),
}

/// What a process has done to the world, or to itself.
pub(crate) enum Effect {
    Wrote(Order),
    SentFrame(usize, Vec<u8>),
    Socket(SocketDeed),
    Noted(String),
    /// It has stopped in the middle of what it does, and its clock reads this when it goes on. The rest
    /// follows then.
    Stalled(Timestamp),
    /// The process has ended by itself.
    Ended,
}

/// How far the step has come that a process is in.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Step {
    /// Its input may have moved the end of a leadership.
    pub(crate) extends: bool,
    /// It is taken, and its requests follow.
    pub(crate) taken: bool,
    /// It was the last one.
    pub(crate) last: bool,
}

/// What a process that has stopped does when it goes on.
pub(crate) struct Rest<P: Protocol> {
    /// What its clock reads then at least.
    pub(crate) until: Timestamp,
    pub(crate) step: Step,
    pub(crate) deeds: Vec<Deed<P>>,
}
