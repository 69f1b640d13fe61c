//! How much of the world is explored.

use super::state::{MOST_LATE, MOST_NODES, Often};
use crate::{
    schedule::Cluster,
    schedule::{Member, ScheduleError},
    span::DurationRange,
    text::node_name,
};
use election_core::{Drift, quorum::Config};
use std::time::Duration;

/// The part of the world that a search covers, completely unless a limit ends it.
///
/// Time passes in whole units. In every unit each process is called at least once, before or after
/// the frames that arrive then. A frame arrives in the instant in which it is sent, or never,
/// except for [`Scope::late`] of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scope {
    /// The number of members, at most three.
    pub nodes: usize,
    /// The timing of the members; a heartbeat must be due in every unit.
    pub cluster: Cluster,
    /// The drift bound that the nodes are told, in parts per million.
    pub drift_ppm: u32,
    /// How much time passes at once: whole milliseconds.
    pub unit: Duration,
    /// The gains that the nodes' clocks may have, in parts per million. Each node keeps one of
    /// these, in every combination.
    pub rates: Vec<i32>,
    /// How far the data of each node has come; it never grows. Zero for nodes without an entry.
    pub offsets: Vec<u64>,
    /// The last node is a witness: it votes, but has no data and never leads.
    pub witness: bool,
    /// The highest epoch; states beyond it are not explored.
    pub epochs: u8,
    /// How many frames may be under way while time passes.
    pub late: usize,
    /// The longest travel of such a frame, in units.
    pub lateness: u16,
    /// Whether anything may happen between two frames that a node takes in. Otherwise it takes all
    /// waiting frames in before another node's turn, in any order that keeps the order of each
    /// connection.
    pub free: bool,
    /// Whether saves may take any time. Otherwise each save ends before anything else happens to
    /// its node, except a crash.
    pub slow_saves: bool,
    /// Whether leader work may stay unreported after its hard stop, for ever.
    pub stuck: bool,
    /// How often these things happen in total.
    pub often: Often,
}

impl Scope {
    /// Three nodes that support each other for three units, with true clocks, two elections, and no
    /// faults.
    #[must_use]
    pub fn small() -> Self {
        let unit = Duration::from_secs(1);
        Self {
            nodes: 3,
            cluster: Cluster {
                heartbeat: Some(unit / 2),
                grace: Some(Duration::ZERO),
                election_timeout: Some(unit * 3 / 2),
                backoff: Some(DurationRange::exactly(Duration::ZERO)),
                stagger: Some(Duration::ZERO),
                margin: Some(Duration::from_millis(1)),
                history: false,
                growth: Duration::from_secs(1 << 20),
                save: DurationRange::exactly(Duration::ZERO),
                ..Cluster::of(unit * 3)
            },
            drift_ppm: 0,
            unit,
            rates: vec![0],
            offsets: Vec::new(),
            witness: false,
            epochs: 2,
            late: 0,
            lateness: 0,
            free: false,
            slow_saves: false,
            stuck: false,
            often: Often::default(),
        }
    }

