//! The list of all checks, from which tests are made.

/// Makes a test of each check: of what users await, of the quorum, on SQLite, of what is counted if the calling crate has
/// the feature `metrics`, and on PostgreSQL and MariaDB if it has `mysql`, `postgres` and `tls`. See [`conformance`](mod@crate::conformance).
#[macro_export]
macro_rules! conformance {
    ($runtime:ty, $block_on:path) => {
        $crate::__conformance_futures!(nothing, OnNothing, $runtime, $block_on);
        $crate::conformance_on_quorum!($runtime, $block_on);
        #[cfg(feature = "metrics")]
        $crate::conformance_of_metrics!($runtime, $block_on);
        mod sqlite {
            use super::*;
            $crate::conformance_on_sqlite!($runtime, $block_on);
        }
        #[cfg(all(feature = "mysql", feature = "postgres", feature = "tls"))]
        mod postgres {
            use super::*;
            $crate::conformance_on_postgres!($runtime, $block_on);
        }
        #[cfg(all(feature = "mysql", feature = "postgres", feature = "tls"))]
        mod mariadb {
            use super::*;
            $crate::conformance_on_mariadb!($runtime, $block_on);
        }
    };
}

/// Makes a test of each check on SQLite. See [`conformance`](mod@crate::conformance).
#[macro_export]
macro_rules! conformance_on_sqlite {
    ($runtime:ty, $block_on:path) => {
        $crate::__conformance_lease!(sqlite, OnSqlite, $runtime, $block_on);
        $crate::__conformance_embedded!(in_file, InFile, $runtime, $block_on);
    };
}

/// Makes a test of each check on PostgreSQL. See [`conformance`](mod@crate::conformance). It takes the
/// features `mysql`, `postgres` and `tls`.
#[macro_export]
macro_rules! conformance_on_postgres {
    ($runtime:ty, $block_on:path) => {
        $crate::__conformance_lease!(postgres, OnPostgres, $runtime, $block_on);
        $crate::__conformance_servers!(postgres, OnPostgres, $runtime, $block_on);
    };
}

/// Makes a test of each check on MariaDB. See [`conformance`](mod@crate::conformance). It takes the
/// features `mysql`, `postgres` and `tls`.
#[macro_export]
macro_rules! conformance_on_mariadb {
    ($runtime:ty, $block_on:path) => {
        $crate::__conformance_lease!(mariadb, OnMariaDb, $runtime, $block_on);
        $crate::__conformance_servers!(mariadb, OnMariaDb, $runtime, $block_on);
    };
}

/// Makes a test of each check of what is counted. See [`conformance`](mod@crate::conformance). It takes
/// the feature `metrics`.
#[macro_export]
macro_rules! conformance_of_metrics {
    ($runtime:ty, $block_on:path) => {
        $crate::__conformance_metrics!(in_file, InFile, $runtime, $block_on);
    };
}

/// Makes a test of each check of a quorum's nodes, with certificates too if the calling crate has the
/// feature `tls`. See [`conformance`](mod@crate::conformance).
#[macro_export]
macro_rules! conformance_on_quorum {
    ($runtime:ty, $block_on:path) => {
        $crate::__conformance_quorum!(nothing, OnNothing, $runtime, $block_on);
        #[cfg(feature = "tls")]
        $crate::__conformance_secured!(nothing, OnNothing, $runtime, $block_on);
    };
}

/// Writes the lists: which check concerns which database.
macro_rules! list {
    ($d:tt $name:ident in $room:ident: $($area:ident { $($check:ident: $($on:ident)+;)+ })+) => {
        #[doc(hidden)]
        #[macro_export]
        macro_rules! $name {
            ($d on:ident, $d fixture:ident, $d runtime:ty, $d block_on:path) => {
                mod $room {
                    #[allow(unused_imports)]
                    use super::*;
                    $(mod $area {
                        #[allow(unused_imports)]
                        use super::*;
                        $($crate::__conformance_test!(
                            $d on in [$($on)+];
                            $room $area $check $d fixture; $d runtime; $d block_on
                        );)+
                    })+
                }
            };
        }
    };
}

