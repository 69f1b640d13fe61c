//! Which database, and which tables in it.

use alloc::{borrow::ToOwned, format, string::String};
use core::{fmt, str::FromStr};
use thiserror::Error;

/// A family of databases that one set of statements serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// SQLite 3.37 or later.
    Sqlite,
    /// PostgreSQL 12 or later.
    Postgres,
    /// MySQL 8 and MariaDB 10.4, or later.
    MySql,
}

impl Dialect {
    /// The scheme of its URLs.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Sqlite => "sqlite",
            Self::Postgres => "postgres",
            Self::MySql => "mysql",
        }
    }
}

impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A URL scheme that names no supported database.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("unknown database {0:?}; use sqlite, postgres (postgresql) or mysql (mariadb)")]
pub struct UnknownDialect(pub String);

impl FromStr for Dialect {
    type Err = UnknownDialect;

    fn from_str(scheme: &str) -> Result<Self, UnknownDialect> {
        match scheme {
            "sqlite" => Ok(Self::Sqlite),
            "postgres" | "postgresql" => Ok(Self::Postgres),
            "mysql" | "mariadb" => Ok(Self::MySql),
            other => Err(UnknownDialect(other.to_owned())),
        }
    }
}

/// The longest identifier every dialect can take (PostgreSQL's limit is 63 bytes, and a suffix
/// follows the prefix).
const LONGEST: usize = 40;

/// Where the tables are: their common prefix and, optionally, the schema (PostgreSQL), database
/// (MySQL) or attached database (SQLite) that holds them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Tables {
    prefix: String,
    schema: Option<String>,
}

/// `election_leader`, `election_candidate` and `election_schema`, wherever the connection looks
/// first.
impl Default for Tables {
    fn default() -> Self {
        Self { prefix: "election_".to_owned(), schema: None }
    }
}

/// A prefix or schema that is not a plain identifier.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "{0:?} is not a plain identifier; use a lower-case letter or underscore, then at most 39 more \
     lower-case letters, digits and underscores"
)]
pub struct InvalidIdentifier(pub String);

impl Tables {
    /// Tables with this prefix, in this schema.
    ///
    /// # Errors
    /// If one of them is not a plain lower-case identifier. These names become part of the
    /// statements' text, so nothing that would need quoting is taken.
    pub fn new(prefix: &str, schema: Option<&str>) -> Result<Self, InvalidIdentifier> {
        let prefix = identifier(prefix)?;
        let schema = schema.map(identifier).transpose()?;
        Ok(Self { prefix, schema })
    }

    /// The name of one of the tables, as it stands in a statement.
    pub(super) fn qualified(&self, table: &str) -> String {
        match &self.schema {
            Some(schema) => format!("{schema}.{}{table}", self.prefix),
            None => format!("{}{table}", self.prefix),
        }
    }

    /// The channel on which PostgreSQL tells of this election's resignations.
    #[must_use]
    pub fn channel(&self) -> String {
        self.plain("leader")
    }

    /// The name of an index or constraint, which is never qualified.
    pub(super) fn plain(&self, name: &str) -> String {
        format!("{}{name}", self.prefix)
    }
}

fn identifier(name: &str) -> Result<String, InvalidIdentifier> {
    let mut bytes = name.bytes();
    let begins = bytes.next().is_some_and(|byte| byte.is_ascii_lowercase() || byte == b'_');
    let goes_on = bytes.all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
    if begins && goes_on && name.len() <= LONGEST {
        Ok(name.to_owned())
    } else {
        Err(InvalidIdentifier(name.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_cannot_carry_syntax() {
        for bad in ["", "1a", "a-b", "a b", "a\"b", "a;drop", "A", "ä", &"x".repeat(41)] {
            assert!(Tables::new(bad, None).is_err(), "{bad:?}");
            assert!(Tables::new("ok_", Some(bad)).is_err(), "{bad:?}");
        }
        let tables = Tables::new("app_", Some("ops")).unwrap();
        assert_eq!(tables.qualified("leader"), "ops.app_leader");
    }

    #[test]
    fn dialects_go_by_their_schemes() {
        assert_eq!("postgresql".parse(), Ok(Dialect::Postgres));
        assert_eq!("mariadb".parse(), Ok(Dialect::MySql));
        assert!("oracle".parse::<Dialect>().is_err());
    }
}
