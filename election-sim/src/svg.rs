//! A run as a picture for people: one file that needs nothing else.
//!
//! Every node has a lane, and so does the database where there is one. A thick bar is a leader, a
//! hatched bar a leader that has been told to stop, a thin line a follower, and an empty lane a
//! node that is down. Slanted lines from lane to lane are things that travel. A fault of one node
//! shades its lane, and all faults are bars below the lanes. A red line across everything marks the
//! instant at which an invariant broke. Hovering shows the details.

use crate::{
    activity::{Activity, activity},
    outcome::Outcome,
    schedule::Schedule,
    text::node_name,
    trace::{Line, LineKind},
};
use std::{fmt::Write as _, time::Duration};

const LEFT: f64 = 84.0;
const WIDTH: f64 = 1_130.0;
const RIGHT: f64 = 24.0;
const TOP: f64 = 64.0;
const LANE: f64 = 44.0;
const BAR: f64 = 16.0;
const FAULT: f64 = 17.0;
/// Beyond this many lines from lane to lane the picture is a grey field that says nothing.
const MOST_TRIPS: usize = 3_000;
const MOST_FAULTS: usize = 60;

/// One colour per node; the colour-blind can tell them apart, too.
const COLOURS: [&str; 7] =
    ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#6a51a3"];

const STYLE: &str = "text{font:12px system-ui,sans-serif;fill:#222}\
 .dim{fill:#777;font-size:11px}.head{font-size:15px;font-weight:600}\
 .trip{fill:none;stroke:#555;stroke-opacity:.35;stroke-width:.8}\
 .vote{fill:none;stroke:#7a1fa2;stroke-opacity:.85;stroke-width:1.3}\
 .follow{stroke:#999;stroke-width:2}.base{stroke:#e4e4e4}\
 .bad{stroke:#c00;stroke-width:2}.badtext{fill:#c00;font-weight:600}\
 .fault{fill:#f4c7c3;fill-opacity:.55}.chip{fill:#e6a19b}";

/// The run as a page: the picture, and below it everything that happened, in words.
#[must_use]
pub fn html(schedule: &Schedule, outcome: &Outcome, lines: &[Line]) -> String {
    let mut words = String::new();
    for line in lines {
        let node = line.node.map_or_else(|| "-".to_owned(), node_name);
        let at = line.at.as_secs_f64();
        let _ = writeln!(words, "{at:>11.3}s {node:<3} {}", escaped(&line.text));
    }
    format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>{}</title>\n\
         <body style=\"margin:1em;background:#fff\">\n{}\n<pre>{}</pre>\n<pre>{words}</pre>\n",
        escaped(&headline(outcome)),
        svg(schedule, outcome, lines),
        escaped(&schedule.to_string()),
    )
}

/// The run as a picture.
#[must_use]
pub fn svg(schedule: &Schedule, outcome: &Outcome, lines: &[Line]) -> String {
    let sheet = Sheet::new(schedule, outcome, lines);
    let (width, height) = (LEFT + WIDTH + RIGHT, sheet.height());
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
         width=\"{width}\" height=\"{height}\"><style>{STYLE}</style>\
         <defs><pattern id=\"hatch\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" \
         patternTransform=\"rotate(45)\"><path d=\"M0 0V6\" stroke=\"#fff\" stroke-width=\"3\"/>\
         </pattern></defs><rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n"
    );
    sheet.head(&mut out);
    sheet.axis(&mut out);
    sheet.shades(&mut out);
    sheet.lanes(&mut out);
    sheet.trips(&mut out);
    sheet.faults(&mut out);
    sheet.violation(&mut out);
    out.push_str("</svg>\n");
    out
}

struct Sheet<'a> {
    schedule: &'a Schedule,
    outcome: &'a Outcome,
    lines: &'a [Line],
    end: Duration,
    /// All lines from lane to lane.
    trips: usize,
    /// The picture has a lane for a database.
    database: bool,
}

impl<'a> Sheet<'a> {
    fn new(schedule: &'a Schedule, outcome: &'a Outcome, lines: &'a [Line]) -> Self {
        let end = outcome.length.max(Duration::from_millis(1));
        let trips = lines.iter().filter(|line| !line.path.is_empty()).count();
        let stops = lines.iter().flat_map(|line| &line.path);
        let database = stops.into_iter().any(|stop| stop.node.is_none());
        Self { schedule, outcome, lines, end, trips, database }
    }

    fn x(&self, at: Duration) -> f64 {
        LEFT + WIDTH * (at.as_secs_f64() / self.end.as_secs_f64()).clamp(0.0, 1.0)
    }

    /// The middle of a lane; the database's lane is the first.
    fn y(&self, node: Option<usize>) -> f64 {
        let above = usize::from(self.database);
        let row = node.map_or(0, |node| node + above);
        TOP + LANE * (row as f64 + 0.5)
    }

    fn lanes_end(&self) -> f64 {
        TOP + LANE * (self.schedule.nodes.len() + usize::from(self.database)) as f64
    }

