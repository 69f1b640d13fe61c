//! What MySQL's and MariaDB's error codes mean for an election, and the remedies.

use crate::{
    StoreError, StoreErrorCode,
    store::calls::{Cause, STRANGE, explained},
};
use election_core::lease::Failure;
use sqlx::mysql::MySqlDatabaseError;

pub(super) const DEADLOCK: u16 = 1213;
/// The server does not understand the statement.
pub(super) const SYNTAX: u16 = 1064;
/// There is no such table.
pub(super) const MISSING: u16 = 1146;
/// The table has no such column.
pub(super) const NO_COLUMN: u16 = 1054;
/// There is no such variable.
const NO_VARIABLE: u16 = 1193;
/// This user may not run such a statement on this table, or in this database.
pub(super) const DENIED: [u16; 3] = [1142, 1143, 1044];

/// Whether the server had no time for a statement, or somebody has cancelled it.
pub(super) fn is_given_up(error: &sqlx::Error) -> bool {
    number(error).is_some_and(|number| GIVEN_UP.contains(&number))
}

/// Whether the server has answered with one of these numbers.
pub(super) fn is(error: &StoreError, numbers: &[u16]) -> bool {
    Cause::of(error).and_then(number).is_some_and(|number| numbers.contains(&number))
}

/// Whether the server, or the session, takes no writes.
pub(super) fn only_reads(error: &StoreError) -> bool {
    Cause::of(error).is_some_and(|cause| {
        let message = cause.as_database_error().map_or("", |error| error.message());
        number(cause).is_some_and(|number| reads(number, message))
    })
}

fn reads(number: u16, message: &str) -> bool {
    match number {
        1836 | 1792 => true,
        // Any server option that forbids a statement; read_only is the one that matters.
        1290 => message.contains("read-only") || message.contains("read_only"),
        _ => false,
    }
}

/// Whether the server has no setting of a name that it was asked for.
pub(super) fn knows_no_setting(error: &sqlx::Error) -> bool {
    number(error) == Some(NO_VARIABLE)
}

/// The statement took too long (on MariaDB, on MySQL), or was cancelled.
const GIVEN_UP: [u16; 3] = [1969, 3024, 1317];

/// The server's code for an error.
fn number(error: &sqlx::Error) -> Option<u16> {
    let database = error.as_database_error()?;
    Some(database.try_downcast_ref::<MySqlDatabaseError>()?.number())
}

/// The server tells an ordinary user nothing about other users' transactions.
const HELD: &str = "another transaction holds the leader row or its table; find it in \
                    information_schema.INNODB_TRX, or in SHOW FULL PROCESSLIST for a table or a \
                    global read lock (LOCK TABLES, FLUSH TABLES WITH READ LOCK)";

pub(super) fn explain(error: sqlx::Error, otherwise: Failure) -> StoreError {
    let number = number(&error);
    let message = error.as_database_error().map_or("", |error| error.message());
    let code = error.as_database_error().and_then(sqlx::error::DatabaseError::code);
    let found = number.and_then(|number| known(number, &code?, message));
    // In that phase only the creation of tables needs more rights than the connection.
    let connecting = otherwise == Failure::Transient;
    explained(error, otherwise, |code, message| meaning(number?, code, message, connecting))
        .coded(found)
}

