//! The row that decides, as a pure value: what each statement of the lease means.
//!
//! This is the specification against which the SQL of every dialect is tested. One [`Table`] is one
//! namespace (no statement ever touches two). [`Table::run`] is one atomic statement at the
//! database clock's reading `now_ms`. The database around the table handles everything that goes
//! wrong around a statement: it waits for a lock with its clock frozen, executes after its client
//! gave up, or is answered twice or never.
//!
//! | query | takes effect if | effect |
//! | --- | --- | --- |
//! | attempt | vacant, or `expires ≤ now`; and the history is outlasted | `epoch = max(epoch + 1, now + (history − 1) · 2^42, seen + 1)`, `expires = now + ttl + clock step` |
//! | take over | epoch, holder, renewals and history are exactly as given | the same |
//! | renew | own epoch, `expires > now`, ordinal above every earlier one; for who does not lead, the history is outlasted | `expires = now + ttl + clock step` |
//! | resign | own epoch, live or not | vacant, `expires = now` |
//! | request resignation | epoch as given, held | remembered until the next epoch |
//! | register | always | on the list until `now + ttl`; the first call of a life sweeps the list |
//!
//! A *history* is what one server has written after another ([`Promoted`]). The first follows none. A
//! later one is *outlasted* once it has been known for the longer of the row's ttl and that of the
//! statement, and for the clock step more. The first attempt behind it records since when it is known,
//! and so does one that finds the record in the future. While it is not known for the row's ttl, who
//! leads renews whatever `expires` says.
//!
//! An expired lease still names its holder in the row until somebody takes it; only the clock says
//! that it is over. The row is never deleted, or the epoch would start over.

mod leader;
mod promoted;
mod span;

pub use leader::Leader;
pub use promoted::Promoted;

use election_core::{
    Candidate, Epoch, Incarnation, Label,
    lease::{Answer, Query},
    sql::CandidateRow,
};
use span::{millis, until};
use std::collections::BTreeMap;

/// The leader row and the list of candidates of one namespace.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Table {
    leader: Leader,
    /// Keyed like the primary key.
    candidates: BTreeMap<Candidate, Entry>,
    server: Promoted,
}

/// A candidate's place on the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// What the candidate publishes about itself.
    pub label: Option<Label>,
    /// When it last registered, in unix milliseconds of the database's clock.
    pub heartbeat_ms: i64,
    /// When the entry ends unless renewed, by the same clock.
    pub expires_ms: i64,
}

impl Table {
    /// A namespace in which nobody ever led.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The leader row.
    #[must_use]
    pub fn leader(&self) -> &Leader {
        &self.leader
    }

    /// Executes one statement of `who` at the database clock's reading `now_ms`.
    pub fn run(
        &mut self,
        who: &Candidate,
        label: Option<&Label>,
        query: &Query,
        now_ms: i64,
    ) -> Answer {
        match query {
            Query::Register { ttl, sweep } => {
                let entry = Entry {
                    label: label.cloned(),
                    heartbeat_ms: now_ms,
                    expires_ms: now_ms.saturating_add(millis(*ttl)),
                };
                self.candidates.insert(who.clone(), entry);
                if *sweep {
                    let long_gone = now_ms.saturating_sub(DAY_MS);
                    self.candidates.retain(|_, entry| entry.expires_ms >= long_gone);
                }
                Answer::Listed
            }
            Query::Unregister => {
                self.candidates.remove(who);
                Answer::Listed
            }
            Query::Others => {
                Answer::Others(self.candidates(now_ms).any(|listed| listed.candidate != *who))
            }
            _ => {
                if matches!(query, Query::Attempt { .. }) {
                    self.server.found(now_ms);
                }
                self.leader.run(who, label, query, &self.server, now_ms)
            }
        }
    }

    /// The candidates whose entry has not ended, sorted by name and incarnation.
    pub fn candidates(&self, now_ms: i64) -> impl Iterator<Item = CandidateRow> {
        let live = self.candidates.iter().filter(move |(_, entry)| entry.expires_ms > now_ms);
        live.map(move |(who, entry)| CandidateRow {
            candidate: who.clone(),
            label: entry.label.clone(),
            last_heartbeat_ms: entry.heartbeat_ms,
            remaining: until(entry.expires_ms, now_ms),
        })
    }

