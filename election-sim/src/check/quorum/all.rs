//! Every checker of the quorum.

use super::{
    drained::Drained, durable::Durable, epochs::Epochs, followed::Followed, inflation::Inflation,
    kept::Kept, liveness::Liveness, majority::Majority, newest::Newest, one_primary::OnePrimary,
    one_vote::OneVote, trust::Trust, undisturbed::Undisturbed,
};
use crate::{
    app::Write,
    check::{
        Audit, Check, Scene, Told, Verdict, Violation, audit::audit, changes::Changes,
        exclusion::Exclusion, fencing::Fencing, pace::Pace,
    },
    fault::{Contract, What},
    quorum::QuorumSide,
    schedule::{Heal, Schedule},
    stage::Side,
};
use election_core::{Change, Epoch};
use std::{collections::BTreeSet, time::Duration};

audit! {
    /// The checkers of the quorum.
    QuorumChecks of QuorumSide {
        one_primary: OnePrimary,
        one_vote: OneVote,
        majority: Majority,
        durable: Durable,
        epochs: Epochs,
        exclusion: Exclusion,
        fencing: Fencing,
        trust: Trust,
        newest: Newest,
        kept: Kept,
        drained: Drained,
        inflation: Inflation,
        followed: Followed,
        changes: Changes,
        pace: Pace,
        undisturbed: Undisturbed,
        liveness: Liveness,
    }
}
