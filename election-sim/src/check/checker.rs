//! What a checker is.

use crate::{
    app::Write,
    fault::{Contract, FaultKind},
    schedule::Heal,
    simulator::{Environment, Told, WorldState},
};
use election_core::{Change, Epoch};

/// What a checker found.
pub(crate) type Verdict = Result<(), String>;

/// One invariant. A hook that a checker does not need does nothing.
#[allow(unused_variables)]
pub(crate) trait Checker<S: Environment> {
    /// Its name, in transcripts and reports.
    const NAME: &'static str;
    /// It holds as long as the run stays within this.
    const HOLDS: Contract;

    /// With the books of so many nodes still empty.
    fn new(nodes: usize) -> Self;

    /// A process has started.
    fn born(&mut self, world: &WorldState<'_, S>, node: usize) {}
    /// A process is gone: killed, or finished.
    fn died(&mut self, world: &WorldState<'_, S>, node: usize) {}
    /// A process goes on as two: everything that is known of `from` is now true of `onto`.
    fn cloned(&mut self, world: &WorldState<'_, S>, from: usize, onto: usize) {}
    /// A fault has begun or ended.
    fn fault_changed(&mut self, world: &WorldState<'_, S>, kind: &FaultKind) {}
    /// The operator let the node resign, or leave.
    fn told(&mut self, world: &WorldState<'_, S>, node: usize, told: Told) {}
    /// Something is about to be handed in.
    fn heard(&mut self, world: &WorldState<'_, S>, heard: &S::Heard<'_>) {}
    /// Leader work has ended and this is about to be reported.
    fn stopped(&mut self, world: &WorldState<'_, S>, node: usize, epoch: Epoch) {}
    /// A step has reported a change.
    fn changed(&mut self, world: &WorldState<'_, S>, node: usize, change: &Change) -> Verdict {
        Ok(())
    }
    /// A step has asked for something.
    fn asked(&mut self, world: &WorldState<'_, S>, node: usize, asked: &S::Asked) -> Verdict {
        Ok(())
    }
    /// A step is over.
    fn stepped(&mut self, world: &WorldState<'_, S>, node: usize) -> Verdict {
        Ok(())
    }
    /// Something has taken effect outside.
    fn done(&mut self, world: &WorldState<'_, S>, done: &S::Done<'_>) -> Verdict {
        Ok(())
    }
    /// The resource has served a write.
    fn served(&mut self, world: &WorldState<'_, S>, write: &Write) -> Verdict {
        Ok(())
    }
    /// The healed core has had the time it was promised; again at the end of the run.
    fn due(&mut self, world: &WorldState<'_, S>, heal: &Heal) -> Verdict {
        Ok(())
    }
}
