//! No process spins: it takes a bounded number of steps, and asks a bounded number of questions, in
//! any second.

use super::{Checker, Verdict};
use crate::{
    fault::Contract,
    simulator::{Environment, WorldState},
};

#[derive(Debug, Default)]
pub(crate) struct BoundedPace {
    nodes: Vec<Second>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Second {
    since: u64,
    steps: u32,
    questions: u32,
}

const MOST_STEPS: u32 = 4_000;
const SECOND: u64 = 1_000_000_000;

impl<S: Environment> Checker<S> for BoundedPace {
    const NAME: &'static str = "bounded-pace";
    const HOLDS: Contract = Contract::Void;

    fn new(nodes: usize) -> Self {
        Self { nodes: vec![Second::default(); nodes] }
    }

    fn asked(&mut self, _: &WorldState<'_, S>, node: usize, _: &S::Asked) -> Verdict {
        let second = &mut self.nodes[node];
        second.questions += 1;
        if second.questions > S::MOST_QUESTIONS {
            return Err(format!("node {node} asked {} times in a second", S::MOST_QUESTIONS));
        }
        Ok(())
    }

    fn stepped(&mut self, world: &WorldState<'_, S>, node: usize) -> Verdict {
        let second = &mut self.nodes[node];
        second.steps += 1;
        if second.steps & 15 != 0 {
            return Ok(());
        }
        if world.now - second.since >= SECOND {
            *second = Second { since: world.now, steps: 0, questions: 0 };
        } else if second.steps > MOST_STEPS {
            return Err(format!("node {node} took {MOST_STEPS} steps in a second"));
        }
        Ok(())
    }
}
