//! The frames under way between the nodes' apps.

use super::cuts::Cuts;

/// A frame on its way.
#[derive(Clone, Debug)]
pub(crate) struct Frame {
    pub(crate) from: usize,
    pub(crate) to: usize,
    pub(crate) bytes: Vec<u8>,
    /// When it was sent.
    pub(crate) sent: u64,
}

/// The state of the network.
#[derive(Debug, Default)]
pub(crate) struct Net {
    pub(super) frames: Vec<Option<Frame>>,
    pub(super) free: Vec<usize>,
    /// The number of frames sent over each link, by `from × nodes + to`.
    pub(super) sent: Vec<u64>,
    pub(super) held: Vec<Frame>,
    /// The ways that are cut, for these frames and for all others.
    pub(crate) cuts: Cuts,
}

impl Net {
    pub(crate) fn new(nodes: usize, talks: bool) -> Self {
        let links = if talks { nodes * nodes } else { 0 };
        Self { sent: vec![0; links], ..Self::default() }
    }

    pub(super) fn keep(&mut self, frame: Frame) -> usize {
        if let Some(slot) = self.free.pop() {
            self.frames[slot] = Some(frame);
            return slot;
        }
        self.frames.push(Some(frame));
        self.frames.len() - 1
    }
}
