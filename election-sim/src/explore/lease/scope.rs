//! How much of the world is explored.

use super::names::{MOST_LIVES, MOST_NODES};
use crate::{
    explore::often::often,
    schedule::{ScheduleError, Timing},
};
use election_core::{
    Drift,
    lease::{Config, Role},
};
use std::time::Duration;

/// The part of the world that a search covers, completely unless a limit ends it.
///
/// Time passes in whole units, as many as it likes at any moment. A due process may be called
/// arbitrarily late, so every scope includes pauses of any length. Every scope also includes
/// statements that never execute or execute after their client gave up, answers that come late or
/// never, and leader work that ignores the order to stop. All random delays of the machine are
/// zero: a later call has the same effect as a longer delay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scope {
    /// Candidates; at most three.
    pub nodes: usize,
    /// The timing of the candidates.
    pub timing: Timing,
    /// How much time passes at once: whole milliseconds.
    pub unit: Duration,
    /// The gains that the nodes' clocks may have, in parts per million. Each node keeps one of
    /// these, in every combination.
    pub rates: Vec<i32>,
    /// How many questions of one process may still be executed or answered although the process no
    /// longer waits for them. It can ask a further question only after one of them was lost.
    pub abandoned: usize,
    /// For how many units a statement may wait for the row's lock while its clock stands still;
    /// zero for no waiting.
    pub lock_wait: u32,
    /// Whether a due process may be called arbitrarily late, rather than before time goes on.
    /// Otherwise only a process that stands still is called late.
    pub late: bool,
    /// Whether leader work may stay unreported after its hard stop, for ever.
    pub stuck: bool,
    /// How often these things happen in total.
    pub often: Often,
}

often! {
    /// A process is killed; it may start again, as a new incarnation, at any time.
    crashes,
    /// The operator tells a process to resign.
    resigns,
    /// A process leaves in order; it may start again at any time.
    withdrawals,
    /// A process reports itself unhealthy; it may recover at any time.
    illnesses,
    /// Somebody asks the holder to resign, with a mark in the row.
    requests,
    /// A process is told that the row may have changed.
    wakes,
    /// A statement certainly fails, or its sender learns that the outcome is unknown.
    failures,
    /// An answer is delivered twice.
    twice,
    /// The database's clock goes back by half a lease. Beyond the contract, and yet every invariant
    /// is judged.
    back,
    /// A process stands still, arbitrarily long.
    pauses,
    /// The database's clock jumps ahead by half a lease. If the leases do not allow for that, it is
    /// beyond the contract: two may lead then, so only the invariants that always hold are judged.
    ahead,
    /// A replica is promoted that lacks any number of the newest writes, and its clock may be a lease
    /// ahead of the one before or behind it.
    promotions,
}

impl Scope {
    /// Two nodes, the shortest lease in four units, and clocks that gain or lose as much as any
    /// configuration allows.
    #[must_use]
    pub fn small() -> Self {
        let ttl = Config::MIN_TTL;
        let drift = Drift::MAX.ppm();
        let rate = i32::try_from(drift).unwrap_or(i32::MAX);
        Self {
            nodes: 2,
            timing: Timing {
                interval: Some(ttl * 3 / 10),
                jitter: Some(Duration::ZERO),
                attempt_timeout: Some(ttl / 10),
                grace: Some(Duration::ZERO),
                drift_ppm: drift,
                ..Timing::of(ttl)
            },
            unit: ttl / 4,
            rates: vec![-rate, rate],
            abandoned: 0,
            lock_wait: 0,
            late: false,
            stuck: false,
            often: Often::default(),
        }
    }

    /// The same with true clocks, and a replica that is promoted: everything happens in whole units,
    /// and a fifth of a lease is too short a unit to miss that somebody waits for less than a lease.
    fn promoted() -> Self {
        let Self { timing, .. } = Self::small();
        let unit = timing.ttl / 5;
        Self {
            timing: Timing { interval: Some(unit * 2), attempt_timeout: Some(unit), ..timing },
            unit,
            rates: vec![0],
            often: Often { promotions: 1, ..Often::default() },
            ..Self::small()
        }
    }

