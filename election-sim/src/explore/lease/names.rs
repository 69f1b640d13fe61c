//! Names that are the same in every state that behaves alike.
//!
//! Three renamings, applied to processes, statements and the row together: epochs and ordinals
//! become their ranks among those still in use, and nodes may trade places. None changes what can
//! happen: see [`election_core::lease::Names`] for the machine; the table compares the same
//! numbers, and a new term is above every old one whatever they are called.

use crate::{table::candidate, text::node_name};
use election_core::{Candidate, Epoch, lease::Names};

/// As many nodes as the model can hold.
pub(super) const MOST_NODES: usize = 3;
/// As many lives as a node can have.
pub(super) const MOST_LIVES: usize = 8;
/// As many orders as three nodes can stand in.
pub(super) const ORDERS: usize = 6;

/// The orders in which the nodes may stand; those of fewer nodes come first.
pub(super) const ORDER: [[usize; MOST_NODES]; ORDERS] =
    [[0, 1, 2], [1, 0, 2], [0, 2, 1], [1, 2, 0], [2, 0, 1], [2, 1, 0]];

/// How many of [`ORDER`] there are for so many nodes.
pub(super) const fn orders(nodes: usize) -> usize {
    match nodes {
        0 | 1 => 1,
        2 => 2,
        _ => ORDERS,
    }
}

/// What can be renamed.
pub(super) trait Named {
    fn rename(&mut self, names: &mut impl Names);
}

/// The processes that can be, by node and life.
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

/// Which node a process is of, and which of its lives it is.
pub(super) fn place(candidate: &Candidate) -> (usize, usize) {
    let number = candidate.incarnation.get().as_u128() - 1;
    let number = usize::try_from(number).unwrap_or(0);
    (number / MOST_LIVES, number % MOST_LIVES)
}

/// Renames nothing and notes which ranks are in use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Used {
    pub(super) epochs: u16,
    pub(super) ordinals: u16,
}

impl Used {
    pub(super) fn and(self, other: Self) -> Self {
        Self { epochs: self.epochs | other.epochs, ordinals: self.ordinals | other.ordinals }
    }

    /// Whether no rank is left out.
    pub(super) fn is_dense(self) -> bool {
        let dense = |bits: u16| (bits | 1) & (bits | 1).wrapping_add(1) == 0;
        dense(self.epochs) && dense(self.ordinals)
    }

    /// The new rank of a bound when the epochs not in use are gone: that of the highest one in
    /// use which it does not lie below.
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

/// Leaves out the ranks that are not in use.
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

/// Lets the nodes trade places.
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