fn meaning(
    number: u16,
    code: &str,
    message: &str,
    connecting: bool,
) -> Option<(Failure, &'static str)> {
    Some(match number {
        1205 => (Failure::Conflict, HELD),
        // On a cluster also at the commit: another server was first with one of its rows.
        DEADLOCK => (
            Failure::Conflict,
            "the statement lost a deadlock, and its whole transaction was undone; roll back, and \
             try again in another",
        ),
        1047 if message.contains("WSREP") => (
            Failure::Transient,
            "this server of a Galera cluster is cut off from the majority of the others, or has \
             not caught up with them yet, and accepts no statements (wsrep_cluster_status, \
             wsrep_local_state_comment); repair its network, start the missing servers, or connect \
             to another",
        ),
        // It may have reached the other servers of a cluster.
        1180 => (
            Failure::Ambiguous,
            "the server failed during the commit (on a Galera cluster: it was cut off from the \
             others), so the outcome of the commit is unknown; see the server's log",
        ),
        // With innodb_snapshot_isolation.
        1020 => (
            Failure::Conflict,
            "a row has changed since this transaction first read it, and the server undid the \
             whole transaction; roll back, and try again in another",
        ),
        // The server does not tell which of the two it was.
        1969 | 3024 => (
            Failure::Conflict,
            "the statement took too long and was undone; the server is busy, or another \
             transaction holds the leader row or its table (information_schema.INNODB_TRX, \
             SHOW FULL PROCESSLIST)",
        ),
        1317 => (
            Failure::Transient,
            "the server cancelled the statement: somebody asked it to (KILL QUERY), or its Galera \
             cluster was regrouping because a server joined, left or was cut off",
        ),
        1927 => (Failure::Ambiguous, "an administrator ended the connection"),
        4031 => (
            Failure::Transient,
            "the server ended the connection after a long idle time: this process was paused, or \
             is short of CPU time",
        ),
        1040 => (
            Failure::Transient,
            "the server has no free connection; end idle ones, or raise max_connections",
        ),
        1203 | 1226 => (
            Failure::Transient,
            "the server has no free connection for this user; end idle ones, or raise the user's \
             limit (max_user_connections, MAX_USER_CONNECTIONS)",
        ),
        1129 => (
            Failure::Transient,
            "the server has blocked this machine after too many broken connections; run FLUSH \
             HOSTS on the server, and find out what breaks them",
        ),
        1130 => (
            Failure::Fatal,
            "the server accepts no user from this machine; create one for it ('USER'@'HOST')",
        ),
        1053 | 1077 | 1079 => (Failure::Transient, "the server is shutting down"),
        4151 | 3118 => {
            (Failure::Fatal, "the user is locked; unlock it (ALTER USER … ACCOUNT UNLOCK)")
        }
        1820 | 1862 => {
            (Failure::Fatal, "the user's password has expired; set another (ALTER USER …)")
        }
        1045 | 1698 => (Failure::Fatal, "the server rejected the user or password"),
        1049 => (
            Failure::Fatal,
            "the server has no database of this name; create it (CREATE DATABASE), or correct the \
             name at the end of the URL's path",
        ),
        1044 if connecting => (
            Failure::Fatal,
            "the server has no database of this name, or this database user has no right to it; \
             check the name, and grant rights on its tables",
        ),
        1021 | 1114 => (Failure::Fatal, "the server's disk is full; free some space"),
        _ => return ours(number, message).or_else(|| class(code)),
    })
}

fn known(number: u16, code: &str, message: &str) -> Option<StoreErrorCode> {
    match number {
        1045 | 1698 | 1130 => Some(StoreErrorCode::Login),
        _ if matches!(code.get(..2)?, "22" | "23" | "45") => Some(StoreErrorCode::Row),
        MISSING if !is_ours(message) => Some(StoreErrorCode::Row), // a trigger's
        MISSING | NO_COLUMN => Some(StoreErrorCode::Tables),
        _ => None,
    }
}

/// Whether a table is one of an election's, by how its name ends.
fn is_ours(message: &str) -> bool {
    ["leader", "candidate", "fence", "schema"]
        .iter()
        .any(|name| message.contains(&format!("{name}'")))
}

