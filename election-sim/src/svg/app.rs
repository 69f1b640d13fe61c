//! The user's app in the picture: what it notes, its writes on their way to the resource, and its
//! frames. In the picture of the last moments, the words stand below.

use super::{
    FAULT, LEFT, Sheet, WIDTH,
    text::{escaped, shortened},
};
use crate::{
    story::Row,
    text::node_name,
    trace::{Line, LineKind},
};
use std::fmt::Write as _;

/// Beyond this many frames or writes in one picture, their ways are a grey field that says nothing.
const MOST_WAYS: usize = 400;
/// So much room has a letter, and so many letters fit on one side of any mark.
const LETTER: f64 = 5.9;
const MOST_LETTERS: usize = 92;

impl Sheet<'_> {
    fn shown(&self) -> impl Iterator<Item = &Line> {
        self.lines.iter().filter(|line| self.shows(line.at))
    }

    fn count(&self, is: impl Fn(LineKind) -> bool) -> usize {
        self.shown().filter(|line| is(line.kind)).count()
    }

    pub(super) fn app_legend(&self, out: &mut String) {
        if !self.app {
            return;
        }
        let count = |kind| self.count(|other| other == kind);
        let mut legend = format!(
            "the app: ▾ notes ({}) · green: writes accepted ({}) · red cross: refused ({}) · \
             dashed: frames between apps ({} received, {} lost)",
            count(LineKind::Note),
            count(LineKind::Accepted),
            count(LineKind::Refused),
            count(LineKind::Received),
            count(LineKind::Lost),
        );
        if self.count(LineKind::is_frame) > MOST_WAYS
            || self.count(LineKind::is_verdict) > MOST_WAYS
        {
            legend.push_str(", too many to draw all ways");
        }
        let _ = writeln!(out, "<text x=\"12\" y=\"58\" class=\"dim\">{legend}</text>");
    }

    pub(super) fn app(&self, out: &mut String) {
        let frames = self.count(LineKind::is_frame) <= MOST_WAYS;
        let writes = self.count(LineKind::is_verdict) <= MOST_WAYS;
        for line in self.shown() {
            match line.kind {
                LineKind::Note => self.note(out, line),
                LineKind::Received | LineKind::Lost if frames => {
                    self.trip(out, line, self.y(line.node), "frame");
                }
                LineKind::Accepted | LineKind::Refused => {
                    if writes {
                        self.trip(out, line, self.resource_y(), "write");
                    }
                    self.verdict(out, line);
                }
                _ => {}
            }
        }
    }

    fn note(&self, out: &mut String, line: &Line) {
        let (x, y) = (self.x(line.at), self.y(line.node) - 9.0);
        let title = escaped(&format!("{:?}: {}", line.at, line.text));
        let _ = writeln!(
            out,
            "<path d=\"M{x:.1} {y:.1}l-4 -7h8z\" class=\"note\"><title>{title}</title></path>"
        );
    }

    fn verdict(&self, out: &mut String, line: &Line) {
        let (x, y) = (self.x(line.at), self.resource_y());
        let title = escaped(&format!("{:?}: {}", line.at, line.text));
        let _ = if line.kind == LineKind::Refused {
            writeln!(
                out,
                "<path d=\"M{:.1} {:.1}l8 8m0 -8l-8 8\" class=\"refused\"><title>{title}</title></path>",
                x - 4.0,
                y - 4.0
            )
        } else {
            writeln!(
                out,
                "<circle cx=\"{x:.1}\" cy=\"{y}\" r=\"3.2\" class=\"good\"><title>{title}</title>\
                 </circle>"
            )
        };
    }

    /// A dotted line from each row of words up to its lane.
    pub(super) fn leaders(&self, out: &mut String, rows: &[Row<'_>]) {
        let mut y = self.height(0) - 12.0 - 4.0;
        for row in rows {
            let x = self.x(row.at());
            let top = if row.kind().is_verdict() { self.resource_y() } else { self.y(row.node()) };
            let _ = writeln!(out, "<path d=\"M{x:.1} {top:.1}V{y:.1}\" class=\"lead\"/>");
            y += FAULT;
        }
    }

    /// The rows of words, each beside its time.
    pub(super) fn rows(&self, out: &mut String, rows: &[Row<'_>], mut y: f64) {
        for row in rows {
            let x = self.x(row.at());
            let who = row.node().map_or_else(|| "-".to_owned(), node_name);
            let text = format!("{:.3}s {who} {}", row.at().as_secs_f64(), row.text());
            let text = shortened(&text, MOST_LETTERS);
            let fits = x + 8.0 + LETTER * text.chars().count() as f64 <= LEFT + WIDTH;
            let (place, anchor) = if fits { (x + 6.0, "start") } else { (x - 6.0, "end") };
            let class = match row.kind() {
                LineKind::Refused | LineKind::Lost => "refusedtext",
                LineKind::Note | LineKind::Write | LineKind::Accepted => "apptext",
                _ => "dim",
            };
            let _ = writeln!(
                out,
                "<circle cx=\"{x:.1}\" cy=\"{:.1}\" r=\"2\" class=\"note\"/>\
                 <text x=\"{place:.1}\" y=\"{y:.1}\" class=\"{class}\" \
                 text-anchor=\"{anchor}\">{}</text>",
                y - 4.0,
                escaped(&text)
            );
            y += FAULT;
        }
    }
}
