//! A session on one host, and whether that host is one to hold an election on.

use super::{
    PgServer,
    errors::{FULL, UNKNOWN, explain},
    listen, origin,
    session::{self, Backend, Idles},
};
use crate::{
    StoreError,
    store::{
        calls::is_lost,
        hosts::Target,
        progress::Progress,
        timeouts::{Stage, Timeouts},
        transport::{self, Transport},
    },
};
use election_core::lease::Failure;
use sqlx::{
    ConnectOptions as _, Connection as _, Executor as _, PgConnection, Row as _,
    postgres::PgConnectOptions, raw_sql,
};
use std::sync::atomic::Ordering;

/// Other servers that speak this protocol may lack the function, which must not be an error.
const ASKED: &str = "SELECT pg_catalog.pg_is_in_recovery(), \
    pg_catalog.current_setting('transaction_read_only') = 'on', \
    coalesce(pg_catalog.has_function_privilege( \
        pg_catalog.to_regprocedure('pg_catalog.pg_control_system()'), 'EXECUTE'), false)";

/// A cluster and its replicas have the same.
const CLUSTER: &str = "SELECT system_identifier::text FROM pg_catalog.pg_control_system()";

/// As a store uses them, and whether they declare a pooler.
pub(super) fn prepared(options: PgConnectOptions) -> (PgConnectOptions, bool) {
    // sqlx has no accessor.
    let pooled = format!("{options:?}").contains("statement_cache_capacity: 0,");
    let options = options.application_name("election").disable_statement_logging();
    // A pooler knows neither this option nor any other.
    (if pooled { options.extra_float_digits(None) } else { options }, pooled)
}

pub(super) fn named(options: &PgConnectOptions) -> String {
    transport::address(transport::of_postgres(options))
}

impl PgServer {
    /// Opens a session on a host, if it is one to use.
    pub(super) async fn enter(
        &self,
        host: usize,
        progress: &Progress,
    ) -> Result<(PgConnection, Option<Backend>), StoreError> {
        let fail = |error| explain(error, Failure::Transient);
        let mut connected = self.session_options(host).connect().await;
        if connected.as_ref().is_err_and(is_old) {
            self.old.store(true, Ordering::Relaxed);
            connected = self.session_options(host).connect().await;
        }
        let refused = connected.as_ref().err().and_then(sqlx::Error::as_database_error);
        self.room.set_scarce(refused.is_some_and(|error| error.code() == Some(FULL.into())));
        let mut connection = connected.map_err(fail)?;
        let bounded = matches!(self.idles(), Idles::For(_));
        progress.reached(if bounded { Stage::Bounded } else { Stage::Inside });
        let (version, backend) = self.recognised(&mut connection).await?;
        progress.heard();
        if let Err(error) = self.suits(host, &version, &mut connection).await {
            // It would be missed on the server's side.
            if connection.close().await.is_ok() && !is_lost(&error) {
                progress.left();
            }
            return Err(error);
        }
        progress.heard();
        Ok((connection, backend))
    }

    /// What the server says that it is, and the session by which another can end this one.
    async fn recognised(
        &self,
        connection: &mut PgConnection,
    ) -> Result<(String, Option<Backend>), StoreError> {
        let fail = |error| explain(error, Failure::Transient);
        if !self.pooled {
            match Backend::of(connection, &self.name).await {
                Ok(told) => return Ok(told),
                Err(error) if session::lacks_function(&error) => {
                    let version = session::version(connection).await.map_err(fail)?;
                    origin::refused(&version)?;
                    return Err(fail(error));
                }
                Err(error) => return Err(fail(error)),
            }
        }
        Ok((session::version(connection).await.map_err(fail)?, None))
    }

    pub(super) fn transport(&self) -> Transport {
        self.hosts.transport(transport::of_postgres)
    }

    fn session_options(&self, host: usize) -> PgConnectOptions {
        let options = self.hosts.options(host);
        if self.pooled {
            options.clone()
        } else {
            session::options(options, self.timeouts, self.idles(), &self.name)
        }
    }

    pub(super) fn idles(&self) -> Idles {
        let ends = self.timeouts.repeats() && !self.pooled && !self.old.load(Ordering::Relaxed);
        if ends { Idles::For(self.idle.at_most(self.timeouts.opening())) } else { Idles::Forever }
    }

    /// The options of the listener's session, where the elector's is. It has timeouts of its own;
    /// under a short lease the elector's are shorter.
    pub(super) fn listener_options(&self) -> PgConnectOptions {
        let options = self.hosts.options(self.hosts.used().unwrap_or_default());
        let old = self.old.load(Ordering::Relaxed);
        let idles = if old { Idles::Forever } else { Idles::For(self.idle.at_most(listen::IDLE)) };
        let options = session::options(options, Timeouts::ALONE, idles, &self.name);
        options.application_name("election listener")
    }

    async fn suits(
        &self,
        host: usize,
        version: &str,
        connection: &mut PgConnection,
    ) -> Result<(), StoreError> {
        origin::refused(version)?;
        if !self.hosts.are_several() && self.target == Target::Any {
            return Ok(());
        }
        let fail = |error| explain(error, Failure::Transient);
        let row = connection.fetch_one(raw_sql(ASKED)).await.map_err(fail)?;
        let told = |at| row.try_get::<bool, _>(at).map_err(fail);
        let (replica, reads, may) = (told(0)?, told(1)?, told(2)?);
        let mut cluster = None;
        if may {
            let row = connection.fetch_one(raw_sql(CLUSTER)).await.map_err(fail)?;
            cluster = Some(row.try_get(0).map_err(fail)?);
        } else if self.hosts.are_several() && self.hosts.is_news() {
            tracing::warn!(
                host = self.hosts.name(host),
                "this host does not reveal its cluster, so nobody notices if another host in the \
                 URL belongs to a different one; grant this user EXECUTE on pg_control_system()"
            );
        }
        self.hosts.belongs(host, cluster)?;
        let why = match self.target {
            Target::Primary | Target::ReadWrite if replica => REPLICA,
            Target::ReadWrite if reads => READS,
            _ => return Ok(()),
        };
        Err(StoreError::new(Failure::Transient, why))
    }
}

/// It may be promoted at any moment.
const REPLICA: &str = "it is a replica, which accepts no writes; list the primary too, or promote \
                       one (to inspect only, add target_session_attrs=any to the URL)";
const READS: &str = "it accepts no writes from this user (default_transaction_read_only is on); \
                     turn that off, or list the primary too (to inspect only, add \
                     target_session_attrs=any to the URL)";

/// Whether the server refuses to begin a session with an option that it does not know.
fn is_old(error: &sqlx::Error) -> bool {
    let database = error.as_database_error();
    database.is_some_and(|error| {
        error.code().is_some_and(|code| code == UNKNOWN) && error.message().contains(session::IDLE)
    })
}
