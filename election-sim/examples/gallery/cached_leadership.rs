//! `is_leader` is asked every five seconds, and the answer is used in between.

use crate::{Exhibit, SECOND, replicas};
use election_core::{Change, Epoch, Timestamp};
use election_sim::{App, Context};

pub(crate) const EXHIBIT: Exhibit = Exhibit {
    name: "cached_leadership",
    what: "The answer to `is_leader` is cached for five seconds.",
    sim: |bug| replicas("cached_leadership", move || Counter { bug, cached: None }),
};

struct Counter {
    bug: bool,
    cached: Option<(Timestamp, Option<Epoch>)>,
}

impl Counter {
    fn leads(&mut self, context: &Context<'_>) -> Option<Epoch> {
        let fresh = |asked: &Timestamp| self.bug && context.now() < *asked + 5 * SECOND;
        match self.cached.filter(|(asked, _)| fresh(asked)) {
            Some((_, answer)) => answer,
            None => {
                let answer = context.lead();
                self.cached = Some((context.now(), answer));
                answer
            }
        }
    }
}

impl App for Counter {
    fn started(&mut self, context: &mut Context<'_>) {
        context.wake_in(SECOND);
    }

    fn changed(&mut self, _: &Change, _: &mut Context<'_>) {}

    fn tick(&mut self, context: &mut Context<'_>) {
        if let Some(epoch) = self.leads(context) {
            context.write(epoch, "one more");
        }
        context.wake_in(SECOND);
    }
}