    fn height(&self) -> f64 {
        let faults = self.schedule.faults.len().min(MOST_FAULTS + 1);
        self.lanes_end() + 34.0 + FAULT * faults as f64 + 12.0
    }

    fn head(&self, out: &mut String) {
        let (class, headline) = match self.outcome.violation {
            Some(_) => ("head badtext", headline(self.outcome)),
            None => ("head", headline(self.outcome)),
        };
        let headline = escaped(&shortened(&headline, 150));
        let _ = writeln!(out, "<text x=\"12\" y=\"22\" class=\"{class}\">{headline}</text>");
        let mut legend =
            "thick: leads · hatched: told to stop · thin: follows · blank: down".to_owned();
        let _ = write!(
            legend,
            " · elections: {}, events: {}",
            self.outcome.elections, self.outcome.events
        );
        if self.trips > MOST_TRIPS {
            let _ = write!(legend, " · {} messages are too many to draw", self.trips);
        }
        let _ = writeln!(out, "<text x=\"12\" y=\"42\" class=\"dim\">{legend}</text>");
    }

    /// Marks at round times.
    fn axis(&self, out: &mut String) {
        let step = round_step(self.end.as_secs_f64() / 10.0);
        let (top, bottom) = (TOP, self.lanes_end());
        for mark in 0..=20_u32 {
            let Ok(at) = Duration::try_from_secs_f64(step * f64::from(mark)) else { break };
            if at > self.end {
                break;
            }
            let (x, label) = (self.x(at), time_label(at));
            let _ = writeln!(
                out,
                "<path d=\"M{x:.1} {top}V{bottom}\" class=\"base\"/>\
                 <text x=\"{x:.1}\" y=\"{:.1}\" class=\"dim\" text-anchor=\"middle\">{label}</text>",
                bottom + 16.0
            );
        }
    }

    /// A fault of one node shades its lane; a fault of no particular node shades the database's.
    fn shades(&self, out: &mut String) {
        for fault in self.schedule.faults.iter().filter(|fault| fault.kind.lasts()) {
            let node = fault.kind.node();
            if fault.at > self.end || (node.is_none() && !self.database) {
                continue;
            }
            let (from, to) = (self.x(fault.at), self.x(fault.at.saturating_add(fault.lasts)));
            let (y, title) = (self.y(node) - LANE / 2.0 + 2.0, fault.kind.to_string());
            let _ = writeln!(
                out,
                "<rect x=\"{from:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{:.1}\" \
                 class=\"fault\"><title>{}</title></rect>",
                (to - from).max(1.5),
                LANE - 4.0,
                escaped(&title)
            );
        }
    }

    fn lanes(&self, out: &mut String) {
        if self.database {
            let y = self.y(None);
            let _ = writeln!(
                out,
                "<text x=\"12\" y=\"{:.1}\">database</text>\
                 <path d=\"M{LEFT} {y}H{}\" class=\"base\"/>",
                y + 4.0,
                LEFT + WIDTH
            );
        }
        for (node, member) in self.schedule.nodes.iter().enumerate() {
            let (y, colour) = (self.y(Some(node)), COLOURS[node % COLOURS.len()]);
            let known = if member.name == node_name(node) {
                node_name(node)
            } else {
                format!("{} “{}”", node_name(node), shortened(&member.name, 6))
            };
            let known = escaped(&known);
            let _ = writeln!(
                out,
                "<text x=\"12\" y=\"{:.1}\" style=\"fill:{colour};font-weight:600\">{known}</text>",
                y + 4.0
            );
            self.lane(out, node, y, colour);
        }
    }

    fn lane(&self, out: &mut String, node: usize, y: f64, colour: &str) {
        for stretch in activity(self.lines, node, self.end) {
            let (from, to) = (self.x(stretch.from), self.x(stretch.to));
            let wide = (to - from).max(1.0);
            let top = y - BAR / 2.0;
            let _ = match stretch.doing {
                Activity::Down => Ok(()),
                Activity::Follows => {
                    writeln!(out, "<path d=\"M{from:.1} {y}H{to:.1}\" class=\"follow\"/>")
                }
                Activity::Leads | Activity::Drains => writeln!(
                    out,
                    "<rect x=\"{from:.1}\" y=\"{top}\" width=\"{wide:.1}\" height=\"{BAR}\" \
                     fill=\"{colour}\"/>"
                ),
            };
            if stretch.doing == Activity::Drains {
                let _ = writeln!(
                    out,
                    "<rect x=\"{from:.1}\" y=\"{top}\" width=\"{wide:.1}\" height=\"{BAR}\" \
                     fill=\"url(#hatch)\"/>"
                );
            }
        }
        let changes = |kind| matches!(kind, LineKind::Change | LineKind::Process);
        for line in self.lines.iter().filter(|line| line.node == Some(node) && changes(line.kind)) {
            let (x, title) = (self.x(line.at), format!("{:?}: {}", line.at, line.text));
            let _ = writeln!(
                out,
                "<circle cx=\"{x:.1}\" cy=\"{y}\" r=\"2.4\" fill=\"{colour}\" stroke=\"#fff\" \
                 stroke-width=\".6\"><title>{}</title></circle>",
                escaped(&title)
            );
        }
    }

