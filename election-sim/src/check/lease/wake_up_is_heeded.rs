//! A follower with nothing in flight heeds a wake-up: it looks at the row at once, so that an
//! election follows a resignation at once and not after the rest of an interval.

use super::{Answered, Checker, Contract, LeaseEnvironment, Told, Verdict, WorldState};
use election_core::{Timestamp, lease::Query};
use std::time::Duration;

#[derive(Debug, Default)]
pub(super) struct WakeUpIsHeeded {
    nodes: Vec<Sleeper>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Sleeper {
    /// It waits for an answer.
    waits: bool,
    leaves: bool,
    /// It is about to take a step for a wake-up; a process may stop before that.
    woken: bool,
    /// The time by which it must have looked.
    due: Option<Timestamp>,
}

/// Wake-ups that come more often than this count as one.
const SPACING: Duration = Duration::from_millis(100);

impl Checker<LeaseEnvironment> for WakeUpIsHeeded {
    const NAME: &'static str = "wake-up-is-heeded";
    const HOLDS: Contract = Contract::Within;

    fn new(nodes: usize) -> Self {
        Self { nodes: vec![Sleeper::default(); nodes] }
    }

    fn born(&mut self, _: &WorldState<'_>, node: usize) {
        self.nodes[node] = Sleeper::default();
    }

    fn told(&mut self, world: &WorldState<'_>, node: usize, told: Told) {
        let (there, sleeper) = (&world.nodes[node], &mut self.nodes[node]);
        match told {
            Told::Wake if !sleeper.waits && !sleeper.leaves && there.work.is_none() => {
                sleeper.woken = true;
            }
            Told::Withdraw => *sleeper = Sleeper { leaves: true, ..Sleeper::default() },
            _ => {}
        }
    }

    fn heard(&mut self, _: &WorldState<'_>, answered: &Answered<'_>) {
        if answered.current {
            self.nodes[answered.node].waits = false;
        }
    }

    fn asked(&mut self, _: &WorldState<'_>, node: usize, query: &Query) -> Verdict {
        let sleeper = &mut self.nodes[node];
        sleeper.waits = true;
        let looks = !matches!(query, Query::Register { .. } | Query::Unregister | Query::Others);
        if looks {
            (sleeper.due, sleeper.woken) = (None, false);
        }
        Ok(())
    }

    fn stepped(&mut self, world: &WorldState<'_>, node: usize) -> Verdict {
        let (now, sleeper) = (world.nodes[node].read(world.now), &mut self.nodes[node]);
        if std::mem::take(&mut sleeper.woken) {
            let due = now + SPACING + world.environment.config.wake_jitter();
            sleeper.due.get_or_insert(due);
        }
        let Some(due) = sleeper.due else { return Ok(()) };
        if sleeper.waits {
            sleeper.due = None; // a registration goes first, and may take time
            return Ok(());
        }
        if now <= due {
            return Ok(());
        }
        Err(format!("node {node} was woken and had not looked at the row by {due:?}"))
    }
}
