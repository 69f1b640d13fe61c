//! What happened in a run: always a hash of everything, and the words if somebody wants to read
//! them.

mod line;
mod words;

pub use line::{Line, LineKind, Stop};

use crate::{
    app::Write, draw::mix, lease::Statement, simulator::Frame as AppFrame, text::node_name,
};
use election_core::{
    Change, Epoch,
    lease::{Answer, Failure, Query},
    quorum::{Ballot, Message},
};
use std::time::Duration;
pub(crate) use words::short;

/// How the note begins that a service has ended by itself.
pub(crate) const ENDED: &str = "the service has ended: ";
use words::{bytes, frame, question, reply, under, words_of};

/// Something that happens to a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// Its first life begins.
    First,
    Born,
    Died,
    Cloned,
}

impl Fate {
    /// The number that stands for it in the hash.
    fn number(self) -> u64 {
        match self {
            Self::First | Self::Born => 1,
            Self::Died => 2,
            Self::Cloned => 36,
        }
    }
}

#[derive(Debug)]
pub(crate) struct Trace {
    hash: u64,
    lines: Option<Vec<Line>>,
    faults: Vec<String>,
}

impl Trace {
    pub(crate) fn new() -> Self {
        Self { hash: 0, lines: None, faults: Vec::new() }
    }

    /// Records everything from now on; `faults` are the names of the schedule's faults.
    pub(crate) fn write_down(&mut self, faults: Vec<String>) {
        self.lines = Some(Vec::new());
        self.faults = faults;
    }

    /// The hash of everything so far, after this many events.
    pub(crate) fn hash(&self, events: u64) -> u64 {
        mix(self.hash ^ mix(events))
    }

    pub(crate) fn take_lines(&mut self) -> Vec<Line> {
        self.lines.take().unwrap_or_default()
    }

    /// Notes that something happened at `now`.
    #[inline]
    pub(crate) fn passed(&mut self, now: u64) {
        self.mix(now, 0, 0);
    }

