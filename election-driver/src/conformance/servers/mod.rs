//! What a database behind a server adds: its death, its clock, the way to it, its sessions.

pub mod broken;
pub mod clocks;
mod counted;
pub mod faults;
pub mod hosts;
pub mod lingering;
pub mod links;
pub mod listener;
pub mod locked;
pub mod notifications;
mod observer;
pub mod promoted;
pub mod sessions;
pub mod tls;
pub mod transport;

use super::suite::list;

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
        the_servers_clock_jumps_and_the_leases_allow_for_it: postgres mariadb;
    }
    hosts {
        a_first_host_that_is_dead_is_passed_over: postgres mariadb;
        a_first_host_that_is_frozen_costs_its_share_of_the_time: postgres mariadb;
        a_leader_moves_on_with_its_lease: postgres mariadb;
        the_primary_is_found_and_followed: postgres;
        replicas_alone_are_named_with_the_reason: postgres;
        a_replica_is_asked_again_at_once: postgres;
        a_primary_that_only_reads_is_left: postgres;
        hosts_of_two_clusters_are_refused: postgres;
        hosts_that_do_not_tell_their_cluster_are_worth_one_warning: postgres;
        a_server_that_only_reads_is_left: mariadb;
        a_server_that_only_reads_is_asked_again_at_once: mariadb;
        all_hosts_are_named: bare_postgres;
        an_unknown_parameter_is_worth_one_warning: bare_postgres;
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
        what_is_rolled_back_is_not_said: postgres;
        a_word_alone_deposes_nobody: postgres;
        a_flood_of_words_starves_nobody: postgres;
        who_resigned_does_not_hear_of_it: postgres;
        a_lost_listener_comes_back: postgres;
        a_storm_of_notifications_is_a_few_looks: postgres;
        a_forged_notification_raises_no_epoch: postgres;
        whoever_is_asked_to_resign_is_told: postgres;
    }
    promoted {
        a_lost_term_is_outlasted: bare_postgres;
        a_leader_whose_renewals_were_lost_leads_on: bare_postgres;
        call_by_call_nobody_comes_back_too_soon: bare_postgres;
        at_a_promoted_server_every_documented_right_is_needed: bare_postgres;
        after_pg_upgrade_a_timeline_is_another_one: bare_postgres;
        a_synchronous_standby_loses_nothing: bare_postgres;
        a_synchronous_standby_that_is_away_is_named: bare_postgres;
        who_waits_at_a_promoted_server_says_for_how_long: bare_postgres;
        beside_a_primary_that_lives_on_only_the_trust_window_holds: bare_postgres;
        who_cannot_tell_its_history_is_refused_with_the_remedy: bare_postgres;
    }
    sessions {
        mariadb_elects_and_commits_under_every_setting: mariadb;
        a_fence_on_mariadb_needs_foreign_keys_and_says_so: mariadb;
        an_attempt_without_foreign_keys_wins_nothing: mariadb;
        a_call_that_nobody_would_commit_is_refused: mariadb;
        a_session_whose_clock_stands_still_is_refused: mariadb;
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
