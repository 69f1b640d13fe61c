//! What happened in a run: always a hash of everything, and the words if somebody wants to read
//! them.

use crate::{
    app::Write,
    draw::mix,
    lease::{BEGIN_MS, Statement},
};
use election_core::{
    Change, Epoch,
    lease::{Answer, Failure, Query},
    quorum::{Availability, Ballot, Message, Position, Role},
};
use std::{fmt::Write as _, time::Duration};

/// Something that happens to a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Note {
    Born,
    Died,
    Cloned,
}

impl Note {
    /// The number that stands for it in the hash.
    fn number(self) -> u64 {
        match self {
            Self::Born => 1,
            Self::Died => 2,
            Self::Cloned => 36,
        }
    }
}

/// One line of a transcript.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// When it happened, in true time since the start.
    pub at: Duration,
    /// The node that it concerns; `None` for the world.
    pub node: Option<usize>,
    /// What kind of event it was.
    pub kind: LineKind,
    /// The event in words.
    pub text: String,
    /// The places that the arrived thing passed, in order; empty if nothing arrived.
    pub path: Vec<Stop>,
}

/// A place on the path of something that travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stop {
    /// The node; `None` for the database.
    pub node: Option<usize>,
    /// When the thing was there.
    pub at: Duration,
}

/// The subject of a line, so that a reader can leave kinds out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LineKind {
    /// A process began or ended.
    Process,
    /// A fault began or ended.
    Fault,
    /// A change of leadership was reported.
    Change,
    /// Leader work has ended.
    Stopped,
    /// A question went to the database.
    Asked,
    /// The row was written.
    Wrote,
    /// An answer came from the database.
    Answered,
    /// A frame arrived.
    Frame,
    /// A save of a ballot has begun or ended.
    Saved,
    /// A write of the user's app arrived.
    App,
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

    pub(crate) fn note(&mut self, now: u64, node: usize, note: Note) {
        self.mix(now, note.number(), node as u64);
        self.write(now, Some(node), LineKind::Process, || match note {
            Note::Born => "starts".into(),
            Note::Died => "ends".into(),
            Note::Cloned => "goes on as a copy".into(),
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

    pub(crate) fn write_arrived(&mut self, now: u64, write: &Write, served: bool) {
        self.mix(now, 33 + u64::from(served), write.token.get() ^ mix(write.node as u64));
        if !write.what.is_empty() {
            self.write(now, Some(write.node), LineKind::App, || {
                let verdict = if served { "accepted" } else { "refused" };
                format!("writes {:?} under {}: {verdict}", write.what, short(write.token))
            });
        }
    }

    #[inline]
    pub(crate) fn frame(&mut self, now: u64, from: usize, to: usize, length: usize) {
        self.mix(now, 35, ((from as u64) << 32) ^ to as u64 ^ mix(length as u64));
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
            format!("from {}: {}", crate::text::node_name(from), frame(message))
        });
        self.came(&[(Some(from), sent)]);
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

/// An epoch as transcripts show it: a lease's epoch in milliseconds since the world began.
pub(crate) fn short(epoch: Epoch) -> String {
    let begin = u64::try_from(BEGIN_MS).unwrap_or(0);
    if epoch.get() < begin / 2 {
        return format!("#{epoch}"); // a quorum counts from one
    }
    match epoch.get().checked_sub(begin) {
        Some(since) => format!("#{since}"),
        None => format!("#-{}", begin - epoch.get()),
    }
}

fn words_of(change: &Change) -> String {
    match change {
        Change::Elected(tenure) => format!("elected {}", short(tenure.term.epoch)),
        Change::Lost { term, reason, successor, .. } => {
            let mut text = format!("lost {}: {reason}", short(term.epoch));
            if let Some(successor) = successor {
                let _ = write!(text, ", to {} {}", successor.leader, short(successor.epoch));
            }
            text
        }
        Change::Followed { term, .. } => format!("follows {} {}", term.leader, short(term.epoch)),
        Change::Vacant => "vacant".into(),
        Change::Alert(alert) => format!("alert: {alert}"),
    }
}

fn frame(message: &Message) -> String {
    let place = |position: &Position| format!("{}/{}", position.history, position.offset);
    match message {
        Message::Heartbeat(heartbeat) => {
            let role = match heartbeat.role {
                Role::Primary => "primary",
                Role::Replica => "replica",
                Role::Candidate => "candidate",
            };
            let mut text =
                format!("HB {} {role} {}", short(heartbeat.epoch), place(&heartbeat.position));
            if let Some(extension) = &heartbeat.extension {
                if let Some(echo) = extension.attestation.echo() {
                    let _ = write!(text, " echo {:?}", echo.at);
                }
                text.push_str(match extension.availability {
                    Availability::Busy => "",
                    Availability::BusyAside => " aside",
                    Availability::Free => " free",
                    Availability::FreeAside => " free aside",
                    Availability::Waiting => " waiting",
                    Availability::Leaving => " leaving",
                    Availability::Ineligible => " barred",
                    Availability::Loading => " loading",
                });
            }
            text
        }
        Message::Offer { epoch, position, .. } => {
            format!("OFFER {} {}", short(*epoch), place(position))
        }
        Message::Accept { epoch, .. } => format!("ACCEPT {}", short(*epoch)),
        Message::Announce { epoch, .. } => format!("ANNOUNCE {}", short(*epoch)),
        Message::Maintenance { record, agreed, .. } => {
            let paused = if record.paused { "pause" } else { "resume" };
            let agreed = if *agreed { "" } else { " proposed" };
            format!("MAINTENANCE #{} {paused}{agreed}", record.number)
        }
    }
}

fn question(query: &Query) -> String {
    match query {
        Query::Observe => "observe".into(),
        Query::Attempt { .. } => "attempt".into(),
        Query::TakeOver { epoch, .. } => format!("take over from {}", short(*epoch)),
        Query::Renew { epoch, ordinal, .. } => format!("renew {} ({ordinal})", short(*epoch)),
        Query::Resign { epoch } => format!("resign {}", short(*epoch)),
        Query::Register { .. } => "register".into(),
        Query::Unregister => "unregister".into(),
        Query::Others => "others".into(),
    }
}

fn reply(answer: &Result<Answer, Failure>) -> String {
    match answer {
        Ok(Answer::Won { epoch, .. }) => format!("won {}", short(*epoch)),
        Ok(Answer::Seen(row)) => match row.live_holder() {
            Some(holder) => format!(
                "held by {} {} for {} ms",
                holder.candidate.id,
                short(row.epoch),
                row.remaining.as_millis()
            ),
            None => "vacant".into(),
        },
        Ok(Answer::Renewed { .. }) => "renewed".into(),
        Ok(Answer::Gone) => "gone".into(),
        Ok(Answer::Released) => "released".into(),
        Ok(Answer::Listed) => "listed".into(),
        Ok(Answer::Others(others)) => if *others { "some" } else { "none" }.into(),
        Err(Failure::Transient) => "failed, not executed".into(),
        Err(Failure::Conflict) => "failed, locked".into(),
        Err(Failure::Ambiguous) => "failed, outcome unknown".into(),
        Err(Failure::Fatal) => "failed for good".into(),
    }
}
