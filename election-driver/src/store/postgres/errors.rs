//! What PostgreSQL's codes mean for an election, and the remedies.

use crate::{
    StoreError, StoreErrorCode,
    store::calls::{STRANGE, explained},
};
use election_core::lease::Failure;
use sqlx::postgres::PgDatabaseError;

/// No connection is left: the server's, the database's or this user's limit is reached.
pub(super) const FULL: &str = "53300";
/// A lock could not be had in time.
pub(super) const LOCKED: &str = "55P03";
/// This user lacks a right.
pub(super) const DENIED: &str = "42501";
/// There is no such table.
pub(super) const MISSING: &str = "42P01";
/// The table has no such column.
pub(super) const NO_COLUMN: &str = "42703";
/// Nothing can be written.
pub(super) const READS: &str = "25006";
/// There is such a table already.
pub(super) const EXISTS: &str = "42P07";
/// The server has given the statement up.
pub(super) const CANCELLED: &str = "57014";
/// There is no such setting.
pub(super) const UNKNOWN: &str = "42704";

pub(super) fn explain(error: sqlx::Error, otherwise: Failure) -> StoreError {
    // A user who is let in has the right to connect; the login needs no other right.
    let connecting = otherwise == Failure::Transient;
    let in_function = is_in_function(&error);
    let found = error.as_database_error().and_then(|error| known(&error.code()?, in_function));
    explained(error, otherwise, |code, message| {
        Some(match code {
            LOCKED => (Failure::Conflict, "another transaction holds the leader row or its table"),
            "40001" | "40P01" => (Failure::Conflict, RACE),
            CANCELLED if message.contains("statement timeout") => (
                Failure::Transient,
                "the server cancelled the statement because it took too long; check what the \
                 server is busy with (pg_stat_activity)",
            ),
            CANCELLED => (Failure::Transient, "somebody cancelled the statement"),
            "57P01" | "57P02" => {
                (Failure::Ambiguous, "an administrator, or the server, ended the connection")
            }
            "57P03" => (Failure::Transient, "the server is starting up or shutting down"),
            "25P03" => (
                Failure::Transient,
                "the server ended a transaction that this process left idle: the process was \
                 paused, or is short of CPU time; roll back, check that you still lead, and begin \
                 another",
            ),
            "57P05" => (
                Failure::Transient,
                "the server ended the connection after a long idle time: this process was paused, \
                 or is short of CPU time",
            ),
            FULL => (
                Failure::Transient,
                "the server has no free connection for this user and database; end idle ones, or \
                 raise max_connections or their CONNECTION LIMIT",
            ),
            "28P01" | "28000" => (
                Failure::Fatal,
                "the server rejected the user or password, or does not accept this user from here; \
                 check both, and the server's pg_hba.conf",
            ),
            "55000" if connecting => (
                Failure::Fatal,
                "the database accepts no connections; allow them (ALTER DATABASE … \
                 ALLOW_CONNECTIONS true)",
            ),
            "3D000" => (
                Failure::Fatal,
                "the server has no database of this name; create it (CREATE DATABASE), or correct \
                 the name at the end of the URL's path",
            ),
            "55000" if message.contains("recovery is in progress") => (
                Failure::Fatal,
                "this server is a read-only replica, whose rows may be old; connect to the primary",
            ),
            "42883" | "0A000" | "XX000" if asks_for_history(message) => (
                Failure::Fatal,
                "this server cannot tell whether it was promoted (Aurora and others); add \
                 `?history=none` to the URL, and see the guide's page `timing` for what that costs",
            ),
            DENIED if asks_for_history(message) => (
                Failure::Fatal,
                "this database user may not ask whether the server was promoted; grant it EXECUTE on \
                 the functions pg_catalog.pg_current_wal_lsn(), pg_catalog.pg_walfile_name(pg_lsn) and \
                 pg_catalog.pg_control_system()",
            ),
            DENIED if message.contains("row-level security") => (
                Failure::Fatal,
                "row-level security hides rows of the election's tables from this database user, \
                 who would take an invisible row for a missing one; turn it off there (ALTER TABLE \
                 … DISABLE ROW LEVEL SECURITY), or exempt the user (ALTER ROLE … BYPASSRLS)",
            ),
            DENIED if message.contains("for function") => (
                Failure::Fatal,
                "this database user may not call a server function that elections need; grant it \
                 EXECUTE on the function that the server names (GRANT EXECUTE ON FUNCTION … TO …)",
            ),
            // A statement that is prepared meanwhile.
            DENIED if connecting && message.contains("for schema") => (Failure::Fatal, RIGHTS),
            UNKNOWN if connecting => (
                Failure::Fatal,
                "the server does not know a session option, so it is older than PostgreSQL 12: \
                 upgrade it, or use another",
            ),
            DENIED if connecting => (
                Failure::Fatal,
                "this user may not connect to this database; grant it CONNECT on the database",
            ),
            "53100" => (Failure::Fatal, "the server's disk is full; free some space"),
            "53200" if message.contains("shared memory") => (
                Failure::Transient,
                "the server's lock table is full; find out who locks so many tables, or raise \
                 max_locks_per_transaction on the server",
            ),
            "53200" => (Failure::Transient, "the server is out of memory"),
            "40003" => return None,
            MISSING | NO_COLUMN | DENIED if in_function => (Failure::Fatal, TRIGGER),
            _ => return ours(code, message).or_else(|| class(code)),
        })
    })
    .coded(found)
}

