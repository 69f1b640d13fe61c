//! A job of many steps, of which only the first asks whether the process leads.

use crate::{Exhibit, SECOND, replicas};
use election_core::{Change, Epoch};
use election_sim::{App, Context};

pub(crate) const EXHIBIT: Exhibit = Exhibit {
    name: "after_the_loss",
    what: "A job goes on after its leadership is over.",
    sim: |bug| replicas("after_the_loss", move || Job { bug, term: None, steps: 0 }),
};

const STEPS: u32 = 30;

struct Job {
    bug: bool,
    term: Option<Epoch>,
    steps: u32,
}

impl App for Job {
    fn changed(&mut self, change: &Change, context: &mut Context<'_>) {
        match change {
            Change::Elected(tenure) => {
                (self.term, self.steps) = (Some(tenure.term.epoch), 0);
                context.wake_in(SECOND);
            }
            Change::Lost { term, .. } if !self.bug => {
                self.term = None;
                context.work_stopped(term.epoch);
            }
            _ => {}
        }
    }

    fn tick(&mut self, context: &mut Context<'_>) {
        let Some(term) = self.term else { return };
        self.steps += 1;
        context.write(term, format!("step {} of {term}", self.steps));
        if self.steps < STEPS {
            context.wake_in(SECOND);
        }
    }
}
