//! Once the database and a core of nodes are well, somebody leads within the promised time. From
//! then on to the end no gap is longer than a failover takes, whatever the other nodes do.
//!
//! A gap counts from the end of the last belief. It does not count while a node outside the core
//! holds the lease, whether that node knows it or not: such a hold is one of the things that other
//! nodes do. Nor does it count while a lease lasts that its leader has to leave in force, or as long
//! as a promoted server waits for what it may have lost.

use super::{Checker, Contract, Effect, LeaseEnvironment, Told, Verdict, WorldState, nanos};
use crate::{check::wording::all, schedule::Heal};
use election_core::Protocol;

#[derive(Debug, Default)]
pub(super) struct Liveness {
    /// When the last belief ends, or ended, in true time.
    led_until: u64,
    /// Somebody has led since the heal.
    led: bool,
    /// The end of the lease that a node outside the core holds, or that anybody holds who may have
    /// left it in force.
    held_until: u64,
    /// By node: it has reported itself unhealthy.
    unfit: Vec<bool>,
}

impl Liveness {
    fn judge(&mut self, world: &WorldState<'_>, heal: &Heal) -> Verdict {
        let beliefs = world.nodes.iter().filter_map(|node| {
            let tenure = node.machine.as_ref()?.tenure(node.read(world.now))?;
            Some(node.clock.when(tenure.until))
        });
        match beliefs.max() {
            Some(until) => (self.led, self.led_until) = (true, until),
            None => self.led_until = self.led_until.min(world.now),
        }
        if !outlasts(world) {
            self.held_until = world.now;
        }
        let healed = nanos(heal.at);
        let since = healed.max(self.led_until).max(self.held_until);
        let most = if self.led { nanos(world.schedule.timing.ttl * 2) } else { nanos(heal.within) };
        if world.now <= since.saturating_add(most) || heal.core.iter().all(|node| self.unfit[*node])
        {
            return Ok(());
        }
        Err(format!(
            "nobody leads for {} ms though {} and the database are well",
            (world.now - since) / 1_000_000,
            all(&heal.core)
        ))
    }
}

/// Whether every lease must have ended that was granted before the server was promoted.
fn outlasts(world: &WorldState<'_>) -> bool {
    let (config, database) = (&world.environment.config, &world.environment.database);
    let clock_ms = database.clock_ms(world.now);
    let row = database.table.leader().row(&database.table.server(), clock_ms);
    let lease = row.ttl.max(config.ttl()).max(config.at_least_for());
    row.server.outlasts_in(lease).is_zero()
}

impl Checker<LeaseEnvironment> for Liveness {
    const NAME: &'static str = "liveness";
    const HOLDS: Contract = Contract::Within;

    fn new(nodes: usize) -> Self {
        Self { led_until: 0, led: false, held_until: 0, unfit: vec![false; nodes] }
    }

    fn born(&mut self, world: &WorldState<'_>, node: usize) {
        self.unfit[node] = false;
        self.died(world, node);
    }

    /// A service of the core may end by itself.
    fn died(&mut self, world: &WorldState<'_>, node: usize) {
        let is_in = |heal: &Heal| world.now > nanos(heal.at) && heal.core.contains(&node);
        if world.schedule.heal.as_ref().is_some_and(is_in) {
            self.held_until = self.held_until.max(world.now);
        }
    }

    fn told(&mut self, _: &WorldState<'_>, node: usize, told: Told) {
        if let Told::Healthy(healthy) = told {
            self.unfit[node] = !healthy;
        }
    }

    fn done(&mut self, world: &WorldState<'_>, Effect { statement, done }: &Effect<'_>) -> Verdict {
        let Some(heal) = &world.schedule.heal else { return Ok(()) };
        let lasts = !world.environment.config.at_least_for().is_zero();
        if done.after.own && (lasts || !heal.core.contains(&statement.node)) {
            let since = done.after.expires_ms.saturating_sub(world.environment.database.step_ms);
            self.held_until = u64::try_from(since).unwrap_or(0).saturating_mul(1_000_000);
        } else if done.before != done.after {
            self.held_until = self.held_until.min(world.now);
        }
        Ok(())
    }

    fn stepped(&mut self, world: &WorldState<'_>, _: usize) -> Verdict {
        match &world.schedule.heal {
            Some(heal) if world.now >= nanos(heal.at) => self.judge(world, heal),
            _ => Ok(()),
        }
    }

    fn due(&mut self, world: &WorldState<'_>, heal: &Heal) -> Verdict {
        self.judge(world, heal)
    }
}
