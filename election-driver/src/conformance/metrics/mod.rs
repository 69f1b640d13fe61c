//! What is counted, and what a recorder is told.

pub mod checks;
mod recorder;

use super::suite::list;

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
