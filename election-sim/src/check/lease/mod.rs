//! The invariants of a lease.

mod epoch_led_once;
mod leads_above_known_epochs;
mod lease_lasts;
mod liveness;
mod only_eligible_attempt;
mod released_lease_is_taken;
mod row_outlasts_work;
mod stops_when_replaced;
mod tokens_increase;
mod trust_within_grant;
mod wake_up_is_heeded;
mod win_is_committed;
mod work_stops_before_release;
mod writes_own_epoch_only;

use super::{
    Checker, Verdict, bounded_pace, changes_in_order,
    checker::books_by_node,
    checker_set::{checker_set, checker_set_hooks},
    exclusion, fencing,
};
use crate::{
    fault::Contract,
    lease::{Answered, Effect, LeaseEnvironment},
    simulator::{self, Told},
    span::nanos,
};

type WorldState<'a> = simulator::WorldState<'a, LeaseEnvironment>;

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
