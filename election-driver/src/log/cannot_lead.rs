//! Wins that this process could not lead by, and a free row that it could not take. One happens when an
//! answer is late, or somebody else is faster. If they follow each other, nobody leads, and only an
//! operator can mend that.

use election_core::{Epoch, lease::Answer};
use tracing::warn;

/// So many attempts in a row do not take a free row by chance.
const UNTAKEN: u32 = 3;

/// What was in vain so far.
#[derive(Default)]
pub(super) struct CannotLead {
    /// The last win that the database has reported, and the highest epoch known when it was asked for.
    won: Option<(Epoch, Epoch)>,
    /// How many wins in a row were given back without having been led.
    times: u32,
    /// How many attempts in a row have found the row free and left it so.
    untaken: u32,
}

impl CannotLead {
    pub(super) fn won(&mut self, epoch: Epoch, seen: Epoch) {
        self.won = Some((epoch, seen));
    }

    /// An attempt was answered. Behind a promotion the row stays free for a while, and that is told
    /// otherwise.
    pub(super) fn attempted(&mut self, answer: &Answer) {
        let row = match answer {
            Answer::Seen(row) if row.holder.is_none() && !row.server.follows() => row,
            _ => return self.untaken = 0,
        };
        self.untaken = self.untaken.saturating_add(1);
        if self.untaken == UNTAKEN {
            let epoch = row.epoch.get();
            let cause = "a trigger or rule on the leader table prevents the write";
            warn!(
                event = "cannot_lead",
                epoch, cause, "nobody leads, and this process cannot take the lease: {cause}"
            );
        }
    }

    /// This process leads.
    pub(super) fn ends(&mut self) {
        self.times = 0;
    }

    /// A term was given back that this process has never led. Says so the second time.
    pub(super) fn given_back(&mut self, epoch: Epoch) {
        self.times = self.times.saturating_add(1);
        if self.times != 2 {
            return;
        }
        let cause = match self.won.filter(|(won, _)| *won == epoch) {
            Some((_, seen)) if epoch <= seen => format!(
                "epoch {epoch} is not above {seen}, which this process has seen; a trigger on the \
                 leader table changes what is written, or another program writes to the table"
            ),
            Some(_) => {
                "the answers arrive too late to lead, or this process is unfit to lead; the \
                 database is too slow for this ttl"
                    .to_owned()
            }
            None => "the row names this process, which has not won; a trigger on the leader table \
                     hides what is written, or a copy of this process runs elsewhere"
                .to_owned(),
        };
        let epoch = epoch.get();
        warn!(
            event = "cannot_lead",
            epoch, cause, "elected repeatedly without being able to lead: {cause}"
        );
    }
}
