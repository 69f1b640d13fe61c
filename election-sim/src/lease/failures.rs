//! Failures of the database as a whole: it hangs and goes on, crashes, is replaced by a replica
//! that is behind, or loses its row.

use super::{
    database::{Database, NOBODY, RECOVERY, Staged},
    happening::{Event, Happening, Queue},
    history::state_at,
    statement::Stand,
};
use crate::{span::nanos, table::Leader};
use election_core::lease::Failure;
use std::time::Duration;

impl Database {
    /// Takes the newest write back. The row is out of reach for a moment, because no database loses
    /// a write and recovers within the same millisecond.
    pub(super) fn recover(&mut self, now: u64, queue: &mut Queue) {
        self.crash(now, queue);
        let leader = self.table.leader().clone();
        let before = Stand::with(&leader, false);
        self.stagings += 1;
        self.staged = Some(Staged { id: self.stagings, slot: NOBODY, leader, before });
        queue.push(now + RECOVERY, Event::Own(Happening::Commit(self.stagings)));
    }

    /// The hang ends: the statements accepted meanwhile execute now, with the present clock
    /// reading.
    pub(crate) fn wake_up(&mut self, now: u64, queue: &mut Queue) {
        for slot in std::mem::take(&mut self.parked) {
            self.arrive(slot, now, queue);
        }
    }

    /// All unfinished statements are lost, and their clients do not learn the outcome.
    pub(crate) fn crash(&mut self, now: u64, queue: &mut Queue) {
        self.crashes += 1;
        let staged = self.staged.take().map(|staged| staged.slot);
        let waiting = std::mem::take(&mut self.waiting);
        let parked = std::mem::take(&mut self.parked);
        for slot in staged.into_iter().chain(waiting).chain(parked) {
            if slot == NOBODY {
                continue;
            }
            self.fail(slot, Failure::Ambiguous, now, queue);
        }
    }

    /// A replica takes over that has seen everything up to `behind` ago.
    pub(crate) fn fail_over(&mut self, behind: Duration, now: u64, queue: &mut Queue) {
        self.crash(now, queue);
        let then = now.saturating_sub(nanos(behind));
        let leader = state_at(self.history.as_deref(), then, &Leader::default()).clone();
        *self.table.leader_mut() = leader;
    }

    /// The same, but the replica tells that its history is another, and has a clock of its own.
    pub(crate) fn promote(&mut self, behind: Duration, by_ms: i64, now: u64, queue: &mut Queue) {
        self.fail_over(behind, now, queue);
        let server = self.table.server().next();
        self.table.set_server(server);
        self.step_clock(by_ms);
        self.promoted = now;
        // What was lost is lost: a replica of this one never had it.
        let leader = self.table.leader().clone();
        if let Some(history) = &mut self.history {
            let then = now.saturating_sub(nanos(behind));
            history.retain(|(at, _)| *at <= then);
            history.push((now, leader));
        }
    }

    pub(crate) fn wipe(&mut self, now: u64, queue: &mut Queue) {
        self.crash(now, queue);
        *self.table.leader_mut() = Leader::default();
    }
}
