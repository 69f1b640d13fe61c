//! A scheduler whose new leader fires the next job at once, from what it remembers.

use crate::{Exhibit, Leadership, OPENED, SECOND, is_open, once, replicas};
use election_core::{Change, Epoch};
use election_sim::{App, Context};
use std::collections::BTreeSet;

pub(crate) const EXHIBIT: Exhibit = Exhibit {
    name: "before_the_state",
    what: "The callback of the election acts before it has loaded the state.",
    sim: |bug| {
        let sim = replicas("before_the_state", move || Scheduler { bug, ..Scheduler::default() });
        sim.each_write("no job twice", BTreeSet::new, once)
    },
};

#[derive(Default)]
struct Scheduler {
    bug: bool,
    leadership: Leadership,
    next: u64,
    loaded: bool,
}

impl Scheduler {
    fn fire(&mut self, epoch: Epoch, context: &mut Context<'_>) {
        context.write(epoch, format!("job {}", self.next));
        self.next += 1;
    }
}

impl App for Scheduler {
    fn changed(&mut self, change: &Change, context: &mut Context<'_>) {
        let Some(epoch) = self.leadership.take(change, context) else { return };
        self.loaded = self.bug;
        if self.bug {
            self.fire(epoch, context);
        } else {
            context.write(epoch, OPENED);
        }
    }

    fn tick(&mut self, context: &mut Context<'_>) {
        let Some(epoch) = self.leadership.now(context) else { return };
        context.wake_in(5 * SECOND);
        if !self.loaded && is_open(epoch, context) {
            let jobs = context.read().iter().filter_map(|entry| entry.what.strip_prefix("job "));
            let last = jobs.filter_map(|job| job.parse::<u64>().ok()).max();
            self.next = last.map_or(0, |last| last + 1);
            self.loaded = true;
        }
        if self.loaded {
            self.fire(epoch, context);
        }
    }
}
