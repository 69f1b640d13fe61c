//! A scheduler whose new leader fires the next job at once, from what it remembers.

use crate::{Exhibit, SECOND, replicas};
use election_core::{Change, Epoch};
use election_sim::{App, Context};
use std::collections::BTreeSet;

pub(crate) const EXHIBIT: Exhibit = Exhibit {
    name: "before_the_state",
    what: "The callback of the election acts before it has loaded the state.",
    sim: |bug| {
        let sim = replicas("before_the_state", move || Scheduler { bug, ..Scheduler::default() });
        sim.each_write("no job twice", BTreeSet::new, |seen, write| {
            write.what == OPENED || seen.insert(write.what.clone())
        })
    },
};

const OPENED: &str = "opened";

#[derive(Default)]
struct Scheduler {
    bug: bool,
    term: Option<Epoch>,
    next: u64,
    loaded: bool,
}

impl Scheduler {
    fn fire(&mut self, term: Epoch, context: &mut Context<'_>) {
        context.write(term, format!("job {}", self.next));
        self.next += 1;
    }
}

impl App for Scheduler {
    fn changed(&mut self, change: &Change, context: &mut Context<'_>) {
        match change {
            Change::Elected(tenure) => {
                let term = tenure.term.epoch;
                (self.term, self.loaded) = (Some(term), self.bug);
                if self.bug {
                    self.fire(term, context);
                } else {
                    context.write(term, OPENED);
                }
                context.wake_in(SECOND);
            }
            Change::Lost { term, .. } => {
                self.term = None;
                context.work_stopped(term.epoch);
            }
            _ => {}
        }
    }

    fn tick(&mut self, context: &mut Context<'_>) {
        let Some(term) = self.term.filter(|term| context.lead() == Some(*term)) else { return };
        context.wake_in(5 * SECOND);
        if !self.loaded {
            let entries = context.read();
            if entries.iter().any(|entry| entry.token == Some(term)) {
                let jobs = entries.iter().filter_map(|entry| entry.what.strip_prefix("job "));
                let last = jobs.filter_map(|job| job.parse::<u64>().ok()).max();
                self.next = last.map_or(0, |last| last + 1);
                self.loaded = true;
            }
        }
        if self.loaded {
            self.fire(term, context);
        }
    }
}
