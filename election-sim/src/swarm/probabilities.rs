//! The frequencies and sizes: every probability and every range of the swarm, by name.
//!
//! A value that is listed more than once is drawn more often. A time is a fraction of the span in
//! which the run is measured: the ttl of a lease, `down_after` of a quorum. The weights of the
//! faults stand in their table. Any change here gives the same seeds other runs.

use crate::{
    draw::{Dice, OneIn},
    fault::StatementFault,
    schedule::{Engine, Software},
};
use std::time::Duration;

/// A fraction of the span in which a run is measured.
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
const AGES: Fraction = Fraction(30, 1);

const fn part(divided_by: u32) -> Fraction {
    Fraction(1, divided_by)
}

// --- every run -----------------------------------------------------------------------------------

/// Kinds of faults in a run. If few things can fail, a run gets far enough for them to matter.
pub(super) const FAULT_KINDS: &[u64] = &[0, 1, 2, 3, 3, 4, 5, 8, 12];
/// How often each of these kinds occurs.
pub(super) const REPETITIONS: &[u64] = &[1, 1, 2, 3, 6];
/// A run within the contract heals before its end, and its liveness is judged.
pub(super) const HEAL: OneIn = OneIn(2);
/// A fault begins anywhere in the run. Otherwise it begins in the first third: faults that meet do
/// more.
pub(super) const ANY_TIME: OneIn = OneIn(3);
/// A clock jumps forward, not back.
pub(super) const FORTH: OneIn = OneIn(2);
/// A node has the name, and so the configuration, of the first one.
pub(super) const SAME_NAME: OneIn = OneIn(8);
/// The last of several nodes is an observer.
pub(super) const OBSERVER: OneIn = OneIn(6);
/// The clock of a node reads up to this many nanoseconds when the run starts.
pub(super) const MOST_OFFSET: u64 = 1 << 50;

// --- the lease -----------------------------------------------------------------------------------

pub(super) const LEASE_NODES: &[u64] = &[1, 2, 2, 3, 3, 3, 4, 5];
pub(super) const TTLS_MS: &[u64] = &[500, 1_500, 3_000, 15_000, 15_000, 60_000];
pub(super) const LEASE_DRIFTS_PPM: &[u32] = &[90_000, 90_000, 90_000, 10_000, 200];
/// Settings of a lease that replace the derived ones.
pub(super) const NO_JITTER: OneIn = OneIn(4);
pub(super) const OWN_WAKE_JITTER: OneIn = OneIn(4);
pub(super) const WAKE_JITTERS: &[Fraction] = &[NONE, part(10)];
pub(super) const NO_LEASE_GRACE: OneIn = OneIn(6);
/// The margin is the smallest that the builder accepts.
pub(super) const LEAST_LEASE_MARGIN: OneIn = OneIn(3);
pub(super) const SHORT_INTERVAL: OneIn = OneIn(4);
pub(super) const LEASE_LASTS: OneIn = OneIn(10);
pub(super) const LEAST_LEASES: &[Fraction] = &[part(10), TWICE, SIX_TIMES];
pub(super) const CLOCK_STEPS: OneIn = OneIn(6);
/// The steps that leases allow for, in ttls.
pub(super) const FORESEEN_STEPS: &[u32] = &[1, 4, 1_000];
/// Into how many steps of the database's clock they are divided.
pub(super) const STEPS: &[u32] = &[0, 1, 1, 2, 5];
/// Replicas are promoted.
pub(super) const PROMOTED: OneIn = OneIn(9);
pub(super) const PROMOTIONS: &[u32] = &[1, 1, 1, 2, 3];
pub(super) const INTERVAL: Fraction = part(6);
pub(super) const ENGINES: &[Engine] =
    &[Engine::Postgres, Engine::Postgres, Engine::MySql, Engine::Sqlite];
pub(super) const LEASE_LATENCIES: &[Fraction] = &[part(3_000), part(300), part(60), part(15)];
pub(super) const COMMITS: &[Fraction] = &[NONE, NONE, part(1_000), part(60)];
pub(super) const LEASE_STOPS: &[Fraction] = &[NONE, part(60), part(6), WHOLE];
pub(super) const LEASE_ACTS: &[Fraction] = &[part(300), part(60), TWICE];
/// The most elections of a run over shared connections; one draws from one to this.
pub(super) const MOST_ELECTIONS: &[u64] = &[4, 12, 50];
/// How often as many statements as there are elections fit into a lease, at least.
pub(super) const TRIPS_IN_A_LEASE: u32 = 16;
pub(super) const LEAST_TRIPS_IN_A_LEASE: u32 = 80;
/// Three eighths of an attempt's time-out, as in every store.
pub(super) const LOCKS_IN_A_LEASE: u32 = 20;
/// Runs in which every fault hits one election.
pub(super) const SINGLE_FAULTS: OneIn = OneIn(3);
pub(super) const LOCK_TIMEOUTS: &[Option<Fraction>] = &[None, Some(part(6)), Some(part(2))];
/// How long faults last.
pub(super) const LEASE_SPANS: &[Fraction] = &[part(10), WHOLE, TWICE, SIX_TIMES];
/// By how much faults delay.
pub(super) const LEASE_DELAYS: &[Fraction] = &[TWICE, WHOLE, part(5)];
/// A run heals at this part of its length.
pub(super) const LEASE_HEALS_AT: Fraction = Fraction(2, 3);
/// A candidate belongs to the healed core, beside the one that always does.
pub(super) const IN_CORE: OneIn = OneIn(2);
/// Somebody leads this many ttls after a heal.
pub(super) const LEASE_ELECTION: u32 = 6;
pub(super) const NETWORK_FAULTS: &[u64] = &[0, 1, 2, 4];
/// The faults of single statements; the times are drawn.
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
/// The gains of a clock that exceeds its bound.
pub(super) const LEASE_RATES_PPM: &[i32] = &[-400_000, -100_000, 200_000];
/// The database's clock jumps by at most this many ttls.
pub(super) const MOST_STEP: u32 = 4;
/// Statements are slowed down by at most the longest delay of other faults, divided by this.
pub(super) const SLOW_PART: u32 = 8;

