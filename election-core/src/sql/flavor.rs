//! The servers that speak PostgreSQL's protocol.

use core::time::Duration;

/// A server that speaks PostgreSQL's protocol. They differ in what they lack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Flavor {
    /// PostgreSQL 12 or later.
    #[default]
    PostgreSql,
    /// PostgreSQL's statements, for a server that cannot tell which history it continues (Aurora). There
    /// a failover that loses the newest writes can have two leaders.
    WithoutHistory,
    /// CockroachDB 22.1 or later. Never run against a real one.
    CockroachDb,
    /// YugabyteDB 2.18 or later, over YSQL. Never run against a real one.
    YugabyteDb,
}

impl Flavor {
    /// The name of the server.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::PostgreSql => "PostgreSQL",
            Self::WithoutHistory => "PostgreSQL without a history",
            Self::CockroachDb => "CockroachDB",
            Self::YugabyteDb => "YugabyteDB",
        }
    }

    /// Whether many servers are one database. Such a database has a clock per server, and loses no
    /// acknowledged write when it loses one of them.
    #[must_use]
    pub const fn is_cluster(self) -> bool {
        matches!(self, Self::CockroachDb | Self::YugabyteDb)
    }

    /// The least [`clock_step`](crate::lease::Config::clock_step) under which an election is safe: how
    /// far apart the clocks of a cluster's servers may be, unless the cluster was set up otherwise.
    /// Zero where there is one clock.
    #[must_use]
    pub const fn least_clock_step(self) -> Duration {
        if self.is_cluster() { Duration::from_millis(500) } else { Duration::ZERO }
    }
}
