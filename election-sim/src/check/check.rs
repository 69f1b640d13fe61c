//! What a checker is, and what it gets to see.

use crate::{
    app::Write,
    fault::{Contract, What},
    schedule::{Heal, Schedule},
    stage::{Node, Side},
};
use election_core::{Change, Epoch};
use std::{fmt, time::Duration};

/// The world as it truly is.
pub(crate) struct Scene<'a, S: Side> {
    pub(crate) now: u64,
    pub(crate) schedule: &'a Schedule,
    /// Which of its faults are in force.
    pub(crate) active: &'a [bool],
    pub(crate) nodes: &'a [Node<S>],
    pub(crate) side: &'a S,
}

/// The parts of the stage that checkers may see, borrowed apart from the checkers themselves.
macro_rules! scene {
    ($stage:ident) => {
        Scene {
            now: $stage.now,
            schedule: &$stage.schedule,
            active: &$stage.active,
            nodes: &$stage.nodes,
            side: &$stage.side,
        }
    };
}
pub(crate) use scene;

/// What a checker found.
pub(crate) type Verdict = Result<(), String>;

/// What a node is told from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Told {
    Resign,
    Withdraw,
    Healthy(bool),
    Wake,
}

/// Something that must not happen has happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The invariant's name.
    pub check: String,
    /// When, in true time since the start.
    pub at: Duration,
    /// What was seen.
    pub what: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} violated at {:?}: {}", self.check, self.at, self.what)
    }
}

/// One invariant. A hook that a checker does not need does nothing.
#[allow(unused_variables)]
pub(crate) trait Check<S: Side> {
    /// Its name, in transcripts and reports.
    const NAME: &'static str;
    /// It holds as long as the run stays within this.
    const HOLDS: Contract;

    /// With the books of so many nodes still empty.
    fn new(nodes: usize) -> Self;

    /// A process has started.
    fn born(&mut self, scene: &Scene<'_, S>, node: usize) {}
    /// A process is gone: killed, or finished.
    fn died(&mut self, scene: &Scene<'_, S>, node: usize) {}
    /// A process goes on as two: everything that is known of `from` is now true of `onto`.
    fn cloned(&mut self, scene: &Scene<'_, S>, from: usize, onto: usize) {}
    /// A fault has begun or ended.
    fn struck(&mut self, scene: &Scene<'_, S>, what: &What) {}
    /// The operator let the node resign, or leave.
    fn told(&mut self, scene: &Scene<'_, S>, node: usize, told: Told) {}
    /// Something is about to be handed in.
    fn heard(&mut self, scene: &Scene<'_, S>, heard: &S::Heard<'_>) {}
    /// Leader work has ended and this is about to be reported.
    fn stopped(&mut self, scene: &Scene<'_, S>, node: usize, epoch: Epoch) {}
    /// A step has reported a change.
    fn changed(&mut self, scene: &Scene<'_, S>, node: usize, change: &Change) -> Verdict {
        Ok(())
    }
    /// A step has asked for something.
    fn asked(&mut self, scene: &Scene<'_, S>, node: usize, asked: &S::Asked) -> Verdict {
        Ok(())
    }
    /// A step is over.
    fn stepped(&mut self, scene: &Scene<'_, S>, node: usize) -> Verdict {
        Ok(())
    }
    /// Something has taken effect outside.
    fn done(&mut self, scene: &Scene<'_, S>, done: &S::Done<'_>) -> Verdict {
        Ok(())
    }
    /// The resource has served a write.
    fn served(&mut self, scene: &Scene<'_, S>, write: &Write) -> Verdict {
        Ok(())
    }
    /// The healed core has had the time it was promised; again at the end of the run.
    fn due(&mut self, scene: &Scene<'_, S>, heal: &Heal) -> Verdict {
        Ok(())
    }
}
