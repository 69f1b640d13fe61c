//! All statements of one dialect, rendered once.

use super::{
    dialect::Dialect,
    mysql, postgres,
    rows::{Columns, RowError, decode_row},
    sqlite,
    tables::Tables,
    template::{Param, Rendered, Templates, Told, render},
    value::{Outcome, Value},
};
use crate::{
    Candidate, Epoch, Incarnation, Namespace,
    lease::{Query, Registration, Row},
    time::millis,
};
use alloc::{borrow::ToOwned, vec::Vec};
use uuid::Uuid;

/// The statements for one dialect and one set of tables.
#[derive(Clone, Debug)]
pub struct Statements {
    pub(super) dialect: Dialect,
    pub(super) all: Templates<Rendered>,
}

impl Statements {
    /// Renders the statements.
    #[must_use]
    pub fn new(dialect: Dialect, tables: &Tables) -> Self {
        match dialect {
            Dialect::Sqlite => Self::rendered(dialect, tables, &sqlite::TEMPLATES),
            Dialect::Postgres => Self::rendered(dialect, tables, &postgres::TEMPLATES),
            Dialect::MySql => Self::rendered(dialect, tables, &mysql::TEMPLATES),
        }
    }

    /// Renders PostgreSQL's statements for a server that speaks its protocol and cannot tell which
    /// history it continues (Aurora). There a failover that loses the newest writes can have two leaders.
    #[must_use]
    pub fn without_history(tables: &Tables) -> Self {
        let told = Told::no_history(postgres::TEMPLATES.told.now);
        Self::rendered(Dialect::Postgres, tables, &Templates { told, ..postgres::TEMPLATES })
    }

    fn rendered(dialect: Dialect, tables: &Tables, templates: &Templates) -> Self {
        let render = |template| render(dialect, templates.told, tables, template);
        Self { dialect, all: templates.map(render) }
    }

    /// The dialect they are written in.
    #[must_use]
    pub fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// The statements that a candidate runs again and again, those of its first moments first, with
    /// placeholders of the right types for values. A client that prepares them as it connects saves
    /// a round trip whenever one is first run.
    pub fn recurring(&self) -> impl Iterator<Item = Call<'_>> {
        let all = &self.all;
        let others = [&all.attempt, &all.read, &all.register, &all.sweep, &all.renew];
        all.seed.iter().chain(others).map(|rendered| bind(rendered, placeholder))
    }

    /// Lists the candidates of a namespace whose registration has not run out, sorted by name.
    /// Decode its rows with [`CandidateRow::decode`](crate::sql::CandidateRow::decode).
    #[must_use]
    pub fn list_candidates<'a>(&'a self, namespace: &'a Namespace) -> Call<'a> {
        of_namespace(&self.all.list, namespace)
    }

    /// Lists the elections that these tables know, by name: each in which anybody ever stood. Decode
    /// its rows with [`ElectionRow::decode`](crate::sql::ElectionRow::decode).
    #[must_use]
    pub fn list_elections(&self) -> Call<'_> {
        bind(&self.all.elections, |_| Value::Null)
    }

    /// Reads one of these elections. Decode its row with
    /// [`ElectionRow::decode`](crate::sql::ElectionRow::decode); no row means that nobody ever stood.
    #[must_use]
    pub fn election<'a>(&'a self, namespace: &'a Namespace) -> Call<'a> {
        of_namespace(&self.all.election, namespace)
    }

    /// Asks the holder of one epoch to resign. The holder learns of it with its next renewal.
    /// Changes one row if that epoch is held, none otherwise. Any process may ask.
    #[must_use]
    pub fn request_resign<'a>(&'a self, namespace: &'a Namespace, epoch: Epoch) -> Call<'a> {
        bind(&self.all.request_resign, |param| match param {
            Param::Namespace => namespace.as_str().into(),
            Param::Epoch => number(epoch),
            _ => Value::Null,
        })
    }

    /// Asks the current leader to resign, in one statement, so that no later leader is asked.
    /// Decode its outcome with [`decode_asked`](Self::decode_asked).
    #[must_use]
    pub fn ask_leader<'a>(&'a self, namespace: &'a Namespace) -> Call<'a> {
        of_namespace(&self.all.ask_leader, namespace)
    }

    /// The epoch that [`ask_leader`](Self::ask_leader) has asked to resign; none if nobody leads.
    ///
    /// [`Epoch::NONE`] says that somebody was asked and that a trigger on the table hides whom (MySQL).
    /// [`read`](Self::read) the row then: its epoch was asked if it says
    /// [`resign_requested`](Row::resign_requested).
    ///
    /// # Errors
    /// If the row was not written by this library.
    pub fn decode_asked(&self, outcome: &Outcome) -> Result<Option<Epoch>, RowError> {
        match &outcome.row {
            Some(row) => Columns(row).epoch(0).map(Some),
            None => Ok((outcome.affected > 0).then(|| Epoch::new(outcome.last_insert_id))),
        }
    }

    /// Wakes those who listen, after a term was [released](crate::lease::Answer::Released) or its
    /// holder asked to resign. `None` if the database sends no notifications.
    ///
    /// Run it once the change is committed, or in its transaction. If it fails, only time is lost:
    /// the others find the change when they next look. `released_by` names the candidate whose term
    /// was released: it does not wake itself.
    #[must_use]
    pub fn tell<'a>(
        &'a self,
        namespace: &'a Namespace,
        released_by: Option<&'a Candidate>,
    ) -> Option<Call<'a>> {
        let value = |param| match (param, released_by) {
            (Param::Namespace, _) => namespace.as_str().into(),
            (Param::Id, Some(candidate)) => candidate.id.as_str().into(),
            (Param::Incarnation, Some(candidate)) => uuid(candidate.incarnation),
            _ => Value::Null,
        };
        self.all.tell.as_ref().map(|tell| bind(tell, value))
    }

    /// Reads the leader row of a namespace without being a candidate in it. Decode its row with
    /// [`decode_row`](Self::decode_row); no row means that nobody ever led.
    #[must_use]
    pub fn read<'a>(&'a self, namespace: &'a Namespace) -> Call<'a> {
        of_namespace(&self.all.read, namespace)
    }

    /// Decodes the columns of [`read`](Self::read).
    ///
    /// # Errors
    /// If they were not written by this library.
    pub fn decode_row(&self, columns: &[Value<'_>]) -> Result<Row, RowError> {
        decode_row(columns)
    }
}