// --- the quorum ----------------------------------------------------------------------------------

pub(super) const QUORUM_NODES: &[u64] = &[1, 2, 2, 3, 3, 3, 3, 4, 5, 5, 6, 7];
pub(super) const DOWN_AFTERS_MS: &[u64] = &[500, 1_000, 5_000, 5_000];
pub(super) const QUORUM_DRIFTS_PPM: &[u32] = &[90_000, 90_000, 90_000, 10_000, 200];
pub(super) const QUORUM_LATENCIES: &[Fraction] = &[part(5_000), part(500), part(50), part(12)];
pub(super) const QUORUM_STOPS: &[Fraction] = &[NONE, part(20), part(2)];
pub(super) const QUORUM_ACTS: &[Fraction] = &[part(100), TWICE];
pub(super) const SAVES: &[Fraction] = &[NONE, part(1_000), part(50), part(6)];
/// How long applications read their data before they know how far these have come.
pub(super) const LOADS: &[Fraction] = &[NONE, NONE, NONE, NONE, part(10), WHOLE, TWICE];
pub(super) const PREFERRED: OneIn = OneIn(4);
pub(super) const GROWTHS: &[Fraction] = &[part(10), part(3)];
pub(super) const NO_HISTORY: OneIn = OneIn(4);
pub(super) const BUFFERS: &[usize] = &[0, 1, 32, 32];
pub(super) const NO_QUORUM_GRACE: OneIn = OneIn(5);
pub(super) const NO_STAGGER: OneIn = OneIn(6);
/// The margin is the smallest that covers two frames in one instant.
pub(super) const LEAST_QUORUM_MARGIN: OneIn = OneIn(3);
/// How long faults last: from a heartbeat to several times `down_after`.
pub(super) const QUORUM_SPANS: &[Fraction] = &[part(10), WHOLE, TWICE, SIX_TIMES];
/// By how much faults delay.
pub(super) const QUORUM_DELAYS: &[Fraction] = &[TWICE, WHOLE, part(5), part(25)];
/// Each cut of a partial partition leaves one way open.
pub(super) const ONE_WAY: OneIn = OneIn(4);
pub(super) const FRAME_ODDS_PPM: &[u32] = &[1_000, 10_000, 100_000];
/// The highest number of an action after which a process is killed.
pub(super) const MOST_ACTIONS: u64 = 400;
pub(super) const QUORUM_RATES_PPM: &[i32] = &[-400_000, -200_000, 300_000];
pub(super) const QUORUM_HEALS_AT: Fraction = part(2);
/// Some members run kevy-elect, where the swarm has such members at all. Their number is as likely
/// to be any.
pub(super) const LEGACY: OneIn = OneIn(4);
/// What they run. A change loses their votes, so little is judged after it.
pub(super) const LEGACY_SOFTWARE: &[Software] = &[
    Software::Legacy,
    Software::Legacy,
    Software::Legacy,
    Software::Legacy,
    Software::Legacy,
    Software::Legacy,
    Software::Downgraded,
    Software::Upgraded,
];
/// A core larger than a majority loses one more member.
pub(super) const SMALLER_CORE: OneIn = OneIn(2);
/// Somebody leads this many `down_after` after a heal.
pub(super) const QUORUM_ELECTION: u32 = 10;
/// Some members are witnesses.
pub(super) const WITNESS: OneIn = OneIn(4);
/// The preferred member gets its leadership back.
pub(super) const FAIL_BACK: OneIn = OneIn(2);
pub(super) const FAIL_BACKS: &[Fraction] = &[TWICE, SIX_TIMES];
/// Automatic failover is paused now and then.
pub(super) const PAUSES: OneIn = OneIn(5);
pub(super) const PAUSE_SPANS: &[Fraction] = &[NONE, TWICE, SIX_TIMES];
pub(super) const RESUMED: OneIn = OneIn(3);
/// A member is started with a wrong file now and then, and often for the rest of the run.
pub(super) const WRONG_FILE: OneIn = OneIn(5);
pub(super) const WRONG_FILE_SPANS: &[Fraction] = &[WHOLE, SIX_TIMES, AGES];
/// How many nodes there are beside the first members, and how many in all.
pub(super) const SPARES: &[usize] = &[0, 1, 1, 2, 2, 3];
pub(super) const MOST_NODES: usize = 7;
/// How often the list of members is to change, how often in a row each change is ordered, and how often
/// a change makes no sense or takes back the one before.
pub(super) const CHANGES: &[u64] = &[1, 2, 3, 4, 6, 8, 12];
pub(super) const ORDERED: &[u32] = &[1, 1, 2, 4];
pub(super) const WRONG_CHANGE: OneIn = OneIn(6);
pub(super) const REVERTED: OneIn = OneIn(4);
