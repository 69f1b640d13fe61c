//! A report that the leader sends a while after it was asked for.

use crate::{Exhibit, SECOND, replicas};
use election_core::{Change, Epoch};
use election_sim::{App, Context};

pub(crate) const EXHIBIT: Exhibit = Exhibit {
    name: "surviving_timer",
    what: "A timer that the leader has set fires after leadership is over.",
    sim: |bug| replicas("surviving_timer", move || Reporter { bug, due: None }),
};

struct Reporter {
    bug: bool,
    due: Option<Epoch>,
}

impl App for Reporter {
    fn changed(&mut self, change: &Change, context: &mut Context<'_>) {
        match change {
            Change::Elected(tenure) => {
                self.due = Some(tenure.term.epoch);
                context.wake_in(40 * SECOND);
            }
            Change::Lost { term, .. } => {
                if !self.bug {
                    self.due = None;
                }
                context.work_stopped(term.epoch);
            }
            _ => {}
        }
    }

    fn tick(&mut self, context: &mut Context<'_>) {
        if let Some(term) = self.due.take() {
            context.write(term, format!("report of {term}"));
        }
    }
}