    fn trips(&self, out: &mut String) {
        if self.trips > MOST_TRIPS {
            return;
        }
        for line in self.lines.iter().filter(|line| !line.path.is_empty()) {
            let mut d = String::new();
            for (index, stop) in line.path.iter().enumerate() {
                let pen = if index == 0 { 'M' } else { 'L' };
                let _ = write!(d, "{pen}{:.1} {:.1}", self.x(stop.at), self.y(stop.node));
            }
            let _ = write!(d, "L{:.1} {:.1}", self.x(line.at), self.y(line.node));
            let _ = writeln!(
                out,
                "<path d=\"{d}\" class=\"{}\"><title>{}</title></path>",
                if decides(&line.text) { "vote" } else { "trip" },
                escaped(&line.text)
            );
        }
    }

    fn faults(&self, out: &mut String) {
        let mut y = self.lanes_end() + 34.0;
        for fault in self.schedule.faults.iter().take(MOST_FAULTS) {
            let until = if fault.kind.lasts() { fault.lasts } else { Duration::ZERO };
            let (from, to) = (self.x(fault.at), self.x(fault.at.saturating_add(until)));
            let text = escaped(&fault.kind.to_string());
            // If there is no room on the right, the words stand on the left.
            let fits = to + 8.0 + 6.5 * text.len() as f64 <= LEFT + WIDTH;
            let (place, anchor) = if fits { (to + 6.0, "start") } else { (from - 6.0, "end") };
            let _ = writeln!(
                out,
                "<rect x=\"{from:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"9\" class=\"chip\"/>\
                 <text x=\"{place:.1}\" y=\"{y:.1}\" class=\"dim\" text-anchor=\"{anchor}\">{text}</text>",
                y - 9.0,
                (to - from).max(2.0),
            );
            y += FAULT;
        }
        let more = self.schedule.faults.len().saturating_sub(MOST_FAULTS);
        if more > 0 {
            let _ = writeln!(
                out,
                "<text x=\"{LEFT}\" y=\"{y:.1}\" class=\"dim\">and {more} more</text>"
            );
        }
    }

    fn violation(&self, out: &mut String) {
        let Some(violation) = &self.outcome.violation else { return };
        let (x, bottom) = (self.x(violation.at), self.lanes_end());
        let anchor = if x > LEFT + WIDTH / 2.0 { "end" } else { "start" };
        let _ = writeln!(
            out,
            "<path d=\"M{x:.1} {:.1}V{bottom}\" class=\"bad\"/>\
             <text x=\"{x:.1}\" y=\"{:.1}\" class=\"badtext\" text-anchor=\"{anchor}\">{} {}</text>",
            TOP - 4.0,
            TOP - 7.0,
            escaped(&violation.check),
            time_label(violation.at)
        );
    }
}

/// Whether the text is about who leads, rather than one of the many that report no change.
fn decides(text: &str) -> bool {
    let words = ["OFFER", "ACCEPT", "ANNOUNCE", ": won", ": gone", ": released"];
    words.iter().any(|word| text.contains(word))
}

fn headline(outcome: &Outcome) -> String {
    match &outcome.violation {
        Some(violation) => format!("{}: {}", violation.check, violation.what),
        None if outcome.broken.is_empty() => "nothing violated".into(),
        None => format!("beyond the contract, broken: {}", outcome.broken.join(", ")),
    }
}

/// A step of one, two or five times a power of ten, at least `least`.
fn round_step(least: f64) -> f64 {
    let power = 10_f64.powf(least.log10().floor());
    [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .map(|n| n * power)
        .find(|step| *step >= least)
        .unwrap_or(power)
}

fn time_label(at: Duration) -> String {
    let seconds = format!("{:.6}", at.as_secs_f64());
    format!("{} s", seconds.trim_end_matches('0').trim_end_matches('.'))
}

fn shortened(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most - 1).chain(['…']).collect()
}

fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\n' | '\t' => safe.push(c),
            // XML does not allow even an escaped control character.
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => safe.push('\u{fffd}'),
            c => safe.push(c),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_stand_at_round_times() {
        for (least, step) in [(0.9, 1.0), (1.0, 1.0), (1.1, 2.0), (3.0, 5.0), (60.0, 100.0)] {
            assert!((round_step(least) - step).abs() < 1e-9, "{least}");
        }
        assert_eq!(time_label(Duration::from_millis(1_500)), "1.5 s");
        assert_eq!(time_label(Duration::from_secs(100)), "100 s");
    }

    #[test]
    fn names_cannot_break_out() {
        assert_eq!(escaped("a<b>&\"\u{0}"), "a&lt;b&gt;&amp;&quot;\u{fffd}");
        assert_eq!(shortened("abcdef", 4), "abc…");
    }
}
