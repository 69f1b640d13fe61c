//! The other half of a rolling upgrade: a program of version 1 of the tables, as it was first
//! published. Its tables and statements are recorded word by word, and what it makes of the answers
//! is written here once more. So nothing of it follows the code of today, and a change of that code
//! which such a program could not live with fails a test.

use crate::database::Backend;
use election_core::{
    Candidate, Epoch, Incarnation, Label, NodeId,
    lease::{Answer, Failure, Holder, Query, Registration, Row, Server},
    sql::{Call, Dialect, Value},
};
use election_driver::{Store, StoreError, conformance::inside::Client};
use sqlx::Pool;
use std::{collections::HashMap, time::Duration};
use uuid::Uuid;

type Columns = Vec<Value<'static>>;

/// What one version says on one database.
pub(crate) struct Recorded {
    statements: HashMap<&'static str, Statement>,
    /// What makes its tables, one statement each.
    pub(crate) tables: Vec<&'static str>,
}

struct Statement {
    sql: &'static str,
    params: Vec<&'static str>,
    returns_rows: bool,
}

impl Recorded {
    /// A block for each statement: `-- name: parameters`, or `-- name rows: parameters` if it returns
    /// some, above its text; at the end the tables.
    pub(crate) fn version_1(dialect: Dialect) -> Self {
        let text = match dialect {
            Dialect::Sqlite => include_str!("sqlite.sql"),
            Dialect::Postgres => include_str!("postgres.sql"),
            Dialect::MySql => include_str!("mysql.sql"),
        };
        let (said, tables) = text.split_once("-- tables:\n").expect("the tables are at the end");
        let blocks = said.split("\n\n").filter_map(|block| block.trim().split_once('\n'));
        let statement = |(head, sql): (&'static str, &'static str)| {
            let (name, params) = head.strip_prefix("-- ")?.split_once(':')?;
            let (name, returns_rows) =
                name.strip_suffix(" rows").map_or((name, false), |name| (name, true));
            let params = params.split_whitespace().collect();
            Some((name, Statement { sql, params, returns_rows }))
        };
        Self {
            statements: blocks.filter_map(statement).collect(),
            tables: tables.split_terminator(";\n").collect(),
        }
    }
}

/// A store of that version.
pub(crate) struct OldStore<B: Backend> {
    said: Recorded,
    pool: Pool<B::Database>,
}

/// What a statement returned: its first row, how many rows it changed, and MySQL's insert id.
type Returned = (Option<Columns>, u64, u64);

impl<B: Backend> OldStore<B> {
    pub(crate) fn new(database: &B) -> Self {
        let said = Recorded::version_1(<B::Client as Client>::DIALECT);
        Self { said, pool: database.pool().clone() }
    }

    async fn run(
        &self,
        name: &str,
        who: &Registration,
        query: &Query,
    ) -> Result<Returned, StoreError> {
        let statement = &self.said.statements[name];
        let params = statement.params.iter().map(|param| value(param, who, query)).collect();
        let call = Call { sql: statement.sql, params, returns_rows: statement.returns_rows };
        let mut connection = self.pool.acquire().await.map_err(|error| {
            StoreError::new(Failure::Transient, "no connection").with_source(error)
        })?;
        if call.returns_rows {
            let rows = B::Client::fetch(&mut connection, &call).await?;
            Ok((rows.into_iter().next(), 0, 0))
        } else {
            let (affected, id) = B::Client::execute(&mut connection, &call).await?;
            Ok((None, affected, id))
        }
    }

    async fn seen(&self, who: &Registration, query: &Query) -> Result<Option<Row>, StoreError> {
        Ok(self.run("read", who, query).await?.0.map(|columns| row(&columns)))
    }

    async fn attempt(
        &self,
        name: &str,
        ttl: Duration,
        who: &Registration,
        query: &Query,
    ) -> Result<Answer, StoreError> {
        for _ in 0..2 {
            let (columns, affected, id) = self.run(name, who, query).await?;
            if let Some(columns) = columns {
                let epoch = Epoch::new(integer(&columns[0]).unsigned_abs());
                return Ok(match columns.len() {
                    2 => Answer::Won { epoch, remaining: span(&columns[1]) },
                    _ if integer(&columns[8]) == 1 => {
                        Answer::Won { epoch, remaining: span(&columns[4]) }
                    }
                    _ => Answer::Seen(row(&columns)),
                });
            }
            if affected == 1 && id > 0 {
                return Ok(Answer::Won { epoch: Epoch::new(id), remaining: ttl });
            }
            if let Some(row) = self.seen(who, query).await? {
                return Ok(Answer::Seen(row));
            }
            for seed in ["seed", "seed_fence"] {
                if self.said.statements.contains_key(seed) {
                    self.run(seed, who, query).await?;
                }
            }
        }
        Ok(Answer::Seen(Row::vacant()))
    }

