//! A session on one host, and whether that host is one to hold an election on.

use super::{
    PgServer,
    errors::explain,
    is_old,
    session::{Backend, Idles},
};
use crate::{
    StoreError,
    store::{hosts::Target, link::Progress, timeouts::Stage},
};
use election_core::lease::Failure;
use sqlx::{ConnectOptions as _, Connection as _, Executor as _, PgConnection, Row as _, raw_sql};
use std::sync::atomic::Ordering;

/// Other servers that speak this protocol may lack the function, which must not be an error.
const ASKED: &str = "SELECT pg_catalog.pg_is_in_recovery(), \
    pg_catalog.current_setting('transaction_read_only') = 'on', \
    coalesce(pg_catalog.has_function_privilege( \
        pg_catalog.to_regprocedure('pg_catalog.pg_control_system()'), 'EXECUTE'), false)";

/// A cluster and its replicas have the same.
const CLUSTER: &str = "SELECT system_identifier::text FROM pg_catalog.pg_control_system()";

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
        self.room.set_scarce(refused.is_some_and(|error| error.code() == Some(super::FULL.into())));
        let mut connection = connected.map_err(fail)?;
        let bounded = matches!(self.idles(), Idles::For(_));
        progress.reached(if bounded { Stage::Bounded } else { Stage::Inside });
        let mut backend = None;
        if !self.pooled {
            backend = Some(Backend::of(&mut connection).await.map_err(fail)?);
            progress.heard();
        }
        if self.hosts.are_several() || self.target != Target::Any {
            if let Err(error) = self.suits(host, &mut connection).await {
                let _ = connection.close().await; // it would be missed on the server's side
                return Err(error);
            }
            progress.heard();
        }
        Ok((connection, backend))
    }

    async fn suits(&self, host: usize, connection: &mut PgConnection) -> Result<(), StoreError> {
        let fail = |error| explain(error, Failure::Transient);
        let row = connection.fetch_one(raw_sql(ASKED)).await.map_err(fail)?;
        let told = |at| row.try_get::<bool, _>(at).map_err(fail);
        let (replica, reads, may) = (told(0)?, told(1)?, told(2)?);
        let mut cluster = None;
        if may {
            let row = connection.fetch_one(raw_sql(CLUSTER)).await.map_err(fail)?;
            cluster = Some(row.try_get(0).map_err(fail)?);
        } else {
            tracing::debug!(host = self.hosts.name(host), "the host does not tell its cluster");
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
const REPLICA: &str = "it is a replica, which takes no writes; list the primary, too, or promote one \
                       (to look on only, add target_session_attrs=any to the URL)";
const READS: &str = "it takes no writes from this user (default_transaction_read_only is on); switch \
                     that off, or list the primary, too (to look on only, add \
                     target_session_attrs=any to the URL)";
