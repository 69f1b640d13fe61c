//! Once a majority is well and everybody in it hears everybody else, somebody leads within the
//! time promised, and from then on there is no gap longer than a few elections take, whatever the
//! rest does.
//!
//! Not so while a node of that majority is [ignorant](super::ignorance).

use super::ignorance::is_ignorant;
use crate::{
    check::{Check, Scene, Told, Verdict},
    fault::Contract,
    quorum::QuorumSide,
    schedule::Heal,
    span::nanos,
};
use election_core::Protocol;

#[derive(Debug)]
pub(super) struct Liveness {
    /// When the last belief ends, or ended, in true time.
    led_until: u64,
    /// Somebody has led since the heal.
    led: bool,
    /// When it was last unknown what nodes of the core have promised.
    unknown_until: u64,
    /// By node: it has said that it is not fit to lead, or was told not to.
    unfit: Vec<bool>,
}

/// A gap may last so many times `down_after`: one that runs out, and elections that collide.
const GAP: u32 = 8;

impl Check<QuorumSide> for Liveness {
    const NAME: &'static str = "liveness";
    const HOLDS: Contract = Contract::Within;

    fn new(nodes: usize) -> Self {
        Self { led_until: 0, led: false, unknown_until: 0, unfit: vec![false; nodes] }
    }

    fn born(&mut self, _: &Scene<'_, QuorumSide>, node: usize) {
        self.unfit[node] = false;
    }

    fn told(&mut self, _: &Scene<'_, QuorumSide>, node: usize, told: Told) {
        if let Told::Healthy(healthy) = told {
            self.unfit[node] = !healthy;
        }
    }

    fn stepped(&mut self, scene: &Scene<'_, QuorumSide>, _: usize) -> Verdict {
        match &scene.schedule.heal {
            Some(heal) if scene.now >= nanos(heal.at) => self.judge(scene, heal),
            _ => Ok(()),
        }
    }

    fn due(&mut self, scene: &Scene<'_, QuorumSide>, heal: &Heal) -> Verdict {
        self.judge(scene, heal)
    }
}

impl Liveness {
    fn judge(&mut self, scene: &Scene<'_, QuorumSide>, heal: &Heal) -> Verdict {
        let Some(cluster) = &scene.schedule.cluster else { return Ok(()) };
        if scene.now < self.led_until && self.led {
            return Ok(()); // looked at again when that is over
        }
        let beliefs = scene.nodes.iter().filter_map(|node| {
            let tenure = node.machine.as_ref()?.tenure(node.read(scene.now))?;
            Some(node.clock.when(tenure.until))
        });
        match beliefs.max() {
            Some(until) => (self.led, self.led_until) = (true, until),
            None => self.led_until = self.led_until.min(scene.now),
        }
        if is_ignorant(scene, heal) {
            self.unknown_until = scene.now;
        }
        let since = nanos(heal.at).max(self.led_until).max(self.unknown_until);
        let most = if self.led { nanos(cluster.down_after * GAP) } else { nanos(heal.within) };
        let unfit = heal.core.iter().any(|node| self.unfit[*node]);
        if scene.now <= since.saturating_add(most) || unfit {
            return Ok(());
        }
        Err(format!(
            "nobody leads for {} ms though the nodes {:?} are well",
            (scene.now - since) / 1_000_000,
            heal.core
        ))
    }
}
