//! Another elector of this node's name: a process, or the same election once more in this one.
//!
//! The row of a former life of this process looks the same at first. But nobody renews that, or wins
//! again under its name.

use election_core::{
    Candidate, Epoch, Incarnation,
    lease::{Answer, Row},
};
use tracing::warn;

/// What the row said when it last named another life of this node.
#[derive(Default)]
pub(super) struct DuplicateId {
    seen: Option<(Incarnation, Epoch, u64)>,
    told: bool,
}

impl DuplicateId {
    /// Says once that such a process is alive.
    pub(super) fn look(&mut self, own: &Candidate, answer: &Answer) {
        let Answer::Seen(row) = answer else { return };
        let Some(other) = life(own, row) else { return };
        let seen = (other, row.epoch, row.renewals);
        let lives = self.seen.replace(seen).is_some_and(|before| before != seen);
        if lives && !self.told {
            self.told = true;
            let node = &own.id;
            warn!(
                event = "duplicate_id",
                incarnation = %other,
                "another elector takes part as {node} (incarnation {other}; this one is {}): give \
                 every process its own name (`--node`, `Builder::node`), and start an election only \
                 once in a process",
                own.incarnation
            );
        }
    }
}

/// The other life of this node that leads.
fn life(own: &Candidate, row: &Row) -> Option<Incarnation> {
    let holder = &row.live_holder()?.candidate;
    let is_other = holder.id == own.id && holder.incarnation != own.incarnation;
    is_other.then_some(holder.incarnation)
}
