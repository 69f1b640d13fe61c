//! How much of the world is explored.

use super::names::{MOST_LIVES, MOST_NODES};
use crate::schedule::{ScheduleError, Timing};
use election_core::{
    Drift,
    lease::{Config, Role},
};
use std::time::Duration;

/// The part of the world that a search covers, completely unless a limit ends it.
///
/// Time passes in whole units, as many as it likes at any moment. A process that is due may be
/// called as late as can be, so pauses of any length are in every scope; so are statements that
/// are never executed, executed after their client gave up, and answers that come late or never,
/// and leader work that takes no notice of being told to stop. The delays that the machine draws
/// at random are all zero: to be called later is to have drawn more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scope {
    /// Candidates; at most three.
    pub nodes: usize,
    /// Their timing.
    pub timing: Timing,
    /// How much time passes at once: whole milliseconds.
    pub unit: Duration,
    /// What the nodes' clocks may gain, in parts per million: each node has one of these for
    /// good, in every combination.
    pub rates: Vec<i32>,
    /// Questions of one process that it no longer waits for and that may still be executed, or
    /// answered. A further one can be asked only when one of them has been lost.
    pub abandoned: usize,
    /// For how many units a statement may wait for the row's lock, its clock standing still; zero
    /// for no waiting.
    pub lock_wait: u32,
    /// Whether a process that is due may be called as late as can be, rather than before time
    /// goes on. Otherwise only one that stands still is called late.
    pub late: bool,
    /// Whether leader work may go on unreported after its hard stop, for ever.
    pub stuck: bool,
    /// How often these happen in all.
    pub often: Often,
}

/// How often something happens, in all and to anybody.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Often {
    /// A process is killed; it may start again, as a new incarnation, at any time.
    pub crashes: u8,
    /// The operator lets a process resign.
    pub resigns: u8,
    /// A process leaves in order; it may start again likewise.
    pub withdrawals: u8,
    /// A process reports itself unhealthy; it may recover at any time.
    pub illnesses: u8,
    /// Somebody asks the holder, by a mark in the row, to resign.
    pub requests: u8,
    /// A process is told that the row may have changed.
    pub wakes: u8,
    /// A statement certainly fails, or its sender hears that nobody knows whether it has.
    pub failures: u8,
    /// An answer is delivered twice.
    pub twice: u8,
    /// A process stands still, for as long as can be.
    pub pauses: u8,
    /// The database's clock goes back by half a lease. Beyond the contract; and yet everything
    /// is judged.
    pub back: u8,
    /// The database's clock jumps ahead by half a lease. Beyond the contract: two may lead then,
    /// and only what holds whatever happens is judged.
    pub ahead: u8,
}

impl Scope {
    /// Two nodes, the shortest lease in four units, clocks that gain or lose as much as any
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

    /// Small worlds by name, the smallest first: each has one kind of trouble that the others
    /// have not, so that each can be searched to its end or nearly so.
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

    /// Whether more happens than the promise of one leader covers.
    pub(super) fn is_beyond(&self) -> bool {
        self.often.ahead > 0
    }

    /// The core's own configuration of this scope.
    ///
    /// # Errors
    /// If there can be no such world, or not one that this model can hold.
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
        if self.nodes * (1 + self.abandoned) > SLOTS {
            return Err(ScopeError::Statements);
        }
        let config = self.timing.config(Role::Candidate).map_err(ScopeError::Timing)?;
        Ok(config)
    }
}

/// As many statements as a state can hold.
pub(super) const SLOTS: usize = 6;

/// A scope that cannot be explored.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ScopeError {
    /// Too many nodes, or none.
    #[error("{0} nodes: the model holds one to {MOST_NODES}")]
    Nodes(usize),
    /// No time, or parts of milliseconds.
    #[error("a unit of {0:?}: expected whole milliseconds, more than none")]
    Unit(Duration),
    /// No clock, or one that runs backwards.
    #[error("the clocks' rates: expected at least one, each between -1 and +1 million ppm")]
    Rates,
    /// A node dies and starts too often.
    #[error("crashes and withdrawals together: at most {most}", most = MOST_LIVES - 1)]
    Lives,
    /// Too many statements at once.
    #[error("abandoned questions: nodes × (1 + abandoned) is at most {SLOTS}")]
    Statements,
    /// The timing does not add up.
    #[error(transparent)]
    Timing(ScheduleError),
}
