//! Statement texts with named holes, and their rendering for one dialect.
//!
//! `{leader}`, `{candidate}`, `{fence}`, `{server}` and `{schema}` stand for tables, `{channel}` for
//! PostgreSQL's notification channel, `{now}` for the dialect's clock, `{swept}` for the limit of a sweep, `{system}` and `{history}` for the
//! server's cluster and the number of its history there, and `{:name}` for a bound parameter. In a
//! statement about many elections `{:asked}` is the only parameter, and `{:name}` a column of the table that
//! the dialect makes of it.

use super::{
    common::SWEPT,
    dialect::Dialect,
    tables::{Tables, literal},
};
use alloc::{
    format,
    string::{String, ToString as _},
    vec::Vec,
};

/// What a server tells, as expressions.
#[derive(Clone, Copy, Debug)]
pub(super) struct Told {
    /// The time by its clock.
    pub(super) now: &'static str,
    /// The identifier of its cluster.
    pub(super) system: &'static str,
    /// The number of the history that it continues there.
    pub(super) history: &'static str,
}

impl Told {
    /// By a server that is not asked for its history: it is always in its first. Only PostgreSQL's
    /// statements have holes for it.
    pub(super) const fn no_history(now: &'static str) -> Self {
        Self { now, system: "0", history: "CAST(1 AS bigint)" }
    }
}

/// The statements of one dialect, as templates or rendered.
#[derive(Clone, Debug)]
pub(super) struct Templates<T = &'static str> {
    pub(super) told: Told,
    pub(super) attempt: T,
    pub(super) take_over: T,
    pub(super) read: T,
    /// The columns of `read`, the namespace and the time of the election, of every row.
    pub(super) elections: T,
    /// The same of one row.
    pub(super) election: T,
    /// Makes the namespace's row where an attempt cannot; `None` where it can.
    pub(super) seed: Option<T>,
    pub(super) renew: T,
    pub(super) resign: T,
    pub(super) register: T,
    pub(super) sweep: T,
    pub(super) unregister: T,
    pub(super) others: T,
    pub(super) list: T,
    pub(super) request_resign: T,
    /// Requests the resignation of the current leader; a row or an insert id says of which epoch.
    pub(super) ask_leader: T,
    /// Notifies of a row that was vacated, or whose holder is asked to resign; `None` without
    /// notifications.
    pub(super) tell: Option<T>,
    pub(super) fence: T,
    /// Makes the row that a fence locks, where that is not the leader row.
    pub(super) seed_fence: Option<T>,
    /// Removes that row of this term, and makes it anew: the two statements write it although nothing
    /// about it changes.
    pub(super) rewrite_fence: Option<[T; 2]>,
    /// Records since when the server's history is known, where it can tell.
    pub(super) seed_server: Option<T>,
    pub(super) many: Many<T>,
}

/// Statements about many elections of one process. Those that return rows begin each with its namespace,
/// but for `read`, where it stands where [`elections`](Templates::elections) has it.
#[derive(Clone, Debug)]
pub(super) struct Many<T = &'static str> {
    pub(super) read: T,
    /// Locks the rows that can be taken or renewed, and returns what the statements that change them cannot.
    pub(super) lock: Option<Lock<T>>,
    pub(super) attempt: T,
    pub(super) take_over: T,
    pub(super) seed: Option<T>,
    pub(super) seed_fence: Option<T>,
    pub(super) renew: T,
    pub(super) resign: T,
    pub(super) register: T,
    pub(super) sweep: T,
    pub(super) unregister: T,
    pub(super) others: T,
    pub(super) tell: Option<T>,
}

/// What locks the rows of a statement that changes them, where that statement cannot skip those that somebody
/// else has locked.
#[derive(Clone, Debug)]
pub(super) struct Lock<T = &'static str> {
    pub(super) attempt: T,
    pub(super) take_over: T,
    pub(super) renew: T,
}

impl Templates {
    pub(super) fn map<R>(&self, render: impl Copy + Fn(&'static str) -> R) -> Templates<R> {
        Templates {
            told: self.told,
            attempt: render(self.attempt),
            take_over: render(self.take_over),
            read: render(self.read),
            elections: render(self.elections),
            election: render(self.election),
            seed: self.seed.map(render),
            renew: render(self.renew),
            resign: render(self.resign),
            register: render(self.register),
            sweep: render(self.sweep),
            unregister: render(self.unregister),
            others: render(self.others),
            list: render(self.list),
            request_resign: render(self.request_resign),
            ask_leader: render(self.ask_leader),
            tell: self.tell.map(render),
            fence: render(self.fence),
            seed_fence: self.seed_fence.map(render),
            rewrite_fence: self.rewrite_fence.map(|both| both.map(render)),
            seed_server: self.seed_server.map(render),
            many: Many {
                read: render(self.many.read),
                lock: self.many.lock.as_ref().map(|lock| Lock {
                    attempt: render(lock.attempt),
                    take_over: render(lock.take_over),
                    renew: render(lock.renew),
                }),
                attempt: render(self.many.attempt),
                take_over: render(self.many.take_over),
                seed: self.many.seed.map(render),
                seed_fence: self.many.seed_fence.map(render),
                renew: render(self.many.renew),
                resign: render(self.many.resign),
                register: render(self.many.register),
                sweep: render(self.many.sweep),
                unregister: render(self.many.unregister),
                others: render(self.many.others),
                tell: self.many.tell.map(render),
            },
        }
    }
}

/// A value that a statement binds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Param {
    Namespace,
    Id,
    Incarnation,
    Label,
    Ttl,
    /// The time that the database keeps the lease: its length, and what is allowed for steps.
    Kept,
    Seen,
    Epoch,
    Ordinal,
    HolderId,
    HolderIncarnation,
    History,
    Since,
    Leads,
    Version,
    /// The questions about many elections.
    Asked,
}

