//! SQLite files as files: paths and links to them, mounts, what is no database, and the tables in
//! them. (What a service sees of an election on them, `embedded` checks.)

mod again;
pub mod mounts;
pub mod opening;
pub mod paths;
pub mod schema;

use super::suite::list;

list! { $ __conformance_files in files:
    mounts {
        a_directory_that_is_read_only: no_file;
        a_read_only_directory_with_a_write_ahead_log: no_file;
        a_file_that_is_mounted_by_itself: no_file;
        a_directory_that_is_mounted_twice: no_file;
        a_full_disk: no_file;
        a_disk_without_room_for_a_database: no_file;
    }
    opening {
        what_cannot_be_shared_is_refused_at_once: no_file;
        an_applications_pool_names_the_file: in_file;
        a_missing_directory_is_named: no_file;
        a_missing_file_is_not_made_by_an_elector: no_file;
        missing_tables_are_named_and_waited_for: no_file;
        a_file_that_is_no_database_is_left_alone: no_file;
        foreign_tables_are_told_apart: no_file;
        a_row_that_nobody_could_have_written_is_an_error: in_file;
    }
    paths {
        a_file_of_two_names_is_refused_under_both: in_file;
        a_leader_lets_go_of_a_file_that_gets_a_second_name: in_file;
        a_symbolic_link_leads_into_the_same_election: no_file;
        a_link_that_is_turned_elsewhere_is_another_database: no_file;
        a_file_that_is_exchanged_while_it_is_opened_is_not_mistaken: no_file;
        what_is_made_is_its_owners_alone: no_file;
        what_exists_keeps_its_mode: no_file;
    }
    schema {
        made_twice_is_made_once: no_file;
        eight_tasks_make_it_at_once: no_file;
        eight_processes_make_it_at_once: no_file;
        newer_tables_are_refused_and_left_alone: in_file;
        an_applications_database_stays_as_it_is: no_file;
        the_script_makes_the_same_tables: no_file;
        tables_of_other_names_are_other_elections: in_file;
        a_migration_that_fails_leaves_nothing_behind: no_file;
        a_schema_that_the_elector_cannot_see_is_refused: in_file;
        the_statements_reach_an_attached_database: no_file;
        tables_that_were_dropped_are_missed: in_file;
        a_making_that_was_given_up_leaves_no_transaction: no_file;
    }
}
