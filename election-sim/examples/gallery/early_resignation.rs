//! A worker that resigns to let its machine restart, in the middle of a batch.

use crate::{Exhibit, SECOND, replicas};
use election_core::{Change, Epoch};
use election_sim::{App, Context};

pub(crate) const EXHIBIT: Exhibit = Exhibit {
    name: "early_resignation",
    what: "Leadership is given up before the work has stopped.",
    sim: |bug| replicas("early_resignation", move || Worker { bug, term: None, left: 0 }),
};

const BATCH: u32 = 20;

struct Worker {
    bug: bool,
    term: Option<Epoch>,
    left: u32,
}

impl App for Worker {
    fn changed(&mut self, change: &Change, context: &mut Context<'_>) {
        match change {
            Change::Elected(tenure) => {
                (self.term, self.left) = (Some(tenure.term.epoch), BATCH);
                context.wake_in(SECOND);
            }
            Change::Lost { term, .. } => {
                if !self.bug {
                    self.term = None;
                }
                context.work_stopped(term.epoch);
            }
            _ => {}
        }
    }

    fn tick(&mut self, context: &mut Context<'_>) {
        let Some(term) = self.term else { return };
        context.write(term, format!("item {} of {term}", self.left));
        self.left -= 1;
        let done = if self.bug { BATCH / 2 } else { 0 };
        if self.left == done {
            context.resign();
        }
        if self.left > 0 {
            context.wake_in(SECOND);
        }
    }
}