    /// Small worlds by name, the smallest first. Each has one kind of trouble that the others lack,
    /// so that each can be searched to its end or nearly so.
    #[must_use]
    pub fn presets() -> Vec<(&'static str, Self)> {
        let small = Self::small();
        let with = |often| Self { often, ..Self::small() };
        let none = Often::default();
        let grace = Timing { grace: Some(small.timing.ttl / 10), ..small.timing.clone() };
        vec![
            ("small", small.clone()),
            ("resign", Self { timing: grace, ..with(Often { resigns: 1, ..none }) }),
            ("request", with(Often { requests: 1, ..none })),
            ("crash", with(Often { crashes: 1, ..none })),
            ("leave", with(Often { withdrawals: 1, ..none })),
            ("ill", with(Often { illnesses: 1, ..none })),
            ("failure", with(Often { failures: 1, ..none })),
            ("twice", with(Often { twice: 1, ..none })),
            ("wake", with(Often { wakes: 1, ..none })),
            ("pause", with(Often { pauses: 1, ..none })),
            ("lock", Self { lock_wait: 4, ..small.clone() }),
            ("stuck", Self { stuck: true, ..small.clone() }),
            ("back", with(Often { back: 1, ..none })),
            ("ahead", with(Often { ahead: 1, ..none })),
            (
                "steps",
                Self {
                    timing: Timing {
                        clock_step: Some(small.timing.ttl / 2),
                        ..small.timing.clone()
                    },
                    ..with(Often { ahead: 1, ..none })
                },
            ),
            ("promote", Self::promoted()),
            ("abandoned", Self { abandoned: 1, rates: vec![0], ..small.clone() }),
            (
                "abandoned-lock",
                Self { abandoned: 1, lock_wait: 4, rates: vec![0], ..small.clone() },
            ),
            (
                "abandoned-crash",
                Self { abandoned: 1, rates: vec![0], ..with(Often { crashes: 1, ..none }) },
            ),
            ("fine", Self { unit: small.unit / 5, ..small.clone() }),
            ("late", Self { late: true, ..small }),
        ]
    }

    /// Whether more can happen than the promise of one leader covers.
    pub(super) fn is_beyond(&self) -> bool {
        let ahead = self.timing.ttl / 2 * u32::from(self.often.ahead);
        ahead > self.clock_step()
    }

    /// What the leases allow for.
    pub(super) fn clock_step(&self) -> Duration {
        self.timing.clock_step.unwrap_or_default()
    }

    /// The core's own configuration of this scope.
    ///
    /// # Errors
    /// If the world is impossible, or this model cannot hold it.
    pub fn config(&self) -> Result<Config, ScopeError> {
        if self.nodes == 0 || self.nodes > MOST_NODES {
            return Err(ScopeError::Nodes(self.nodes));
        }
        if self.unit.is_zero() || self.unit.subsec_nanos() % 1_000_000 != 0 {
            return Err(ScopeError::Unit(self.unit));
        }
        if self.rates.is_empty() || self.rates.iter().any(|rate| rate.unsigned_abs() >= 1_000_000) {
            return Err(ScopeError::Rates);
        }
        if usize::from(self.often.crashes) + usize::from(self.often.withdrawals) >= MOST_LIVES {
            return Err(ScopeError::Lives);
        }
        if self.often.promotions > 0 && self.often.back > 0 {
            return Err(ScopeError::Records);
        }
        if self.nodes * (1 + self.abandoned) > SLOTS {
            return Err(ScopeError::Statements);
        }
        let config = self.timing.config(Role::Candidate).map_err(ScopeError::Timing)?;
        Ok(config)
    }
}

/// The largest number of statements that a state can hold.
pub(super) const SLOTS: usize = 6;

/// A scope that cannot be explored.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ScopeError {
    /// There are too many nodes, or none.
    #[error("{0} nodes: the model holds one to {MOST_NODES}")]
    Nodes(usize),
    /// The unit is zero, or no whole number of milliseconds.
    #[error("a unit of {0:?}: expected whole milliseconds, more than none")]
    Unit(Duration),
    /// There is no clock rate, or a clock runs backwards.
    #[error("the clocks' rates: expected at least one, each between -1 and +1 million ppm")]
    Rates,
    /// A node dies and starts too often.
    #[error("crashes and withdrawals together: at most {most}", most = MOST_LIVES - 1)]
    Lives,
    /// A history could be known since two times, and the model could not tell them apart.
    #[error("promotions and steps back of the clock: the model holds only one of the two")]
    Records,
    /// There are too many statements at once.
    #[error("abandoned questions: nodes × (1 + abandoned) is at most {SLOTS}")]
    Statements,
    /// The settings of the timing contradict each other.
    #[error(transparent)]
    Timing(ScheduleError),
}
