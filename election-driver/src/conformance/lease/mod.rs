//! What holds on every database. Each check runs on SQLite, on PostgreSQL and on MariaDB, or says
//! why it concerns only some of them. The central ones also run with the statements for clusters, on
//! PostgreSQL.

pub mod calls;
pub mod clock_step;
pub mod elections;
pub mod fence;
pub mod notifications;
pub mod operations;
pub mod scenarios;
pub mod transactions;
pub mod upgrades;

use super::suite::list;

list! { $ __conformance_lease in lease:
    calls {
        every_call_counts_with_the_commit_and_never_without: sqlite postgres mariadb cluster;
        an_epoch_that_was_rolled_back_fences_nothing: sqlite postgres mariadb cluster;
    }
    clock_step {
        steps_forward_cost_nobody_the_lease: sqlite postgres mariadb cluster;
        who_is_silent_is_taken_over_from_long_before_its_row_ends: sqlite postgres mariadb cluster;
        an_election_call_by_call_waits_for_the_allowance: sqlite postgres mariadb;
    }
    elections {
        elects_renews_and_fails_over: sqlite postgres mariadb cluster;
        resigns_to_a_follower: sqlite postgres mariadb cluster;
        resigns_when_asked: sqlite postgres mariadb cluster;
        leader_work_is_cancelled_and_starts_elsewhere: sqlite postgres mariadb;
    }
    fence {
        a_fenced_transaction_holds_up_the_next_term: sqlite postgres mariadb cluster;
        what_a_stale_leader_wrote_is_refused: sqlite postgres mariadb cluster;
        a_snapshot_from_before_the_take_over_is_refused: sqlite postgres mariadb cluster;
        a_fence_waits_for_a_term_that_is_about_to_begin: postgres cluster;
        an_expired_lease_is_refused: sqlite postgres mariadb cluster;
        where_no_tables_are_nothing_is_fenced: sqlite postgres mariadb cluster;
        renewals_go_on_beside_a_fenced_transaction: postgres mariadb cluster;
        an_idle_fenced_transaction_ends_itself: postgres;
        bounds_of_the_caller_that_are_tighter_stay: postgres;
        the_row_that_is_locked_makes_itself: mariadb;
    }
    notifications {
        a_resignation_wakes_the_followers: sqlite postgres;
        a_request_to_resign_is_heard_at_once: sqlite postgres;
        a_win_call_by_call_is_heard_at_once: sqlite;
        polling_does_it_where_no_notification_arrives: sqlite postgres mariadb cluster;
    }
    operations {
        elect_gives_the_leader_after_the_call: sqlite postgres mariadb cluster;
        an_expired_lease_is_taken_and_a_late_leader_finds_out: sqlite postgres mariadb;
        unregistering_vacates_only_ones_own_lease: sqlite postgres mariadb cluster;
        whoever_leads_is_asked_to_resign: sqlite postgres mariadb cluster;
        candidates_are_listed_while_their_heartbeat_is_fresh: sqlite postgres mariadb cluster;
        sixteen_contenders_in_fifty_rounds: sqlite postgres mariadb cluster;
    }
    scenarios {
        an_old_term_touches_no_new_one_of_the_same_candidate: sqlite postgres mariadb cluster;
        the_token_outlives_its_row: sqlite postgres mariadb cluster;
        a_cold_start_neither_deadlocks_nor_waits_a_lease: sqlite postgres mariadb cluster;
        a_deadlock_is_no_answer: mariadb;
        one_name_twice_is_two_candidates: sqlite postgres mariadb cluster;
        one_failed_renewal_does_not_cost_the_lease: sqlite postgres mariadb;
        a_cancelled_call_does_not_keep_the_lease: sqlite postgres mariadb;
        a_deferred_transaction_on_sqlite_is_refused_at_once: sqlite;
    }
    transactions {
        what_is_rolled_back_never_led: sqlite postgres mariadb;
        an_election_neither_commits_nor_loses_the_callers_data: sqlite postgres mariadb;
        the_clock_goes_on_in_a_long_transaction: sqlite postgres mariadb;
        a_win_that_has_run_out_by_the_commit_is_none: sqlite postgres mariadb cluster;
        a_snapshot_tells_nobody_that_it_leads_still: sqlite postgres mariadb cluster;
        a_transaction_that_is_over_elects_nobody: sqlite mariadb;
        a_transaction_that_has_failed_says_so: postgres;
        a_record_that_has_changed_is_a_conflict: mariadb;
        a_call_waits_for_a_lock_no_longer_than_elsewhere: postgres;
        nobody_else_wins_before_the_commit: postgres mariadb cluster;
        the_callers_settings_stay: postgres cluster;
    }
    upgrades {
        an_old_program_and_this_one_relieve_each_other: sqlite postgres mariadb;
        a_crash_amid_an_upgrade_costs_one_lease: sqlite postgres mariadb;
        old_and_new_contend_for_every_term: sqlite postgres mariadb;
        tables_of_a_newer_version_are_used: sqlite postgres mariadb;
        a_making_that_stopped_halfway_is_finished: sqlite postgres mariadb;
        tables_that_lack_a_column_are_refused: sqlite postgres mariadb;
    }
}