/// A test, if the check concerns this database. On `bare` ones it starts its servers itself.
#[doc(hidden)]
#[macro_export]
macro_rules! __conformance_test {
    (sqlite in [sqlite $($rest:ident)*]; $($test:tt)*) => {
        $crate::__conformance_test!($($test)*);
    };
    (postgres in [postgres $($rest:ident)*]; $($test:tt)*) => {
        $crate::__conformance_test!($($test)*);
    };
    (mariadb in [mariadb $($rest:ident)*]; $($test:tt)*) => {
        $crate::__conformance_test!($($test)*);
    };
    (nothing in [nothing $($rest:ident)*]; $($test:tt)*) => {
        $crate::__conformance_test!($($test)*);
    };
    (in_file in [in_file $($rest:ident)*]; $($test:tt)*) => {
        $crate::__conformance_test!($($test)*);
    };
    (postgres in [bare_postgres]; $room:ident $area:ident $check:ident $on:ident; $($test:tt)*) => {
        $crate::__conformance_test!($room $area $check OnNothing; $($test)*);
    };
    (mariadb in [bare_mariadb]; $room:ident $area:ident $check:ident $on:ident; $($test:tt)*) => {
        $crate::__conformance_test!($room $area $check OnNothing; $($test)*);
    };
    ($on:ident in [$other:ident $($rest:ident)*]; $($test:tt)*) => {
        $crate::__conformance_test!($on in [$($rest)*]; $($test)*);
    };
    ($on:ident in []; $($test:tt)*) => {};
    ($room:ident $area:ident $check:ident $fixture:ident; $runtime:ty; $block_on:path) => {
        #[test]
        fn $check() {
            use $crate::conformance::{$room::$area, database};
            $block_on(database::run::<database::$fixture<$runtime>, _>($area::$check));
        }
    };
}

list! { $ __conformance_lease in lease:
    elections {
        elects_renews_and_fails_over: sqlite postgres mariadb;
        resigns_to_a_follower: sqlite postgres mariadb;
        resigns_when_asked: sqlite postgres mariadb;
        leader_work_is_cancelled_and_starts_elsewhere: sqlite postgres mariadb;
    }
    fence {
        a_fenced_transaction_holds_up_the_next_term: sqlite postgres mariadb;
        what_a_stale_leader_wrote_is_refused: sqlite postgres mariadb;
        a_snapshot_from_before_the_take_over_is_refused: sqlite postgres mariadb;
        an_expired_lease_is_refused: sqlite postgres mariadb;
        renewals_go_on_beside_a_fenced_transaction: postgres mariadb;
        an_idle_fenced_transaction_ends_itself: postgres;
        bounds_of_the_caller_that_are_tighter_stay: postgres;
        the_row_that_is_locked_makes_itself: mariadb;
    }
    notifications {
        a_resignation_wakes_the_followers: sqlite postgres;
        a_request_to_resign_is_heard_at_once: sqlite postgres;
        polling_does_it_where_no_notification_arrives: sqlite postgres mariadb;
    }
    operations {
        elect_gives_the_leader_after_the_call: sqlite postgres mariadb;
        an_expired_lease_is_taken_and_a_late_leader_finds_out: sqlite postgres mariadb;
        unregistering_vacates_only_ones_own_lease: sqlite postgres mariadb;
        whoever_leads_is_asked_to_resign: sqlite postgres mariadb;
        candidates_are_listed_while_their_heartbeat_is_fresh: sqlite postgres mariadb;
        sixteen_contenders_in_fifty_rounds: sqlite postgres mariadb;
    }
    scenarios {
        an_old_term_touches_no_new_one_of_the_same_candidate: sqlite postgres mariadb;
        the_token_outlives_its_row: sqlite postgres mariadb;
        a_cold_start_neither_deadlocks_nor_waits_a_lease: sqlite postgres mariadb;
        a_deadlock_is_no_answer: mariadb;
        one_name_twice_is_two_candidates: sqlite postgres mariadb;
        one_failed_renewal_does_not_cost_the_lease: sqlite postgres mariadb;
        a_cancelled_call_does_not_keep_the_lease: sqlite postgres mariadb;
        a_deferred_transaction_on_sqlite_is_refused_at_once: sqlite;
    }
    transactions {
        what_is_rolled_back_never_led: sqlite postgres mariadb;
        an_election_neither_commits_nor_loses_the_callers_data: sqlite postgres mariadb;
        the_clock_goes_on_in_a_long_transaction: sqlite postgres mariadb;
        nobody_else_wins_before_the_commit: postgres mariadb;
        the_callers_settings_stay: postgres;
    }
}

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

