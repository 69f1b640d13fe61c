//! A mailer that sends a mail and then enters in the ledger that it was sent.

use crate::{Exhibit, SECOND, has, replicas};
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
    term: Option<Epoch>,
    /// The mail whose entry is under way.
    pending: Option<usize>,
}

/// What enters in the ledger, under the token of its term, that a mail is sent.
fn entry(mail: usize, term: Epoch) -> String {
    format!("sent {mail} in {term}")
}

impl App for Mailer {
    fn changed(&mut self, change: &Change, context: &mut Context<'_>) {
        match change {
            Change::Elected(tenure) => {
                (self.term, self.pending) = (Some(tenure.term.epoch), None);
                context.write(tenure.term.epoch, "opened");
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
        if let Some(mail) = self.pending.take_if(|mail| has(context, &entry(*mail, term))) {
            if !self.bug {
                // A mail server knows no fence. The entry that was accepted is the permission.
                context.write_without_leading(None, format!("mail {mail}"));
            }
        }
        let is_open = context.read().iter().any(|entry| entry.token == Some(term));
        if self.pending.is_none() && is_open {
            let mail = context.read().iter().filter(|one| one.what.starts_with("sent")).count();
            if self.bug {
                context.write_without_leading(None, format!("mail {mail}"));
            }
            context.write(term, entry(mail, term));
            self.pending = Some(mail);
        }
    }
}
