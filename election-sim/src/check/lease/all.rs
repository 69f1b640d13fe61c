//! Every checker of the lease.

use super::{
    committed::Committed, covered::Covered, drained::Drained, gone::Gone, known::Known,
    liveness::Liveness, once::Once, scoped::Scoped, standing_by::StandingBy,
    succession::Succession, tokens::Tokens, trust::Trust, woken::Woken,
};
use crate::{
    app::Write,
    check::{
        Audit, Check, Scene, Told, Verdict, Violation, audit::audit, changes::Changes,
        exclusion::Exclusion, fencing::Fencing, pace::Pace,
    },
    fault::{Contract, What},
    lease::LeaseSide,
    schedule::{Heal, Schedule},
    stage::Side,
};
use election_core::{Change, Epoch};
use std::{collections::BTreeSet, time::Duration};

audit! {
    /// The checkers of the lease.
    LeaseChecks of LeaseSide {
        exclusion: Exclusion,
        fencing: Fencing,
        tokens: Tokens,
        scoped: Scoped,
        trust: Trust,
        gone: Gone,
        known: Known,
        committed: Committed,
        changes: Changes,
        drained: Drained,
        once: Once,
        covered: Covered,
        standing_by: StandingBy,
        pace: Pace,
        woken: Woken,
        succession: Succession,
        liveness: Liveness,
    }
}
