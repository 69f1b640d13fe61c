//! A mailer that sends a mail and then enters in the ledger that it was sent.

use crate::{Exhibit, Leadership, OPENED, SECOND, has, is_open, replicas};
use election_core::{Change, Epoch};
use election_sim::{App, Context};
use std::collections::BTreeSet;

pub(crate) const EXHIBIT: Exhibit = Exhibit {
    name: "before_the_commit",
    what: "A side effect happens before the commit that records it.",
    sim: |bug| {
        let sim = replicas("before_the_commit", move || Mailer { bug, ..Mailer::default() });
        sim.each_write("no mail twice", BTreeSet::new, |seen, write| {
            !write.what.starts_with("mail") || seen.insert(write.what.clone())
        })
    },
};

#[derive(Default)]
struct Mailer {
    bug: bool,
    leadership: Leadership,
    /// The mail whose entry is under way.
    pending: Option<usize>,
}

/// What the ledger has of a mail that is sent, under the token of its term.
fn entry(mail: usize, epoch: Epoch) -> String {
    format!("sent {mail} in {epoch}")
}

/// A mail server knows no fence.
fn send(mail: usize, context: &mut Context<'_>) {
    context.write_without_leading(None, format!("mail {mail}"));
}

impl App for Mailer {
    fn changed(&mut self, change: &Change, context: &mut Context<'_>) {
        if let Some(epoch) = self.leadership.take(change, context) {
            self.pending = None;
            context.write(epoch, OPENED);
        }
    }

    fn tick(&mut self, context: &mut Context<'_>) {
        let Some(epoch) = self.leadership.now(context) else { return };
        context.wake_in(SECOND);
        if let Some(mail) = self.pending.take_if(|mail| has(context, &entry(*mail, epoch))) {
            if !self.bug {
                send(mail, context); // the entry that was accepted is the permission
            }
        }
        if self.pending.is_none() && is_open(epoch, context) {
            let mail = context.read().iter().filter(|one| one.what.starts_with("sent")).count();
            if self.bug {
                send(mail, context);
            }
            context.write(epoch, entry(mail, epoch));
            self.pending = Some(mail);
        }
    }
}
