//! Every checker of the lease.

use super::{
    epoch_led_once::EpochLedOnce, leads_above_known_epochs::LeadsAboveKnownEpochs,
    lease_lasts::LeaseLasts, liveness::Liveness, only_eligible_attempt::OnlyEligibleAttempt,
    released_lease_is_taken::ReleasedLeaseIsTaken, row_outlasts_work::RowOutlastsWork,
    stops_when_replaced::StopsWhenReplaced, tokens_increase::TokensIncrease,
    trust_within_grant::TrustWithinGrant, wake_up_is_heeded::WakeUpIsHeeded,
    win_is_committed::WinIsCommitted, work_stops_before_release::WorkStopsBeforeRelease,
    writes_own_epoch_only::WritesOwnEpochOnly,
};
use crate::{
    check::{
        Checker, Verdict,
        bounded_pace::BoundedPace,
        changes_in_order::ChangesInOrder,
        checker_set::{checker_set, checker_set_hooks},
        exclusion::Exclusion,
        fencing::Fencing,
    },
    fault::Contract,
    lease::LeaseEnvironment,
    schedule::Schedule,
    simulator::{CheckerSet, Violation, Watched, WorldState},
};
use std::{collections::BTreeSet, time::Duration};

checker_set! {
    /// The checkers of the lease.
    LeaseCheckers of LeaseEnvironment {
        exclusion: Exclusion,
        fencing: Fencing,
        tokens_increase: TokensIncrease,
        writes_own_epoch_only: WritesOwnEpochOnly,
        trust_within_grant: TrustWithinGrant,
        stops_when_replaced: StopsWhenReplaced,
        leads_above_known_epochs: LeadsAboveKnownEpochs,
        win_is_committed: WinIsCommitted,
        changes_in_order: ChangesInOrder,
        work_stops_before_release: WorkStopsBeforeRelease,
        epoch_led_once: EpochLedOnce,
        row_outlasts_work: RowOutlastsWork,
        lease_lasts: LeaseLasts,
        only_eligible_attempt: OnlyEligibleAttempt,
        bounded_pace: BoundedPace,
        wake_up_is_heeded: WakeUpIsHeeded,
        released_lease_is_taken: ReleasedLeaseIsTaken,
        liveness: Liveness,
    }
}
