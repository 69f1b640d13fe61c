//! The core's statements, run with rusqlite.

use election_core::{
    Candidate, Epoch, Namespace, NodeId,
    lease::{Answer, Config, Failure, Query, Registration},
    sql::{Call, Dialect, Outcome, Progress, Schema, Statements, Tables, Value},
};
use rusqlite::{Connection, ErrorCode, Transaction, TransactionBehavior, params_from_iter, types};
use std::error::Error;

/// A connection, and what one candidate runs there.
pub(crate) struct Database {
    connection: Connection,
    statements: Statements,
    registration: Registration,
}

impl Database {
    pub(crate) fn open(
        file: &str,
        config: &Config,
        candidate: Candidate,
    ) -> Result<Self, Box<dyn Error>> {
        let mut connection = Connection::open(file)?;
        // Well below the time after which the core gives a question up.
        connection.busy_timeout(config.attempt_timeout() / 2)?;
        // An acknowledged renewal has to survive a power failure.
        connection.pragma_update(None, "synchronous", "FULL")?;
        // Readers then never wait for writers. This fails if another process does it just now.
        let _ = connection.pragma_update(None, "journal_mode", "WAL");
        make_tables(&mut connection)?;
        let namespace = Namespace::new("jobs")?;
        Ok(Self {
            connection,
            statements: Statements::new(Dialect::Sqlite, &Tables::default()),
            registration: Registration { namespace, candidate, label: None },
        })
    }

    pub(crate) fn node(&self) -> &NodeId {
        &self.registration.candidate.id
    }

    /// One question: mostly one statement, sometimes a few, each in autocommit mode.
    pub(crate) fn ask(&self, query: &Query) -> Result<Answer, Failure> {
        let mut exchange = self.statements.begin(&self.registration, query);
        loop {
            let outcome = run(&self.connection, &exchange.call()).map_err(|error| {
                eprintln!("{}: {error}", self.node());
                meaning(&error)
            })?;
            match exchange.advance(&outcome).map_err(|_| Failure::Fatal)? {
                Progress::More => {}
                Progress::Done(answer) => return Ok(answer),
            }
        }
    }

    /// A transaction that holds this term up: until it ends, no other process can win. `None` if
    /// the term is over, or if somebody else is writing.
    pub(crate) fn fenced(
        &mut self,
        epoch: Epoch,
    ) -> Result<Option<Transaction<'_>>, Box<dyn Error>> {
        let begun = self.connection.transaction_with_behavior(TransactionBehavior::Immediate);
        let transaction = match begun {
            Err(error) if meaning(&error) == Failure::Conflict => return Ok(None),
            begun => begun?,
        };
        let Registration { namespace, candidate, .. } = &self.registration;
        let mut fence = self.statements.fence(namespace, candidate, epoch);
        loop {
            let outcome = run(&transaction, &fence.call())?;
            match fence.advance(&outcome)? {
                Progress::More => {}
                // Dropping the transaction rolls it back.
                Progress::Done(left) => return Ok(left.map(|_| transaction)),
            }
        }
    }
}

/// Creates the election's tables, or upgrades older ones, and one table for the work.
fn make_tables(database: &mut Connection) -> Result<(), Box<dyn Error>> {
    let schema = Schema::new(Dialect::Sqlite, &Tables::default());
    let transaction = database.transaction_with_behavior(TransactionBehavior::Immediate)?;
    run(&transaction, &schema.create_version_table())?;
    let version = match run(&transaction, &schema.read_version())?.row.as_deref() {
        Some([Value::Integer(version)]) => *version,
        other => return Err(format!("the table of versions says {other:?}").into()),
    };
    for migration in schema.pending(version) {
        for statement in &migration.statements {
            transaction.execute(statement, [])?;
        }
        run(&transaction, &schema.record_version(migration.version))?;
    }
    transaction.execute("CREATE TABLE IF NOT EXISTS work (node TEXT, epoch INTEGER)", [])?;
    Ok(transaction.commit()?)
}

/// Runs one of the core's statements.
fn run(database: &Connection, call: &Call<'_>) -> rusqlite::Result<Outcome> {
    let mut statement = database.prepare_cached(call.sql)?;
    let params = params_from_iter(call.params.iter().map(|value| match value {
        Value::Null => types::Value::Null,
        Value::Integer(number) => types::Value::Integer(*number),
        Value::Text(text) => types::Value::Text(text.to_string()),
    }));
    if !call.returns_rows {
        let affected = statement.execute(params)?.try_into().unwrap_or(u64::MAX);
        return Ok(Outcome { affected, ..Outcome::default() });
    }
    let width = statement.column_count();
    let mut rows = statement.query(params)?;
    let mut outcome = Outcome::default();
    // Read to the end, even if only the first row counts: nothing is committed before.
    while let Some(row) = rows.next()? {
        let columns = (0..width).map(|at| {
            Ok(match row.get(at)? {
                types::Value::Integer(number) => Value::Integer(number),
                types::Value::Text(text) => Value::Text(text.into()),
                _ => Value::Null,
            })
        });
        let columns = columns.collect::<rusqlite::Result<_>>()?;
        outcome.row.get_or_insert(columns);
    }
    Ok(outcome)
}

/// What an error means for the election. In doubt, the statement may have been executed.
fn meaning(error: &rusqlite::Error) -> Failure {
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Failure::Conflict,
        // No such table, no right to write, no database.
        Some(ErrorCode::Unknown | ErrorCode::ReadOnly | ErrorCode::NotADatabase) => Failure::Fatal,
        _ => Failure::Ambiguous,
    }
}
