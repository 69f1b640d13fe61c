//! Ten bugs that services really have, each with its repair, and how the simulator finds it.
//!
//! `cargo run -p election-sim --example gallery -- cached_leadership` shows the report of one bug,
//! and without a name how many seeds each takes. The services are small, but each is wrong in a way
//! that passes every test on a quiet machine.

mod after_the_loss;
mod before_the_commit;
mod before_the_state;
mod cached_leadership;
mod early_resignation;
mod lost_update;
mod past_the_hard_stop;
mod replayed_retry;
mod shared_leadership;
mod surviving_timer;

use election_core::{Change, Epoch};
use election_sim::{App, Context, Failure, Report, Sim, Timing, Write};
use std::{collections::BTreeSet, process::ExitCode, time::Duration};

const SECOND: Duration = Duration::from_secs(1);
/// The seeds within which a bug has to be found.
const ENOUGH: u64 = 50;

/// A bug.
struct Exhibit {
    name: &'static str,
    what: &'static str,
    /// The simulation of the service, with its bug or without.
    sim: fn(bool) -> Sim,
}

const GALLERY: &[Exhibit] = &[
    cached_leadership::EXHIBIT,
    after_the_loss::EXHIBIT,
    lost_update::EXHIBIT,
    surviving_timer::EXHIBIT,
    before_the_state::EXHIBIT,
    before_the_commit::EXHIBIT,
    early_resignation::EXHIBIT,
    shared_leadership::EXHIBIT,
    replayed_retry::EXHIBIT,
    past_the_hard_stop::EXHIBIT,
];

/// A simulation of three replicas.
fn replicas<A: App + 'static>(name: &str, make: impl Fn() -> A + Send + Sync + 'static) -> Sim {
    Sim::new(name).nodes(3).timing(Timing::of(15 * SECOND)).app(move |_| make())
}

/// The leadership of a service that asks before every act.
#[derive(Default)]
struct Leadership(Option<Epoch>);

impl Leadership {
    /// Takes a change. Returns the epoch of a leadership that begins, and ticks a second later.
    fn take(&mut self, change: &Change, context: &mut Context<'_>) -> Option<Epoch> {
        match change {
            Change::Elected(tenure) => {
                self.0 = Some(tenure.term.epoch);
                context.wake_in(SECOND);
                return self.0;
            }
            Change::Lost { term, .. } => {
                self.0 = None;
                context.work_stopped(term.epoch);
            }
            _ => {}
        }
        None
    }

    /// The epoch, if the process leads at this instant.
    fn now(&self, context: &Context<'_>) -> Option<Epoch> {
        self.0.filter(|epoch| context.lead() == Some(*epoch))
    }
}

/// What opens a term: from when the ledger has accepted it, the fence refuses whatever was sent
/// under an earlier one.
const OPENED: &str = "opened";

/// Whether the ledger has accepted an entry under this epoch.
fn is_open(epoch: Epoch, context: &Context<'_>) -> bool {
    context.read().iter().any(|entry| entry.token == Some(epoch))
}

/// Whether the ledger has this entry.
fn has(context: &Context<'_>, what: &str) -> bool {
    context.read().iter().any(|entry| entry.what == what)
}

/// The condition that no entry but an opening comes twice.
fn once(seen: &mut BTreeSet<String>, entry: &Write) -> bool {
    entry.what == OPENED || seen.insert(entry.what.clone())
}

impl Exhibit {
    fn found(&self) -> Option<Box<Report>> {
        match (self.sim)(true).seeds(0..ENOUGH).check() {
            Err(Failure::Violated(report)) => Some(report),
            _ => None,
        }
    }
}

fn main() -> ExitCode {
    let name = std::env::args().nth(1);
    if let Some(name) = name {
        let Some(exhibit) = GALLERY.iter().find(|exhibit| exhibit.name == name) else {
            let names: Vec<_> = GALLERY.iter().map(|exhibit| exhibit.name).collect();
            println!("{name:?} is not in the gallery: {}", names.join(", "));
            return ExitCode::FAILURE;
        };
        match exhibit.found() {
            Some(report) => println!("{}\n\n{report}", exhibit.what),
            None => println!("not found in {ENOUGH} seeds"),
        }
        return ExitCode::SUCCESS;
    }
    for exhibit in GALLERY {
        let report = exhibit.found();
        let found = report.map_or("not found".to_owned(), |report| {
            let faults = report.scn.schedule.faults.len();
            format!("seed {}, faults left: {faults}, {}", report.seed, report.violation.check)
        });
        println!("{:<20} {found}", exhibit.name);
    }
    ExitCode::SUCCESS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bug_is_found_within_fifty_seeds() {
        for exhibit in GALLERY {
            assert!(exhibit.found().is_some(), "{} was not found", exhibit.name);
        }
    }

    #[test]
    fn every_repaired_service_passes() {
        for exhibit in GALLERY {
            if let Err(failure) = (exhibit.sim)(false).seeds(0..2_000).check() {
                panic!("{}: {failure}", exhibit.name);
            }
        }
    }
}
