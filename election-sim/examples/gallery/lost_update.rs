//! A counter that a new leader reads as soon as it leads, while a write of the former leader is
//! still under way.

use crate::{Exhibit, SECOND, replicas};
use election_core::{Change, Epoch};
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

const OPENED: &str = "opened";

#[derive(Default)]
struct Counter {
    bug: bool,
    term: Option<Epoch>,
    /// What was written, until it is seen.
    pending: Option<String>,
}

impl App for Counter {
    fn changed(&mut self, change: &Change, context: &mut Context<'_>) {
        match change {
            Change::Elected(tenure) => {
                (self.term, self.pending) = (Some(tenure.term.epoch), None);
                if !self.bug {
                    // From when this is there, the fence refuses whatever was sent before.
                    context.write(tenure.term.epoch, OPENED);
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
        context.wake_in(SECOND);
        let entries = context.read();
        let is_open = self.bug || entries.iter().any(|entry| entry.token == Some(term));
        let arrived = |value: &String| entries.iter().any(|entry| entry.what == *value);
        if !is_open || self.pending.as_ref().is_some_and(|value| !arrived(value)) {
            return;
        }
        let value = entries.iter().filter(|entry| entry.what != OPENED).count() + 1;
        self.pending = Some(value.to_string());
        context.write(term, value.to_string());
    }
}
