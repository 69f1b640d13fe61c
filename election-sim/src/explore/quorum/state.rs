//! A state of the whole world, and the moves out of it.

use crate::explore::often::often;

/// The largest number of nodes that a state can hold.
pub(super) const MOST_NODES: usize = 3;
/// The largest number of frames under way while time passes.
pub(super) const MOST_LATE: usize = 2;
/// The number of ways between the nodes.
pub(super) const LINKS: usize = MOST_NODES * (MOST_NODES - 1);

/// The state of every node and of the frames under way between them. It consists of numbers of
/// parts, which only the model that made them understands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct State {
    pub(super) nodes: [u32; MOST_NODES],
    /// The frames sent in this instant, by link.
    pub(super) links: [u32; LINKS],
    /// The frames sent earlier, the lower number first; zero is an empty place.
    pub(super) late: [u32; MOST_LATE],
    /// Each node's vote in each epoch, and each epoch's leader.
    pub(super) votes: u32,
    pub(super) led: u32,
    /// By record of maintenance: the nodes that have held it.
    pub(super) held: u32,
    /// How often the events of [`Often`] may still happen.
    pub(super) left: Often,
    /// The ways on which nothing passes, as bits.
    pub(super) cut: u8,
    /// The nodes that are not called before time has passed, as bits.
    pub(super) paused: u8,
    /// The node that takes in all its waiting frames, counted from one; zero for none.
    pub(super) turn: u8,
    /// The combination of the clocks' rates.
    pub(super) clocks: u8,
}

often! {
    /// A process is killed; it may start again, as a new incarnation, at any time. A save that was
    /// under way may have succeeded.
    crashes,
    /// How many of these crashes the other nodes do not notice: the machine died, and its
    /// connections stay open.
    abrupt,
    /// How many of these crashes also lose the disk: ballot and data.
    wipes,
    /// The operator tells a process to resign.
    resigns,
    /// A save fails, but may be durable all the same.
    failures,
    /// A process is not called for one unit.
    pauses,
    /// A frame is delivered, and will be delivered a second time.
    twice,
    /// A frame is lost; [`Often::ANY`] for any number.
    losses,
    /// A frame arrives later than the instant in which it was sent.
    delays,
    /// Nothing passes any more one way, or both ways between two nodes, or to and from one node.
    cuts,
    /// An operator tells a process to pause automatic failover, the next time to resume it, and so
    /// on, before anything else happens in a unit.
    orders,
    /// The operator tells a primary to hand over.
    handovers,
}

impl Often {
    /// Any number of times.
    pub const ANY: u8 = u8::MAX;
}

/// One possible move. Nodes are counted from zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Move {
    /// A unit of time passes.
    Pass,
    /// A due process is called.
    Tick(u8),
    /// A frame arrives.
    Deliver(Place),
    /// A frame arrives, and will arrive a second time.
    DeliverTwice(Place),
    /// A frame is lost.
    Lose(Place),
    /// A frame is late: others overtake it, and time may pass before it arrives.
    Delay(Place),
    /// From now on nothing passes on these ways (bits), and the frames under way on them are lost.
    Cut(u8),
    /// All ways are open again.
    Heal,
    /// The ballot of a node is durable.
    Saved(u8),
    /// The save of a node's ballot failed. The second value says whether the ballot is durable all
    /// the same.
    SaveFailed(u8, bool),
    /// A process is killed.
    Crash(u8, Crash),
    /// A process stands still for a unit, in which nothing reaches it.
    Pause(u8),
    /// A process starts.
    Start(u8),
    /// A process is told to resign.
    Resign(u8),
    /// A process is told to pause automatic failover.
    PauseFailover(u8),
    /// A process is told to resume it.
    ResumeFailover(u8),
    /// A process is told to hand over to another.
    HandOver(u8, u8),
    /// A process is told that all its leader work has stopped.
    Stopped(u8),
}

/// How a process ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Crash {
    /// The save under way succeeded.
    pub saved: bool,
    /// No peer notices that the connections have ended.
    pub abrupt: bool,
    /// The disk is lost as well.
    pub wiped: bool,
}

/// Where a frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Place {
    /// The first frame on this link.
    Link(u8),
    /// One of the late frames.
    Late(u8),
}

/// The link from one node to another.
pub(super) fn link(from: u8, to: u8) -> u8 {
    from * 2 + if to > from { to - 1 } else { to }
}

/// The two ends of a link.
pub(super) fn ends(link: u8) -> (u8, u8) {
    let (from, place) = (link / 2, link % 2);
    (from, if place >= from { place + 1 } else { place })
}

impl Move {
    /// The kind of the move, for swarm walks.
    pub(super) fn kind(self) -> u32 {
        let (kind, place) = match self {
            Self::Pass => (0, 0),
            Self::Delay(_) => (0, 1),
            Self::Tick(node) => (1, node),
            Self::Saved(node) => (2, node),
            Self::SaveFailed(node, _) => (3, node),
            Self::Crash(node, _) => (4, node),
            Self::Start(node) => (5, node),
            Self::Pause(node) => (11, node),
            Self::Resign(node) => (6, node),
            Self::PauseFailover(node) => (12, node),
            Self::ResumeFailover(node) => (13, node),
            Self::HandOver(node, _) => (14, node),
            Self::Stopped(node) => (7, node),
            Self::DeliverTwice(_) | Self::Deliver(Place::Late(_)) => (8, 0),
            Self::Lose(_) => (8, 1),
            Self::Cut(_) => (8, 2),
            Self::Heal => (8, 3),
            Self::Deliver(Place::Link(link)) => (9 + u32::from(link / 4), link % 4),
        };
        kind * 4 + u32::from(place % 4)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_has_its_link() {
        let ways = [(0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1)];
        for (number, way) in (0..).zip(ways) {
            assert_eq!((link(way.0, way.1), ends(number)), (number, way));
        }
    }
}
