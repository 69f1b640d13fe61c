//! Two workers of one process do the same job. The first to finish reports that the work has ended.

use crate::{Exhibit, SECOND, replicas};
use election_core::{Change, Epoch};
use election_sim::{App, Context};

pub(crate) const EXHIBIT: Exhibit = Exhibit {
    name: "shared_leadership",
    what: "Two parts of a process work under one leadership, and one ends it for both.",
    sim: |bug| replicas("shared_leadership", move || Workers { bug, term: None, left: [0; 2] }),
};

struct Workers {
    bug: bool,
    term: Option<Epoch>,
    /// The items that each of them still has to do.
    left: [u32; 2],
}

impl App for Workers {
    fn changed(&mut self, change: &Change, context: &mut Context<'_>) {
        match change {
            Change::Elected(tenure) => {
                (self.term, self.left) = (Some(tenure.term.epoch), [5, 15]);
                context.wake_in(SECOND);
            }
            Change::Lost { term, .. } => {
                // The bug: only the first worker listens.
                self.left = if self.bug { [0, self.left[1]] } else { [0; 2] };
                context.work_stopped(term.epoch);
            }
            _ => {}
        }
    }

    fn tick(&mut self, context: &mut Context<'_>) {
        let Some(term) = self.term else { return };
        for (worker, left) in self.left.iter_mut().enumerate().filter(|(_, left)| **left > 0) {
            context.write(term, format!("item {left} of worker {worker}"));
            *left -= 1;
        }
        let done = if self.bug { self.left[0] == 0 } else { self.left == [0; 2] };
        if done {
            context.resign();
        }
        if self.left != [0; 2] {
            context.wake_in(SECOND);
        }
    }
}
