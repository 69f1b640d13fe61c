//! The supported families of databases.

use alloc::{borrow::ToOwned, string::String};
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
    /// The URL scheme of this dialect.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Sqlite => "sqlite",
            Self::Postgres => "postgres",
            Self::MySql => "mysql",
        }
    }

    /// The schema of tables whose schema is not named. On PostgreSQL it is `public`, whatever
    /// `search_path` a role or database sets. On MySQL and SQLite it is `None`: the tables are in
    /// the database that the connection's URL names.
    #[must_use]
    pub const fn default_schema(self) -> Option<&'static str> {
        match self {
            Self::Postgres => Some("public"),
            Self::Sqlite | Self::MySql => None,
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
#[error("unknown kind of database {0:?}; use sqlite, postgres (postgresql) or mysql (mariadb)")]
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dialects_go_by_their_schemes() {
        assert_eq!("postgresql".parse(), Ok(Dialect::Postgres));
        assert_eq!("mariadb".parse(), Ok(Dialect::MySql));
        assert!("oracle".parse::<Dialect>().is_err());
    }
}
