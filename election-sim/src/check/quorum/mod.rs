//! The invariants of a quorum.

mod all;
mod epochs_never_fall;
mod epochs_not_inflated;
mod exclusion_by_own_voters;
mod follows_the_elected;
mod healthy_primary_undisturbed;
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

pub(crate) use all::QuorumCheckers;
