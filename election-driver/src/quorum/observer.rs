//! What a simulator sees of a member, and what it puts in the place of chance and of the disk.

use election_core::{
    Change, Incarnation, Input,
    quorum::{Action, Ballot, Config, Event, Quorum, Restored, UnixMillis},
};
use std::io;

/// Tells a member what has become of the ballot that it saves.
pub type Saved = Box<dyn Fn(io::Result<()>) + Send + Sync>;

/// Watches every step of a member, and keeps its ballot. Only the simulator's runtime has one; no name
/// of it is public outside `election-sim`.
pub trait MemberObserver: Send + Sync {
    /// What tells this process from others under its id, in place of a random number.
    fn incarnation(&self) -> Incarnation;

    /// Decides what is otherwise left to chance.
    fn seed(&self) -> u64;

    /// What the wall clock reads.
    fn wall_clock(&self) -> UnixMillis;

    /// What an earlier life has saved.
    fn restored(&self) -> Restored;

    /// Where ballots are saved, one after the other; `saved` is told what has become of each.
    fn keeps_ballots(&self, saved: Saved) -> Box<dyn Fn(Ballot) + Send>;

    /// A member is about to start. `order` hands it what an operator or its application may say.
    fn starts(&self, config: &Config, order: Box<dyn Fn(Input<Event>) + Send + Sync>);

    /// The machine is about to get this input.
    fn takes(&self, input: &Input<Event>);

    /// The machine has taken a step, and nobody knows of it yet.
    fn stepped(&self, quorum: &Quorum, change: Option<&Change>);

    /// The step has asked for this.
    fn asks(&self, action: &Action);
}