fn known(code: &str, in_function: bool) -> Option<StoreErrorCode> {
    match code {
        _ if matches!(code.get(..2)?, "22" | "23" | "P0") => Some(StoreErrorCode::Row),
        _ if in_function && code.starts_with("42") => Some(StoreErrorCode::Row),
        "28P01" | "28000" => Some(StoreErrorCode::Login),
        MISSING | NO_COLUMN => Some(StoreErrorCode::Tables),
        _ => None,
    }
}

/// Whether a function has failed that somebody else wrote: elections call none.
fn is_in_function(error: &sqlx::Error) -> bool {
    let error = error.as_database_error().and_then(|error| error.try_downcast_ref());
    let place = error.and_then(|error: &PgDatabaseError| error.r#where());
    place.is_some_and(|place| place.contains(" function "))
}

/// Whether the server complains of what tells its history.
fn asks_for_history(message: &str) -> bool {
    ["pg_current_wal_lsn", "pg_walfile_name", "pg_control_system"]
        .iter()
        .any(|name| message.contains(name))
}

/// What is wrong with the tables, or with the way to them.
fn ours(code: &str, message: &str) -> Option<(Failure, &'static str)> {
    let what = match code {
        MISSING => {
            "the tables are missing or from an older version; create them with `ensure_schema` or \
             `election schema --apply`"
        }
        NO_COLUMN => STRANGE,
        EXISTS => {
            "a table of this name already exists without its version table; use another prefix or \
             schema, or restore the version table"
        }
        "42P05" | "26000" => POOLER,
        "08P01" if message.contains("startup parameter") => POOLER,
        "08P01" => {
            return Some((
                Failure::Ambiguous,
                "the server, or a pooler in front of it, ended the connection",
            ));
        }
        "3F000" => {
            "the schema does not exist; create it (CREATE SCHEMA), or name another (`--schema`)"
        }
        DENIED => RIGHTS,
        "54000" if message.contains("NOTIFY queue") => {
            return Some((
                Failure::Transient,
                "the server's notification queue is full: a listening session stays in a \
                 transaction; end the session that the server's log names",
            ));
        }
        "22P05" => {
            "the database's encoding lacks a character of a name or label; choose another, or \
             create the database with ENCODING 'UTF8'"
        }
        READS => {
            "this server is read-only (a replica?), or this session is; connect to the primary, or \
             turn default_transaction_read_only off for this user and database"
        }
        "25P02" => "an earlier statement of this transaction failed; roll it back",
        _ => return None,
    };
    Some((Failure::Fatal, what))
}

/// The store that meets it names the user and the tables, too.
pub(super) const RIGHTS: &str = "this database user lacks a right; to inspect, grant it USAGE on \
                                 the schema and SELECT on the election's tables; to take part, \
                                 INSERT and UPDATE on election_leader and election_server, and all \
                                 of SELECT, INSERT, UPDATE and DELETE on election_candidate";

const TRIGGER: &str = "a trigger function on the election's tables failed; correct it, or drop the \
                       trigger";

const RACE: &str = "the statement lost a race and was undone; roll back its transaction, and try \
                    again in another";

const POOLER: &str = "a pooler in front of the server switches sessions; connect directly, or add \
                      `?statement-cache-capacity=0` to the URL";

/// The meaning of a code that needs no words of its own. A statement that the server has refused
/// outright was not executed, and will be refused again.
fn class(code: &str) -> Option<(Failure, &'static str)> {
    Some(match code.get(..2)? {
        "40" => (Failure::Conflict, RACE),
        "P0" => (Failure::Fatal, TRIGGER),
        "0A" | "22" | "23" | "25" | "42" | "54" => (
            Failure::Fatal,
            "the server rejects the statement; check that the tables belong to this program and \
             are unchanged, and that the server is PostgreSQL 12 or later",
        ),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use sqlx::error::{DatabaseError, ErrorKind};
    use std::{borrow::Cow, error::Error, fmt};

    /// What a server says under a code.
    #[derive(Debug)]
    struct Said(&'static str);

    impl fmt::Display for Said {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(self.message())
        }
    }

    impl Error for Said {}

    impl DatabaseError for Said {
        fn message(&self) -> &str {
            "it says"
        }
        fn code(&self) -> Option<Cow<'_, str>> {
            Some(self.0.into())
        }
        fn as_error(&self) -> &(dyn Error + Send + Sync + 'static) {
            self
        }
        fn as_error_mut(&mut self) -> &mut (dyn Error + Send + Sync + 'static) {
            self
        }
        fn into_error(self: Box<Self>) -> Box<dyn Error + Send + Sync + 'static> {
            self
        }
        fn kind(&self) -> ErrorKind {
            ErrorKind::Other
        }
    }

    /// All others of its class say that the statement was undone.
    #[test]
    fn a_statement_of_unknown_completion_is_ambiguous() {
        let kind = |code| {
            let said = sqlx::Error::Database(Box::new(Said(code)));
            explain(said, Failure::Ambiguous).kind
        };
        let others = ["40000", "40001", "40002", "40P01"].map(kind);
        assert_eq!((kind("40003"), others), (Failure::Ambiguous, [Failure::Conflict; 4]));
    }
}
