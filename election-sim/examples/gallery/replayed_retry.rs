//! A client of a bank repeats a payment that was not confirmed, under the term of today.

use crate::{Exhibit, Leadership, OPENED, SECOND, has, is_open, once, replicas};
use election_core::{Change, Epoch};
use election_sim::{App, Context};
use std::collections::BTreeSet;

pub(crate) const EXHIBIT: Exhibit = Exhibit {
    name: "replayed_retry",
    what: "A write that was not confirmed is repeated under a newer epoch.",
    sim: |bug| {
        let sim = replicas("replayed_retry", move || Payer { bug, ..Payer::default() });
        sim.each_write("no payment twice", BTreeSet::new, once)
    },
};

#[derive(Default)]
struct Payer {
    bug: bool,
    leadership: Leadership,
    paid: u32,
    /// A payment that was sent and not confirmed, and the epoch under which it was sent.
    sent: Option<(String, Epoch)>,
}

impl App for Payer {
    fn changed(&mut self, change: &Change, context: &mut Context<'_>) {
        if let Some(epoch) = self.leadership.take(change, context) {
            context.write(epoch, OPENED);
        }
    }

    fn tick(&mut self, context: &mut Context<'_>) {
        let Some(epoch) = self.leadership.now(context) else { return };
        context.wake_in(SECOND);
        let payment = match self.sent.take().filter(|(payment, _)| !has(context, payment)) {
            // From when the term is open, a payment that is not there never comes.
            Some((payment, under)) if under < epoch && (self.bug || is_open(epoch, context)) => {
                payment
            }
            Some(waits) => return self.sent = Some(waits),
            None => {
                self.paid += 1;
                format!("payment {} of node {} in {epoch}", self.paid, context.node())
            }
        };
        context.write(epoch, payment.clone());
        self.sent = Some((payment, epoch));
    }
}
