//! Connections: one for each ordered pair of processes, carrying frames one way.
//!
//! Frames on one connection keep their order. A connection that breaks loses the frames that its
//! sender had not written yet, except the newest heartbeat. Frames under way may still arrive,
//! later than those of the next connection, or twice. A clogged link lets its sender write a few
//! frames (which arrive stale when the fault ends) and holds later ones back at the sender, where a
//! newer heartbeat replaces an older one.

use crate::fault::{FaultKind, FrameFault};
use election_core::quorum::Message;
use std::collections::VecDeque;

/// A frame under way.
#[derive(Clone, Debug)]
pub(super) struct Frame {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) number: u64,
    pub(super) sent: u64,
    pub(super) message: Message,
}

/// The way from one node to another.
#[derive(Clone, Debug, Default)]
pub(super) struct Link {
    /// The connection in use, by the receiver's count; `None` while there is none.
    pub(super) number: Option<u64>,
    /// The number of the newest attempt to connect; older attempts are void.
    pub(super) attempt: u32,
    /// An attempt is under way.
    pub(super) dials: bool,
    /// When the last frame sent arrives: no later frame overtakes it.
    pub(super) last: u64,
    /// The number of frames sent, over all connections.
    pub(super) sent: u64,
    /// The frames held back while nothing passes.
    pub(super) held: VecDeque<(u64, Message)>,
    /// The frames that the next connection carries first.
    pub(super) next: VecDeque<Message>,
    /// A connection whose end the receiver has not been able to notice yet.
    pub(super) unnoticed: Option<u64>,
}

/// How many frames the sender itself keeps.
const KEPT: usize = 16;

impl Link {
    /// Takes a frame that cannot pass now.
    ///
    /// `buffer` frames are written into the connection. Of the heartbeats that wait behind them,
    /// only the newest is kept.
    pub(super) fn hold(&mut self, now: u64, message: Message, buffer: usize) {
        let is_heartbeat = |held: &Message| matches!(held, Message::Heartbeat(_));
        if is_heartbeat(&message) {
            let waiting = self.held.iter().skip(buffer);
            if let Some(older) = waiting.map(|(_, held)| held).position(is_heartbeat) {
                self.held.remove(buffer + older);
            }
        }
        if self.held.len() < buffer.saturating_add(KEPT) {
            self.held.push_back((now, message));
        }
    }

    /// Takes a frame while there is no connection. Only the newest heartbeat is kept.
    pub(super) fn keep(&mut self, message: Message) {
        if matches!(message, Message::Heartbeat(_)) {
            self.next.retain(|kept| !matches!(kept, Message::Heartbeat(_)));
            self.next.push_back(message);
        }
    }
}

/// All links, and the faults in force on them.
#[derive(Debug, Default)]
pub(crate) struct Links {
    nodes: usize,
    links: Vec<Link>,
    frames: Vec<Option<Frame>>,
    free: Vec<usize>,
    /// By node, the number of connections accepted, and how many of them before its process
    /// started.
    accepted: Vec<u64>,
    earlier: Vec<u64>,
    /// The schedule's faults of single frames.
    pub(super) faults: Vec<(usize, usize, u64, FrameFault)>,
}

impl Links {
    pub(super) fn new(nodes: usize, faults: impl Iterator<Item = FaultKind>) -> Self {
        let faults = faults.filter_map(|what| match what {
            FaultKind::Frame(from, to, nth, fault) => Some((from, to, nth, fault)),
            _ => None,
        });
        Self {
            nodes,
            links: vec![Link::default(); nodes * nodes],
            accepted: vec![0; nodes],
            earlier: vec![0; nodes],
            faults: faults.collect(),
            ..Self::default()
        }
    }

    pub(super) fn place(&self, from: usize, to: usize) -> usize {
        from * self.nodes + to
    }

    pub(super) fn link(&self, from: usize, to: usize) -> &Link {
        &self.links[self.place(from, to)]
    }

