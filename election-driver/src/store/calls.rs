//! Running a call over sqlx. One set of macros serves every database; sqlx's types would otherwise
//! make us write each call three times.

use crate::StoreError;
use election_core::lease::Failure;
use std::{error::Error, fmt, io};

/// The methods of a [`Client`](super::client::Client) that run statements.
macro_rules! sqlx_calls {
    ($connection:ty, text: $text:expr, column: $column:path, explain: $explain:path, id: $id:expr,
     prepared: $prepared:expr) => {
        async fn fetch(
            connection: &mut $connection,
            call: &Call<'_>,
        ) -> Result<Vec<Vec<Value<'static>>>, StoreError> {
            let prepared = $prepared(connection);
            let rows = sqlx_calls!(@bound call, $text)
                .persistent(prepared)
                .fetch_all(connection)
                .await
                .map_err(|error| $explain(error, Failure::Ambiguous))?;
            let columns = |row| (0..sqlx::Row::len(row)).map(|at| $column(row, at)).collect();
            rows.iter().map(columns).collect()
        }

        async fn execute(
            connection: &mut $connection,
            call: &Call<'_>,
        ) -> Result<(u64, u64), StoreError> {
            let prepared = $prepared(connection);
            let done = sqlx_calls!(@bound call, $text)
                .persistent(prepared)
                .execute(connection)
                .await
                .map_err(|error| $explain(error, Failure::Ambiguous))?;
            Ok((done.rows_affected(), $id(&done)))
        }

        async fn send(connection: &mut $connection, sql: &str) -> Result<(), StoreError> {
            let sent = sqlx::Executor::execute(connection, sqlx::AssertSqlSafe(sql)).await;
            sent.map(|_| ()).map_err(|error| $explain(error, Failure::Ambiguous))
        }
    };
    // Where the server is elsewhere.
    (prepared for $connection:ty, of $database:ty, explain: $explain:path, unless: $unless:expr) => {
        async fn prepare(
            &self,
            connection: &mut $connection,
            call: &Call<'_>,
        ) -> Result<(), StoreError> {
            if $unless(self) {
                return Ok(());
            }
            let types: Vec<_> = call
                .params
                .iter()
                .map(|value| match value {
                    Value::Integer(_) => <i64 as sqlx::Type<$database>>::type_info(),
                    Value::Text(_) | Value::Null => <String as sqlx::Type<$database>>::type_info(),
                })
                .collect();
            let sql = sqlx::SqlSafeStr::into_sql_str(sqlx::AssertSqlSafe(call.sql));
            let done = sqlx::Executor::prepare_with(connection, sql, &types).await;
            done.map(|_| ()).map_err(|error| $explain(error, Failure::Transient))
        }
    };
    (@bound $call:ident, $text:expr) => {
        // Every value is bound; the text is the core's own except for checked identifiers.
        $call.params.iter().fold(
            sqlx::query(sqlx::AssertSqlSafe($call.sql)),
            |query, value| match value {
                Value::Null => query.bind(None::<String>),
                Value::Integer(number) => query.bind(*number),
                Value::Text(text) => query.bind($text(text)),
            },
        )
    };
}
pub(super) use sqlx_calls;

/// An error of a sqlx client in helpful words: without the place in the server's source code, and
/// each cause once.
#[derive(Debug)]
pub(super) struct Cause(sqlx::Error);

impl Cause {
    /// The sqlx error below an error of a store.
    pub(super) fn of(error: &StoreError) -> Option<&sqlx::Error> {
        error.source.as_ref()?.downcast_ref().map(|Self(cause)| cause)
    }
}

/// Whether the connection was there and broke, so that the server may not know that its client has
/// gone. If the server has reported the error, it sees that.
pub(super) fn is_lost(error: &StoreError) -> bool {
    matches!(Cause::of(error), Some(sqlx::Error::Io(error)) if broke(error.kind()))
}

fn broke(kind: io::ErrorKind) -> bool {
    matches!(
        kind,
        io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::BrokenPipe
            | io::ErrorKind::UnexpectedEof
    )
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            sqlx::Error::Database(error) => match error.code() {
                Some(code) => write!(f, "{} ({code})", error.message()),
                None => f.write_str(error.message()),
            },
            sqlx::Error::Io(error) => error.fmt(f),
            sqlx::Error::Tls(error) | sqlx::Error::Configuration(error) => error.fmt(f),
            sqlx::Error::Protocol(text) => f.write_str(without_place(text)),
            other => other.fmt(f),
        }
    }
}

impl Error for Cause {}

/// sqlx appends the place in its source code that reported the error.
fn without_place(text: &str) -> &str {
    match text.rsplit_once(" (") {
        Some((words, place)) if place.ends_with(')') && place.contains("::") => words,
        _ => text,
    }
}

/// What to say of tables that lack a column: to whom they belong, only their owner knows.
pub(super) const STRANGE: &str = "a table with the election's table name lacks a column: if it is \
                                  from an older version, upgrade it with `ensure_schema` or \
                                  `election schema --apply`; if it belongs to another program, \
                                  keep the election's tables in another schema (`--schema`) or \
                                  database";

