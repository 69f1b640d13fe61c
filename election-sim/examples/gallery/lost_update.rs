//! A counter that a new leader reads as soon as it leads, while a write of the former leader is
//! still under way.

use crate::{Exhibit, Leadership, OPENED, SECOND, has, is_open, replicas};
use election_core::Change;
use election_sim::{App, Context};

pub(crate) const EXHIBIT: Exhibit = Exhibit {
    name: "lost_update",
    what: "A value is read, changed and written without opening the term first.",
    sim: |bug| {
        let sim = replicas("lost_update", move || Counter { bug, ..Counter::default() });
        sim.each_write(
            "no update is lost",
            || 0,
            |last, write| {
                let Ok(value) = write.what.parse::<u64>() else { return true };
                *last += 1;
                value == *last
            },
        )
    },
};

#[derive(Default)]
struct Counter {
    bug: bool,
    leadership: Leadership,
    /// What was written, until it is seen.
    pending: Option<String>,
}

impl App for Counter {
    fn changed(&mut self, change: &Change, context: &mut Context<'_>) {
        if let Some(epoch) = self.leadership.take(change, context) {
            self.pending = None;
            if !self.bug {
                context.write(epoch, OPENED);
            }
        }
    }

    fn tick(&mut self, context: &mut Context<'_>) {
        let Some(epoch) = self.leadership.now(context) else { return };
        context.wake_in(SECOND);
        let waits = self.pending.as_ref().is_some_and(|value| !has(context, value));
        if waits || !(self.bug || is_open(epoch, context)) {
            return;
        }
        let value = context.read().iter().filter(|entry| entry.what != OPENED).count() + 1;
        self.pending = Some(value.to_string());
        context.write(epoch, value.to_string());
    }
}
