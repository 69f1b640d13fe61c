//! Events of disks, connections and data.

use crate::queue;

/// An event that happens once. Slots are the environment's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Happening {
    /// Bytes arrive.
    Piece(usize),
    /// A connection between two nodes is made, if it can be.
    Connect { from: usize, to: usize, attempt: u32 },
    /// A node notices the end of a connection.
    Ended { from: usize, to: usize, number: u64 },
    /// A sender looks whether a connection still takes nothing.
    Watched { from: usize, to: usize },
    /// An attempt of a driver to connect comes to an end.
    #[cfg(feature = "service")]
    Dialed { from: usize, life: u32, to: usize, dial: u64 },
    /// Something arrives on a connection of drivers, from this end of it.
    #[cfg(feature = "service")]
    Flows { connection: u64, end: usize },
    /// A save ends.
    Saved { node: usize, life: u32, nth: u64 },
    /// The application knows how far its data have come.
    Loaded { node: usize, life: u32 },
    /// A node does its application's regular work: it writes and ships.
    Turn { node: usize, life: u32 },
    /// A copy of the primary's data arrives.
    Copy(usize),
    /// A process is killed right after one of its actions.
    Kill(usize),
    /// A process that was killed after one of its actions starts again.
    Revive(usize),
}

pub(super) type Event = queue::Event<Happening>;
