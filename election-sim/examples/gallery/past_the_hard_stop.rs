//! A worker that finishes its batch after leadership is over, as it may until the hard stop.

use crate::{Exhibit, SECOND, replicas};
use election_core::{Change, Epoch, Timestamp};
use election_sim::{App, Context};

pub(crate) const EXHIBIT: Exhibit = Exhibit {
    name: "past_the_hard_stop",
    what: "Work that is told to stop goes on past its hard stop.",
    sim: |bug| replicas("past_the_hard_stop", move || Worker { bug, ..Worker::default() }),
};

const BATCH: u32 = 200;

#[derive(Default)]
struct Worker {
    bug: bool,
    term: Option<Epoch>,
    left: u32,
    stop_by: Option<Timestamp>,
}

impl App for Worker {
    fn changed(&mut self, change: &Change, context: &mut Context<'_>) {
        match change {
            Change::Elected(tenure) => {
                (self.term, self.left, self.stop_by) = (Some(tenure.term.epoch), BATCH, None);
                context.wake_in(SECOND / 4);
            }
            Change::Lost { term, stop_by, .. } => {
                self.stop_by = Some(*stop_by);
                if self.term.is_none() {
                    context.work_stopped(term.epoch);
                }
            }
            _ => {}
        }
    }

    fn tick(&mut self, context: &mut Context<'_>) {
        let Some(term) = self.term else { return };
        let late = |stop_by| !self.bug && context.now() >= stop_by;
        if self.left == 0 || self.stop_by.is_some_and(late) {
            self.term = None;
            return match self.stop_by {
                Some(_) => context.work_stopped(term),
                None => context.resign(),
            };
        }
        self.left -= 1;
        context.write_while_stopping(term, format!("item {} of {term}", self.left));
        context.wake_in(SECOND / 4);
    }
}
