//! What is set in a session on MySQL or MariaDB, and whether the statements mean there what they say:
//! whoever shares the session with an election can have set anything.

use super::{
    column,
    errors::{explain, knows_no_setting},
};
use crate::{
    StoreError,
    store::client::{OVER, Reach},
};
use election_core::{lease::Failure, sql::Value};
use sqlx::{AssertSqlSafe, Column as _, MySqlConnection, Row as _, mysql::MySqlRow};

/// The settings that a session reports.
pub(super) struct Settings {
    autocommit: bool,
    no_chain: bool,
    foreign_keys: bool,
    clock_goes: bool,
    /// Only MariaDB tells; elsewhere the caller is believed.
    in_transaction: Option<bool>,
    /// Whether the server is one of a Galera cluster, and what this session writes goes to all.
    cluster: Option<bool>,
}

const SETTINGS: &str = "SELECT @@SESSION.autocommit = 1 AS autocommit, \
                        @@SESSION.completion_type = 'NO_CHAIN' AS no_chain, \
                        @@SESSION.foreign_key_checks = 1 AS foreign_keys \
                        /*M!, @@SESSION.in_transaction = 1 AS in_transaction */";
/// What follows M! is a comment to MySQL.
const CLUSTER: &str = "/*M!, @@GLOBAL.wsrep_provider NOT IN ('', 'none') AS clustered, \
                       @@SESSION.wsrep_on = 1 AS replicates */";
const CLOCK: &str = "CAST(TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) AS SIGNED)";
const LAG: &str = "CAST(TIMESTAMPDIFF(MICROSECOND, NOW(6), SYSDATE(6)) AS SIGNED)";
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
        let asked = format!("{SETTINGS}, {CLOCK} AS clock, {LAG} AS lag");
        Self::told(connection, &asked).await
    }

    async fn told(connection: &mut MySqlConnection, asked: &str) -> Result<Self, StoreError> {
        let row = match Self::row(connection, &format!("{asked} {CLUSTER}")).await {
            // A MariaDB that was built without clusters.
            Err(error) if knows_no_setting(&error) => Self::row(connection, asked).await,
            told => told,
        };
        let row = row.map_err(|error| explain(error, Failure::Transient))?;
        let value = |name: &str| {
            let at = row.columns().iter().position(|column| column.name() == name);
            at.map(|at| column(&row, at)).transpose()
        };
        let told = |name| Ok::<_, StoreError>(value(name)?.map(|value| value == Value::Integer(1)));
        let on = |name| Ok::<_, StoreError>(told(name)? == Some(true));
        let prompt = match value("lag")? {
            Some(lag) => matches!(lag, Value::Integer(behind) if behind.abs() < PROMPT),
            None => true,
        };
        Ok(Self {
            autocommit: on("autocommit")?,
            no_chain: on("no_chain")?,
            foreign_keys: on("foreign_keys")?,
            clock_goes: prompt || Some(Self::clock(connection).await?) != value("clock")?,
            in_transaction: told("in_transaction")?,
            cluster: if on("clustered")? { told("replicates")? } else { None },
        })
    }

    async fn row(connection: &mut MySqlConnection, asked: &str) -> Result<MySqlRow, sqlx::Error> {
        sqlx::query(AssertSqlSafe(asked)).fetch_one(connection).await
    }

    /// The clock that the statements judge by. `SET timestamp` stops it.
    async fn clock(connection: &mut MySqlConnection) -> Result<Value<'static>, StoreError> {
        let told = Self::row(connection, &format!("SELECT {CLOCK}")).await;
        column(&told.map_err(|error| explain(error, Failure::Transient))?, 0)
    }

    /// How far the session's locks reach.
    pub(super) fn reach(&self) -> Reach {
        match self.cluster {
            Some(_) => Reach::OneServer,
            None => Reach::All,
        }
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
                "foreign_key_checks is off in this session, so fences would have no effect; run \
                 SET SESSION foreign_key_checks = 1",
            );
        }
        if !self.clock_goes {
            return Err(
                "the clock is frozen in this session (SET timestamp), but decides which leases \
                 have expired; run SET SESSION timestamp = DEFAULT",
            );
        }
        if self.cluster == Some(false) {
            return Err(
                "wsrep_on is off in this session, so the other Galera servers would never see what \
                 it writes, and two processes could lead; run SET SESSION wsrep_on = 1",
            );
        }
        Ok(())
    }

    /// Where every statement has to be a transaction of its own.
    pub(super) fn fit_for_statements(&self) -> Result<(), &'static str> {
        if self.in_transaction == Some(true) {
            return Err(
                "this session has an open transaction that sqlx did not begin (it was begun by the \
                 server's init_connect, or by hand), so nothing would be committed before it; end \
                 it, and begin one with sqlx if you need one (`Connection::begin`, `Pool::begin`)",
            );
        }
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
