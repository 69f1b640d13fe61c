//! A state of the whole world, and the moves out of it.

use super::{
    names::MOST_NODES,
    scope::{Often, SLOTS},
};

/// The state of every process, of the row, and of the statements under way. It consists of numbers
/// of parts, which only the model that made them understands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct State {
    pub(super) nodes: [u32; MOST_NODES],
    pub(super) row: u32,
    /// The row as the replica has it that will be promoted; zero as long as it lacks nothing.
    pub(super) replica: u32,
    /// In no particular order; zero is an empty place.
    pub(super) statements: [u32; SLOTS],
    /// How often the events of [`Often`] may still happen.
    pub(super) left: Often,
    /// The highest epoch that any process has led.
    pub(super) led: u8,
    /// The nodes whose process stands still, as bits.
    pub(super) paused: u8,
}

/// One possible move. Nodes are counted from zero; a slot is the place of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Move {
    /// This many units of time pass.
    Pass(u16),
    /// A due process is called.
    Tick(u8),
    /// A statement is executed.
    Execute(u8),
    /// A statement begins, reads the clock, and waits for the row's lock.
    Begin(u8),
    /// An answer arrives.
    Deliver(u8),
    /// An answer arrives, and will arrive a second time.
    DeliverTwice(u8),
    /// A statement certainly fails, and its sender learns this.
    Fail(u8),
    /// The sender of a statement learns that the outcome is unknown: the statement may have been
    /// executed, or may still be.
    Doubt(u8),
    /// A statement, or the answer to it, is lost.
    Lose(u8),
    /// A process is killed.
    Crash(u8),
    /// A process starts.
    Start(u8),
    /// A process is told to resign.
    Resign(u8),
    /// A process is told that all its leader work has stopped.
    Stopped(u8),
    /// A process is told to leave.
    Withdraw(u8),
    /// A process is told that it is not fit to lead, or fit again.
    Health(u8, bool),
    /// A process is told that the row may have changed.
    Wake(u8),
    /// A process is told, truly or not, that the term it follows has been resigned.
    Rumour(u8),
    /// A process stands still from now on, while its clock goes on.
    Pause(u8),
    /// A process goes on.
    Resume(u8),
    /// Somebody marks the row so that its holder resigns.
    Request,
    /// The database's clock goes back by half a lease.
    Back,
    /// The database's clock jumps ahead by half a lease.
    Ahead,
    /// Nothing that is written from now on reaches the replica.
    Behind,
    /// The replica takes over. Its clock is so many leases ahead.
    Promote(i8),
}

impl Move {
    /// The kind of the move, for swarm walks. Each node and each slot has kinds of its own.
    pub(super) fn kind(self) -> u32 {
        let (kind, place) = match self {
            Self::Pass(_) => (0, 0),
            Self::Request => (0, 1),
            Self::Back => (0, 2),
            Self::Ahead => (0, 3),
            Self::Promote(_) => (1, 3),
            Self::Behind => (10, 3),
            Self::Tick(node) => (1, node),
            Self::Execute(slot) => (2, slot),
            Self::Begin(slot) => (3, slot),
            Self::Deliver(slot) => (4, slot),
            Self::DeliverTwice(slot) => (5, slot),
            Self::Fail(slot) => (6, slot),
            Self::Lose(slot) => (7, slot),
            Self::Doubt(slot) => (13, slot),
            Self::Crash(node) => (8, node),
            Self::Start(node) => (9, node),
            Self::Resign(node) => (10, node),
            Self::Stopped(node) => (11, node),
            Self::Withdraw(node) => (12, node),
            Self::Health(node, _) => (12, node),
            Self::Wake(node) | Self::Rumour(node) => (14, node),
            Self::Pause(node) => (15, node),
            Self::Resume(node) => (9, node),
        };
        kind * 4 + u32::from(place % 4)
    }
}
