//! Partial partitions: some nodes hear each other and others do not.

use crate::fault::{Fault, FaultKind};
use std::time::Duration;

/// Who still hears whom. The nodes stand in a circle around a hub.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// Every node hears only the hub.
    Star,
    /// Every node hears its neighbours.
    Chain,
    /// The same, and the ends of the chain hear each other.
    Ring,
    /// Two halves, and one node that hears both.
    Bridge,
    /// Everything stalls, and comes back piece by piece.
    Swizzle,
}

impl Shape {
    /// The faults that make this partition among `count` nodes. Every cut is one-way if `one_way`,
    /// and both ways otherwise.
    pub(super) fn faults(
        self,
        count: usize,
        hub: usize,
        one_way: bool,
        (at, lasts): (Duration, Duration),
    ) -> Vec<Fault> {
        let turn = |node: usize| (node + hub) % count;
        let mut faults = Vec::new();
        for from in 0..count {
            for to in (0..count).filter(|to| *to != from) {
                let (a, b) = (turn(from), turn(to));
                if self == Self::Swizzle {
                    let step = |node: usize| u32::try_from(node).unwrap_or(0);
                    let (at, lasts) = (at + lasts / 16 * step(from), lasts / (1 + step(to)));
                    faults.push(Fault { at, lasts, kind: FaultKind::Clog(from, to) });
                } else if !(self.is_open(a, b, count) || (one_way && a < b)) {
                    faults.push(Fault { at, lasts, kind: FaultKind::Sever(from, to) });
                }
            }
        }
        faults
    }

    fn is_open(self, a: usize, b: usize, count: usize) -> bool {
        let apart = a.abs_diff(b);
        match self {
            Self::Star => a == 0 || b == 0,
            Self::Chain => apart == 1,
            Self::Ring => apart == 1 || apart == count - 1,
            Self::Bridge => a == 0 || b == 0 || (a <= count / 2) == (b <= count / 2),
            Self::Swizzle => true,
        }
    }
}