    pub(super) fn link_mut(&mut self, from: usize, to: usize) -> &mut Link {
        let place = self.place(from, to);
        &mut self.links[place]
    }

    /// The number of a connection that `to` accepts now.
    pub(super) fn accept(&mut self, to: usize) -> u64 {
        self.accepted[to] += 1;
        self.accepted[to]
    }

    /// A process starts: connections to its predecessor mean nothing to it.
    pub(super) fn born(&mut self, node: usize) {
        self.earlier[node] = self.accepted[node];
    }

    /// Whether this connection leads to the process that runs on `to` now.
    pub(super) fn is_current(&self, to: usize, number: u64) -> bool {
        number != LOST && number > self.earlier[to]
    }

    /// Forgets everything under way to a process that has ended.
    pub(super) fn forget(&mut self, from: usize, to: usize) {
        let link = self.link_mut(from, to);
        (link.number, link.unnoticed, link.last) = (None, None, 0);
        (link.dials, link.attempt) = (false, link.attempt + 1);
        link.held.clear();
    }

    pub(super) fn put(&mut self, frame: Frame) -> usize {
        if let Some(slot) = self.free.pop() {
            self.frames[slot] = Some(frame);
            return slot;
        }
        self.frames.push(Some(frame));
        self.frames.len() - 1
    }

    pub(super) fn take(&mut self, slot: usize) -> Option<Frame> {
        let frame = self.frames[slot].take()?;
        self.free.push(slot);
        Some(frame)
    }

    /// Loses the frames under way on one connection.
    pub(super) fn drop_frames(&mut self, from: usize, to: usize, number: u64) {
        for frame in &mut self.frames {
            let lost = |frame: &Frame| (frame.from, frame.to, frame.number) == (from, to, number);
            if frame.as_ref().is_some_and(lost) {
                // The slot is freed at the time when the frame would have arrived.
                if let Some(frame) = frame {
                    frame.number = LOST;
                }
            }
        }
    }
}

/// The number of no connection.
pub(super) const LOST: u64 = u64::MAX;

#[cfg(test)]
mod tests {
    use super::*;
    use election_core::{
        Epoch,
        quorum::{Heartbeat, Position, Role},
    };

    fn heartbeat(epoch: u64) -> Message {
        let epoch = Epoch::new(epoch);
        let (role, position, extension) = (Role::Replica, Position::default(), None);
        Message::Heartbeat(Heartbeat { epoch, role, position, extension })
    }

    fn accept(epoch: u64) -> Message {
        Message::Accept { epoch: Epoch::new(epoch), stamp: None }
    }

    #[test]
    fn a_stalled_link_replays_what_was_written_and_keeps_the_newest_heartbeat() {
        let mut link = Link::default();
        for epoch in 0..100 {
            link.hold(epoch, heartbeat(epoch), 32);
        }
        link.hold(100, accept(7), 32);
        link.hold(101, heartbeat(101), 32);
        let held: Vec<_> = link.held.iter().map(|(at, _)| *at).collect();
        assert_eq!(held[..32], (0..32).collect::<Vec<_>>());
        assert_eq!(held[32..], [100, 101]);
        for epoch in 0..100 {
            link.hold(200 + epoch, accept(epoch), 32);
        }
        assert_eq!(link.held.len(), 32 + KEPT);
    }

    #[test]
    fn without_a_connection_only_the_newest_heartbeat_is_kept() {
        let mut link = Link::default();
        for message in [heartbeat(1), accept(1), heartbeat(2)] {
            link.keep(message);
        }
        assert_eq!(link.next, [heartbeat(2)]);
    }

    #[test]
    fn connections_of_an_earlier_process_mean_nothing() {
        let mut links = Links::new(2, std::iter::empty());
        let first = links.accept(1);
        assert!(links.is_current(1, first));
        links.born(1);
        assert!(!links.is_current(1, first));
        let second = links.accept(1);
        assert!(links.is_current(1, second) && !links.is_current(1, LOST));
    }
}
