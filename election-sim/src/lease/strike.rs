//! What faults do to the database and to the way there.

use super::{
    happening::{Event, Happening},
    side::LeaseSide,
};
use crate::{
    draw::Stream,
    fault::{Fault, Way, What},
    span::nanos,
    stage::Stage,
};
use election_core::{Epoch, Input, lease};

/// How often a storm of false notifications strikes.
const GUST: u64 = 7_000_000;

impl Stage<LeaseSide> {
    pub(super) fn strike(&mut self, index: usize, what: &What) {
        let (now, queue, database) = (self.now, &mut self.queue, &mut self.side.database);
        match what {
            What::Storm(_) => self.storm(index),
            What::AskResign => self.ask_resign(),
            What::Restart => database.crash(now, queue),
            What::Step(by) => database.step_clock(*by),
            What::Failover(behind) => database.fail_over(*behind, now, queue),
            What::Wipe => database.wipe(now, queue),
            _ => {}
        }
    }

    /// A wake-up for nothing or the resignation of a term that may go on, and the next one.
    pub(super) fn storm(&mut self, index: usize) {
        let What::Storm(node) = self.schedule.faults[index].what else { return };
        if self.active[index] {
            self.side.notices += 1;
            let nth = self.side.notices;
            let event = if self.draw.chance(Stream::Notice, node as u64, nth, 500_000) {
                lease::Event::Resigned(Epoch::new(self.side.database.table.leader().term))
            } else {
                lease::Event::Wake
            };
            self.input(node, Input::Event(event));
            self.queue.push(self.now + GUST, Event::Own(Happening::Storm(index)));
        }
    }

    fn ask_resign(&mut self) {
        let epoch = self.side.database.table.leader().term;
        self.side.database.table.request_resignation(Epoch::new(epoch));
        self.tell_everybody(|node, life| Happening::Woken { node, life });
    }

    pub(super) fn recompute_lease(&mut self, changed: &What) {
        match changed {
            What::Cut(node, _) => self.recompute_cut(*node),
            What::Deaf => self.side.deaf = self.any(|what| *what == What::Deaf),
            What::Odds(..) => self.set_odds(),
            What::Refuse
            | What::Restart
            | What::Hang
            | What::Slow(_)
            | What::Lock
            | What::Fence => self.recompute_database(),
            _ => {}
        }
    }

    /// The faults that may still strike by chance.
    fn set_odds(&mut self) {
        let active = self.schedule.faults.iter().zip(&self.active).enumerate();
        self.side.odds = active
            .filter_map(|(index, (Fault { what, .. }, active))| match what {
                What::Odds(fate, ppm) if *active => Some((index, *fate, *ppm)),
                _ => None,
            })
            .collect();
    }

    fn recompute_cut(&mut self, node: usize) {
        let cut = |way: Way| {
            self.any(|what| {
                matches!(what, What::Cut(n, w) if *n == node && (*w == way || *w == Way::Both))
            })
        };
        let (requests, replies) = (cut(Way::Requests), cut(Way::Replies));
        let kit = &mut self.nodes[node].kit;
        (kit.requests_cut, kit.replies_cut) = (requests, replies);
    }

    fn recompute_database(&mut self) {
        let refusing = self.any(|what| matches!(what, What::Refuse | What::Restart));
        let hanging = self.any(|what| *what == What::Hang);
        let locked = self.any(|what| *what == What::Lock);
        let fenced = self.any(|what| *what == What::Fence);
        let slow = self.in_force().filter_map(|what| match what {
            What::Slow(by) => Some(nanos(*by)),
            _ => None,
        });
        let slow = slow.max().unwrap_or(0);
        let (now, database, queue) = (self.now, &mut self.side.database, &mut self.queue);
        (database.refusing, database.slow) = (refusing, slow);
        (database.locked, database.fenced) = (locked, fenced);
        if std::mem::replace(&mut database.hanging, hanging) && !hanging {
            database.wake_up(now, queue);
        }
        database.let_in(now, queue);
    }
}
