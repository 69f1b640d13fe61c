//! What a long simulation says while it runs: how far it is, and how long it still takes.
//!
//! It writes to standard error itself: what a test prints through macros is only seen when the test
//! has failed.

use std::{
    fmt::Write as _,
    io::{IsTerminal as _, Write as _, stderr},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

/// The progress of one simulation.
pub(crate) struct Progress<'a> {
    name: &'a str,
    /// How many seeds there are, unless time decides.
    seeds: Option<u64>,
    time: Option<Duration>,
    /// The time between two lines.
    pace: Duration,
    on_terminal: bool,
    began: Instant,
    done: AtomicU64,
    /// When the next line is due, since the beginning.
    due: Mutex<Duration>,
}

impl<'a> Progress<'a> {
    pub(crate) fn new(name: &'a str, seeds: u64, time: Option<Duration>) -> Self {
        let on_terminal = stderr().is_terminal();
        let pace = Duration::from_secs(if on_terminal { 1 } else { 10 });
        Self {
            name,
            seeds: time.is_none().then_some(seeds),
            time,
            pace,
            on_terminal,
            began: Instant::now(),
            done: AtomicU64::new(0),
            due: Mutex::new(pace),
        }
    }

    /// More seeds have been played.
    pub(crate) fn add(&self, seeds: u64) {
        let done = self.done.fetch_add(seeds, Ordering::Relaxed) + seeds;
        let took = self.began.elapsed();
        let Ok(mut due) = self.due.try_lock() else { return };
        if took < *due {
            return;
        }
        *due = took + self.pace;
        self.print(&self.line(done, took));
    }

    /// Takes the line off a terminal.
    pub(crate) fn end(&self) {
        let due = *self.due.lock().unwrap_or_else(PoisonError::into_inner);
        if self.on_terminal && due != self.pace {
            self.print("");
        }
    }

    fn print(&self, line: &str) {
        let (from, to) = if self.on_terminal { ("\r\x1b[K", "") } else { ("", "\n") };
        // Whoever has closed it does not want to know.
        let _ = write!(stderr(), "{from}{line}{to}");
    }

    fn line(&self, done: u64, took: Duration) -> String {
        let mut line = format!("election-sim: {}: {done}", self.name);
        let left = match self.seeds {
            Some(seeds) => {
                let _ = write!(line, " of {seeds}");
                let rest = seeds.saturating_sub(done);
                took.mul_f64(rest as f64 / done.max(1) as f64)
            }
            None => self.time.unwrap_or_default().saturating_sub(took),
        };
        let _ = write!(line, " seeds, {} left", span(left));
        line
    }
}

fn span(span: Duration) -> String {
    match span.as_secs() {
        seconds @ 0..=119 => format!("{seconds} s"),
        seconds => format!("{} min", seconds.div_ceil(60)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_how_far_it_is_and_what_is_left() {
        let of = |seeds, time| Progress::new("reports", seeds, time);
        let (ten, hour) = (Duration::from_secs(10), Duration::from_secs(3_600));
        let line = of(1_000, None).line(400, ten);
        assert_eq!(line, "election-sim: reports: 400 of 1000 seeds, 15 s left");
        let line = of(u64::MAX, Some(hour)).line(400, ten);
        assert_eq!(line, "election-sim: reports: 400 seeds, 60 min left");
        let slow = of(1_000, None).line(10, ten);
        assert_eq!(slow, "election-sim: reports: 10 of 1000 seeds, 17 min left");
    }
}