/// An error with the meaning of the database's code for it or, if it has none, of its message;
/// `otherwise` if neither is known.
pub(super) fn explained(
    error: sqlx::Error,
    otherwise: Failure,
    meaning: impl FnOnce(&str, &str) -> Option<(Failure, &'static str)>,
) -> StoreError {
    let known = match &error {
        sqlx::Error::Database(database) => {
            // A server that lets nobody in any more may not have got as far as sending codes.
            meaning(&database.code().unwrap_or_default(), database.message())
        }
        sqlx::Error::Configuration(_) => Some((Failure::Fatal, "the connection is misconfigured")),
        sqlx::Error::Tls(error) => Some((Failure::Fatal, unencrypted(&error.to_string()))),
        sqlx::Error::Io(error) => lost(error, otherwise),
        sqlx::Error::Protocol(text) if otherwise == Failure::Transient => Some(if is_end(text) {
            (Failure::Transient, CLOSED)
        } else {
            (Failure::Fatal, strange(text))
        }),
        _ => None,
    };
    let unknown = match &error {
        sqlx::Error::Database(_) => "the database answered with an error",
        _ => "the database did not answer",
    };
    let (kind, context) = known.unwrap_or((otherwise, unknown));
    StoreError::new(kind, context).with_source(Cause(error))
}

/// Whether the other end closed the connection in place of an answer. sqlx takes the byte that it
/// has not read for the answer.
fn is_end(text: &str) -> bool {
    text.contains("SSLRequest: 0x00")
}

const CLOSED: &str = "the connection was closed before an answer: the server is starting, or is \
                      down behind a proxy";

/// The meaning of an answer that could not be understood while a connection was opened.
fn strange(text: &str) -> &'static str {
    // sqlx has no type for it.
    if text.contains("authentication") {
        "the server asks for an authentication method that this program does not support; give \
         this user a password"
    } else {
        "the other end speaks another protocol: check the port and the URL's scheme (postgres:// \
         or mysql://)"
    }
}

fn unencrypted(error: &str) -> &'static str {
    // sqlx has no type for it.
    if error.contains("does not support TLS") {
        "the server does not offer TLS, or somebody on the path hides that it does; enable TLS on \
         the server, or allow plain text in the URL, which lets everybody on the path read \
         everything, including the password (sslmode=disable for PostgreSQL, ssl-mode=DISABLED for \
         MySQL)"
    } else {
        "the encrypted connection failed; check the certificates, and that the `tls` feature is \
         enabled"
    }
}

fn lost(error: &io::Error, otherwise: Failure) -> Option<(Failure, &'static str)> {
    Some(match error.kind() {
        // A failed handshake arrives like this: nobody vouches for the server's certificate.
        io::ErrorKind::InvalidData => (
            Failure::Fatal,
            "the encrypted connection failed; check that the server's certificate is issued for \
             this host name by an authority that this machine trusts (or name the authority in the \
             URL: sslrootcert, ssl-ca)",
        ),
        io::ErrorKind::ConnectionRefused => (
            Failure::Transient,
            "nothing is listening there; start the server, or check host and port",
        ),
        io::ErrorKind::NotFound => (
            Failure::Transient,
            "no such socket; start the server, or check where it creates its socket",
        ),
        io::ErrorKind::PermissionDenied => {
            (Failure::Fatal, "this user may not use the server's socket; give it access")
        }
        kind if broke(kind) => (otherwise, "the connection was lost"),
        // There is no type for it.
        _ if error.to_string().contains("lookup address") => (
            Failure::Transient,
            "the host name cannot be resolved; check the name and the name service",
        ),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_socket_that_this_user_may_not_use_has_to_be_granted() {
        for (kind, failure, words) in [
            (io::ErrorKind::PermissionDenied, Failure::Fatal, "give it access"),
            (io::ErrorKind::NotFound, Failure::Transient, "no such socket"),
            (io::ErrorKind::ConnectionRefused, Failure::Transient, "nothing is listening there"),
        ] {
            let error = sqlx::Error::Io(kind.into());
            let told = explained(error, Failure::Transient, |_, _| None);
            assert_eq!(told.kind, failure, "{told}");
            assert!(told.to_string().contains(words), "{told}");
        }
    }

    #[test]
    fn a_connection_that_is_closed_unanswered_is_no_strange_server() {
        let told = |text: &str| {
            explained(sqlx::Error::Protocol(text.into()), Failure::Transient, |_, _| None)
        };
        let closed = told("unexpected response from SSLRequest: 0x00 (sqlx::tls:95)");
        assert_eq!(closed.kind, Failure::Transient);
        assert!(closed.to_string().contains("closed before an answer"), "{closed}");
        let strange = told("unexpected response from SSLRequest: 0x48");
        assert_eq!(strange.kind, Failure::Fatal);
    }
}
