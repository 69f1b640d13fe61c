//! At most one process may run leader work at any true time.
//!
//! Work may run from the moment a process is told that it leads until it reports that the work
//! has stopped, or until its own clock reaches the hard stop. Two such spans can only begin to
//! overlap where one begins or grows, so it is enough to look at every step of a process whose
//! work may run.

use super::{Check, Contract, Scene, Verdict};

#[derive(Debug)]
pub(super) struct Exclusion;

impl Exclusion {
    pub(super) fn new(_: usize) -> Self {
        Self
    }
}

impl Check for Exclusion {
    const NAME: &'static str = "exclusion";
    const HOLDS: Contract = Contract::Within;

    fn stepped(&mut self, scene: &Scene<'_>, node: usize) -> Verdict {
        let here = &scene.nodes[node];
        if here.work.is_none() || !here.works(scene.now) {
            return Ok(());
        }
        let other = scene.nodes.iter().enumerate().find(|(other, there)| {
            *other != node && there.work.is_some() && there.works(scene.now)
        });
        let Some((other, there)) = other else { return Ok(()) };
        let epoch = |node: &crate::node::Node| node.work.map(|work| work.epoch.get());
        Err(format!(
            "{} (node {node}, epoch {:?}) and {} (node {other}, epoch {:?}) may both act",
            here.candidate.id,
            epoch(here),
            there.candidate.id,
            epoch(there),
        ))
    }
}
