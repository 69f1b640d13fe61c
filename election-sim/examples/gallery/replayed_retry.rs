//! A client of a bank repeats a payment that was not confirmed, under the term of today.

use crate::{Exhibit, SECOND, has, replicas};
use election_core::{Change, Epoch};
use election_sim::{App, Context};
use std::collections::BTreeSet;

pub(crate) const EXHIBIT: Exhibit = Exhibit {
    name: "replayed_retry",
    what: "A write that was not confirmed is repeated under a newer epoch.",
    sim: |bug| {
        let sim = replicas("replayed_retry", move || Payer { bug, ..Payer::default() });
        sim.each_write("no payment twice", BTreeSet::new, |seen, write| {
            write.what == OPENED || seen.insert(write.what.clone())
        })
    },
};

const OPENED: &str = "opened";

#[derive(Default)]
struct Payer {
    bug: bool,
    term: Option<Epoch>,
    paid: u32,
    /// A payment that was sent and not confirmed, and the term under which it was sent.
    sent: Option<(String, Epoch)>,
}

impl App for Payer {
    fn changed(&mut self, change: &Change, context: &mut Context<'_>) {
        match change {
            Change::Elected(tenure) => {
                self.term = Some(tenure.term.epoch);
                context.write(tenure.term.epoch, OPENED);
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
        let is_open = context.read().iter().any(|entry| entry.token == Some(term));
        match self.sent.take() {
            Some((payment, _)) if has(context, &payment) => {}
            Some((payment, under)) if under < term && (self.bug || is_open) => {
                // From when the term is open, a payment that is not there never comes.
                context.write(term, payment.clone());
                self.sent = Some((payment, term));
            }
            waits @ Some(_) => self.sent = waits,
            None => {
                self.paid += 1;
                let payment = format!("payment {} of node {} in {term}", self.paid, context.node());
                context.write(term, payment.clone());
                self.sent = Some((payment, term));
            }
        }
    }
}