/// One statement, ready to be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call<'a> {
    /// The text, with the dialect's placeholders.
    pub sql: &'a str,
    /// What to bind, in the order of the placeholders.
    pub params: Vec<Value<'a>>,
    /// Whether it returns rows (fetch them) or changes some (count them). Fetch to the end even if
    /// one row is expected: SQLite commits only then.
    pub returns_rows: bool,
}

/// Binds a statement's parameters.
pub(super) fn bind<'a>(rendered: &'a Rendered, value: impl Fn(Param) -> Value<'a>) -> Call<'a> {
    Call {
        sql: rendered.text.as_str(),
        params: rendered.params.iter().map(|param| value(*param)).collect(),
        returns_rows: rendered.returns_rows,
    }
}

fn of_namespace<'a>(rendered: &'a Rendered, namespace: &'a Namespace) -> Call<'a> {
    bind(rendered, |param| match param {
        Param::Namespace => namespace.as_str().into(),
        _ => Value::Null,
    })
}

/// Any value of a parameter's type.
fn placeholder<'a>(param: Param) -> Value<'a> {
    match param {
        Param::Namespace
        | Param::Id
        | Param::Incarnation
        | Param::Label
        | Param::HolderId
        | Param::HolderIncarnation
        | Param::Asked => Value::Text("".into()),
        Param::Ttl
        | Param::Kept
        | Param::Seen
        | Param::Epoch
        | Param::Ordinal
        | Param::History
        | Param::Since
        | Param::Leads
        | Param::Version => Value::Integer(0),
    }
}

/// The value of a parameter in a query of the lease machine.
pub(super) fn query_value<'a>(
    registration: &'a Registration,
    query: &'a Query,
    param: Param,
) -> Value<'a> {
    let epoch = match query {
        Query::TakeOver { epoch, .. } | Query::Renew { epoch, .. } | Query::Resign { epoch } => {
            *epoch
        }
        _ => Epoch::NONE,
    };
    match (param, query) {
        (Param::Label, _) => match &registration.label {
            Some(label) => label.as_str().into(),
            None => Value::Null,
        },
        (
            Param::Ttl,
            Query::Attempt { ttl, .. }
            | Query::TakeOver { ttl, .. }
            | Query::Renew { ttl, .. }
            | Query::Register { ttl, .. },
        ) => millis(*ttl).into(),
        (
            Param::Kept,
            Query::Attempt { ttl, clock_step, .. }
            | Query::TakeOver { ttl, clock_step, .. }
            | Query::Renew { ttl, clock_step, .. },
        ) => millis(ttl.saturating_add(*clock_step)).into(),
        (Param::Seen, Query::Attempt { seen, .. } | Query::TakeOver { seen, .. }) => number(*seen),
        (Param::Ordinal, Query::Renew { ordinal: n, .. } | Query::TakeOver { renewals: n, .. }) => {
            i64::try_from(*n).unwrap_or(i64::MAX).into()
        }
        (Param::HolderId, Query::TakeOver { holder: Some(holder), .. }) => {
            holder.id.as_str().into()
        }
        (Param::HolderIncarnation, Query::TakeOver { holder: Some(holder), .. }) => {
            uuid(holder.incarnation)
        }
        (Param::History, Query::TakeOver { server, .. }) => {
            i64::try_from(server.history).unwrap_or(i64::MAX).into()
        }
        (Param::Since, Query::TakeOver { server, .. }) => {
            server.since_ms.map_or(Value::Null, Value::Integer)
        }
        (Param::Leads, Query::Renew { leads, .. }) => i64::from(*leads).into(),
        _ => candidate_value(&registration.namespace, &registration.candidate, epoch, param),
    }
}

/// The value of a parameter that names a candidate and its epoch.
pub(super) fn candidate_value<'a>(
    namespace: &'a Namespace,
    candidate: &'a Candidate,
    epoch: Epoch,
    param: Param,
) -> Value<'a> {
    match param {
        Param::Namespace => namespace.as_str().into(),
        Param::Id => candidate.id.as_str().into(),
        Param::Incarnation => uuid(candidate.incarnation),
        Param::Epoch => number(epoch),
        _ => Value::Null,
    }
}

fn uuid(incarnation: Incarnation) -> Value<'static> {
    let mut text = Uuid::encode_buffer();
    Value::Text(incarnation.get().hyphenated().encode_lower(&mut text).to_owned().into())
}

fn number(epoch: Epoch) -> Value<'static> {
    i64::try_from(epoch.get()).unwrap_or(i64::MAX).into()
}
