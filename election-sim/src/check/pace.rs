//! Nobody spins: a process takes a bounded number of steps, and asks a bounded number of
//! questions, in any second.

use super::{Check, Contract, Scene, Verdict};
use election_core::lease::Query;

#[derive(Debug)]
pub(super) struct Pace {
    nodes: Vec<Second>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Second {
    since: u64,
    steps: u32,
    questions: u32,
}

/// A leader whose database refuses every statement at once asks most: every repetition of a
/// renewal comes after a few milliseconds at first.
const MOST_QUESTIONS: u32 = 400;
const MOST_STEPS: u32 = 4_000;
const SECOND: u64 = 1_000_000_000;

impl Pace {
    pub(super) fn new(nodes: usize) -> Self {
        Self { nodes: vec![Second::default(); nodes] }
    }
}

impl Check for Pace {
    const NAME: &'static str = "pace";
    const HOLDS: Contract = Contract::Void;

    fn asked(&mut self, _: &Scene<'_>, node: usize, query: &Query) -> Verdict {
        let second = &mut self.nodes[node];
        second.questions += 1;
        if second.questions > MOST_QUESTIONS {
            return Err(format!("node {node} asked {MOST_QUESTIONS} times in a second: {query:?}"));
        }
        Ok(())
    }

    fn stepped(&mut self, scene: &Scene<'_>, node: usize) -> Verdict {
        let second = &mut self.nodes[node];
        second.steps += 1;
        if second.steps & 15 != 0 {
            return Ok(());
        }
        if scene.now - second.since >= SECOND {
            *second = Second { since: scene.now, steps: 0, questions: 0 };
        } else if second.steps > MOST_STEPS {
            return Err(format!("node {node} took {MOST_STEPS} steps in a second"));
        }
        Ok(())
    }
}