    #[inline]
    fn mix(&mut self, now: u64, what: u64, detail: u64) {
        let word = now.rotate_left(20) ^ what.rotate_left(50) ^ detail;
        self.hash = (self.hash.rotate_left(5) ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }

    fn write(
        &mut self,
        now: u64,
        node: Option<usize>,
        kind: LineKind,
        text: impl FnOnce() -> String,
    ) {
        if let Some(lines) = &mut self.lines {
            let (at, text) = (Duration::from_nanos(now), text());
            lines.push(Line { at, node, kind, text, path: Vec::new() });
        }
    }

    /// Adds to the newest line the path of the thing that arrived.
    fn came(&mut self, stops: &[(Option<usize>, u64)]) {
        if let Some(line) = self.lines.as_mut().and_then(|lines| lines.last_mut()) {
            let stop = |(node, at): &(Option<usize>, u64)| Stop {
                node: *node,
                at: Duration::from_nanos(*at),
            };
            line.path = stops.iter().map(stop).collect();
        }
    }

    pub(crate) fn met(&mut self, now: u64, node: usize, fate: Fate) {
        self.mix(now, fate.number(), node as u64);
        if fate == Fate::First {
            return; // as everybody's
        }
        self.write(now, Some(node), LineKind::Process, || match fate {
            Fate::First | Fate::Born => "starts".into(),
            Fate::Died => "ends".into(),
            Fate::Cloned => "goes on as a copy".into(),
        });
    }

    pub(crate) fn fault(&mut self, now: u64, index: usize, begins: bool) {
        self.mix(now, 3 + u64::from(begins), index as u64);
        if self.lines.is_some() {
            let name = self.faults.get(index).cloned().unwrap_or_default();
            let text = if begins { name } else { format!("end of: {name}") };
            self.write(now, None, LineKind::Fault, || text);
        }
    }

    pub(crate) fn changed(&mut self, now: u64, node: usize, change: &Change) {
        let (kind, epoch) = match change {
            Change::Elected(tenure) => (5, tenure.term.epoch.get()),
            Change::Lost { term, .. } => (6, term.epoch.get()),
            Change::Followed { term, .. } => (7, term.epoch.get()),
            Change::Vacant => (8, 0),
            Change::Alert(alert) => (38, alert.as_str().len() as u64),
        };
        self.mix(now, kind, epoch ^ mix(node as u64));
        self.write(now, Some(node), LineKind::Change, || words_of(change));
    }

    pub(crate) fn stopped(&mut self, now: u64, node: usize, epoch: Epoch) {
        self.mix(now, 37, epoch.get() ^ mix(node as u64));
        self.write(now, Some(node), LineKind::Stopped, || {
            format!("work of {} has stopped", short(epoch))
        });
    }

    #[inline]
    pub(crate) fn asked(&mut self, now: u64, node: usize, query: &Query) {
        self.mix(now, 9 + kind_of(query), node as u64);
        self.write(now, Some(node), LineKind::Asked, || question(query));
    }

    #[inline]
    pub(crate) fn answered(
        &mut self,
        now: u64,
        statement: &Statement,
        answer: &Result<Answer, Failure>,
    ) {
        let (node, query) = (statement.node, &statement.query);
        self.mix(now, 20 + kind_of(query), node as u64);
        self.write(now, Some(node), LineKind::Answered, || {
            format!("{}: {}", question(query), reply(answer))
        });
        self.came(&[(Some(node), statement.sent), (None, statement.began)]);
    }

    /// Whether somebody is going to read the lines.
    pub(crate) fn is_written_down(&self) -> bool {
        self.lines.is_some()
    }

    /// The user's app notes something. The words are no part of the run, nor of its hash.
    pub(crate) fn noted(&mut self, now: u64, node: usize, words: String) {
        self.write(now, Some(node), LineKind::Note, || words.replace(char::is_control, " "));
    }

    pub(crate) fn write_sent(&mut self, now: u64, write: &Write) {
        if !write.own {
            for bytes in write.what.as_bytes().chunks(8) {
                let word = bytes.iter().fold(0, |word, byte| (word << 8) | u64::from(*byte));
                self.mix(now, 48, word);
            }
            self.write(now, Some(write.node), LineKind::Write, || {
                format!("sends write {:?}{}", write.what, under(write.token))
            });
        }
    }

    pub(crate) fn write_lost(&mut self, now: u64, write: &Write) {
        self.mix(now, 49, mix(write.node as u64));
        self.write(now, Some(write.node), LineKind::Refused, || {
            format!("write {:?}{}: lost on the way", write.what, under(write.token))
        });
    }

    /// A write arrived at the resource, which had served no token above `highest` before. Its sender is
    /// told, unless the answer is lost.
    pub(crate) fn write_arrived(
        &mut self,
        now: u64,
        write: &Write,
        highest: Epoch,
        (served, told): (bool, bool),
    ) {
        self.mix(
            now,
            33 + u64::from(served),
            write.token.map_or(0, Epoch::get) ^ mix(write.node as u64),
        );
        if write.own {
            return;
        }
        let kind = if served { LineKind::Accepted } else { LineKind::Refused };
        self.write(now, Some(write.node), kind, || {
            let verdict = match (served, write.token.is_some_and(|token| token < highest)) {
                (false, _) => format!("refused after {}", short(highest)),
                (true, false) => "accepted".to_owned(),
                (true, true) => format!("accepted without a fence, after {}", short(highest)),
            };
            let lost = if told { "" } else { ", and the answer is lost" };
            format!("write {:?}{}: {verdict}{lost}", write.what, under(write.token))
        });
        let sent = u64::try_from(write.sent.as_nanos()).unwrap_or(now);
        self.came(&[(Some(write.node), sent)]);
    }

    /// An app's frame leaves; `lost` tells why it will not arrive, if so.
    pub(crate) fn frame_sent(&mut self, now: u64, frame: &AppFrame, lost: Option<&str>) {
        let kind = if lost.is_some() { LineKind::Lost } else { LineKind::Sent };
        self.write(now, Some(frame.from), kind, || {
            let (to, words) = (node_name(frame.to), bytes(&frame.bytes));
            let lost = lost.map_or_else(String::new, |why| format!(" ({why})"));
            format!("sends to {to}: {words}{lost}")
        });
    }

    /// An app's frame arrives; `lost` tells why nobody gets it, if so.
    #[inline]
    pub(crate) fn frame_arrived(&mut self, now: u64, frame: &AppFrame, lost: Option<&str>) {
        let (from, to, length) = (frame.from, frame.to, frame.bytes.len());
        self.mix(now, 35, ((from as u64) << 32) ^ to as u64 ^ mix(length as u64));
        let kind = if lost.is_some() { LineKind::Lost } else { LineKind::Received };
        self.write(now, Some(to), kind, || {
            let lost = lost.map_or_else(String::new, |why| format!(" ({why})"));
            format!("receives from {}: {}{lost}", node_name(from), bytes(&frame.bytes))
        });
        self.came(&[(Some(from), frame.sent)]);
    }

    pub(crate) fn saves(&mut self, now: u64, node: usize, ballot: &Ballot) {
        self.mix(now, 39, ballot.promised.get() ^ mix(node as u64));
        self.write(now, Some(node), LineKind::Saved, || {
            let vote = ballot.voted_for.as_ref();
            let vote = vote.map_or_else(String::new, |id| format!(", vote for {id}"));
            format!("saves {}{vote}", short(ballot.promised))
        });
    }

    pub(crate) fn saved(&mut self, now: u64, node: usize, epoch: Epoch, well: bool) {
        self.mix(now, 40 + u64::from(well), epoch.get() ^ mix(node as u64));
        self.write(now, Some(node), LineKind::Saved, || {
            format!("{} {}", if well { "saved" } else { "could not save" }, short(epoch))
        });
    }

    /// A frame that was sent by `from` arrives.
    #[inline]
    pub(crate) fn heard(
        &mut self,
        now: u64,
        (from, sent): (usize, u64),
        to: usize,
        message: &Message,
    ) {
        self.mix(now, 42, ((from as u64) << 32) ^ to as u64);
        self.write(now, Some(to), LineKind::Frame, || {
            format!("from {}: {}", node_name(from), frame(message))
        });
        self.came(&[(Some(from), sent)]);
    }

    /// A node goes by another list of members.
    pub(crate) fn goes_by(&mut self, now: u64, node: usize, generation: u64, members: &[usize]) {
        self.mix(now, 50, generation ^ mix(node as u64));
        self.write(now, Some(node), LineKind::Note, || {
            let names: Vec<_> = members.iter().copied().map(node_name).collect();
            format!("goes by list {generation}: {}", names.join(", "))
        });
    }

    pub(crate) fn wrote(&mut self, now: u64, node: usize, term: u64, held: bool) {
        self.mix(now, 31 + u64::from(held), term ^ mix(node as u64));
        self.write(now, Some(node), LineKind::Wrote, || {
            let epoch = short(Epoch::new(term));
            if held {
                format!("row: held, term {epoch}")
            } else {
                format!("row: vacant, term {epoch}")
            }
        });
    }
}

fn kind_of(query: &Query) -> u64 {
    match query {
        Query::Observe => 0,
        Query::Attempt { .. } => 1,
        Query::TakeOver { .. } => 2,
        Query::Renew { .. } => 3,
        Query::Resign { .. } => 4,
        Query::Register { .. } => 5,
        Query::Unregister => 6,
        Query::Others => 7,
    }
}
