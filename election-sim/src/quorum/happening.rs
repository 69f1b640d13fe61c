//! What happens to disks, connections and data.

use crate::queue;

/// Something that happens once. Slots are the environment's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Happening {
    /// A frame arrives.
    Frame(usize),
    /// A connection between two nodes is made, if it can be.
    Connect { from: usize, to: usize, attempt: u32 },
    /// The end of a connection is noticed.
    Ended { from: usize, to: usize, number: u64 },
    /// A save comes to its end.
    Saved { node: usize, life: u32, nth: u64 },
    /// A node does what its application does at every turn: write, ship.
    Turn { node: usize, life: u32 },
    /// A copy of the primary's data arrives.
    Copy(usize),
    /// A process is killed right after something it asked for.
    Kill(usize),
    /// A process that was killed after something it asked for starts again.
    Revive(usize),
}

pub(super) type Event = queue::Event<Happening>;
