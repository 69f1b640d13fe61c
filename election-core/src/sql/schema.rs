//! The tables and their numbered migrations. Each migration is applied once.

use super::{
    dialect::Dialect,
    mysql, postgres, sqlite,
    statements::{Call, bind},
    tables::Tables,
    template::{Param, Rendered, render},
    value::Value,
};
use alloc::{string::String, vec::Vec};
use core::fmt::Write as _;

const RECORD: &str = "INSERT INTO {schema} (version, applied_ms) VALUES ({:version}, {now})";

/// Nothing keeps programs apart that make the tables at different servers of a cluster.
const RECORD_ON_A_CLUSTER: &str =
    "INSERT IGNORE INTO {schema} (version, applied_ms) VALUES ({:version}, {now})";

/// The schema of one dialect and one set of tables.
#[derive(Clone, Debug)]
pub struct Schema {
    create: Rendered,
    version: Rendered,
    record: Rendered,
    first: Migration,
    /// The statement that records it in a script.
    note: String,
}

/// A step from one version of the schema to the next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Migration {
    /// The version it leads to.
    pub version: i64,
    /// Its statements, in order.
    pub statements: Vec<String>,
}

impl Schema {
    /// The version that the statements of this library need.
    pub const VERSION: i64 = 1;

    /// The newest version of the tables that they work with. Up to it a migration only adds, and
    /// only what an older program need not know: so programs of several releases share one set of
    /// tables while they are replaced. A migration that older programs could not bear gets a number
    /// above it, and they refuse the tables.
    pub const NEWEST_USABLE: i64 = 999;

    /// Renders the schema.
    #[must_use]
    pub fn new(dialect: Dialect, tables: &Tables) -> Self {
        let (told, statements, record) = match dialect {
            Dialect::Sqlite => (sqlite::TEMPLATES.told, sqlite::TABLES, RECORD),
            Dialect::Postgres => (postgres::TEMPLATES.told, postgres::TABLES, RECORD),
            Dialect::MySql => (mysql::TEMPLATES.told, mysql::TABLES, RECORD_ON_A_CLUSTER),
        };
        let render = |template: &str| render(dialect, told, tables, template);
        Self {
            create: render(
                "CREATE TABLE IF NOT EXISTS {schema} \
                 (version BIGINT NOT NULL PRIMARY KEY, applied_ms BIGINT NOT NULL)",
            ),
            version: render("SELECT COALESCE(MAX(version), 0) FROM {schema}"),
            record: render(record),
            note: render(&record.replace("{:version}", "1")).text,
            first: Migration {
                version: Self::VERSION,
                statements: statements.iter().map(|text| render(text).text).collect(),
            },
        }
    }

    /// Whether the statements of this library work with tables of this version as they are.
    #[must_use]
    pub fn suits(&self, version: i64) -> bool {
        (Self::VERSION..=Self::NEWEST_USABLE).contains(&version)
    }

    /// Makes the table of versions if there is none.
    #[must_use]
    pub fn create_version_table(&self) -> Call<'_> {
        bind(&self.create, |_| Value::Null)
    }

    /// Reads the version in force: one row with one integer, zero before the first migration.
    #[must_use]
    pub fn read_version(&self) -> Call<'_> {
        bind(&self.version, |_| Value::Null)
    }

    /// Records that a migration was applied.
    #[must_use]
    pub fn record_version(&self, version: i64) -> Call<'_> {
        bind(&self.record, |param| match param {
            Param::Version => version.into(),
            _ => Value::Null,
        })
    }

    /// The migrations that a database at `version` still needs, in order. Where the database can,
    /// apply each together with its [`record_version`](Self::record_version) in one transaction.
    pub fn pending(&self, version: i64) -> impl Iterator<Item = &Migration> {
        core::iter::once(&self.first).filter(move |migration| migration.version > version)
    }

    /// The whole schema as a script, for the user's own migration tool.
    #[must_use]
    pub fn script(&self) -> String {
        let mut script = String::new();
        let mut line = |text: &str| {
            let _ = writeln!(script, "{text};");
        };
        line(&self.create.text);
        for statement in &self.first.statements {
            line(statement);
        }
        line(&self.note);
        script
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::Statements;

    const DIALECTS: [Dialect; 3] = [Dialect::Sqlite, Dialect::Postgres, Dialect::MySql];

    #[test]
    fn every_hole_is_filled() {
        for dialect in DIALECTS {
            let statements = alloc::format!("{:?}", Statements::new(dialect, &Tables::default()));
            for hole in
                ["{leader", "{candidate", "{server", "{system", "{history", "{now", "{:", "{name"]
            {
                assert!(!statements.contains(hole), "{dialect}: {hole} in {statements}");
            }
            assert!(!Schema::new(dialect, &Tables::default()).script().contains('{'));
        }
    }

    #[test]
    fn whatever_raises_a_term_on_mysql_asks_for_foreign_keys() {
        let mysql = Statements::new(Dialect::MySql, &Tables::default());
        for rendered in [&mysql.all.attempt, &mysql.all.take_over] {
            assert!(rendered.text.ends_with("AND @@foreign_key_checks = 1"), "{}", rendered.text);
        }
    }

    #[test]
    fn tables_of_a_later_release_suit_and_others_do_not() {
        for dialect in DIALECTS {
            let schema = Schema::new(dialect, &Tables::default());
            let suits = |version| schema.suits(version);
            assert!([Schema::VERSION, Schema::VERSION + 1, 999].map(suits).iter().all(|it| *it));
            assert!(![0, -1, 1_000, i64::MAX].map(suits).iter().any(|it| *it));
        }
    }

    #[test]
    fn the_newest_migration_is_the_version_the_statements_need() {
        for dialect in DIALECTS {
            let schema = Schema::new(dialect, &Tables::default());
            let pending: Vec<_> = schema.pending(0).map(|migration| migration.version).collect();
            assert_eq!(pending, [Schema::VERSION]);
            assert_eq!(schema.pending(Schema::VERSION).count(), 0);
            assert!(schema.script().contains("VALUES (1, "), "{}", schema.script());
        }
    }
}
