//! Users without rights, and servers that cannot: every error names cause and remedy, and once the
//! cause is gone the elector goes on by itself. And users with rights: the documented ones suffice.
//!
//! One server of each kind serves all checks of it; each check has a database of its own there.
#![allow(clippy::unwrap_used)]

mod functions;
mod grants;
mod ill;
mod notify;
mod policies;
mod pooler;
mod readonly;
mod refused;
mod schemas;
mod sessions;
mod stale;
mod support;
mod transport;
mod triggers;
mod waiting;

use election_testing::{Kind, Server};
use support::{OnMariaDb, OnPostgres, patiently};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn postgres() {
    let server = Server::start(Kind::Postgres);
    patiently("grants", grants::suffice_and_are_needed::<OnPostgres>(&server)).await;
    patiently("maker", grants::making_the_tables_on_postgres(&server)).await;
    patiently("refused", refused::everything::<OnPostgres>(&server)).await;
    patiently("not ours", refused::tables_that_are_not_ours(&server)).await;
    patiently("pooler", pooler::elections_work_by_polling(&server)).await;
    patiently("pooler unsaid", pooler::one_that_was_not_mentioned_is_named(&server)).await;
    for (mode, parameter) in [
        ("session", "?statement-cache-capacity=0"),
        ("session", ""),
        ("transaction", "?statement-cache-capacity=0"),
        ("transaction", ""),
    ] {
        let dropping =
            pooler::one_that_drops_options_has_no_sessions_of_ours(&server, mode, parameter);
        patiently(&format!("a pooler that drops options: {mode}, {parameter}"), dropping).await;
    }
    let without = notify::leadership_passes_on_without_notifications(&server);
    patiently("without notifications", without).await;
    patiently("policies", policies::rows_that_are_hidden_are_not_missing(&server)).await;
    patiently("pooled policies", policies::nor_are_they_behind_a_pooler(&server)).await;
    patiently("dropped writes", triggers::one_that_drops_the_write_is_warned_of(&server)).await;
    patiently("kept rows", triggers::one_that_keeps_the_row_is_named(&server)).await;
    patiently("functions", functions::one_that_may_not_be_called_is_named(&server)).await;
    patiently("encoding", functions::a_character_that_the_database_lacks_is_named(&server)).await;
    patiently("full queue", functions::a_full_queue_of_notifications_is_named(&server)).await;
    patiently("transport", transport::what_the_environment_says(&server)).await;
    patiently("names", schemas::any_name_will_do::<OnPostgres>(&server)).await;
    patiently("paths", schemas::a_search_path_leads_nobody_astray(&server)).await;
    patiently("second set", schemas::a_second_set_of_tables_is_not_made_unasked(&server)).await;
    patiently("channels", schemas::schemas_do_not_hear_of_each_other(&server)).await;
    patiently("senseless", schemas::a_senseless_statement_is_fatal::<OnPostgres>(&server)).await;
    patiently("silence", ill::who_does_not_answer_is_named(&server)).await;
    patiently("lock", ill::a_lock_has_a_holder_on_postgres(&server)).await;
    patiently("queue", ill::whoever_queues_for_a_row_names_its_holder(&server)).await;
    patiently("another maker", ill::a_maker_that_does_not_end_on_postgres(&server)).await;
    patiently("dropped", ill::tables_that_were_dropped_are_missed::<OnPostgres>(&server)).await;
    patiently("servers", ill::a_dropped_table_of_servers_is_made_again(&server)).await;
    patiently("short", ill::what_is_short_on_postgres(&server)).await;
    patiently("stale", stale::old_entries_go_in_bites::<OnPostgres>(&server)).await;
    patiently("standby", readonly::a_standby_only_reads_until_it_is_promoted(&server)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn mariadb() {
    let server = Server::start(Kind::MariaDb);
    // Servers that share this crash each other's starts.
    let temporary = server.administer("mysql", "SELECT @@tmpdir");
    let own = server.authority().with_file_name("tmp");
    assert!(temporary.contains(own.to_str().unwrap()), "{temporary}");
    patiently("grants", grants::suffice_and_are_needed::<OnMariaDb>(&server)).await;
    patiently("maker", grants::making_the_tables_on_mariadb(&server)).await;
    patiently("refused", refused::everything::<OnMariaDb>(&server)).await;
    patiently("names", schemas::any_name_will_do::<OnMariaDb>(&server)).await;
    patiently("senseless", schemas::a_senseless_statement_is_fatal::<OnMariaDb>(&server)).await;
    patiently("anywhere", schemas::the_command_takes_it_from_anywhere(&server)).await;
    patiently("lock", ill::a_lock_on_mariadb(&server)).await;
    patiently("another maker", ill::a_maker_that_does_not_end_on_mariadb(&server)).await;
    patiently("dropped", ill::tables_that_were_dropped_are_missed::<OnMariaDb>(&server)).await;
    patiently("short", ill::what_is_short_on_mariadb(&server)).await;
    patiently("astray", ill::who_speaks_something_else_is_told_apart(&server)).await;
    patiently("read only", readonly::a_server_that_is_read_only(&server)).await;
    patiently("forgetful", readonly::a_server_that_forgets_is_warned_of(&server)).await;
    patiently("begun", sessions::what_begins_in_a_transaction_is_committed(&server)).await;
    patiently("unknown", sessions::a_transaction_that_sqlx_does_not_know_is_refused(&server)).await;
    patiently("triggers", triggers::elections_go_on(&server)).await;
    patiently("changed", triggers::one_that_changes_epochs_is_warned_of(&server)).await;
    patiently("stale", stale::old_entries_go_in_bites::<OnMariaDb>(&server)).await;
    patiently("last look", waiting::a_release_before_the_end_is_seen(&server)).await;
    patiently("long lease", waiting::a_lease_of_ten_years_is_named(&server)).await;
}

#[tokio::test]
async fn sqlite() {
    patiently("stale", stale::old_entries_go_in_bites_in_a_file()).await;
}