    /// Small worlds by name, the smallest first. Each has one kind of trouble that the others lack,
    /// so that each can be searched to its end. The last one has all kinds.
    #[must_use]
    pub fn presets() -> Vec<(&'static str, Self)> {
        let small = Self::small();
        let none = Often::default();
        let with = |often| Self { often, ..Self::small() };
        let crashes = Often { crashes: 2, ..none };
        let drift = i32::try_from(Drift::MAX.ppm()).unwrap_or(i32::MAX);
        let preferring = |often| {
            let cluster = Cluster {
                preferred: Some(0),
                fail_back: Some(small.unit * 6),
                ..small.cluster.clone()
            };
            Self { cluster, ..with(often) }
        };
        let late = Self { late: 1, lateness: 3, ..small.clone() };
        let fully = Often { losses: 2, delays: 2, cuts: 1, pauses: 1, resigns: 1, ..crashes };
        vec![
            ("small", small.clone()),
            ("resign", with(Often { resigns: 2, ..none })),
            ("n2", Self { nodes: 2, epochs: 3, ..with(crashes) }),
            ("pause", with(Often { pauses: 2, ..none })),
            ("crash", with(Often { crashes: 1, ..none })),
            ("abrupt", with(Often { crashes: 1, abrupt: 1, ..none })),
            ("wipe", with(Often { crashes: 1, wipes: 1, ..none })),
            ("loss", with(Often { losses: 2, ..none })),
            ("late", Self { often: Often { delays: 1, ..none }, ..late.clone() }),
            ("twice", Self { often: Often { twice: 1, delays: 1, ..none }, ..late.clone() }),
            ("offsets", Self { offsets: vec![2, 1, 0], ..with(Often { losses: 2, ..none }) }),
            (
                "witness",
                Self { witness: true, offsets: vec![1, 2], ..with(Often { crashes: 1, ..none }) },
            ),
            (
                "recording",
                Self {
                    witness: true,
                    offsets: vec![1, 2],
                    slow_saves: true,
                    ..with(Often { resigns: 1, ..none })
                },
            ),
            ("paused", with(Often { orders: 2, crashes: 1, ..none })),
            ("planned", with(Often { orders: 1, handovers: 1, ..none })),
            ("preferred", Self { epochs: 3, ..preferring(Often { crashes: 1, ..none }) }),
            ("behind", Self { offsets: vec![0, 1, 1], ..with(Often { losses: 2, ..none }) }),
            ("cut", with(Often { cuts: 1, ..none })),
            ("forgets", with(Often { crashes: 1, cuts: 1, ..none })),
            ("slow-pause", Self { slow_saves: true, ..with(Often { pauses: 1, ..none }) }),
            ("slow", Self { slow_saves: true, ..with(Often { failures: 1, ..none }) }),
            ("stuck", Self { stuck: true, ..with(Often { resigns: 1, cuts: 1, ..none }) }),
            ("free", Self { free: true, ..with(Often { crashes: 1, ..none }) }),
            ("later", Self { often: Often { delays: 2, ..none }, ..late.clone() }),
            (
                "drift",
                Self {
                    drift_ppm: Drift::MAX.ppm(),
                    rates: vec![-drift, drift],
                    ..with(Often { cuts: 1, ..none })
                },
            ),
            ("n3", Self { epochs: 3, ..with(crashes) }),
            ("everything", Self { epochs: 4, slow_saves: true, often: fully, ..late }),
        ]
    }

    /// The core's own configuration of every node.
    ///
    /// # Errors
    /// If the world is impossible, or this model cannot hold it.
    pub fn configs(&self) -> Result<Vec<Config>, ScopeError> {
        if self.nodes == 0 || self.nodes > MOST_NODES {
            return Err(ScopeError::Nodes(self.nodes));
        }
        if self.unit.is_zero() || self.unit.subsec_nanos() % 1_000_000 != 0 {
            return Err(ScopeError::Unit(self.unit));
        }
        if self.rates.is_empty() || self.rates.iter().any(|rate| rate.unsigned_abs() >= 1_000_000) {
            return Err(ScopeError::Rates);
        }
        if self.late > MOST_LATE {
            return Err(ScopeError::Late(self.late));
        }
        if self.epochs == 0 || self.epochs > MOST_EPOCHS {
            return Err(ScopeError::Epochs(self.epochs));
        }
        if self.often.crashes >= MOST_LIVES {
            return Err(ScopeError::Lives);
        }
        let members = self.members();
        let config = |node| self.cluster.config(&members, node, self.drift_ppm);
        (0..self.nodes).map(config).collect::<Result<_, _>>().map_err(ScopeError::Cluster)
    }

    /// The nodes as members of a schedule.
    pub(super) fn members(&self) -> Vec<Member> {
        let member = |node| {
            let offset = self.offsets.get(node).copied().unwrap_or(0);
            let witness = self.witness && node + 1 == self.nodes;
            Member { data: (0, offset), witness, ..Member::new(&node_name(node)) }
        };
        (0..self.nodes).map(member).collect()
    }
}

/// The largest number of epochs that the books of votes can hold.
const MOST_EPOCHS: u8 = 5;
/// The largest number of lives of a node that the books of leaders can tell apart.
const MOST_LIVES: u8 = 4;

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
    /// Too many frames are under way at once.
    #[error("{0} late frames: the model holds at most {MOST_LATE}")]
    Late(usize),
    /// There are too many elections, or none.
    #[error("{0} epochs: the model holds one to {MOST_EPOCHS}")]
    Epochs(u8),
    /// A node dies and starts too often.
    #[error("crashes: at most {most}", most = MOST_LIVES - 1)]
    Lives,
    /// The settings of the timing contradict each other.
    #[error(transparent)]
    Cluster(ScheduleError),
}
