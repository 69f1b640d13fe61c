//! What a service sees, on SQLite files: the guarantees of a handle, a guard and leader work, the
//! order of changes, races, locks. No server makes these checks slow.
//!
//! What cannot happen is asserted from instants of the one clock, [`now`](crate::now).

mod support;
pub use support::*;

pub mod changes;
pub mod handle;
pub mod listed;
pub mod locks;
pub mod names;
pub mod operations;
pub mod races;
pub mod rounds;
pub mod terms;
pub mod work;

use super::suite::list;

list! { $ __conformance_embedded in embedded:
    changes {
        changes_begin_with_the_state_and_keep_their_order: in_file;
        every_release_reaches_the_follower: in_file;
        a_reader_that_never_reads_blocks_nobody: in_file;
        a_watch_sees_the_latest_state: in_file;
        nothing_is_told_before_anybody_was_asked: in_file;
    }
    handle {
        dropping_the_last_handle_withdraws: in_file;
        resigning_waits_until_others_can_have_it: in_file;
        a_guard_held_after_the_loss_prevents_the_release: in_file;
        a_guard_held_after_the_loss_prevents_a_campaign: in_file;
        ill_health_steps_down_and_good_health_campaigns: in_file;
        a_driver_dropped_unpolled_hangs_nobody: in_file;
        a_driver_dropped_while_leading_ends_leadership: in_file;
        an_observer_follows_and_never_leads: in_file;
        a_guard_tells_how_long_it_holds: in_file;
    }
    listed {
        what_is_said_of_the_list_is_not_said_of_the_lease: in_file;
    }
    locks {
        contenders_wait_a_writer_out_and_win_soon_after: in_file;
        a_leader_that_a_writer_keeps_from_renewing_stops_in_time: in_file;
        a_short_writer_does_not_cost_the_lease: in_file;
        a_deleted_file_ends_leadership_until_it_is_made_again: in_file;
        a_replaced_file_is_noticed: in_file;
        a_connection_from_before_the_elector_keeps_to_its_bounds: in_file;
        a_candidate_that_unregisters_is_followed_at_once: in_file;
        calls_that_are_given_up_leave_no_threads_behind: in_file;
    }
    names {
        odd_names_come_back_as_they_went_in: in_file;
        names_that_look_alike_are_different_elections: in_file;
        nodes_that_look_alike_are_different_candidates: in_file;
        names_that_no_database_could_keep_are_typed_errors: in_file;
        names_that_would_be_refused_today_are_read_and_their_leader_is_replaced: in_file;
        odd_file_names_are_files_of_that_name: in_file;
    }
    operations {
        candidates_are_listed_by_name_while_they_report: in_file;
        a_heartbeat_moves_the_time_and_the_label: in_file;
        two_lives_of_one_name_are_two_candidates: in_file;
        candidates_long_gone_are_swept_away: in_file;
        an_elector_stands_on_the_list_until_it_leaves: in_file;
        winning_renewing_and_resigning_take_one_statement_each: in_file;
    }
    races {
        scenario_1_two_workers_try_to_become_leader_simultaneously: in_file;
        scenario_1_the_loser_follows_and_retries_later: in_file;
        scenario_2_leader_dies_two_workers_try_to_take_over: in_file;
        scenario_2_one_expired_lease_is_taken_once: in_file;
        scenario_3_network_partition_that_swallows_everything: in_file;
        scenario_3_network_partition_that_refuses_everything: in_file;
    }
    rounds {
        sixteen_contenders_fifty_rounds_never_two_leaders: in_file;
        sixteen_stores_fifty_rounds_one_winner_each: in_file;
    }
    terms {
        an_attempt_never_takes_a_live_lease: in_file;
        a_renewal_counts_for_its_own_term_only: in_file;
        a_late_renewal_of_lower_ordinal_changes_nothing: in_file;
        an_expired_term_is_not_renewed: in_file;
        an_old_terms_resignation_leaves_a_newer_term_alone: in_file;
        the_row_survives_a_resignation: in_file;
        a_take_over_must_describe_the_row_exactly: in_file;
        a_new_term_is_above_everything_known: in_file;
        a_lost_row_does_not_bring_back_an_old_term: in_file;
        the_default_namespace_is_the_one_of_that_name: in_file;
        a_request_to_resign_names_its_term: in_file;
        a_request_to_resign_reaches_the_leader: in_file;
    }
    work {
        work_that_is_done_resigns: in_file;
        work_that_fails_resigns_and_returns_the_error: in_file;
        work_that_panics_resigns_and_the_panic_goes_on: in_file;
        work_that_ignores_its_loss_is_stopped_by_force: in_file;
        work_that_is_told_may_clean_up_first: in_file;
        work_starts_again_with_the_next_leadership: in_file;
        cancelled_work_leaves_the_elector_running: in_file;
        an_election_runs_work_by_itself: in_file;
        a_handles_work_can_be_spawned: in_file;
        work_whose_elector_died_is_an_error: in_file;
    }
}
