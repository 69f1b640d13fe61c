//! A `sometimes` condition that no run reached, and how far the runs came.

use crate::{batch::Summary, cargo, seed::Seed, workload::Workload};
use std::{fmt, path::PathBuf, time::Duration};

/// A condition that no run reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreached {
    /// The condition.
    pub name: String,
    /// The number of seeds played.
    pub seeds: u64,
    /// The number of events in all runs, after each of which it was evaluated.
    pub events: u64,
    /// The virtual time in all runs.
    pub simulated: Duration,
    /// The number of elections in all runs.
    pub elections: u64,
    /// All conditions, with the number of runs that reached them.
    pub conditions: Vec<(String, u64)>,
    /// The run that reached the most of the other conditions, and among such runs the one with the
    /// most elections.
    pub furthest: Option<Seed>,
    /// The picture of that run, if it could be written.
    pub page: Option<PathBuf>,
}

impl Unreached {
    /// The first condition that no run reached, if there is one.
    pub(crate) fn of(workload: &Workload, summary: &Summary) -> Option<Self> {
        let names = workload.sometimes.iter().map(|(name, _)| name.clone());
        let conditions: Vec<(String, u64)> = names.zip(summary.reached.iter().copied()).collect();
        let (name, _) = conditions.iter().find(|(_, runs)| *runs == 0)?;
        Some(Self {
            name: name.clone(),
            seeds: summary.seeds,
            events: summary.events,
            simulated: summary.simulated,
            elections: summary.elections,
            furthest: summary.furthest.map(|(_, _, seed)| Seed(seed.0)),
            page: None,
            conditions,
        })
    }
}

impl fmt::Display for Unreached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, seeds, events, elections, .. } = self;
        let hours = self.simulated.as_secs_f64() / 3_600.0;
        writeln!(f, "{name:?} never came true in {seeds} runs: a condition of `sometimes`\n")?;
        writeln!(
            f,
            "played:  {events} events, {hours:.1} hours of virtual time, {elections} elections"
        )?;
        for (condition, runs) in &self.conditions {
            writeln!(f, "reached: {condition:?} in {runs} of {seeds} runs")?;
        }
        if let Some(seed) = self.furthest {
            write!(f, "nearest: seed {seed}, which reached the most of the others")?;
            match &self.page {
                Some(page) => writeln!(f, ": {}", cargo::url(page))?,
                None => writeln!(f)?,
            }
        }
        write!(f, "\nPlay more seeds or longer runs, allow more faults, or mend the condition.")
    }
}
