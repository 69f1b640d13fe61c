//! The page: the whole run, its last moments, and everything that happened, in words.

use super::{
    Sheet,
    text::{escaped, headline},
};
use crate::{
    outcome::Outcome,
    schedule::Schedule,
    story::{Row, Story, brief},
    text::node_name,
    trace::{Line, LineKind},
};
use std::{fmt::Write as _, time::Duration};

/// This many rows of words stand below the picture of the last moments.
const ROWS: usize = 20;

/// The subjects of lines that a reader can leave out: the class, and its words.
const SUBJECTS: [(&str, &str); 6] = [
    ("app", "the app"),
    ("leads", "leadership and processes"),
    ("fault", "faults"),
    ("base", "database"),
    ("talk", "frames of the election"),
    ("disk", "ballots"),
];

const STYLE: &str = "body{margin:1em;background:#fff;font:13px system-ui,sans-serif}\
 h2{font-size:15px;margin:1.2em 0 .4em}label{margin-right:1.2em}\
 pre{font:12px ui-monospace,monospace}svg{max-width:100%;height:auto}\
 .app{color:#0a5}.no{color:#c00}.leads{font-weight:600}.fault{color:#a50}\
 .base,.talk,.disk{color:#666}.bad{color:#fff;background:#c00}";

/// The run as a page: pictures, and below them everything that happened, in words.
#[must_use]
pub fn html(schedule: &Schedule, outcome: &Outcome, lines: &[Line]) -> String {
    let mut page = format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>{}</title>\n\
         <style>{STYLE}",
        escaped(&headline(outcome)),
    );
    for (class, _) in SUBJECTS {
        let _ = write!(page, "#{class}:not(:checked)~pre .{class}{{display:none}}");
    }
    let _ = writeln!(page, "</style>\n{}", Sheet::new(schedule, outcome, lines).drawn(&[]));
    last_moments(&mut page, schedule, outcome, lines);
    let _ = writeln!(page, "<h2>The schedule</h2>\n<pre>{}</pre>", escaped(&schedule.to_string()));
    let _ = writeln!(page, "<h2>Everything that happened</h2>");
    for (class, words) in SUBJECTS.iter().filter(|(class, _)| lines.iter().any(of(class))) {
        let _ = writeln!(
            page,
            "<input type=\"checkbox\" id=\"{class}\" checked><label for=\"{class}\">{words}</label>"
        );
    }
    let _ = writeln!(page, "<pre>{}</pre>", words(outcome, lines));
    page
}

/// What the app did last, with the words beside the marks.
fn last_moments(page: &mut String, schedule: &Schedule, outcome: &Outcome, lines: &[Line]) {
    if !lines.iter().any(|line| line.kind.is_app()) {
        return;
    }
    let brief = brief(lines);
    let story = Story::of(&brief, ROWS);
    let mut sheet = Sheet::new(schedule, outcome, lines);
    let first = story.rows.first().map_or(Duration::ZERO, Row::begins);
    let margin = sheet.end.saturating_sub(first) / 20;
    sheet.from = first.saturating_sub(margin.max(Duration::from_millis(1)));
    let _ = writeln!(page, "<h2>The last moments</h2>");
    if !story.before.is_empty() {
        let _ = writeln!(page, "<p>Before that: {}.</p>", story.before);
    }
    let _ = writeln!(page, "{}", sheet.drawn(&story.rows));
}

fn words(outcome: &Outcome, lines: &[Line]) -> String {
    let mut words = String::new();
    for line in lines {
        let node = line.node.map_or_else(|| "-".to_owned(), node_name);
        let (at, class) = (line.at.as_secs_f64(), class(line.kind));
        let no = matches!(line.kind, LineKind::Refused | LineKind::Lost);
        let no = if no { " no" } else { "" };
        let text = escaped(&line.text);
        let _ = write!(words, "<span class=\"{class}{no}\">{at:>11.3}s {node:<3} {text}\n</span>");
    }
    if let Some(violation) = &outcome.violation {
        let (at, what) = (violation.at.as_secs_f64(), escaped(&headline(outcome)));
        let _ = writeln!(words, "<span class=\"bad\">{at:>11.3}s !   {what}</span>");
    }
    words
}

fn class(kind: LineKind) -> &'static str {
    match kind {
        LineKind::Process | LineKind::Change | LineKind::Stopped => "leads",
        LineKind::Fault => "fault",
        LineKind::Asked | LineKind::Wrote | LineKind::Answered => "base",
        LineKind::Frame => "talk",
        LineKind::Saved => "disk",
        LineKind::Note
        | LineKind::Write
        | LineKind::Accepted
        | LineKind::Refused
        | LineKind::Sent
        | LineKind::Received
        | LineKind::Lost => "app",
    }
}

fn of(wanted: &str) -> impl Fn(&Line) -> bool {
    move |line| class(line.kind) == wanted
}
