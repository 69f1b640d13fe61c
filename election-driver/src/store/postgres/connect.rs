//! How a store comes to its server: from a URL, from options, or from the pool of an application.

use super::{
    PgServer, PgStore,
    options::OwnIdle,
    origin,
    primary::{named, prepared},
    room::Room,
    session::Name,
    standbys::Standbys,
};
use crate::{
    StoreError,
    store::{
        choice::Choice,
        hosts::{self, Target},
        scheme,
        timeouts::Timeouts,
        transport::{self, Transport},
    },
};
use election_core::sql::{Dialect, Tables};
use sqlx::{PgPool, postgres::PgConnectOptions};
use std::sync::Arc;

impl PgStore {
    /// The default tables in the database of a `postgres://` URL. Nothing is connected yet.
    ///
    /// A server that is not on this machine (`localhost`, 127.0.0.0/8, `::1`, a unix socket) is
    /// contacted over TLS, and only if an authority that this machine trusts vouches for its host
    /// name (`sslmode=verify-full`). The same holds if the URL names an authority with
    /// `sslrootcert`. An `sslmode` in the URL, or `PGSSLMODE` in the environment, wins.
    ///
    /// The URL may name several hosts of one cluster, as the guide's page
    /// [`production`](crate::guide::production#several-hosts) describes.
    ///
    /// # Errors
    /// If the URL is invalid, or asks for encryption without the feature `tls`.
    pub fn connect(url: &str) -> Result<Self, StoreError> {
        scheme::is_of(Dialect::Postgres, url)?;
        let (url, tells) = origin::taken_from(url)?;
        let listed = hosts::of_postgres(&url)?;
        let options = transport::postgres_of_all(&listed.urls)?;
        let otherwise = if options.len() > 1 { Target::ReadWrite } else { Target::Any };
        let target = listed.target.unwrap_or(otherwise);
        let store =
            Self::with_hosts(options, target, &Tables::default()).ok_or_else(hosts::none)?;
        Ok(if tells { store } else { store.without_history() })
    }

    /// For a server that speaks PostgreSQL's protocol and cannot tell which history it continues
    /// (Aurora); `?history=none` in the URL says the same. If such a server loses acknowledged writes in a
    /// failover, two processes may lead until the trust of the first has ended. On PostgreSQL itself an
    /// election waits for that.
    #[must_use]
    pub fn without_history(self) -> Self {
        let mut client = self.client;
        client.history = false;
        let tables = client.tables.clone();
        Self::with_client(client, &tables)
    }

    /// Like [`connect`](Self::connect), from options, which are used as they are, and with tables
    /// of other names.
    #[must_use]
    pub fn with_options(options: PgConnectOptions, tables: &Tables) -> Self {
        let (options, pooled) = prepared(options);
        Self::of_hosts(Choice::one(options, named), pooled, Target::Any, tables)
    }

    fn with_hosts(each: Vec<PgConnectOptions>, target: Target, tables: &Tables) -> Option<Self> {
        let (each, pooled): (Vec<_>, Vec<_>) = each.into_iter().map(prepared).unzip();
        Some(Self::of_hosts(Choice::of(each, named)?, pooled.contains(&true), target, tables))
    }

    fn of_hosts(
        hosts: Choice<PgConnectOptions>,
        pooled: bool,
        target: Target,
        tables: &Tables,
    ) -> Self {
        let server = PgServer {
            idle: OwnIdle::of(hosts.first()),
            hosts,
            target,
            tables: tables.clone(),
            pooled,
            history: true,
            name: Name::new(),
            timeouts: Timeouts::ALONE,
            room: Room::default(),
            standbys: Standbys::default(),
            old: Arc::default(),
            warned: Arc::default(),
        };
        Self::with_client(server, tables)
    }

    /// The database that a pool of the application uses. The elector still opens a connection of
    /// its own: an exhausted pool must not cost the lease.
    #[must_use]
    pub fn from_pool(pool: &PgPool) -> Self {
        Self::with_options(pool.connect_options().as_ref().clone(), &Tables::default())
    }

    /// Where the server is, and how the connection to it is protected; of several, how the least
    /// protected one is.
    #[must_use]
    pub fn transport(&self) -> Transport {
        self.client.transport()
    }
}