    /// Asks whoever leads to resign, as `election resign` of that version does.
    pub(crate) async fn ask_leader(&self, who: &Registration) -> Result<(), StoreError> {
        self.run("ask_leader", who, &Query::Observe).await.map(|_| ())
    }
}

impl<B: Backend> Store for OldStore<B> {
    async fn answer(&mut self, who: &Registration, query: &Query) -> Result<Answer, StoreError> {
        match query {
            Query::Observe => {
                let row = self.seen(who, query).await?;
                Ok(Answer::Seen(row.unwrap_or_else(Row::vacant)))
            }
            Query::Attempt { ttl, .. } => self.attempt("attempt", *ttl, who, query).await,
            Query::TakeOver { ttl, .. } => self.attempt("take_over", *ttl, who, query).await,
            Query::Renew { ttl, .. } => Ok(match self.run("renew", who, query).await? {
                (Some(columns), ..) => Answer::Renewed {
                    remaining: span(&columns[0]),
                    resign_requested: integer(&columns[1]) == 1,
                },
                (None, 0, _) => Answer::Gone,
                (None, _, id) => Answer::Renewed { remaining: *ttl, resign_requested: id == 1 },
            }),
            Query::Resign { .. } => {
                self.run("resign", who, query).await?;
                Ok(Answer::Released)
            }
            Query::Register { sweep, .. } => {
                self.run("register", who, query).await?;
                if *sweep {
                    self.run("sweep", who, query).await?;
                }
                Ok(Answer::Listed)
            }
            Query::Unregister => {
                self.run("unregister", who, query).await?;
                Ok(Answer::Listed)
            }
            Query::Others => Ok(Answer::Others(self.run("others", who, query).await?.0.is_some())),
        }
    }
}

fn value(param: &str, who: &Registration, query: &Query) -> Value<'static> {
    let number = |number: u64| Value::Integer(i64::try_from(number).expect("a small number"));
    let text = |text: &dyn ToString| Value::Text(text.to_string().into());
    let time = |time: &Duration| Value::Integer(i64::try_from(time.as_millis()).expect("a day"));
    match (param, query) {
        ("ns", _) => text(&who.namespace.as_str()),
        ("id", _) => text(&who.candidate.id),
        ("inc", _) => text(&who.candidate.incarnation.get()),
        ("label", _) => who.label.as_ref().map_or(Value::Null, |label| text(&label.as_str())),
        ("seen", Query::Attempt { seen, .. } | Query::TakeOver { seen, .. }) => number(seen.get()),
        (
            "ttl",
            Query::Attempt { ttl, .. }
            | Query::TakeOver { ttl, .. }
            | Query::Renew { ttl, .. }
            | Query::Register { ttl, .. },
        ) => time(ttl),
        (
            "epoch",
            Query::TakeOver { epoch, .. } | Query::Renew { epoch, .. } | Query::Resign { epoch },
        ) => number(epoch.get()),
        ("n", Query::Renew { ordinal: n, .. } | Query::TakeOver { renewals: n, .. }) => number(*n),
        ("holder", Query::TakeOver { holder: Some(holder), .. }) => text(&holder.id),
        ("holder_inc", Query::TakeOver { holder: Some(holder), .. }) => {
            text(&holder.incarnation.get())
        }
        _ => panic!("{query:?} binds no {param}"),
    }
}

/// The columns of a read row, in the order of that version.
fn row(columns: &[Value<'_>]) -> Row {
    let word = |at: usize| match &columns[at] {
        Value::Text(text) => Some(text.as_ref()),
        Value::Null => None,
        Value::Integer(_) => panic!("column {at} is no text: {columns:?}"),
    };
    let holder = word(1).map(|id| {
        let incarnation = Uuid::parse_str(word(2).expect("beside the name")).expect("a UUID");
        let id = NodeId::new(id).expect("a name");
        Holder {
            candidate: Candidate { id, incarnation: Incarnation::new(incarnation) },
            label: word(3).map(|label| Label::new(label).expect("a label")),
        }
    });
    Row {
        epoch: Epoch::new(integer(&columns[0]).unsigned_abs()),
        holder,
        remaining: span(&columns[4]),
        ttl: span(&columns[5]),
        renewals: integer(&columns[6]).unsigned_abs(),
        resign_requested: integer(&columns[7]) == 1,
        elected_ms: None,
        server: Server::FIRST,
    }
}

fn integer(value: &Value<'_>) -> i64 {
    match value {
        Value::Integer(number) => *number,
        other => panic!("no integer: {other:?}"),
    }
}

fn span(value: &Value<'_>) -> Duration {
    Duration::from_millis(u64::try_from(integer(value)).unwrap_or(0))
}
