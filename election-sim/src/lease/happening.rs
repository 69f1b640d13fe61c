//! Events of statements and of the database.

use crate::queue;

/// An event that happens once. Slots are the database's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Happening {
    Arrive(usize),
    Execute(usize),
    LockTimeout(usize, u64),
    Commit(u64),
    Deliver(usize),
    Resigned { node: usize, life: u32, epoch: u64 },
    Woken { node: usize, life: u32 },
    Storm(usize),
}

pub(super) type Queue = queue::Queue<Happening>;
pub(super) type Event = queue::Event<Happening>;
