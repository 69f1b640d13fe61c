//! A database client of your own: tokio-postgres runs the statements, this crate runs the elector.
//!
//! A [`Store`] answers one kind of question. An implementation takes some forty lines, of which
//! most translate values, and gets everything else: handle, guard, leader work that stops in time.
//! So this program needs `election-tokio` without any of its database features, and no sqlx.
//!
//! ```sh
//! cargo run -p election-tokio --example tokio_postgres -- \
//!     "host=127.0.0.1 user=app password=… dbname=app" alice 5
//! ```
//!
//! Each process does its five pieces of work while it leads, and then leaves.

use election_core::{
    lease::{Answer, Failure, Query, Registration},
    sql::{Call, Dialect, Outcome, Progress, RowError, Schema, Statements, Tables, Value},
};
use election_tokio::{Election, Store, StoreError};
use std::{error::Error, time::Duration};
use tokio_postgres::{
    Client, Column, NoTls, Row,
    error::SqlState,
    types::{ToSql, Type},
};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(database), Some(node)) = (arguments.next(), arguments.next()) else {
        return Err("usage: tokio_postgres DATABASE NODE [PIECES]".into());
    };
    let pieces: u32 = arguments.next().map_or(Ok(5), |pieces| pieces.parse())?;
    let store = Raw::new(database);
    store.make_tables().await?;
    Election::builder("jobs")
        .node(node.clone())
        .ttl(Duration::from_secs(5))
        .store(store)
        .build()?
        .run_while_leader(async move |lease| {
            let mut pace = tokio::time::interval(Duration::from_millis(50));
            for piece in 1..=pieces {
                if lease.until_lost(pace.tick()).await.is_err() {
                    // not done: the next leadership calls this again
                    return Err(format!("lost before piece {piece}"));
                }
                println!("{node}: piece {piece} under epoch {}", lease.epoch());
            }
            Ok(())
        })
        .await?;
    Ok(())
}

/// The leader row in PostgreSQL, by tokio-postgres.
struct Raw {
    database: String,
    statements: Statements,
    /// Taken out while it is in use: a question may be dropped midway, and a later question on that
    /// connection would wait for the answer to the dropped one.
    client: Option<Client>,
}

impl Store for Raw {
    async fn answer(&mut self, who: &Registration, query: &Query) -> Result<Answer, StoreError> {
        let client = match self.client.take().filter(|client| !client.is_closed()) {
            Some(client) => client,
            None => connect(&self.database).await.map_err(explain)?,
        };
        let mut exchange = self.statements.begin(who, query);
        loop {
            let outcome = run(&client, &exchange.call()).await.map_err(explain)?;
            match exchange.advance(&outcome).map_err(misread)? {
                Progress::More => {}
                Progress::Done(answer) => {
                    let candidate = &who.candidate;
                    let tell = self.statements.tell(&who.namespace, Some(candidate));
                    if let (Answer::Released, Some(tell)) = (&answer, tell) {
                        // If it fails, the others find out when they next look.
                        let _ = run(&client, &tell).await;
                    }
                    self.client = Some(client);
                    return Ok(answer);
                }
            }
        }
    }
}

impl Raw {
    fn new(database: String) -> Self {
        let statements = Statements::new(Dialect::Postgres, &Tables::default());
        Self { database, statements, client: None }
    }

    /// Creates the election's tables, or upgrades older ones.
    async fn make_tables(&self) -> Result<(), Box<dyn Error>> {
        let schema = Schema::new(Dialect::Postgres, &Tables::default());
        let mut client = connect(&self.database).await?;
        let transaction = client.transaction().await?;
        // One process at a time; the number is arbitrary.
        transaction.execute("SELECT pg_advisory_xact_lock(4711)", &[]).await?;
        transaction.batch_execute(schema.create_version_table().sql).await?;
        let version = transaction.query_one(schema.read_version().sql, &[]).await?.get(0);
        for migration in schema.pending(version) {
            for statement in &migration.statements {
                transaction.batch_execute(statement).await?;
            }
            let record = schema.record_version(migration.version);
            transaction.execute(record.sql, &[&migration.version]).await?;
        }
        Ok(transaction.commit().await?)
    }
}

async fn connect(database: &str) -> Result<Client, tokio_postgres::Error> {
    let (client, connection) = tokio_postgres::connect(database, NoTls).await?;
    // The task ends with the client.
    tokio::spawn(connection);
    Ok(client)
}

/// Runs one of the core's statements.
async fn run(client: &Client, call: &Call<'_>) -> Result<Outcome, tokio_postgres::Error> {
    let params: Vec<Box<dyn ToSql + Sync + Send>> = call
        .params
        .iter()
        .map(|value| match value {
            Value::Null => Box::new(None::<String>) as Box<dyn ToSql + Sync + Send>,
            Value::Integer(number) => Box::new(*number),
            Value::Text(text) => Box::new(text.to_string()),
        })
        .collect();
    let params: Vec<&(dyn ToSql + Sync)> = params.iter().map(|each| &**each as _).collect();
    if !call.returns_rows {
        let affected = client.execute(call.sql, &params).await?;
        return Ok(Outcome { affected, ..Outcome::default() });
    }
    let row = client.query_opt(call.sql, &params).await?;
    Ok(Outcome { row: row.as_ref().map(columns).transpose()?, ..Outcome::default() })
}

fn columns(row: &Row) -> Result<Vec<Value<'static>>, tokio_postgres::Error> {
    let types = row.columns().iter().map(Column::type_).enumerate();
    types
        .map(|(at, kind)| {
            Ok(match *kind {
                Type::INT8 => row.try_get::<_, Option<i64>>(at)?.map(Value::Integer),
                Type::VOID => None,
                _ => row.try_get::<_, Option<String>>(at)?.map(|text| Value::Text(text.into())),
            }
            .unwrap_or(Value::Null))
        })
        .collect()
}

/// What an error means for the election. In doubt, the statement may have been executed.
fn explain(error: tokio_postgres::Error) -> StoreError {
    let kind = match error.code() {
        Some(&SqlState::LOCK_NOT_AVAILABLE | &SqlState::T_R_SERIALIZATION_FAILURE) => {
            Failure::Conflict
        }
        Some(&SqlState::UNDEFINED_TABLE | &SqlState::INSUFFICIENT_PRIVILEGE) => Failure::Fatal,
        _ => Failure::Ambiguous,
    };
    StoreError::new(kind, "the database refused or did not answer").with_source(error)
}

fn misread(error: RowError) -> StoreError {
    StoreError::new(Failure::Fatal, error.to_string())
}
