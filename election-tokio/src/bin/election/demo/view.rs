//! The live view on a terminal, and plain lines elsewhere.

use super::{candidate::Candidate, report::Failover};
use election_tokio::core::lease::Row;
use std::io::Write as _;

/// How wide the bar of the remaining lease is.
const BAR: usize = 24;
/// How many of the last failovers stay in view.
const HISTORY: usize = 5;

pub(super) struct View {
    live: bool,
    /// Lines drawn last, to be drawn over.
    drawn: usize,
}

impl View {
    pub(super) fn new(live: bool) -> Self {
        Self { live, drawn: 0 }
    }

    pub(super) fn is_live(&self) -> bool {
        self.live
    }

    /// Says something that happened; the live view shows it anyway.
    pub(super) fn line(&mut self, line: &str) {
        if !self.live {
            self.write(&format!("{line}\n"));
        }
    }

    pub(super) fn draw(
        &mut self,
        candidates: &[Candidate],
        row: &Row,
        failovers: &[Failover],
        kills: Option<u32>,
    ) {
        let mut lines = vec![match kills {
            Some(kills) => format!("kill {} of {kills}", failovers.len()),
            None => format!("{} kills so far; Ctrl-C ends the demo", failovers.len()),
        }];
        lines.push(String::new());
        lines.extend(candidates.iter().map(|each| Self::candidate(each, row)));
        lines.push(String::new());
        lines.extend(failovers.iter().rev().take(HISTORY).map(ToString::to_string));
        let over = match self.drawn {
            0 => String::new(),
            drawn => format!("\x1b[{drawn}A\x1b[J"),
        };
        self.drawn = lines.len();
        self.write(&format!("{over}{}\n", lines.join("\n")));
    }

    fn candidate(candidate: &Candidate, row: &Row) -> String {
        let Candidate { name, pid, .. } = candidate;
        let leads = row.live_holder().is_some_and(|holder| holder.candidate.id.as_str() == name);
        if !leads {
            return format!("  {name}  pid {pid:<8} follows");
        }
        let share = row.remaining.as_secs_f64() / row.ttl.as_secs_f64().max(f64::EPSILON);
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // between 0 and BAR
        let full = (share.clamp(0.0, 1.0) * BAR as f64).round() as usize;
        let bar = format!("{}{}", "█".repeat(full), "░".repeat(BAR - full));
        let left = row.remaining.as_secs_f64();
        format!("▶ {name}  pid {pid:<8} leads {bar} {left:.1}s left, epoch {}", row.epoch)
    }

    /// Leaves the view as it stands.
    pub(super) fn end(&mut self) {
        self.drawn = 0;
        if self.live {
            self.write("\n");
        }
    }

    /// A reader that has gone away does not end the demo's clean-up.
    fn write(&self, text: &str) {
        let mut output = std::io::stdout();
        let _ = output.write_all(text.as_bytes()).and_then(|()| output.flush());
    }
}
