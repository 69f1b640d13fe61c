//! The ways between nodes that are cut, stalled or unreliable at the moment.

use crate::fault::{FaultKind, FrameFault, database_fault, member_fault, simulator_fault};

/// The network faults in force; most of the time there are none.
#[derive(Debug, Default)]
pub(crate) struct Cuts {
    severed: Vec<(usize, usize)>,
    clogged: Vec<(usize, usize)>,
    parts: Vec<Vec<usize>>,
    /// Chance faults of frames: the fault's index in the schedule, what it does, and its odds in a
    /// million.
    pub(crate) odds: Vec<(usize, FrameFault, u32)>,
}

impl Cuts {
    /// The combined effect of these faults, each with its index.
    pub(super) fn of<'a>(faults: impl Iterator<Item = (usize, &'a FaultKind)>) -> Self {
        let mut cuts = Self::default();
        for (index, kind) in faults {
            match kind {
                FaultKind::Sever(from, to) => cuts.severed.push((*from, *to)),
                FaultKind::Clog(from, to) => cuts.clogged.push((*from, *to)),
                FaultKind::Part(group) => cuts.parts.push(group.clone()),
                FaultKind::Frames(fault, ppm) => cuts.odds.push((index, *fault, *ppm)),
                simulator_fault!(FaultKind)
                | database_fault!(FaultKind)
                | member_fault!(FaultKind) => {}
            }
        }
        cuts
    }

    /// Whether frames get from one node to the other at all.
    pub(crate) fn is_open(&self, from: usize, to: usize) -> bool {
        let apart = |group: &Vec<usize>| group.contains(&from) != group.contains(&to);
        !self.severed.contains(&(from, to)) && !self.parts.iter().any(apart)
    }

    /// Whether frames from one node to the other are held back.
    pub(crate) fn is_clogged(&self, from: usize, to: usize) -> bool {
        self.clogged.contains(&(from, to))
    }
}
