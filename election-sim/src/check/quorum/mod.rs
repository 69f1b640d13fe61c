//! The invariants of a quorum.

mod epochs_never_fall;
mod epochs_not_inflated;
mod exclusion_by_own_voters;
mod follows_the_elected;
mod healthy_primary_undisturbed;
mod lists_form_a_chain;
mod liveness;
mod lost_promises;
mod majority_data_survives;
mod majority_elects;
mod no_failover_while_paused;
mod one_primary_per_epoch;
mod one_vote_per_epoch;
mod own_majority;
mod trust_within_support;
mod vote_is_durable;
mod votes_for_newest_data;
mod vouched;
mod witness_keeps_its_word;
mod work_stops_before_release;

use super::{
    Checker, Verdict, bounded_pace, changes_in_order,
    checker::books_by_node,
    checker_set::{checker_set, checker_set_hooks},
    exclusion, fencing,
};
use crate::{
    fault::Contract,
    quorum::{Heard, QuorumEnvironment, Stored},
    simulator::{self, Told},
    span::nanos,
};

type WorldState<'a> = simulator::WorldState<'a, QuorumEnvironment>;

checker_set! {
    /// The checkers of the quorum.
    QuorumCheckers of QuorumEnvironment {
        one_primary_per_epoch: OnePrimaryPerEpoch,
        one_vote_per_epoch: OneVotePerEpoch,
        lists_form_a_chain: ListsFormAChain,
        majority_elects: MajorityElects,
        vote_is_durable: VoteIsDurable,
        epochs_never_fall: EpochsNeverFall,
        exclusion: Exclusion,
        exclusion_by_own_voters: ExclusionByOwnVoters,
        fencing: Fencing,
        trust_within_support: TrustWithinSupport,
        votes_for_newest_data: VotesForNewestData,
        majority_data_survives: MajorityDataSurvives,
        work_stops_before_release: WorkStopsBeforeRelease,
        epochs_not_inflated: EpochsNotInflated,
        follows_the_elected: FollowsTheElected,
        changes_in_order: ChangesInOrder,
        bounded_pace: BoundedPace,
        healthy_primary_undisturbed: HealthyPrimaryUndisturbed,
        liveness: Liveness,
        witness_keeps_its_word: WitnessKeepsItsWord,
        no_failover_while_paused: NoFailoverWhilePaused,
    }
}
