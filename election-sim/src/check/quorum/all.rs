//! Every checker of the quorum.

use super::{
    epochs_never_fall::EpochsNeverFall, epochs_not_inflated::EpochsNotInflated,
    exclusion_by_own_voters::ExclusionByOwnVoters, follows_the_elected::FollowsTheElected,
    healthy_primary_undisturbed::HealthyPrimaryUndisturbed, liveness::Liveness,
    majority_data_survives::MajorityDataSurvives, majority_elects::MajorityElects,
    no_failover_while_paused::NoFailoverWhilePaused, one_primary_per_epoch::OnePrimaryPerEpoch,
    one_vote_per_epoch::OneVotePerEpoch, trust_within_support::TrustWithinSupport,
    vote_is_durable::VoteIsDurable, votes_for_newest_data::VotesForNewestData,
    witness_keeps_its_word::WitnessKeepsItsWord, work_stops_before_release::WorkStopsBeforeRelease,
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
    quorum::QuorumEnvironment,
    schedule::Schedule,
    simulator::{CheckerSet, Violation, Watched, WorldState},
};
use std::{collections::BTreeSet, time::Duration};

checker_set! {
    /// The checkers of the quorum.
    QuorumCheckers of QuorumEnvironment {
        one_primary_per_epoch: OnePrimaryPerEpoch,
        one_vote_per_epoch: OneVotePerEpoch,
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
