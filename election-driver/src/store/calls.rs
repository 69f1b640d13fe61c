//! Running a call over sqlx: the same words for every database, which sqlx's types would
//! otherwise make us write three times.

use crate::StoreError;
use election_core::lease::Failure;
use std::io;

/// The two methods of a [`Client`](super::client::Client) that run statements.
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
    };
    (@bound $call:ident, $text:expr) => {
        // Every value is bound; the text is the core's own but for checked identifiers.
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

/// An error with what a database's code for it means; `otherwise` where the code is not known.
pub(super) fn explained(
    error: sqlx::Error,
    otherwise: Failure,
    meaning: impl FnOnce(&str, &str) -> Option<(Failure, &'static str)>,
) -> StoreError {
    let known = match &error {
        sqlx::Error::Database(database) => {
            database.code().and_then(|code| meaning(&code, database.message()))
        }
        sqlx::Error::Configuration(_) => {
            Some((Failure::Fatal, "the connection is not configured well"))
        }
        // There is no type for it.
        sqlx::Error::Tls(error) if error.to_string().contains("does not support TLS") => Some((
            Failure::Fatal,
            "the server does not offer TLS, or somebody on the way says so in its name; make it \
             offer TLS, or, if everybody on the way may read everything, the password included, \
             say so in the URL (sslmode=disable for PostgreSQL, ssl-mode=DISABLED for MySQL)",
        )),
        sqlx::Error::Tls(_) => Some((
            Failure::Fatal,
            "the encrypted connection failed; check certificates, and that the `tls` feature is on",
        )),
        // How a failed handshake comes through: a server whose certificate nobody vouches for.
        sqlx::Error::Io(error) if error.kind() == io::ErrorKind::InvalidData => Some((
            Failure::Fatal,
            "the encrypted connection failed; check that the server's certificate is signed by an \
             authority this machine knows (or name it in the URL: sslrootcert, ssl-ca) for this \
             host name",
        )),
        _ => None,
    };
    let unknown = match &error {
        sqlx::Error::Database(_) => "the database answered with an error",
        _ => "the database did not answer",
    };
    let (kind, context) = known.unwrap_or((otherwise, unknown));
    StoreError::new(kind, context).with_source(error)
}
