//! The names of the tables, and the schema that holds them.
//!
//! If the server looked a name up along the session's search path, two users of one database could
//! reach two tables, and each table would have its own leader. So every statement names the schema,
//! and so does the channel of the database's notifications.

use super::dialect::Dialect;
use crate::random::fnv1a;
use alloc::{borrow::ToOwned, format, string::String};
use thiserror::Error;

/// The longest prefix. A suffix follows it, and PostgreSQL truncates names after 63 bytes.
const LONGEST_PREFIX: usize = 40;
/// The longest name in PostgreSQL, also of a channel; MySQL allows 64 characters.
const LONGEST_NAME: usize = 63;

/// Where the tables are: their common prefix and the schema (PostgreSQL), database (MySQL) or
/// attached database (SQLite) that holds them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Tables {
    prefix: String,
    schema: Option<String>,
}

/// `election_leader`, `election_candidate` and `election_schema` in
/// [the dialect's default schema](Dialect::default_schema).
impl Default for Tables {
    fn default() -> Self {
        Self { prefix: "election_".to_owned(), schema: None }
    }
}

/// A prefix or a schema that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum InvalidIdentifier {
    /// The prefix of the tables' names is not a plain identifier.
    #[error(
        "invalid table prefix {0:?}; use a lower-case letter or underscore, then at most 39 more \
         lower-case letters, digits and underscores"
    )]
    Prefix(String),
    /// No database can have a schema of this name.
    #[error("invalid schema name {0:?}; use 1 to 63 bytes without NUL")]
    Schema(String),
}

impl Tables {
    /// Tables with this prefix, in this schema; in the
    /// [dialect's default](Dialect::default_schema) if it is `None`.
    ///
    /// Every statement quotes the schema. So any name will do (`Ops`, `order`, `two words`), and
    /// upper and lower case differ.
    ///
    /// # Errors
    /// If the prefix is not a plain lower-case identifier, or the schema is empty, longer than 63
    /// bytes, or holds a NUL.
    pub fn new(prefix: &str, schema: Option<&str>) -> Result<Self, InvalidIdentifier> {
        if !is_plain(prefix) || prefix.len() > LONGEST_PREFIX {
            return Err(InvalidIdentifier::Prefix(prefix.to_owned()));
        }
        if let Some(schema) = schema {
            if schema.is_empty() || schema.len() > LONGEST_NAME || schema.contains('\0') {
                return Err(InvalidIdentifier::Schema(schema.to_owned()));
            }
        }
        Ok(Self { prefix: prefix.to_owned(), schema: schema.map(str::to_owned) })
    }

    /// The schema as the caller named it, if it did.
    #[must_use]
    pub fn named_schema(&self) -> Option<&str> {
        self.schema.as_deref()
    }

    /// The schema that the statements of a dialect name; `None` if they name none and use the
    /// connection's database.
    #[must_use]
    pub fn schema(&self, dialect: Dialect) -> Option<&str> {
        self.named_schema().or(dialect.default_schema())
    }

    /// The name of the table that holds the leaders, without its schema.
    #[must_use]
    pub fn leader(&self) -> String {
        format!("{}leader", self.prefix)
    }

    /// The name of the table that holds the candidates, without its schema.
    #[must_use]
    pub fn candidate(&self) -> String {
        format!("{}candidate", self.prefix)
    }

    /// The channel on which PostgreSQL announces resignations from these tables:
    /// `public.election_leader` by default. If the name would be longer than PostgreSQL allows, a
    /// digest replaces the schema.
    #[must_use]
    pub fn channel(&self) -> String {
        let (schema, leader) = (self.schema(Dialect::Postgres).unwrap_or_default(), self.leader());
        let channel = format!("{schema}.{leader}");
        if channel.len() <= LONGEST_NAME {
            return channel;
        }
        // It ends in a hexadecimal digit, so it cannot be the channel of other tables.
        format!("{leader}.{:016x}", fnv1a(schema.bytes()))
    }

