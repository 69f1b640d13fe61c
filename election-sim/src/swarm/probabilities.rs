//! How often and how much: every probability and every range of the swarm, by name.
//!
//! What is listed more than once is drawn more often. A time is given as a fraction of what the run
//! is measured in: the ttl of a lease, `down_after` of a quorum. The weights of the faults stand in
//! their table. Any change here makes other runs of the same seeds.

use crate::{
    draw::{Dice, OneIn},
    fault::StatementFault,
    schedule::Engine,
};
use std::time::Duration;

/// A fraction of the span that a run is measured in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fraction(u32, u32);

impl Fraction {
    pub(super) fn of(self, span: Duration) -> Duration {
        span * self.0 / self.1
    }
}

/// One of these fractions of a span.
pub(super) fn pick_of(dice: &mut Dice, from: &[Fraction], span: Duration) -> Duration {
    dice.pick(from).of(span)
}

const NONE: Fraction = Fraction(0, 1);
const WHOLE: Fraction = Fraction(1, 1);
const TWICE: Fraction = Fraction(2, 1);
const SIX_TIMES: Fraction = Fraction(6, 1);

const fn part(divided_by: u32) -> Fraction {
    Fraction(1, divided_by)
}

// --- every run -----------------------------------------------------------------------------------

/// Kinds of faults in a run. Where few things can fail, a run gets far enough for them to matter.
pub(super) const FAULT_KINDS: &[u64] = &[0, 1, 2, 3, 3, 4, 5, 8, 12];
/// How often each of them befalls.
pub(super) const REPETITIONS: &[u64] = &[1, 1, 2, 3, 6];
/// A run within the contract heals before its end, and is judged by its liveness.
pub(super) const HEAL: OneIn = OneIn(2);
/// A fault begins in the first third of a run: faults that meet do more.
pub(super) const ANY_TIME: OneIn = OneIn(3);
/// A clock jumps forth, not back.
pub(super) const FORTH: OneIn = OneIn(2);
/// A node has the name, and so the configuration, of the first one.
pub(super) const SAME_NAME: OneIn = OneIn(8);
/// The last of several nodes is an observer.
pub(super) const OBSERVER: OneIn = OneIn(6);
/// The clock that a node is given when it starts reads up to this, in nanoseconds.
pub(super) const MOST_OFFSET: u64 = 1 << 50;

// --- the lease -----------------------------------------------------------------------------------

pub(super) const LEASE_NODES: &[u64] = &[1, 2, 2, 3, 3, 3, 4, 5];
pub(super) const TTLS_MS: &[u64] = &[500, 1_500, 3_000, 15_000, 15_000, 60_000];
pub(super) const LEASE_DRIFTS_PPM: &[u32] = &[90_000, 90_000, 90_000, 10_000, 200];
/// Of the settings of a lease, in place of what is derived.
pub(super) const NO_JITTER: OneIn = OneIn(4);
pub(super) const OWN_WAKE_JITTER: OneIn = OneIn(4);
pub(super) const WAKE_JITTERS: &[Fraction] = &[NONE, part(10)];
pub(super) const NO_LEASE_GRACE: OneIn = OneIn(6);
/// As little as the builder lets through.
pub(super) const LEAST_LEASE_MARGIN: OneIn = OneIn(3);
pub(super) const SHORT_INTERVAL: OneIn = OneIn(4);
pub(super) const INTERVAL: Fraction = part(6);
pub(super) const ENGINES: &[Engine] =
    &[Engine::Postgres, Engine::Postgres, Engine::MySql, Engine::Sqlite];
