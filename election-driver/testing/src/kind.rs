//! The databases that tests can start servers of.

/// A kind of server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// PostgreSQL, from Debian's package or the `PATH`.
    Postgres,
    /// MariaDB, from Debian's package or the `PATH`.
    MariaDb,
}

impl Kind {
    /// The rights of the user `app` that takes part in elections, as the stores document them.
    #[must_use]
    pub fn grants(self) -> &'static str {
        match self {
            Self::Postgres => include_str!("../../src/store/postgres.grants.sql"),
            Self::MariaDb => include_str!("../../src/store/mysql.grants.sql"),
        }
    }
}
