//! What is set in a session on MySQL or MariaDB, and whether the statements mean there what they say:
//! whoever shares the session with an election can have set anything.

use super::{column, errors::explain};
use crate::{StoreError, store::client::OVER};
use election_core::{lease::Failure, sql::Value};
use sqlx::{AssertSqlSafe, MySqlConnection, Row as _};

/// The settings that a session reports.
pub(super) struct Settings {
    autocommit: bool,
    no_chain: bool,
    foreign_keys: bool,
    clock_goes: bool,
    /// Only MariaDB tells; elsewhere the caller is believed.
    in_transaction: Option<bool>,
}

const SETTINGS: &str = "SELECT @@SESSION.autocommit = 1, @@SESSION.completion_type = 'NO_CHAIN', \
                        @@SESSION.foreign_key_checks = 1";
const CLOCK: &str = "CAST(TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) AS SIGNED)";
/// By how many microseconds the clock may be off before it is asked once more. It is as old as the
/// statement, and the server may be slow.
const PROMPT: i64 = 5_000;

impl Settings {
    /// Those of the store's own session, which has set them.
    pub(super) async fn of(connection: &mut MySqlConnection) -> Result<Self, StoreError> {
        Self::told(connection, SETTINGS).await
    }

    /// Those of a caller's session, with what else can be wrong there.
    pub(super) async fn of_callers(connection: &mut MySqlConnection) -> Result<Self, StoreError> {
        // What follows M! is a comment to MySQL.
        let asked = format!(
            "{SETTINGS}, {CLOCK}, CAST(TIMESTAMPDIFF(MICROSECOND, NOW(6), SYSDATE(6)) AS SIGNED) \
             /*M!, @@SESSION.in_transaction = 1 */"
        );
        Self::told(connection, &asked).await
    }

    async fn told(connection: &mut MySqlConnection, asked: &str) -> Result<Self, StoreError> {
        let told = sqlx::query(AssertSqlSafe(asked)).fetch_one(&mut *connection).await;
        let row = told.map_err(|error| explain(error, Failure::Transient))?;
        let on = |at| Ok::<_, StoreError>(column(&row, at)? == Value::Integer(1));
        let (autocommit, no_chain, foreign_keys) = (on(0)?, on(1)?, on(2)?);
        let in_transaction = if row.len() > 5 { Some(on(5)?) } else { None };
        let prompt = match row.len() {
            ..5 => true,
            _ => matches!(column(&row, 4)?, Value::Integer(behind) if behind.abs() < PROMPT),
        };
        let clock_goes = prompt || Self::clock(connection).await? != column(&row, 3)?;
        Ok(Self { autocommit, no_chain, foreign_keys, clock_goes, in_transaction })
    }

    /// The clock that the statements judge by. `SET timestamp` stops it.
    async fn clock(connection: &mut MySqlConnection) -> Result<Value<'static>, StoreError> {
        let asked = AssertSqlSafe(format!("SELECT {CLOCK}"));
        let told = sqlx::query(asked).fetch_one(connection).await;
        column(&told.map_err(|error| explain(error, Failure::Transient))?, 0)
    }

    /// In a transaction that the caller has begun, and believes to be open.
    pub(super) fn fit_for_open_transactions(&self) -> Result<(), &'static str> {
        if self.in_transaction == Some(false) {
            return Err(OVER);
        }
        self.fit_for_transactions()
    }

    /// In a transaction that the caller ends.
    pub(super) fn fit_for_transactions(&self) -> Result<(), &'static str> {
        if !self.foreign_keys {
            return Err(
                "foreign_key_checks is off in this session, so nothing would wait for a fence; run \
                 SET SESSION foreign_key_checks = 1",
            );
        }
        if !self.clock_goes {
            return Err(
                "the clock stands still in this session (SET timestamp), and would judge whose \
                 lease has run out; run SET SESSION timestamp = DEFAULT",
            );
        }
        Ok(())
    }

    /// Where every statement has to be a transaction of its own.
    pub(super) fn fit_for_statements(&self) -> Result<(), &'static str> {
        if !self.autocommit {
            return Err(
                "autocommit is off in this session and no transaction is open, so nothing would \
                 ever be committed; begin a transaction, or run SET SESSION autocommit = 1",
            );
        }
        if !self.no_chain {
            return Err(
                "completion_type is not NO_CHAIN in this session, so a commit may have opened \
                 another transaction; begin one, or run SET SESSION completion_type = NO_CHAIN",
            );
        }
        self.fit_for_transactions()
    }

    pub(super) fn refuse_unless(
        &self,
        fit: impl Fn(&Self) -> Result<(), &'static str>,
    ) -> Result<(), StoreError> {
        fit(self).map_err(|why| StoreError::new(Failure::Fatal, why))
    }
}
