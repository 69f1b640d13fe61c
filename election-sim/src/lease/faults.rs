//! What faults do to the database and to the connections to it.

use super::{
    environment::LeaseEnvironment,
    happening::{Event, Happening},
};
use crate::{
    draw::Stream,
    fault::{CutDirection, Fault, FaultKind, member_fault, network_fault, simulator_fault},
    simulator::Simulator,
    span::nanos,
};
use election_core::{Epoch, Input, lease};

/// The interval between the false notifications of a storm.
const GUST: u64 = 7_000_000;

impl Simulator<LeaseEnvironment> {
    pub(super) fn begin_database_fault(&mut self, index: usize, kind: &FaultKind) {
        let (now, queue, database) = (self.now, &mut self.queue, &mut self.environment.database);
        match kind {
            FaultKind::Storm(_) => self.storm(index),
            FaultKind::AskResign => self.ask_resign(),
            FaultKind::Restart => database.crash(now, queue),
            FaultKind::Step(by) => database.step_clock(*by),
            FaultKind::Failover(behind) => database.fail_over(*behind, now, queue),
            FaultKind::Promote(behind, by) => database.promote(*behind, *by, now, queue),
            FaultKind::Wipe => database.wipe(now, queue),
            FaultKind::Statement(..) => {} // checked when that statement is sent
            FaultKind::Cut(..)
            | FaultKind::Deaf
            | FaultKind::Odds(..)
            | FaultKind::Refuse
            | FaultKind::Hang
            | FaultKind::Slow(_)
            | FaultKind::Lock
            | FaultKind::Fence => {} // recomputed
            simulator_fault!(FaultKind) | network_fault!(FaultKind) | member_fault!(FaultKind) => {}
        }
    }

    /// Sends a wake-up without cause, or the resignation of a term that may go on, and schedules
    /// the next one.
    pub(super) fn storm(&mut self, index: usize) {
        let FaultKind::Storm(node) = self.schedule.faults[index].kind else { return };
        if self.active[index] {
            self.environment.notices += 1;
            let nth = self.environment.notices;
            let event = if self.draw.chance(Stream::Notice, node as u64, nth, 500_000) {
                lease::Event::Resigned(Epoch::new(self.environment.database.table.leader().term))
            } else {
                lease::Event::Wake
            };
            self.input(node, Input::Event(event));
            self.queue.push(self.now + GUST, Event::Own(Happening::Storm(index)));
        }
    }

    fn ask_resign(&mut self) {
        let epoch = self.environment.database.table.leader().term;
        self.environment.database.table.request_resignation(Epoch::new(epoch));
        self.tell_everybody(|node, life| Happening::Woken { node, life });
    }

    pub(super) fn recompute_database_fault(&mut self, changed: &FaultKind) {
        match changed {
            FaultKind::Cut(node, _) => self.recompute_cut(*node),
            FaultKind::Deaf => self.environment.deaf = self.any(|kind| *kind == FaultKind::Deaf),
            FaultKind::Odds(..) => self.set_odds(),
            FaultKind::Refuse
            | FaultKind::Restart
            | FaultKind::Hang
            | FaultKind::Slow(_)
            | FaultKind::Lock
            | FaultKind::Fence => self.recompute_database(),
            FaultKind::Storm(_)
            | FaultKind::AskResign
            | FaultKind::Step(_)
            | FaultKind::Failover(_)
            | FaultKind::Promote(..)
            | FaultKind::Wipe
            | FaultKind::Statement(..) => {}
            simulator_fault!(FaultKind) | network_fault!(FaultKind) | member_fault!(FaultKind) => {}
        }
    }

    /// Collects the faults that may hit statements by chance.
    fn set_odds(&mut self) {
        let active = self.schedule.faults.iter().zip(&self.active).enumerate();
        self.environment.odds = active
            .filter_map(|(index, (Fault { kind: what, .. }, active))| match what {
                FaultKind::Odds(fault, ppm) if *active => Some((index, *fault, *ppm)),
                _ => None,
            })
            .collect();
    }

    fn recompute_cut(&mut self, node: usize) {
        let cut = |way: CutDirection| {
            self.any(|what| {
                matches!(what, FaultKind::Cut(n, w) if *n == node && (*w == way || *w == CutDirection::Both))
            })
        };
        let (requests, replies) = (cut(CutDirection::Requests), cut(CutDirection::Replies));
        let state = &mut self.nodes[node].state;
        (state.requests_cut, state.replies_cut) = (requests, replies);
    }

    fn recompute_database(&mut self) {
        let refusing = self.any(|what| matches!(what, FaultKind::Refuse | FaultKind::Restart));
        let hanging = self.any(|what| *what == FaultKind::Hang);
        let locked = self.any(|what| *what == FaultKind::Lock);
        let fenced = self.any(|what| *what == FaultKind::Fence);
        let slow = self.in_force().filter_map(|what| match what {
            FaultKind::Slow(by) => Some(nanos(*by)),
            _ => None,
        });
        let slow = slow.max().unwrap_or(0);
        let (now, database, queue) = (self.now, &mut self.environment.database, &mut self.queue);
        (database.refusing, database.slow) = (refusing, slow);
        (database.locked, database.fenced) = (locked, fenced);
        if std::mem::replace(&mut database.hanging, hanging) && !hanging {
            database.wake_up(now, queue);
        }
        database.let_in(now, queue);
    }
}
