//! Frames as bytes, on their way into a connection.

use super::{due::KINDS, limits::Dialect};

/// Room for the rest of a frame and one frame of each kind. (One that finds no room waits.)
const ROOM: usize = 2048;

/// The most frames: one that has begun, and one of each kind.
const MOST: usize = KINDS + 1;

/// Where a frame ends, and which one it is.
#[derive(Clone, Copy, Debug)]
struct Mark {
    end: usize,
    nth: u64,
    dialect: Dialect,
}

/// The bytes that the connection has not taken yet. Of the first frame it may have taken a part,
/// and then the rest of it has to follow, whatever has become of the frame.
#[derive(Clone)]
pub(super) struct Unsent {
    bytes: [u8; ROOM],
    /// Where the first frame begins, and how far the connection has taken it.
    begin: usize,
    start: usize,
    marks: [Mark; MOST],
    count: usize,
}

impl Unsent {
    pub(super) const fn new() -> Self {
        let nowhere = Mark { end: 0, nth: 0, dialect: Dialect::Legacy };
        Self { bytes: [0; ROOM], begin: 0, start: 0, marks: [nowhere; MOST], count: 0 }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        self.bytes.get(self.start..self.end()).unwrap_or_default()
    }

    /// The same, frame by frame.
    pub(super) fn frames(&self) -> impl Iterator<Item = &[u8]> {
        let ends = self.marks.iter().take(self.count).map(|mark| mark.end);
        ends.scan(self.start, |start, end| {
            let frame = self.bytes.get(*start..end);
            *start = end;
            frame
        })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }

    fn end(&self) -> usize {
        self.count.checked_sub(1).map_or(self.start, |last| self.marks[last].end)
    }

    /// The frame of which the connection has taken a part, and its dialect.
    pub(super) fn begun(&self) -> Option<(u64, Dialect)> {
        let first = &self.marks[0];
        (self.begin < self.start).then_some((first.nth, first.dialect))
    }

    pub(super) fn clear(&mut self) {
        (self.begin, self.start, self.count) = (0, 0, 0);
    }

    /// Drops every frame that the connection has taken nothing of.
    pub(super) fn keep_begun(&mut self) {
        if self.begun().is_none() {
            return self.clear();
        }
        let rest = self.start..self.marks[0].end;
        // The place before the rest stands for what was taken.
        (self.begin, self.start, self.count) = (0, 1, 1);
        self.marks[0].end = self.start + rest.len();
        self.bytes.copy_within(rest, self.start);
    }

    /// Adds a frame behind the others. Returns false if there is no room.
    pub(super) fn add(&mut self, frame: &[u8], nth: u64, dialect: Dialect) -> bool {
        let from = self.end();
        let end = from + frame.len();
        let room = self.bytes.get_mut(from..end);
        let (Some(room), Some(mark)) = (room, self.marks.get_mut(self.count)) else {
            return false;
        };
        room.copy_from_slice(frame);
        *mark = Mark { end, nth, dialect };
        self.count += 1;
        true
    }

    /// The connection has taken this many bytes. Returns what is known of the first frame that has
    /// left with them; to be called again, with no more bytes, until there is none.
    pub(super) fn take(&mut self, count: usize) -> Option<(u64, Dialect)> {
        self.start = self.start.saturating_add(count).min(self.end());
        let first = self.marks[0];
        if self.count == 0 || self.start < first.end {
            return None;
        }
        self.begin = first.end;
        self.marks.copy_within(1.., 0);
        self.count -= 1;
        Some((first.nth, first.dialect))
    }
}
