//! A run as a picture for people: one file that needs nothing else.
//!
//! Every node has a lane, and so does the database where there is one. A thick bar is a leader, a
//! hatched bar a leader that has been told to stop, a thin line a follower, and an empty lane a
//! node that is down. Slanted lines from lane to lane are things that travel. A fault of one node
//! shades its lane, and all faults are bars below the lanes. A red line across everything marks the
//! instant at which an invariant broke. Hovering shows the details.
//!
//! Where an app runs on the nodes, the resource to which it writes has a lane, too ([`app`]). A page
//! ([`page`]) also has a picture of the last moments, in which the words stand beside the marks.

mod app;
mod page;
mod text;

pub use page::html;

use crate::{
    activity::{Activity, Interval, activity},
    fault::Fault,
    outcome::Outcome,
    schedule::Schedule,
    story::Row,
    text::node_name,
    trace::{Line, LineKind},
};
use std::{fmt::Write as _, time::Duration};
use text::{decides, escaped, headline, round_step, shortened, time_label};

const LEFT: f64 = 84.0;
const WIDTH: f64 = 1_130.0;
const RIGHT: f64 = 24.0;
const TOP: f64 = 64.0;
/// What the legend of an app takes above the lanes.
const APP_LEGEND: f64 = 18.0;
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
 .fault{fill:#f4c7c3;fill-opacity:.55}.chip{fill:#e6a19b}\
 .write{fill:none;stroke:#2a7;stroke-opacity:.6;stroke-width:1}\
 .frame{fill:none;stroke:#07a;stroke-opacity:.5;stroke-width:.9;stroke-dasharray:4 2}\
 .apptext{font-size:11px}.refusedtext{font-size:11px;fill:#c00}\
 .good{fill:#1a7f45}.refused{stroke:#c00;stroke-width:1.8}.note{fill:#222}\
 .lead{stroke:#bbb;stroke-dasharray:1 3}";

/// The run as a picture.
#[must_use]
pub fn svg(schedule: &Schedule, outcome: &Outcome, lines: &[Line]) -> String {
    Sheet::new(schedule, outcome, lines).drawn(&[])
}

struct Sheet<'a> {
    schedule: &'a Schedule,
    outcome: &'a Outcome,
    lines: &'a [Line],
    /// The picture begins here, in true time, and a whole run at zero.
    from: Duration,
    end: Duration,
    /// All lines from lane to lane but the app's.
    trips: usize,
    /// The picture has a lane for a database.
    database: bool,
    /// The picture has a lane for the resource of an app.
    resource: bool,
    /// Something is known of an app.
    app: bool,
}

impl<'a> Sheet<'a> {
    fn new(schedule: &'a Schedule, outcome: &'a Outcome, lines: &'a [Line]) -> Self {
        let end = outcome.length.max(Duration::from_millis(1));
        let travelled = |line: &&Line| !line.path.is_empty();
        let trips = lines.iter().filter(travelled).filter(|line| !line.kind.is_app()).count();
        let mut stops = lines.iter().flat_map(|line| &line.path);
        let database = stops.any(|stop| stop.node.is_none());
        let resource = lines.iter().any(|line| line.kind.is_verdict());
        let app = lines.iter().any(|line| line.kind.is_app());
        let from = Duration::ZERO;
        Self { schedule, outcome, lines, from, end, trips, database, resource, app }
    }

    /// The picture, with these rows of words below it.
    fn drawn(&self, rows: &[Row<'_>]) -> String {
        let (width, height) = (LEFT + WIDTH + RIGHT, self.height(rows.len()));
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
             width=\"{width}\" height=\"{height}\"><style>{STYLE}</style>\
             <defs><pattern id=\"hatch\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" \
             patternTransform=\"rotate(45)\"><path d=\"M0 0V6\" stroke=\"#fff\" stroke-width=\"3\"/>\
             </pattern></defs><rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n"
        );
        self.head(&mut out);
        self.axis(&mut out);
        self.shades(&mut out);
        self.leaders(&mut out, rows);
        self.lanes(&mut out);
        self.trips(&mut out);
        self.app(&mut out);
        let below = self.faults(&mut out);
        self.rows(&mut out, rows, below);
        self.violation(&mut out);
        out.push_str("</svg>\n");
        out
    }

    /// Whether the picture shows this time.
    fn shows(&self, at: Duration) -> bool {
        self.from <= at && at <= self.end
    }

    fn top(&self) -> f64 {
        if self.app { TOP + APP_LEGEND } else { TOP }
    }

    fn x(&self, at: Duration) -> f64 {
        let whole = self.end.saturating_sub(self.from).as_secs_f64().max(1e-9);
        let part = at.saturating_sub(self.from).as_secs_f64() / whole;
        LEFT + WIDTH * part.clamp(0.0, 1.0)
    }

    /// The middle of a lane; the database's lane is the first.
    fn y(&self, node: Option<usize>) -> f64 {
        let above = usize::from(self.database);
        let row = node.map_or(0, |node| node + above);
        self.top() + LANE * (row as f64 + 0.5)
    }

    /// The middle of the resource's lane, which is the last.
    fn resource_y(&self) -> f64 {
        self.y(Some(self.schedule.nodes.len()))
    }

    fn lanes_end(&self) -> f64 {
        let others = usize::from(self.database) + usize::from(self.resource);
        self.top() + LANE * (self.schedule.nodes.len() + others) as f64
    }

    fn height(&self, rows: usize) -> f64 {
        let faults = self.faults_shown().take(MOST_FAULTS + 1).count();
        self.lanes_end() + 34.0 + FAULT * (faults + rows) as f64 + 12.0
    }

    fn faults_shown(&self) -> impl Iterator<Item = &'a Fault> {
        let from = self.from;
        let until = |fault: &Fault| {
            let lasts = if fault.kind.lasts() { fault.lasts } else { Duration::ZERO };
            fault.at.saturating_add(lasts)
        };
        self.schedule.faults.iter().filter(move |fault| until(fault) >= from)
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
        self.app_legend(out);
    }

    /// Marks at round times.
    fn axis(&self, out: &mut String) {
        let step = round_step(self.end.saturating_sub(self.from).as_secs_f64() / 10.0);
        let first = (self.from.as_secs_f64() / step).ceil();
        let (top, bottom) = (self.top(), self.lanes_end());
        for mark in 0..=20_u32 {
            let Ok(at) = Duration::try_from_secs_f64(step * (first + f64::from(mark))) else {
                break;
            };
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
        for fault in self.faults_shown().filter(|fault| fault.kind.lasts()) {
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
        if self.resource {
            let y = self.resource_y();
            let _ = writeln!(
                out,
                "<text x=\"12\" y=\"{:.1}\">resource</text>\
                 <path d=\"M{LEFT} {y}H{}\" class=\"base\"/>",
                y + 4.0,
                LEFT + WIDTH
            );
        }
    }

    fn lane(&self, out: &mut String, node: usize, y: f64, colour: &str) {
        let shown = |stretch: &Interval| stretch.to >= self.from;
        for stretch in activity(self.lines, node, self.end).into_iter().filter(shown) {
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
        let here = |line: &&Line| line.node == Some(node) && self.shows(line.at);
        for line in self.lines.iter().filter(here).filter(|line| changes(line.kind)) {
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
        for line in self.lines.iter().filter(|line| !line.kind.is_app()) {
            let class = if decides(&line.text) { "vote" } else { "trip" };
            self.trip(out, line, self.y(line.node), class);
        }
    }

    /// The way of what arrived with this line.
    fn trip(&self, out: &mut String, line: &Line, to: f64, class: &str) {
        // What was sent before the picture begins would come from nowhere.
        if !self.shows(line.at) || !line.path.first().is_some_and(|stop| self.shows(stop.at)) {
            return;
        }
        let mut d = String::new();
        for (index, stop) in line.path.iter().enumerate() {
            let pen = if index == 0 { 'M' } else { 'L' };
            let _ = write!(d, "{pen}{:.1} {:.1}", self.x(stop.at), self.y(stop.node));
        }
        let _ = write!(d, "L{:.1} {to:.1}", self.x(line.at));
        let text = escaped(&line.text);
        let _ = writeln!(out, "<path d=\"{d}\" class=\"{class}\"><title>{text}</title></path>");
    }

    /// The faults as bars; returns where what stands below them begins.
    fn faults(&self, out: &mut String) -> f64 {
        let mut y = self.lanes_end() + 34.0;
        for fault in self.faults_shown().take(MOST_FAULTS) {
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
        let more = self.faults_shown().count().saturating_sub(MOST_FAULTS);
        if more > 0 {
            let _ = writeln!(
                out,
                "<text x=\"{LEFT}\" y=\"{y:.1}\" class=\"dim\">and {more} more</text>"
            );
            y += FAULT;
        }
        y
    }

    fn violation(&self, out: &mut String) {
        let Some(violation) = &self.outcome.violation else { return };
        let (x, bottom) = (self.x(violation.at), self.lanes_end());
        let anchor = if x > LEFT + WIDTH / 2.0 { "end" } else { "start" };
        let _ = writeln!(
            out,
            "<path d=\"M{x:.1} {:.1}V{bottom}\" class=\"bad\"/>\
             <text x=\"{x:.1}\" y=\"{:.1}\" class=\"badtext\" text-anchor=\"{anchor}\">{} {}</text>",
            self.top() - 4.0,
            self.top() - 7.0,
            escaped(&violation.check),
            time_label(violation.at)
        );
    }
}
