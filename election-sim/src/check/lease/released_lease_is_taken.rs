//! A resignation wakes a follower. A process that can take a released lease takes it: at once where
//! the database notifies, and within one poll interval where it does not.
//!
//! The checker judges only runs in which nothing else explains a delay. The database must be well
//! and have been well for a whole lease. The same holds for at least one follower, which must be
//! allowed to lead and must not have just resigned.

use super::{Checker, Contract, Effect, LeaseEnvironment, Told, Verdict, WorldState, nanos};
use crate::{
    fault::FaultKind,
    schedule::{Engine, Heal},
};
use election_core::{Change, lease::Query};
use std::time::Duration;

#[derive(Debug, Default)]
pub(super) struct ReleasedLeaseIsTaken {
    /// Since when the database has been well; `u64::MAX` while it is not.
    well_since: u64,
    nodes: Vec<Heir>,
    watch: Option<Watch>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Heir {
    well_since: u64,
    /// It gave leadership up, and has followed no leader since.
    rests: bool,
    unfit: bool,
    /// It could take the lease that is being watched.
    could: bool,
}

#[derive(Clone, Copy, Debug)]
struct Watch {
    released: u64,
    due: u64,
}

/// Wake-ups that come more often than this count as one. Contenders spread over half of this time.
const SPACING: Duration = Duration::from_millis(100);

impl ReleasedLeaseIsTaken {
    /// A process that a fault has hit cannot be expected to be as quick as a watch demands.
    fn excuse(&mut self, node: usize, since: u64) {
        self.nodes[node].well_since = since;
        self.nodes[node].could = false;
    }

    fn judge(&mut self, world: &WorldState<'_>) -> Verdict {
        let Some(Watch { released, due }) = self.watch else { return Ok(()) };
        if world.now <= due {
            return Ok(());
        }
        self.watch = None;
        let could: Vec<usize> =
            (0..self.nodes.len()).filter(|node| self.nodes[*node].could).collect();
        if could.is_empty() {
            return Ok(());
        }
        Err(format!(
            "the lease was released and not taken within {} ms, though {could:?} could have",
            (due - released) / 1_000_000
        ))
    }
}

impl Checker<LeaseEnvironment> for ReleasedLeaseIsTaken {
    const NAME: &'static str = "released-lease-is-taken";
    const HOLDS: Contract = Contract::Within;

    fn new(nodes: usize) -> Self {
        Self { well_since: 0, nodes: vec![Heir::default(); nodes], watch: None }
    }

    fn born(&mut self, world: &WorldState<'_>, node: usize) {
        let well_since = calm_since(world, Some(node));
        self.nodes[node] = Heir { well_since, ..Heir::default() };
    }

    fn died(&mut self, _: &WorldState<'_>, node: usize) {
        self.excuse(node, u64::MAX);
    }

    fn told(&mut self, _: &WorldState<'_>, node: usize, told: Told) {
        match told {
            Told::Wake => return,
            Told::Healthy(healthy) => self.nodes[node].unfit = !healthy,
            Told::Withdraw | Told::Resign => self.nodes[node].rests = true,
        }
        self.nodes[node].could = false;
    }

    fn fault_changed(&mut self, world: &WorldState<'_>, kind: &FaultKind) {
        let since = calm_since(world, kind.node());
        match kind.node() {
            Some(node) => self.excuse(node, since),
            None if *kind != FaultKind::AskResign => {
                self.well_since = since;
                self.watch = None;
            }
            None => {}
        }
    }

    fn changed(&mut self, _: &WorldState<'_>, node: usize, change: &Change) -> Verdict {
        match change {
            Change::Lost { .. } => self.nodes[node].rests = true,
            Change::Followed { .. } => self.nodes[node].rests = false,
            Change::Elected(_) | Change::Vacant | Change::Alert(_) => {}
        }
        Ok(())
    }

    fn done(&mut self, world: &WorldState<'_>, Effect { statement, done }: &Effect<'_>) -> Verdict {
        if done.after.held {
            let verdict = self.judge(world);
            self.watch = None;
            return verdict;
        }
        let released = matches!(statement.query, Query::Resign { .. }) && done.before.held;
        let ttl = nanos(world.schedule.timing.ttl);
        let Some(within) = within(world).filter(|_| released) else { return Ok(()) };
        if self.well_since.saturating_add(ttl) > world.now || !can_be_taken(world) {
            return Ok(());
        }
        for ((there, heir), member) in
            world.nodes.iter().zip(&mut self.nodes).zip(&world.schedule.nodes)
        {
            heir.could = heir.well_since.saturating_add(ttl) <= world.now
                && !(heir.rests || heir.unfit || member.observer || there.work.is_some());
        }
        self.watch =
            Some(Watch { released: world.now, due: world.now.saturating_add(nanos(within)) });
        Ok(())
    }

    fn stepped(&mut self, world: &WorldState<'_>, _: usize) -> Verdict {
        self.judge(world)
    }

    fn due(&mut self, world: &WorldState<'_>, _: &Heal) -> Verdict {
        self.judge(world)
    }
}

/// The present time; `u64::MAX` while a fault of this node (`None`: of no single node) is in force.
fn calm_since(world: &WorldState<'_>, node: Option<usize>) -> u64 {
    let mut faults = world.schedule.faults.iter().zip(world.active);
    if faults.any(|(fault, active)| *active && fault.kind.node() == node) {
        u64::MAX
    } else {
        world.now
    }
}

/// Whether an attempt would win: not as long as a promoted server waits for what it may have lost.
fn can_be_taken(world: &WorldState<'_>) -> bool {
    let (config, database) = (&world.environment.config, &world.environment.database);
    let asked = (config.ttl().max(config.at_least_for()), config.clock_step());
    let table = &database.table;
    table.leader().is_free(asked, &table.server(), database.clock_ms(world.now))
}

/// How long a released lease may stay free. `None` if nothing can be demanded: the time of a
/// statement is too short, or single statements have faults.
fn within(world: &WorldState<'_>) -> Option<Duration> {
    let (schedule, config) = (world.schedule, &world.environment.config);
    if schedule.faults.iter().any(|fault| matches!(fault.kind, FaultKind::Statement(..))) {
        return None;
    }
    let nodes = u32::try_from(schedule.nodes.len()).ok()?;
    // Every other node may write before this one gets the lock.
    let trip = schedule.latency.high * 2 + schedule.commit.high * (nodes + 1);
    // Every other election may ask before this one on a shared connection, and find a lock.
    let others = u32::try_from(schedule.elections).ok()? - 1;
    let trip = trip + (trip + schedule.lock_timeout.unwrap_or_default()) * others;
    if trip >= config.attempt_timeout() {
        return None;
    }
    // First the question in flight ends. Then the row is read, and then an attempt is made. On a register each is a
    // read and a write, and others may come first.
    let trips = if schedule.engine == Engine::Register { 3 * (1 + nodes) } else { 3 };
    let quick = schedule.latency.high + SPACING + config.wake_jitter() + trip * trips;
    let slow = config.interval() + config.jitter();
    let local = if schedule.engine.notifies() { quick } else { quick + slow };
    Some(local + local / 10)
}