pub(super) const LEASE_LATENCIES: &[Fraction] = &[part(3_000), part(300), part(60), part(15)];
pub(super) const COMMITS: &[Fraction] = &[NONE, NONE, part(1_000), part(60)];
pub(super) const LEASE_STOPS: &[Fraction] = &[NONE, part(60), part(6), WHOLE];
pub(super) const LEASE_ACTS: &[Fraction] = &[part(300), part(60), TWICE];
pub(super) const LOCK_TIMEOUTS: &[Option<Fraction>] = &[None, Some(part(6)), Some(part(2))];
/// How long faults last.
pub(super) const LEASE_SPANS: &[Fraction] = &[part(10), WHOLE, TWICE, SIX_TIMES];
/// By how much they delay.
pub(super) const LEASE_DELAYS: &[Fraction] = &[TWICE, WHOLE, part(5)];
/// A run heals at this part of its length.
pub(super) const LEASE_HEALS_AT: Fraction = Fraction(2, 3);
/// A candidate belongs to the core that heals, beside one that always does.
pub(super) const IN_CORE: OneIn = OneIn(2);
/// So long after a heal, in ttls, somebody leads.
pub(super) const LEASE_ELECTION: u32 = 6;
pub(super) const NETWORK_FAULTS: &[u64] = &[0, 1, 2, 4];
/// What becomes of single statements; the times are drawn.
pub(super) const STATEMENT_FAULTS: &[StatementFault] = &[
    StatementFault::Lost,
    StatementFault::Late(Duration::ZERO),
    StatementFault::Late(Duration::ZERO),
    StatementFault::Stalled(Duration::ZERO),
    StatementFault::Stalled(Duration::ZERO),
    StatementFault::Unanswered,
    StatementFault::Unanswered,
    StatementFault::Slow(Duration::ZERO),
    StatementFault::Twice,
    StatementFault::Refused,
    StatementFault::Locked,
    StatementFault::Unknown,
    StatementFault::Aborted,
    StatementFault::Fatal,
    StatementFault::Stale(Duration::ZERO),
];
pub(super) const STATEMENT_ODDS_PPM: &[u32] = &[10_000, 100_000, 300_000];
pub(super) const PHANTOM_ODDS_PPM: &[u32] = &[10_000, 100_000];
/// Of a clock that gains more than its bound.
pub(super) const LEASE_RATES_PPM: &[i32] = &[-400_000, -100_000, 200_000];
/// The database's clock jumps by up to so many ttls.
pub(super) const MOST_STEP: u32 = 4;
/// Statements are slowed down by no more than this part of what other faults delay them by.
pub(super) const SLOW_PART: u32 = 8;

// --- the quorum ----------------------------------------------------------------------------------

pub(super) const QUORUM_NODES: &[u64] = &[1, 2, 2, 3, 3, 3, 3, 4, 5, 5, 6, 7];
pub(super) const DOWN_AFTERS_MS: &[u64] = &[500, 1_000, 5_000, 5_000];
pub(super) const QUORUM_DRIFTS_PPM: &[u32] = &[10_000, 10_000, 10_000, 200, 50_000];
pub(super) const QUORUM_LATENCIES: &[Fraction] = &[part(5_000), part(500), part(50), part(12)];
pub(super) const QUORUM_STOPS: &[Fraction] = &[NONE, part(20), part(2)];
pub(super) const QUORUM_ACTS: &[Fraction] = &[part(100), TWICE];
pub(super) const SAVES: &[Fraction] = &[NONE, part(1_000), part(50), part(6)];
pub(super) const DECLARED: OneIn = OneIn(4);
pub(super) const GROWTHS: &[Fraction] = &[part(10), part(3)];
pub(super) const NO_HISTORY: OneIn = OneIn(4);
pub(super) const BUFFERS: &[usize] = &[0, 1, 32, 32];
pub(super) const NO_QUORUM_GRACE: OneIn = OneIn(5);
pub(super) const NO_STAGGER: OneIn = OneIn(6);
/// As little as covers two frames in one instant.
pub(super) const LEAST_QUORUM_MARGIN: OneIn = OneIn(3);
/// How long faults last: from a heartbeat to several times what it takes to be down.
pub(super) const QUORUM_SPANS: &[Fraction] = &[part(10), WHOLE, TWICE, SIX_TIMES];
/// By how much they delay.
pub(super) const QUORUM_DELAYS: &[Fraction] = &[TWICE, WHOLE, part(5), part(25)];
/// Half of a partial partition is open one way.
pub(super) const ONE_WAY: OneIn = OneIn(4);
pub(super) const FRAME_ODDS_PPM: &[u32] = &[1_000, 10_000, 100_000];
/// A process is killed after one of so many things that it asks for.
pub(super) const MOST_ACTIONS: u64 = 400;
pub(super) const QUORUM_RATES_PPM: &[i32] = &[-400_000, -200_000, 300_000];
pub(super) const QUORUM_HEALS_AT: Fraction = part(2);
/// A core that is more than a majority loses one more member.
pub(super) const SMALLER_CORE: OneIn = OneIn(2);
/// So long after a heal, in `down_after`, somebody leads.
pub(super) const QUORUM_ELECTION: u32 = 10;