    /// All entries of the list, ended or not.
    pub fn entries(&self) -> impl ExactSizeIterator<Item = (&Candidate, &Entry)> {
        self.candidates.iter()
    }

    /// Asks the holder of `term` to resign, and says whether there was a holder. Any process that
    /// can write to the database may ask. Nothing else changes.
    pub fn request_resignation(&mut self, term: Epoch) -> bool {
        let asked = self.leader.term == term.get() && self.leader.holder.is_some();
        if asked {
            self.leader.resign_requested = Some(term.get());
        }
        asked
    }

    /// The fence: whether a transaction of `who` under `term` may go on at `now_ms`.
    #[must_use]
    pub fn fence(&self, who: &Candidate, term: Epoch, now_ms: i64) -> bool {
        self.leader.is_held(who, term.get()) && self.leader.expires_ms > now_ms
    }

    /// The history of the server, and the record of it.
    #[must_use]
    pub fn server(&self) -> Promoted {
        self.server
    }

    /// Another server holds the table from now on.
    pub fn set_server(&mut self, server: Promoted) {
        self.server = server;
    }

    pub(crate) fn leader_mut(&mut self) -> &mut Leader {
        &mut self.leader
    }
}

/// Entries are swept away a day after they end.
const DAY_MS: i64 = 86_400_000;

