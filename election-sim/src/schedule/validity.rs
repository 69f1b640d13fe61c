//! Whether a schedule describes a possible world.

use super::{
    error::{MOST_ELECTIONS, MOST_NODES, ScheduleError},
    run::Schedule,
};
use crate::{
    fault::{Fault, FaultKind, Scope},
    span::DurationRange,
};
use election_core::{NodeId, lease::Role};
use std::{collections::BTreeSet, time::Duration};

const CENTURY: Duration = Duration::from_secs(100 * 366 * 86_400);

impl Schedule {
    /// Checks that the schedule describes a possible world.
    ///
    /// # Errors
    /// With the first contradiction found.
    pub fn check(&self) -> Result<(), ScheduleError> {
        self.check_nodes()?;
        let most = if self.cluster.is_some() { 1 } else { MOST_ELECTIONS };
        if !(1..=most).contains(&self.elections) {
            return Err(ScheduleError::Elections(self.elections));
        }
        if self.cluster.is_none() {
            for node in 0..self.nodes.len() {
                self.timing_of(node).config(Role::Candidate)?;
            }
            self.timing.config(Role::Candidate)?;
        }
        let mut saves = DurationRange::exactly(Duration::ZERO);
        let mut loads = saves;
        if let Some(cluster) = &self.cluster {
            (saves, loads) = (cluster.save, cluster.load);
            for node in 0..self.nodes.len() {
                cluster.config(&self.nodes, node, self.timing.drift_ppm)?;
            }
            if cluster.growth.is_zero() {
                return Err(ScheduleError::Inverted("the growth"));
            }
        }
        for (what, span) in [
            ("the save", saves),
            ("the load", loads),
            ("the latency", self.latency),
            ("the commit", self.commit),
            ("the stop", self.stop),
            ("the act", self.act),
        ] {
            if span.high < span.low {
                return Err(ScheduleError::Inverted(what));
            }
        }
        if self.horizon.is_zero() {
            return Err(ScheduleError::NoHorizon);
        }
        if self.horizon > CENTURY {
            return Err(ScheduleError::TooLong(self.horizon));
        }
        self.check_faults()?;
        self.check_heal()
    }

    fn check_nodes(&self) -> Result<(), ScheduleError> {
        if self.nodes.is_empty() {
            return Err(ScheduleError::NoNodes);
        }
        if self.nodes.len() > MOST_NODES {
            return Err(ScheduleError::TooManyNodes(self.nodes.len()));
        }
        for node in &self.nodes {
            NodeId::new(&node.name)
                .map_err(|why| ScheduleError::Name { name: node.name.clone(), why })?;
            check_rate(node.ppm)?;
        }
        Ok(())
    }

    fn check_faults(&self) -> Result<(), ScheduleError> {
        for (index, fault) in self.faults.iter().enumerate() {
            if match fault.kind.scope() {
                Scope::Both => false,
                Scope::Lease => self.cluster.is_some(),
                Scope::Quorum => self.cluster.is_none(),
            } {
                return Err(ScheduleError::Elsewhere(index));
            }
            let named = fault.kind.named();
            if let Some(node) = named.iter().find(|node| **node >= self.nodes.len()) {
                return Err(ScheduleError::NoSuchNode(*node));
            }
            if let FaultKind::Rate(_, ppm) = fault.kind {
                check_rate(ppm)?;
            }
        }
        Ok(())
    }

    fn check_heal(&self) -> Result<(), ScheduleError> {
        let Some(heal) = &self.heal else { return Ok(()) };
        let core: BTreeSet<usize> = heal.core.iter().copied().collect();
        if let Some(node) = core.iter().find(|node| **node >= self.nodes.len()) {
            return Err(ScheduleError::NoSuchNode(*node));
        }
        if !core.iter().any(|node| !self.nodes[*node].observer) {
            return Err(ScheduleError::NoCandidate);
        }
        let late = |fault: &Fault| fault.at >= heal.at && fault.kind.befalls(&heal.core);
        match self.faults.iter().position(late) {
            Some(index) => Err(ScheduleError::FaultAfterHeal(index)),
            None => Ok(()),
        }
    }
}

fn check_rate(ppm: i32) -> Result<(), ScheduleError> {
    if (-1_000_000..=1_000_000).contains(&ppm) { Ok(()) } else { Err(ScheduleError::Rate(ppm)) }
}
