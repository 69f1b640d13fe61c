//! What the conditions of a test see of a simulator.

use super::{Environment, Simulator};
use crate::{app::Resource, fault::Contract, workload::Seen};
use election_core::{Epoch, Protocol};

impl<S: Environment> Seen for Simulator<S> {
    fn now(&self) -> u64 {
        self.now
    }

    fn nodes(&self) -> usize {
        self.nodes.len()
    }

    fn is_up(&self, node: usize) -> bool {
        node < self.nodes.len() && self.lives(node)
    }

    fn leads(&self, node: usize) -> Option<Epoch> {
        let node = self.nodes.get(node)?;
        let tenure = node.machine.as_ref()?.tenure(node.clock.read(self.now))?;
        Some(tenure.term.epoch)
    }

    fn elections(&self) -> u64 {
        self.elections
    }

    fn resource(&self) -> &Resource {
        &self.resource
    }

    fn contract(&self) -> Contract {
        self.schedule.contract()
    }
}
