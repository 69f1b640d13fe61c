//! Names that are equal in all states that behave alike.
//!
//! Three renamings apply to processes, statements and the row together. Epochs and ordinals become
//! their ranks among those still in use, and nodes may trade places. No renaming changes what can
//! happen: [`election_core::lease::Names`] explains this for the machine. The table compares the
//! same numbers, and a new epoch is above every old one whatever their names are.

use crate::{table::candidate, text::node_name};
use election_core::{Candidate, Epoch, lease::Names};

/// The largest number of nodes that the model can hold.
pub(super) const MOST_NODES: usize = 3;
/// The largest number of lives that a node can have.
pub(super) const MOST_LIVES: usize = 8;
/// The number of orders of three nodes.
pub(super) const ORDERS: usize = 6;

/// The orders of the nodes; the orders of fewer nodes come first.
pub(super) const ORDER: [[usize; MOST_NODES]; ORDERS] =
    [[0, 1, 2], [1, 0, 2], [0, 2, 1], [1, 2, 0], [2, 0, 1], [2, 1, 0]];

/// The number of entries of [`ORDER`] for this many nodes.
pub(super) const fn orders(nodes: usize) -> usize {
    match nodes {
        0 | 1 => 1,
        2 => 2,
        _ => ORDERS,
    }
}

/// A part that can be renamed.
pub(super) trait Named {
    fn rename(&mut self, names: &mut impl Names);
}

/// All possible processes, by node and life.
#[derive(Clone, Debug)]
pub(super) struct Cast(Vec<Vec<Candidate>>);

impl Cast {
    pub(super) fn new(nodes: usize) -> Self {
        let lives = |node| {
            (0..MOST_LIVES)
                .map(move |life| candidate(&node_name(node), number(node, life)))
                .collect()
        };
        Self((0..nodes).map(lives).collect())
    }

    pub(super) fn of(&self, node: usize, life: usize) -> Candidate {
        self.0[node][life].clone()
    }
}

fn number(node: usize, life: usize) -> u128 {
    (node * MOST_LIVES + life + 1) as u128
}

/// The node of a process, and the number of its life.
pub(super) fn place(candidate: &Candidate) -> (usize, usize) {
    let number = candidate.incarnation.get().as_u128() - 1;
    let number = usize::try_from(number).unwrap_or(0);
    (number / MOST_LIVES, number % MOST_LIVES)
}

/// Renames nothing; notes which ranks are in use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Used {
    pub(super) epochs: u16,
    pub(super) ordinals: u16,
}

impl Used {
    pub(super) fn and(self, other: Self) -> Self {
        Self { epochs: self.epochs | other.epochs, ordinals: self.ordinals | other.ordinals }
    }

    /// Whether the ranks in use have no gap.
    pub(super) fn is_dense(self) -> bool {
        let dense = |bits: u16| (bits | 1) & (bits | 1).wrapping_add(1) == 0;
        dense(self.epochs) && dense(self.ordinals)
    }

    /// The highest epoch in use.
    pub(super) fn highest(self) -> Epoch {
        Epoch::new(u64::from(self.epochs.checked_ilog2().unwrap_or(0)))
    }

    /// The new rank of a bound when the unused epochs are removed: the rank of the highest used
    /// epoch that does not lie above the bound.
    pub(super) fn rank_of_bound(self, epoch: u64) -> u64 {
        rank(self.epochs, epoch + 1) - 1
    }
}

fn rank(used: u16, number: u64) -> u64 {
    let below = (1_u32 << number.min(16)) - 1;
    u64::from((u32::from(used | 1) & below).count_ones())
}

fn bit(number: u64) -> u16 {
    assert!(number < 16, "more than fifteen epochs or ordinals at once");
    1 << number
}

impl Names for Used {
    fn epoch(&mut self, epoch: Epoch) -> Epoch {
        self.epochs |= bit(epoch.get());
        epoch
    }

    fn bound(&mut self, epoch: Epoch) -> Epoch {
        epoch
    }

    fn ordinal(&mut self, ordinal: u64) -> u64 {
        self.ordinals |= bit(ordinal);
        ordinal
    }

    fn candidate(&mut self, candidate: &Candidate) -> Candidate {
        candidate.clone()
    }
}

/// Removes the ranks that are not in use.
pub(super) struct Dense(pub(super) Used);

impl Names for Dense {
    fn epoch(&mut self, epoch: Epoch) -> Epoch {
        Epoch::new(rank(self.0.epochs, epoch.get()))
    }

    fn bound(&mut self, epoch: Epoch) -> Epoch {
        Epoch::new(self.0.rank_of_bound(epoch.get()))
    }

    fn ordinal(&mut self, ordinal: u64) -> u64 {
        rank(self.0.ordinals, ordinal)
    }

    fn candidate(&mut self, candidate: &Candidate) -> Candidate {
        candidate.clone()
    }
}

/// Lets nodes trade places.
pub(super) struct Trade<'a> {
    pub(super) cast: &'a Cast,
    pub(super) order: [usize; MOST_NODES],
}

impl Names for Trade<'_> {
    fn epoch(&mut self, epoch: Epoch) -> Epoch {
        epoch
    }

    fn ordinal(&mut self, ordinal: u64) -> u64 {
        ordinal
    }

    fn candidate(&mut self, candidate: &Candidate) -> Candidate {
        let (node, life) = place(candidate);
        self.cast.of(self.order[node], life)
    }
}