list! { $ __conformance_futures in futures:
    sizes {
        no_future_is_large: nothing;
    }
}

list! { $ __conformance_metrics in metrics:
    checks {
        an_ordinary_life: in_file;
        counts_and_times_agree: in_file;
        a_leader_that_was_replaced_shows_at_once: in_file;
        an_elector_that_was_dropped_leads_nothing: in_file;
        a_database_that_does_not_answer: in_file;
        failures_are_told_apart: in_file;
        heartbeats_are_counted_by_peer: in_file;
        a_pause_of_failover_is_shown_until_it_is_over: in_file;
    }
}

list! { $ __conformance_servers in servers:
    broken {
        the_call_after_a_broken_connection_has_another: postgres mariadb;
        the_call_after_an_error_has_another_connection: postgres mariadb;
    }
    clocks {
        the_servers_clock_is_slewed: postgres mariadb;
        the_leaders_clock_is_slewed: postgres;
        epochs_grow_over_the_promotion_of_a_standby_that_lost_the_newest: bare_postgres;
    }
    faults {
        a_server_is_killed_and_comes_back: postgres mariadb;
        a_server_is_frozen_for_longer_than_the_lease: postgres mariadb;
        a_leader_is_cut_off: postgres mariadb;
        connections_run_out: postgres mariadb;
        the_servers_clock_jumps: postgres mariadb;
    }
    lingering {
        a_link_that_loses_large_packets: postgres mariadb;
        a_proxy_that_keeps_its_own_connections: postgres mariadb;
        a_proxy_that_keeps_what_it_has_cut: postgres mariadb;
        a_link_that_falls_silent_after_the_login: postgres mariadb;
        a_link_that_loses_the_answer_to_the_login: postgres;
        a_link_that_loses_the_first_words: mariadb;
        a_link_that_loses_the_answer_to_the_last_words: postgres mariadb;
        a_link_that_stops_within_an_exchange: postgres;
        a_link_that_stops_anywhere: postgres mariadb;
    }
    links {
        nothing_piles_up_behind_a_cut_link: postgres mariadb;
        nothing_piles_up_behind_a_link_that_falls_silent: postgres mariadb;
        a_slow_link_carries_a_lease: postgres mariadb;
        a_renewal_costs_no_other_call_its_connection: postgres mariadb;
        statements_are_prepared_ahead: postgres mariadb;
        a_login_that_was_lost_is_not_waited_for: postgres mariadb;
        no_second_listener_behind_a_link_that_swallows_answers: postgres;
        tables_are_made_over_a_slow_link: postgres;
    }
    listener {
        the_only_connection_is_the_electors: postgres;
        a_listener_takes_no_elector_its_connection: postgres;
        a_listener_gives_way_to_its_elector: postgres;
        a_silent_listener_is_noticed: postgres;
        the_last_connection_of_a_database_is_not_listened_on: postgres;
        a_call_that_was_given_up_does_not_take_the_room_for_the_next: postgres;
        a_forgotten_listener_is_ended_before_there_is_another: postgres;
    }
    locked {
        nothing_piles_up_behind_a_lock_on_postgresql: postgres;
        nothing_piles_up_behind_a_lock_on_mariadb: mariadb;
    }
    notifications {
        what_a_notification_says: postgres;
        a_word_alone_deposes_nobody: postgres;
        a_flood_of_words_starves_nobody: postgres;
        who_resigned_does_not_hear_of_it: postgres;
        a_lost_listener_comes_back: postgres;
        a_storm_of_notifications_is_a_few_looks: postgres;
        a_forged_notification_raises_no_epoch: postgres;
        whoever_is_asked_to_resign_is_told: postgres;
    }
    sessions {
        mariadb_elects_and_commits_under_every_setting: mariadb;
        a_fence_on_mariadb_needs_foreign_keys_and_says_so: mariadb;
        an_attempt_without_foreign_keys_wins_nothing: mariadb;
        a_call_that_nobody_would_commit_is_refused: mariadb;
        postgres_elects_and_fences_under_every_setting: postgres;
        postgres_takes_the_clock_from_nobody_else: postgres;
        mariadb_keeps_its_clock_and_its_database_whatever_connecting_does: mariadb;
        what_was_set_for_a_transaction_ends_with_it: postgres;
        postgres_ends_idle_sessions_as_soon_as_their_user_says: postgres;
    }
    tls {
        postgres_encrypts: bare_postgres;
        mariadb_encrypts: bare_mariadb;
    }
    transport {
        who_says_that_postgres_knows_no_tls_gets_no_password: bare_postgres;
        who_says_that_mysql_knows_no_tls_learns_nothing: bare_mariadb;
        postgres_over_a_network_is_verified: bare_postgres;
        mariadb_over_a_network_is_verified: bare_mariadb;
        an_authority_that_is_named_is_asked: bare_postgres;
    }
}