/// What is wrong with the tables, or with their server.
fn ours(number: u16, message: &str) -> Option<(Failure, &'static str)> {
    let what = match number {
        MISSING => {
            "the tables are missing or from an older version; create them with `ensure_schema` or \
             `election schema --apply`"
        }
        NO_COLUMN => STRANGE,
        1046 => "the URL names no database; add one, or name a schema",
        // A user without rights to a table is not told whether it exists.
        _ if DENIED.contains(&number) => {
            "this database user lacks a right, or the tables are not there yet; have them created \
             (`ensure_schema`, `election schema --apply`) by a user who may, and grant this one \
             SELECT on them to inspect; to take part, also INSERT and UPDATE on election_leader, \
             all of SELECT, INSERT, UPDATE and DELETE on election_candidate, and INSERT on \
             election_fence (on a Galera cluster DELETE too)"
        }
        _ if reads(number, message) => READS,
        _ => return None,
    };
    Some((Failure::Fatal, what))
}

const READS: &str = "this server is read-only (a replica?), or this session is; connect to the \
                     primary, or turn read_only and tx_read_only (transaction_read_only) off";

/// The meaning of a SQLSTATE whose number needs no words of its own. A statement that the server
/// has refused outright was not executed, and will be refused again.
fn class(code: &str) -> Option<(Failure, &'static str)> {
    if code.starts_with("45") {
        return Some((
            Failure::Fatal,
            "a trigger on the election's tables failed; fix it or drop it",
        ));
    }
    matches!(code.get(..2)?, "0A" | "21" | "22" | "23" | "25" | "42").then_some((
        Failure::Fatal,
        "the server rejects the statement; check that the tables belong to this program and are \
         unchanged, and that the server is MySQL 8 or MariaDB 10.4, or later",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In the words of MariaDB 10.11.
    fn means(number: u16, code: &str, message: &str) -> Option<(Failure, &'static str)> {
        let within = meaning(number, code, message, false);
        assert_eq!(meaning(number, code, message, true), within, "while it connects");
        within
    }

    #[test]
    fn a_server_outside_of_its_cluster_has_executed_nothing() {
        let said = "WSREP has not yet prepared node for application use";
        let (kind, remedy) = means(1047, "08S01", said).unwrap();
        assert_eq!(kind, Failure::Transient);
        assert!(remedy.contains("connect to another"), "{remedy}");
        assert_eq!(means(1047, "08S01", "Unknown command"), None, "nobody's cluster");
    }

    #[test]
    fn what_a_trigger_refuses_concerns_one_row() {
        let missing = |name| format!("Table 'election.{name}' doesn't exist");
        for (number, code, message, expected) in [
            (30001, "45000", "refused", Some(StoreErrorCode::Row)),
            (1690, "22003", "BIGINT value is out of range", Some(StoreErrorCode::Row)),
            (MISSING, "42S02", &missing("audit"), Some(StoreErrorCode::Row)),
            (MISSING, "42S02", &missing("election_leader"), Some(StoreErrorCode::Tables)),
            (1205, "HY000", "Lock wait timeout exceeded", None),
        ] {
            assert_eq!(known(number, code, message), expected, "{number} {message}");
        }
    }

    #[test]
    fn a_statement_that_was_cancelled_names_who_may_have_done_it() {
        let (kind, remedy) = means(1317, "70100", "Query execution was interrupted").unwrap();
        assert_eq!(kind, Failure::Transient);
        assert!(remedy.contains("KILL QUERY") && remedy.contains("regrouping"), "{remedy}");
    }

    #[test]
    fn what_was_refused_at_the_commit_was_not_made() {
        let said = "Deadlock found when trying to get lock; try restarting transaction";
        let (kind, remedy) = means(1213, "40001", said).unwrap();
        assert_eq!(kind, Failure::Conflict);
        assert!(remedy.contains("try again in another"), "{remedy}");
    }

    #[test]
    fn a_commit_that_was_cut_off_may_have_been_made() {
        let said = "Got error 5 \"Input/output error\" during COMMIT";
        let (kind, remedy) = means(1180, "HY000", said).unwrap();
        assert_eq!(kind, Failure::Ambiguous);
        assert!(remedy.contains("is unknown"), "{remedy}");
    }
}