/// A candidate for tests and worlds: a name, and a number in place of a random incarnation.
pub(crate) fn candidate(id: &str, incarnation: u128) -> Candidate {
    let id = election_core::NodeId::new(id).unwrap_or_else(|why| panic!("{id:?}: {why}"));
    Candidate { id, incarnation: Incarnation::new(uuid::Uuid::from_u128(incarnation)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use election_core::lease::Server;
    use std::time::Duration;

    const TTL: Duration = Duration::from_secs(15);

    fn register(sweep: bool) -> Query {
        Query::Register { ttl: TTL, sweep }
    }

    fn attempt(seen: u64) -> Query {
        Query::Attempt { seen: Epoch::new(seen), ttl: TTL, clock_step: Duration::ZERO }
    }

    fn won(answer: &Answer) -> Option<u64> {
        match answer {
            Answer::Won { epoch, .. } => Some(epoch.get()),
            _ => None,
        }
    }

    #[test]
    fn one_of_two_wins_and_the_other_is_told_who() {
        let (a, b) = (candidate("a", 1), candidate("b", 2));
        let mut table = Table::new();
        assert_eq!(won(&table.run(&a, None, &attempt(0), 1_000)), Some(1_000));
        let Answer::Seen(row) = table.run(&b, None, &attempt(0), 1_001) else { panic!("taken") };
        assert_eq!(row.holder.as_ref().map(|held| &held.candidate), Some(&a));
        assert_eq!(row.remaining, Duration::from_millis(14_999));
        // In the very millisecond in which the lease ends it is free, under a higher epoch.
        assert_eq!(won(&table.run(&b, None, &attempt(0), 16_000)), Some(16_000));
    }

    #[test]
    fn a_term_never_repeats_even_if_the_clock_goes_back() {
        let a = candidate("a", 1);
        let mut table = Table::new();
        assert_eq!(won(&table.run(&a, None, &attempt(0), 50_000)), Some(50_000));
        table.run(&a, None, &Query::Resign { epoch: Epoch::new(50_000) }, 50_001);
        assert_eq!(won(&table.run(&a, None, &attempt(0), 10)), Some(50_001));
        table.run(&a, None, &Query::Resign { epoch: Epoch::new(50_001) }, 11);
        assert_eq!(won(&table.run(&a, None, &attempt(90_000), 12)), Some(90_001));
    }

    #[test]
    fn renew_and_resign_touch_their_own_term_only() {
        let (a, twin) = (candidate("a", 1), candidate("a", 2));
        let renew = |term, ordinal| Query::Renew {
            epoch: Epoch::new(term),
            ordinal,
            ttl: TTL,
            clock_step: Duration::ZERO,
            leads: true,
        };
        let mut table = Table::new();
        table.run(&a, None, &attempt(0), 1_000);
        let before = table.clone();
        assert_eq!(table.run(&a, None, &renew(999, 1), 2_000), Answer::Gone);
        assert_eq!(table.run(&twin, None, &renew(1_000, 1), 2_000), Answer::Gone);
        for (who, term) in [(&a, 999), (&twin, 1_000)] {
            table.run(who, None, &Query::Resign { epoch: Epoch::new(term) }, 2_000);
        }
        assert_eq!(table, before);
        assert!(matches!(table.run(&a, None, &renew(1_000, 2), 5_000), Answer::Renewed { .. }));
        // The renewal that was stuck and comes after its own successor.
        assert_eq!(table.run(&a, None, &renew(1_000, 1), 3_000), Answer::Gone);
        assert_eq!(table.leader().expires_ms, 20_000);
        assert_eq!(table.run(&a, None, &renew(1_000, 3), 20_000), Answer::Gone);
    }

    #[test]
    fn a_take_over_needs_the_row_exactly_as_it_was_seen() {
        let (a, b) = (candidate("a", 1), candidate("b", 2));
        let take_over = |renewals| Query::TakeOver {
            seen: Epoch::NONE,
            ttl: TTL,
            epoch: Epoch::new(9_000),
            holder: Some(a.clone()),
            renewals,
            server: Server::FIRST,
            clock_step: Duration::ZERO,
        };
        let mut table = Table::new();
        table.run(&a, None, &attempt(0), 9_000);
        assert!(matches!(table.run(&b, None, &take_over(1), 5), Answer::Seen(_)));
        assert_eq!(won(&table.run(&b, None, &take_over(0), 5)), Some(9_001));
    }

    #[test]
    fn a_resignation_can_be_asked_of_one_term() {
        let a = candidate("a", 1);
        let mut table = Table::new();
        table.run(&a, None, &attempt(0), 1_000);
        assert!(!table.request_resignation(Epoch::new(999)));
        assert!(!table.leader().row(&table.server(), 1_001).resign_requested);
        assert!(table.request_resignation(Epoch::new(1_000)));
        assert!(table.leader().row(&table.server(), 1_001).resign_requested);
        let renew = Query::Renew {
            epoch: Epoch::new(1_000),
            ordinal: 1,
            ttl: TTL,
            clock_step: Duration::ZERO,
            leads: true,
        };
        let answer = table.run(&a, None, &renew, 1_002);
        assert_eq!(answer, Answer::Renewed { remaining: TTL, resign_requested: true });
        table.run(&a, None, &Query::Resign { epoch: Epoch::new(1_000) }, 1_003);
        assert!(!table.request_resignation(Epoch::new(1_000)), "nobody is left to be asked");
    }

    #[test]
    fn candidates_are_sorted_and_end() {
        let mut table = Table::new();
        for (id, at) in [("b", 0), ("a", 5_000), ("c", 0)] {
            table.run(&candidate(id, 1), None, &register(false), at);
        }
        table.run(&candidate("c", 1), None, &Query::Unregister, 1);
        let name = |entry: CandidateRow| entry.candidate.id.to_string();
        let listed = |now| table.candidates(now).map(name).collect::<Vec<_>>();
        assert_eq!(listed(14_999), ["a", "b"]);
        assert_eq!(listed(15_000), ["a"]);
        // A process that starts sweeps away the entries that ended more than a day ago.
        table.run(&candidate("d", 1), None, &register(true), 15_000 + DAY_MS);
        assert_eq!(table.entries().len(), 3);
        table.run(&candidate("d", 1), None, &register(true), 15_001 + DAY_MS);
        assert_eq!(table.entries().len(), 2);
    }

    #[test]
    fn the_fence_lets_the_holder_of_a_live_term_pass() {
        let a = candidate("a", 1);
        let mut table = Table::new();
        table.run(&a, None, &attempt(0), 1_000);
        assert!(table.fence(&a, Epoch::new(1_000), 15_999));
        assert!(!table.fence(&a, Epoch::new(1_000), 16_000));
        assert!(!table.fence(&candidate("a", 2), Epoch::new(1_000), 1_001));
    }
}