list! { $ __conformance_quorum in quorum:
    builder {
        every_error_names_its_cause_its_place_and_the_remedy: nothing;
        an_address_that_leads_others_astray_is_worth_a_warning: nothing;
    }
    elections {
        elects_follows_and_fails_over: nothing;
        hands_over_and_shuts_down: nothing;
        who_leaves_says_so: nothing;
        the_newest_data_win: nothing;
        pauses_and_resumes: nothing;
        an_unfit_member_steps_down_and_comes_back: nothing;
        names_and_both_families: nothing;
    }
    following {
        a_follower_is_told_of_its_primary: nothing;
    }
    halting {
        a_handover_that_comes_too_late_says_why: nothing;
        a_blocked_node_is_overdue: nothing;
    }
    links {
        a_member_reconnects: nothing;
        a_slow_member_costs_nobody_leadership: nothing;
        a_deaf_member_costs_nobody_leadership: nothing;
    }
    starts {
        what_has_shut_down_can_start_again_at_once: nothing;
        a_shutdown_closes_all_sockets: nothing;
        a_pause_ends_with_its_node: nothing;
        a_ballot_that_is_kept_is_refused: nothing;
        a_port_that_is_taken_is_refused: nothing;
        who_was_killed_does_not_vote_twice: nothing;
    }
    strangers {
        nonsense_costs_its_own_connection: nothing;
        nonsense_in_a_members_name_costs_its_own_connection: nothing;
        half_a_frame_costs_its_own_connection: nothing;
    }
    work {
        dropping_a_node_ends_leadership_at_once: nothing;
        cancelled_work_leaves_the_member_leading: nothing;
        work_that_panics_gives_leadership_up: nothing;
    }
}

list! { $ __conformance_secured in secured:
    members {
        members_with_certificates_elect_and_hand_over: nothing;
        the_certificate_of_another_member_starts_no_node: nothing;
    }
    strangers {
        who_has_no_certificate_gets_nothing: nothing;
        who_speaks_no_tls_gets_nothing: nothing;
        who_has_a_foreign_certificate_gets_nothing: nothing;
        the_certificate_of_another_member_speaks_for_nobody_else: nothing;
    }
}
