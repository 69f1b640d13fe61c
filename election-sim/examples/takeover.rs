//! Draws the picture of the README: how leadership passes on when a leader loses its database.
//!
//! `cargo run -p election-sim --example takeover` plays a scenario and draws what happened into
//! `pictures/takeover.svg`. The test fails if the picture in the tree shows anything else.

use election_sim::{Line, LineKind, Scn};
use std::{error::Error, fmt::Write as _, fs, sync::Arc, time::Duration};

const SCENARIO: &str = include_str!("../tests/scenarios/leader-work-outlives-the-lease-never.scn");
const PICTURE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/pictures/takeover.svg");

/// The picture ends here; the run goes on.
const END: Duration = Duration::from_secs(26);
/// Pixels per second.
const SCALE: f64 = 25.0;
const LEFT: f64 = 104.0;
const WIDTH: f64 = 770.0;
const HEIGHT: f64 = 272.0;
/// The middle of each lane, and where the last one ends.
const ROW: f64 = 48.0;
const A: f64 = 92.0;
const B: f64 = 136.0;
const BOTTOM: f64 = 160.0;

const HEAD: &str = "<title>How leadership passes on</title><style>\
 text{font:13px system-ui,sans-serif;fill:#222}.dim{font-size:11px;fill:#666}\
 .on{fill:#fff;font-weight:600}.a{fill:#0072b2}.b{fill:#d55e00}.to-a{fill:#b3d5e8}.to-b{fill:#f5cfb3}\
 .lane{stroke:#999;stroke-width:2}.grid{stroke:#e4e4e4}.cut{fill:#f4c7c3}\
 .mark{stroke:#222;stroke-dasharray:3 3}\
 .said{paint-order:stroke;stroke:#fff;stroke-width:5}</style><defs><pattern id=\"stops\" width=\"6\" height=\"6\" \
 patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\"><path d=\"M0 0V6\" \
 stroke=\"#0072b2\" stroke-width=\"7\"/></pattern></defs>\
 <rect width=\"100%\" height=\"100%\" rx=\"6\" fill=\"#fff\"/>";

fn x(at: Duration) -> f64 {
    LEFT + SCALE * at.min(END).as_secs_f64()
}

/// What happened when.
struct Story {
    elected: Duration,
    renewed: Duration,
    cut: Duration,
    lost: Duration,
    stopped: Duration,
    expired: Duration,
    succeeded: Duration,
}

impl Story {
    fn of(scn: &Scn) -> Result<Self, Box<dyn Error>> {
        let (_, lines) = scn.schedule.narrate(&Arc::default())?;
        let times = |node: usize, kind: LineKind, text: &'static str| {
            let wanted = move |line: &&Line| {
                line.node == Some(node) && line.kind == kind && line.text.starts_with(text)
            };
            lines.iter().filter(wanted).map(|line| line.at)
        };
        let renewed = times(0, LineKind::Wrote, "row: held").next_back().ok_or("no lease")?;
        Ok(Self {
            elected: times(0, LineKind::Change, "elected").next().ok_or("no leader")?,
            renewed,
            cut: scn.schedule.faults.first().ok_or("no fault")?.at,
            lost: times(0, LineKind::Change, "lost").next().ok_or("no loss")?,
            stopped: times(0, LineKind::Stopped, "").next().ok_or("no hard stop")?,
            expired: renewed + scn.schedule.timing_of(0).ttl,
            succeeded: times(1, LineKind::Change, "elected").next().ok_or("no successor")?,
        })
    }

    fn drawn(&self) -> String {
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
             width=\"{WIDTH}\" height=\"{HEIGHT}\" role=\"img\">{HEAD}\n"
        );
        lanes(&mut out);
        let begin = self.elected;
        for (y, from, to, class, words) in [
            (A, self.cut, END, "cut", ""),
            (ROW, begin, self.expired, "to-a", "leased to a"),
            (ROW, self.succeeded, END, "to-b", "leased to b"),
            (A, begin, self.lost, "a", "believes that it leads"),
            (A, self.lost, self.stopped, "stops", ""),
            (B, self.succeeded, END, "b", "leads"),
        ] {
            bar(&mut out, y, from, to, class, words);
        }
        for (row, (at, what)) in [
            (self.renewed, "last renewal: leased for 15 s"),
            (self.cut, "a loses the database"),
            (self.lost, "belief ends, work is told to stop"),
            (self.stopped, "hard stop: what still runs is killed"),
            (self.expired, "the lease runs out, b takes over"),
        ]
        .into_iter()
        .enumerate()
        .rev()
        {
            mark(&mut out, row, at, what);
        }
        out.push_str("</svg>\n");
        out
    }
}

fn lanes(out: &mut String) {
    for second in (0..=25).step_by(5) {
        let x = x(Duration::from_secs(second));
        let _ = writeln!(
            out,
            "<path d=\"M{x} 26V{BOTTOM}\" class=\"grid\"/>\
             <text x=\"{x}\" y=\"18\" class=\"dim\" text-anchor=\"middle\">{second} s</text>"
        );
    }
    for (y, name) in [(ROW, "database row"), (A, "process a"), (B, "process b")] {
        let (below, end) = (y + 4.5, x(END));
        let _ = writeln!(
            out,
            "<text x=\"10\" y=\"{below}\">{name}</text><path d=\"M{LEFT} {y}H{end}\" class=\"lane\"/>"
        );
    }
}

fn bar(out: &mut String, y: f64, from: Duration, to: Duration, class: &str, words: &str) {
    let (from, to) = (x(from), x(to));
    let (half, fill) = match class {
        "cut" => (18.0, ""),
        "stops" => (12.0, " fill=\"url(#stops)\""),
        _ => (12.0, ""),
    };
    let (top, wide, high, below) = (y - half, to - from, 2.0 * half, y + 4.5);
    // Clear of the marks: on the right of a's bar, on the left of the others.
    let (text, anchor) = if class == "a" { (to - 8.0, "end") } else { (from + 8.0, "start") };
    let on = if matches!(class, "a" | "b") { "on" } else { "" };
    let _ = writeln!(
        out,
        "<rect x=\"{from:.1}\" y=\"{top}\" width=\"{wide:.1}\" height=\"{high}\" class=\"{class}\"{fill}/>\
         <text x=\"{text:.1}\" y=\"{below}\" class=\"{on}\" text-anchor=\"{anchor}\">{words}</text>"
    );
}

/// A line down to the words, which stand on its left where there is more room.
fn mark(out: &mut String, row: usize, at: Duration, what: &str) {
    let (x, y) = (x(at), BOTTOM + 14.0 + 21.0 * row as f64);
    let (anchor, text) = if x > WIDTH / 2.0 { ("end", x - 7.0) } else { ("start", x + 7.0) };
    let (end, seconds) = (y + 5.0, at.as_secs_f64());
    let _ = writeln!(
        out,
        "<path d=\"M{x:.1} 30V{end}\" class=\"mark\"/>\
         <text x=\"{text:.1}\" y=\"{y}\" text-anchor=\"{anchor}\" class=\"said\">{seconds:.1} s: {what}</text>"
    );
}

fn main() -> Result<(), Box<dyn Error>> {
    fs::write(PICTURE, Story::of(&SCENARIO.parse()?)?.drawn())?;
    println!("{PICTURE}");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_picture_in_the_tree_is_what_the_simulator_plays() {
        let drawn = Story::of(&SCENARIO.parse().unwrap()).unwrap().drawn();
        assert_eq!(fs::read_to_string(PICTURE).unwrap(), drawn, "draw it: {}", file!());
    }
}
