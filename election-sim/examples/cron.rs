//! A cron service under simulation: every replica is ready, and one of them fires.
//!
//! The service fires job 0, 1, 2, … ten seconds apart and enters each in a ledger that checks the
//! fencing token. No job may ever be entered twice, whatever happens to machines, networks and
//! the database. The same state machine would run in production behind an adapter.
//!
//! Everybody's mistake is to read the ledger as soon as the process leads: an entry of the former
//! leader may still be under way. `cargo run -p election-sim --example cron -- hasty` shows how the
//! simulator reports this. Without `hasty` the service first opens its term with an entry of its
//! own, after which the ledger refuses every older one.

use election_core::{Change, Epoch};
use election_sim::{App, Context, Failure, Sim, Summary, Timing, View};
use std::{collections::BTreeSet, process::ExitCode, time::Duration};

const SECOND: Duration = Duration::from_secs(1);
const PERIOD: Duration = Duration::from_secs(10);
const OPENED: &str = "opened";

/// One replica.
#[derive(Debug)]
struct Cron {
    hasty: bool,
    /// The epoch under which it fires.
    term: Option<Epoch>,
    /// The job that it has fired but not yet found in the ledger.
    pending: Option<String>,
}

impl Cron {
    fn new(hasty: bool) -> Self {
        Self { hasty, term: None, pending: None }
    }

    /// The jobs in the ledger.
    fn fired(context: &Context<'_>) -> usize {
        context.read().iter().filter(|entry| entry.what != OPENED).count()
    }

    /// Whether the entry that opens this term has arrived: no older entry can come after it.
    fn is_open(&self, term: Epoch, context: &Context<'_>) -> bool {
        self.hasty || context.read().iter().any(|entry| entry.token == Some(term))
    }
}

impl App for Cron {
    fn changed(&mut self, change: &Change, context: &mut Context<'_>) {
        match change {
            Change::Elected(tenure) => {
                self.term = Some(tenure.term.epoch);
                self.pending = None;
                let fired = Self::fired(context);
                context.note(format_args!("goes on after {fired} jobs"));
                if !self.hasty {
                    context.write(tenure.term.epoch, OPENED);
                }
                context.wake_in(SECOND);
            }
            Change::Lost { term, .. } => {
                self.term = None;
                context.work_stopped(term.epoch);
            }
            Change::Followed { .. } | Change::Vacant | Change::Alert(_) => {}
        }
    }

    fn tick(&mut self, context: &mut Context<'_>) {
        // It asks every time whether it leads: the last change that it was told may be long ago.
        let Some(term) = self.term.filter(|term| context.lead() == Some(*term)) else { return };
        if self
            .pending
            .take_if(|job| context.read().iter().any(|entry| entry.what == *job))
            .is_some()
        {
            context.wake_in(PERIOD);
            return;
        }
        if self.pending.is_none() && self.is_open(term, context) {
            let job = format!("job {}", Self::fired(context));
            context.write(term, job.clone());
            self.pending = Some(job);
        }
        context.wake_in(SECOND);
    }
}

/// Two jobs under two terms: a replica took over and went on where the other had stopped.
fn went_on(view: &View<'_>) -> bool {
    let jobs = view.resource().accepted().iter().filter(|entry| entry.what != OPENED);
    let tokens: BTreeSet<_> = jobs.map(|entry| entry.token).collect();
    tokens.len() > 1
}

fn simulate(hasty: bool, seeds: u64) -> Result<Summary, Failure> {
    Sim::new("cron")
        .nodes(3)
        .timing(Timing::of(15 * SECOND))
        .app(move |_| Cron::new(hasty))
        .each_write("no job twice", BTreeSet::new, |seen, entry| {
            entry.what == OPENED || seen.insert(entry.what.clone())
        })
        .sometimes("a successor goes on", went_on)
        .recovers_within(60 * SECOND)
        .seeds(0..seeds)
        .check()
}

fn main() -> ExitCode {
    let hasty = std::env::args().any(|arg| arg == "hasty");
    match simulate(hasty, 1_000) {
        Ok(summary) => {
            println!("{} runs, {} elections: no job ran twice", summary.seeds, summary.elections);
            ExitCode::SUCCESS
        }
        Err(failure) => {
            println!("{failure}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cron() {
        if let Err(failure) = simulate(false, 300) {
            panic!("{failure}");
        }
    }

    #[test]
    fn haste_is_found() {
        let Err(Failure::Violated(report)) = simulate(true, 2_000) else { panic!("not found") };
        assert_eq!(report.violation.check, "no job twice");
    }
}
