//! What the statements return, decoded; and what is wrong with a row that cannot be.

use super::value::Value;
use crate::{
    Candidate, Epoch, Incarnation, InvalidName, Label, Namespace, NodeId,
    lease::{Holder, Row, Server},
};
use alloc::{borrow::ToOwned, string::String};
use core::time::Duration;
use thiserror::Error;
use uuid::Uuid;

/// A row that this library has not written, or a session that is not fit.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RowError {
    /// A column is missing, or has another type.
    #[error(
        "column {column} of the row holds {found} instead of {expected}; was it edited by hand?"
    )]
    Column {
        /// Its place, from zero.
        column: usize,
        /// What it holds.
        found: String,
        /// What it should hold.
        expected: &'static str,
    },
    /// A column that should hold a name does not.
    #[error("the row contains an invalid name: {0}")]
    Name(#[from] InvalidName),
    /// The session's foreign keys are off (MySQL): its fence would hold nothing up.
    #[error(
        "foreign_key_checks is off in this session, but a fence relies on a foreign key; run SET \
         SESSION foreign_key_checks = 1 before the transaction begins"
    )]
    ForeignKeysOff,
    /// A renewal or a release changed no row, although the row still names this process under this
    /// epoch.
    #[error(
        "the statement changed nothing although the row names this process and this epoch; a \
         trigger or rule on the leader table prevents the write"
    )]
    Unwritten,
}

/// A candidate on the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CandidateRow {
    /// The process.
    pub candidate: Candidate,
    /// What it published about itself.
    pub label: Option<Label>,
    /// When it last registered, in milliseconds since 1970 by the database's clock.
    pub last_heartbeat_ms: i64,
    /// How long it stays on the list without another registration.
    pub remaining: Duration,
}

impl CandidateRow {
    /// Decodes the columns of one row of [`list_candidates`](crate::sql::Statements::list_candidates).
    ///
    /// # Errors
    /// If they were not written by this library.
    pub fn decode(columns: &[Value<'_>]) -> Result<Self, RowError> {
        let columns = Columns(columns);
        Ok(Self {
            candidate: columns.candidate(0)?.ok_or_else(|| columns.wrong(0, "a name"))?,
            label: columns.label(2)?,
            last_heartbeat_ms: columns.integer(3)?,
            remaining: columns.span(4)?,
        })
    }
}

/// An election, and who leads in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ElectionRow {
    /// Its name.
    pub namespace: Namespace,
    /// Its leader row.
    pub row: Row,
}

impl ElectionRow {
    /// Decodes the columns of one row of [`list_elections`](crate::sql::Statements::list_elections) or
    /// [`election`](crate::sql::Statements::election).
    ///
    /// # Errors
    /// If they were not written by this library.
    pub fn decode(columns: &[Value<'_>]) -> Result<Self, RowError> {
        let row = decode_row(columns)?;
        let columns = Columns(columns);
        let name = columns.text(9)?.ok_or_else(|| columns.wrong(9, "a name"))?;
        Ok(Self { namespace: Namespace::recorded(name)?, row })
    }
}

/// The columns are those of the `read` template, in its order. Behind the place of the namespace (or
/// of whether an attempt has won) follow those that tell the server's history, if it was asked.
pub(super) fn decode_row(columns: &[Value<'_>]) -> Result<Row, RowError> {
    let columns = Columns(columns);
    let candidate = columns.candidate(1)?;
    let (epoch, label) = (columns.epoch(0)?, columns.label(3)?);
    Ok(Row {
        epoch,
        holder: candidate.map(|candidate| Holder { candidate, label }),
        remaining: columns.span(4)?,
        ttl: columns.span(5)?,
        renewals: columns.integer(6)?.try_into().unwrap_or(0),
        resign_requested: columns.integer(7)? == 1,
        elected_ms: (epoch > Epoch::NONE).then_some(columns.integer(8)?),
        server: columns.server()?,
    })
}

/// The columns of one row, read by place.
pub(super) struct Columns<'a>(pub(super) &'a [Value<'a>]);

impl Columns<'_> {
    pub(super) fn integer(&self, at: usize) -> Result<i64, RowError> {
        match self.0.get(at) {
            Some(Value::Integer(number)) => Ok(*number),
            _ => Err(self.wrong(at, "an integer")),
        }
    }

    pub(super) fn epoch(&self, at: usize) -> Result<Epoch, RowError> {
        let number = self.integer(at)?;
        u64::try_from(number).map(Epoch::new).map_err(|_| self.wrong(at, "a term above zero"))
    }

    /// A number of milliseconds; a negative one has run out.
    pub(super) fn span(&self, at: usize) -> Result<Duration, RowError> {
        Ok(Duration::from_millis(u64::try_from(self.integer(at)?).unwrap_or(0)))
    }

    fn server(&self) -> Result<Server, RowError> {
        if self.0.len() <= 10 {
            return Ok(Server::FIRST);
        }
        let since_ms = match self.0.get(11) {
            Some(Value::Null) => None,
            _ => Some(self.integer(11)?),
        };
        let history = u64::try_from(self.integer(10)?).map_err(|_| self.wrong(10, "a history"))?;
        let known = if since_ms.is_some() { self.span(12)? } else { Duration::ZERO };
        Ok(Server { history, since_ms, known })
    }

    fn text(&self, at: usize) -> Result<Option<&str>, RowError> {
        match self.0.get(at) {
            Some(Value::Text(text)) => Ok(Some(text)),
            Some(Value::Null) => Ok(None),
            _ => Err(self.wrong(at, "text")),
        }
    }

    fn label(&self, at: usize) -> Result<Option<Label>, RowError> {
        Ok(self.text(at)?.map(Label::recorded).transpose()?)
    }

    /// A name and, beside it, an incarnation; both or neither.
    fn candidate(&self, at: usize) -> Result<Option<Candidate>, RowError> {
        let Some(id) = self.text(at)? else { return Ok(None) };
        let incarnation = self
            .text(at + 1)?
            .and_then(|text| Uuid::try_parse(text).ok())
            .ok_or_else(|| self.wrong(at + 1, "a UUID"))?;
        let incarnation = Incarnation::new(incarnation);
        Ok(Some(Candidate { id: NodeId::recorded(id)?, incarnation }))
    }

    fn wrong(&self, column: usize, expected: &'static str) -> RowError {
        let found = match self.0.get(column) {
            None => "missing".to_owned(),
            Some(Value::Null) => "null".to_owned(),
            Some(Value::Integer(number)) => alloc::format!("{number}"),
            Some(Value::Text(text)) => alloc::format!("{text:?}"),
        };
        RowError::Column { column, found, expected }
    }
}