/// Each parameter's name in the templates.
const NAMES: [(&str, Param); 16] = [
    ("ns", Param::Namespace),
    ("id", Param::Id),
    ("inc", Param::Incarnation),
    ("label", Param::Label),
    ("ttl", Param::Ttl),
    ("kept", Param::Kept),
    ("seen", Param::Seen),
    ("epoch", Param::Epoch),
    ("n", Param::Ordinal),
    ("holder", Param::HolderId),
    ("holder_inc", Param::HolderIncarnation),
    ("history", Param::History),
    ("since", Param::Since),
    ("leads", Param::Leads),
    ("version", Param::Version),
    ("asked", Param::Asked),
];

impl Param {
    fn named(name: &str) -> Option<Self> {
        NAMES.iter().find(|(known, _)| *known == name).map(|(_, param)| *param)
    }

    /// Its name in the templates.
    pub(super) fn name(self) -> &'static str {
        NAMES.iter().find(|(_, param)| *param == self).map_or("", |(name, _)| *name)
    }
}

/// A statement for one dialect and one set of tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Rendered {
    pub(super) text: String,
    /// What to bind, in the order of the placeholders.
    pub(super) params: Vec<Param>,
    /// The columns that a statement about many elections uses of what was asked.
    pub(super) columns: Vec<Param>,
    /// Taken from the template, because a name in the text may be any word.
    pub(super) returns_rows: bool,
}

/// Fills a template. Unknown holes stay as they are, and every database refuses them; the tests
/// render all templates.
pub(super) fn render(dialect: Dialect, told: Told, tables: &Tables, template: &str) -> Rendered {
    let returns_rows = template.starts_with("SELECT")
        || template.starts_with("WITH")
        || template.contains("RETURNING");
    let (text, params, columns) = Default::default();
    let mut rendered = Rendered { text, params, columns, returns_rows };
    let many = template.contains("{:asked}");
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('{') {
        let Some((hole, after)) = after.split_once('}') else { break };
        rendered.text.push_str(before);
        match (hole, hole.strip_prefix(':').and_then(Param::named)) {
            (_, Some(param)) if many && param != Param::Asked => rendered.column(param),
            (_, Some(param)) => rendered.placeholder(dialect, param),
            ("now", _) => rendered.text.push_str(told.now),
            ("system", _) => rendered.text.push_str(told.system),
            ("history", _) => rendered.text.push_str(told.history),
            ("leader" | "candidate" | "fence" | "server" | "schema", _) => {
                rendered.text.push_str(&tables.qualified(dialect, hole));
            }
            ("swept", _) => rendered.text.push_str(&SWEPT.to_string()),
            ("channel", _) => rendered.text.push_str(&literal(&tables.channel())),
            _ => rendered.text.push_str(&format!("{{{hole}}}")),
        }
        rest = after;
    }
    rendered.text.push_str(rest);
    rendered
}

impl Rendered {
    fn column(&mut self, param: Param) {
        if !self.columns.contains(&param) {
            self.columns.push(param);
        }
        self.text.push_str(&format!("q_{}", param.name()));
    }

    fn placeholder(&mut self, dialect: Dialect, param: Param) {
        let known = self.params.iter().position(|earlier| *earlier == param);
        let number = match (dialect, known) {
            (Dialect::Sqlite | Dialect::Postgres, Some(at)) => at + 1,
            _ => {
                self.params.push(param);
                self.params.len()
            }
        };
        self.text.push_str(&match dialect {
            Dialect::Sqlite => format!("?{number}"),
            Dialect::Postgres => format!("${number}"),
            Dialect::MySql => "?".into(),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOLD: Told = Told { now: "N()", system: "S()", history: "H()" };

    #[test]
    fn each_dialect_has_its_placeholders() {
        let template = "UPDATE {leader} SET a={:n}, b={now} WHERE n<{:n} AND ns={:ns}";
        let render = |dialect| render(dialect, TOLD, &Tables::default(), template);
        let sqlite = render(Dialect::Sqlite);
        assert_eq!(sqlite.text, "UPDATE election_leader SET a=?1, b=N() WHERE n<?1 AND ns=?2");
        assert_eq!(sqlite.params, [Param::Ordinal, Param::Namespace]);
        let mysql = render(Dialect::MySql);
        assert_eq!(mysql.text, "UPDATE election_leader SET a=?, b=N() WHERE n<? AND ns=?");
        assert_eq!(mysql.params, [Param::Ordinal, Param::Ordinal, Param::Namespace]);
        let postgres = render(Dialect::Postgres);
        assert!(postgres.text.starts_with("UPDATE \"public\".election_leader SET"));
        assert!(postgres.text.contains("n<$1 AND ns=$2"));
    }

    #[test]
    fn a_schema_may_be_called_anything() {
        for name in ["RETURNING", "{now}", "$1", "?", "'; DROP", "a\\"] {
            let tables = Tables::new("e_", Some(name)).unwrap();
            for dialect in [Dialect::Sqlite, Dialect::Postgres, Dialect::MySql] {
                let rendered = render(dialect, TOLD, &tables, "UPDATE {leader} SET n = {:n}");
                assert!(rendered.text.contains(name), "{}", rendered.text);
                assert!(!rendered.returns_rows && rendered.params == [Param::Ordinal]);
            }
        }
    }
}