    /// The name of one of the tables, as statements write it.
    pub(super) fn qualified(&self, dialect: Dialect, table: &str) -> String {
        let table = format!("{}{table}", self.prefix);
        match self.schema(dialect) {
            Some(schema) => format!("{}.{table}", quoted(dialect, schema)),
            None => table,
        }
    }
}

fn is_plain(name: &str) -> bool {
    let mut bytes = name.bytes();
    let begins = bytes.next().is_some_and(|byte| byte.is_ascii_lowercase() || byte == b'_');
    begins && bytes.all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
}

fn quoted(dialect: Dialect, name: &str) -> String {
    match dialect {
        Dialect::Sqlite | Dialect::Postgres => format!("\"{}\"", name.replace('"', "\"\"")),
        Dialect::MySql => format!("`{}`", name.replace('`', "``")),
    }
}

/// A text literal that PostgreSQL reads alike under any `standard_conforming_strings`.
pub(super) fn literal(text: &str) -> String {
    let doubled = text.replace('\'', "''");
    if doubled.contains('\\') {
        return format!("E'{}'", doubled.replace('\\', "\\\\"));
    }
    format!("'{doubled}'")
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::{collections::BTreeSet, string::ToString as _};

    #[test]
    fn a_prefix_cannot_carry_syntax() {
        for bad in ["", "1a", "a-b", "a b", "a\"b", "a;drop", "A", "ä", &"x".repeat(41)] {
            let refused = Tables::new(bad, None).unwrap_err();
            assert!(refused.to_string().contains(&format!("{bad:?}")), "{refused}");
        }
    }

    #[test]
    fn a_schema_is_quoted() {
        for bad in ["", "a\0b", &"x".repeat(64)] {
            let refused = Tables::new("ok_", Some(bad));
            assert_eq!(refused, Err(InvalidIdentifier::Schema(bad.into())));
        }
        let name = |dialect, schema| {
            Tables::new("app_", Some(schema)).unwrap().qualified(dialect, "leader")
        };
        assert_eq!(name(Dialect::Postgres, "order"), "\"order\".app_leader");
        assert_eq!(name(Dialect::Postgres, "A \"b\""), "\"A \"\"b\"\"\".app_leader");
        assert_eq!(name(Dialect::MySql, "a`b\"c"), "`a``b\"c`.app_leader");
        assert_eq!(name(Dialect::Sqlite, "aux"), "\"aux\".app_leader");
    }

    #[test]
    fn what_is_not_named_is_public_on_postgresql() {
        let tables = Tables::default();
        assert_eq!(tables.qualified(Dialect::Postgres, "fence"), "\"public\".election_fence");
        assert_eq!(tables.qualified(Dialect::MySql, "fence"), "election_fence");
        assert_eq!(tables.qualified(Dialect::Sqlite, "fence"), "election_fence");
        assert_eq!(tables.channel(), "public.election_leader");
        assert_eq!(Tables::new("election_", Some("public")).unwrap().channel(), tables.channel());
    }

    #[test]
    fn no_two_sets_of_tables_share_a_channel() {
        let long = "s".repeat(63);
        let schemas = ["a", "a.b", "b", "A", "a.election_", &long, &long[1..], &long[..40]];
        let prefix = "p".repeat(40);
        let prefixes = ["election_", "b_", "x", &prefix, &prefix[1..]];
        let mut channels = BTreeSet::new();
        for (schema, prefix) in schemas.iter().flat_map(|s| prefixes.iter().map(move |p| (s, p))) {
            let channel = Tables::new(prefix, Some(schema)).unwrap().channel();
            assert!(channel.len() <= 63, "{channel}");
            assert!(channels.insert(channel), "{schema} {prefix}");
        }
    }

    #[test]
    fn a_literal_ends_where_it_should() {
        assert_eq!(literal("public.leader"), "'public.leader'");
        assert_eq!(literal("o'clock"), "'o''clock'");
        assert_eq!(literal("a\\'b"), "E'a\\\\''b'");
    }
}
