//! A drawing: lanes with bars, and marks whose words stand below the lanes.

use std::{fmt::Write as _, time::Duration};

const LEFT: f64 = 104.0;
const RIGHT: f64 = 16.0;
/// The middle of the first lane, and from each to the next.
const FIRST: f64 = 48.0;
const LANE: f64 = 44.0;
/// A letter's width.
const LETTER: f64 = 7.0;

const HEAD: &str = "<style>\
 text{font:13px system-ui,sans-serif;fill:#222}.dim{font-size:11px;fill:#666}\
 .on{fill:#fff;font-weight:600}.a{fill:#0072b2}.b{fill:#d55e00}.to-a{fill:#b3d5e8}.to-b{fill:#f5cfb3}\
 .if{fill:none;stroke:#0072b2;stroke-width:1.5;stroke-dasharray:5 4}\
 .lane{stroke:#999;stroke-width:2}.grid{stroke:#e4e4e4}.cut{fill:#f4c7c3}\
 .mark{stroke:#222;stroke-dasharray:3 3}\
 .said{paint-order:stroke;stroke:#fff;stroke-width:5}</style><defs><pattern id=\"stops\" width=\"6\" height=\"6\" \
 patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\"><path d=\"M0 0V6\" \
 stroke=\"#0072b2\" stroke-width=\"7\"/></pattern></defs>\
 <rect width=\"100%\" height=\"100%\" rx=\"6\" fill=\"#fff\"/>";

/// What a bar looks like: a process that leads, and what others grant to it, in its colour.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Look {
    LedByA,
    LedByB,
    ForA,
    ForB,
    /// Work of a has been told to stop.
    Stops,
    /// What would be, but is not.
    WouldBe,
    /// The fault.
    Cut,
}

impl Look {
    fn class(self) -> &'static str {
        match self {
            Self::LedByA => "a",
            Self::LedByB => "b",
            Self::ForA => "to-a",
            Self::ForB => "to-b",
            Self::Stops => "stops",
            Self::WouldBe => "if",
            Self::Cut => "cut",
        }
    }
}

/// In which lane, from when to when, what, and the words in it.
pub(super) type Bar = (usize, Duration, Duration, Look, &'static str);

pub(super) struct Drawing {
    pub(super) title: &'static str,
    pub(super) from: Duration,
    pub(super) to: Duration,
    /// Between two lines of the grid.
    pub(super) step: usize,
    /// Pixels per second.
    pub(super) scale: f64,
    pub(super) lanes: &'static [&'static str],
    pub(super) bars: Vec<Bar>,
    pub(super) marks: Vec<(Duration, &'static str)>,
}

impl Drawing {
    fn x(&self, at: Duration) -> f64 {
        LEFT + self.scale * at.clamp(self.from, self.to).saturating_sub(self.from).as_secs_f64()
    }

    fn y(lane: usize) -> f64 {
        FIRST + LANE * lane as f64
    }

    fn width(&self) -> f64 {
        self.x(self.to) + RIGHT
    }

    fn bottom(&self) -> f64 {
        Self::y(self.lanes.len() - 1) + 24.0
    }

    fn row(&self, mark: usize) -> f64 {
        self.bottom() + 14.0 + 21.0 * mark as f64
    }

    pub(super) fn svg(&self) -> String {
        let (width, height) = (self.width(), self.row(self.marks.len() - 1) + 14.0);
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
             width=\"{width}\" height=\"{height}\" role=\"img\"><title>{}</title>{HEAD}\n",
            self.title
        );
        self.grid(&mut out);
        for bar in &self.bars {
            self.bar(&mut out, bar);
        }
        for (row, (at, what)) in self.marks.iter().enumerate().rev() {
            self.mark(&mut out, self.row(row), *at, what);
        }
        out.push_str("</svg>\n");
        out
    }

    fn grid(&self, out: &mut String) {
        let (from, to, bottom) = (self.from.as_secs(), self.to.as_secs(), self.bottom());
        for second in (from..=to).step_by(self.step) {
            let x = self.x(Duration::from_secs(second));
            let _ = writeln!(
                out,
                "<path d=\"M{x} 26V{bottom}\" class=\"grid\"/>\
                 <text x=\"{x}\" y=\"18\" class=\"dim\" text-anchor=\"middle\">{second} s</text>"
            );
        }
        for (lane, name) in self.lanes.iter().enumerate() {
            if name.is_empty() {
                continue; // what would be is no line of events
            }
            let (y, end) = (Self::y(lane), self.x(self.to));
            let below = y + 4.5;
            let _ = writeln!(
                out,
                "<text x=\"10\" y=\"{below}\">{name}</text><path d=\"M{LEFT} {y}H{end}\" class=\"lane\"/>"
            );
        }
    }

    fn bar(&self, out: &mut String, &(lane, from, to, look, words): &Bar) {
        let (y, from, to, class) = (Self::y(lane), self.x(from), self.x(to), look.class());
        let half = if look == Look::Cut { 18.0 } else { 12.0 };
        let fill = if look == Look::Stops { " fill=\"url(#stops)\"" } else { "" };
        let (top, wide, high, below) = (y - half, to - from, 2.0 * half, y + 4.5);
        let (text, anchor) = self.place(from, to, words);
        let on = if matches!(look, Look::LedByA | Look::LedByB) { "on" } else { "" };
        let _ = writeln!(
            out,
            "<rect x=\"{from:.1}\" y=\"{top}\" width=\"{wide:.1}\" height=\"{high}\" class=\"{class}\"{fill}/>\
             <text x=\"{text:.1}\" y=\"{below}\" class=\"{on}\" text-anchor=\"{anchor}\">{words}</text>"
        );
    }

    /// Where words stand in a bar: clear of the marks, if that is possible.
    fn place(&self, from: f64, to: f64, words: &str) -> (f64, &'static str) {
        let wide = LETTER * words.len() as f64;
        let middle = f64::midpoint(from, to);
        let places = [
            (from + 8.0, "start", from + 8.0),
            (middle, "middle", middle - wide / 2.0),
            (to - 8.0, "end", to - 8.0 - wide),
        ];
        let marks: Vec<_> = self.marks.iter().map(|(at, _)| self.x(*at)).collect();
        let clear = |left: f64| !marks.iter().any(|x| (left..left + wide).contains(x));
        let (x, anchor, _) =
            places.into_iter().find(|(_, _, left)| clear(*left)).unwrap_or(places[0]);
        (x, anchor)
    }

    /// A line down to the words, which stand on its left where there is more room.
    fn mark(&self, out: &mut String, y: f64, at: Duration, what: &str) {
        let x = self.x(at);
        let (anchor, text) =
            if x > self.width() / 2.0 { ("end", x - 7.0) } else { ("start", x + 7.0) };
        let (end, seconds) = (y + 5.0, at.as_secs_f64());
        let _ = writeln!(
            out,
            "<path d=\"M{x:.1} 30V{end}\" class=\"mark\"/>\
             <text x=\"{text:.1}\" y=\"{y}\" text-anchor=\"{anchor}\" class=\"said\">{seconds:.1} s: {what}</text>"
        );
    }
}
