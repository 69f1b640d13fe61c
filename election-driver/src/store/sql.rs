//! A lease store over any of the SQL databases.

use super::{
    Pause,
    client::{Client, Companions},
    session::{Session, migrate},
};
use crate::{Notifications, Store, StoreError};
use election_core::{
    Epoch, Namespace,
    lease::{Answer, Candidacy, Config, Failure, Query, Registration, Row},
    sql::{CandidateRow, Schema, Statements, Tables},
};
use std::sync::Arc;

/// The leader row in a SQL database, over sqlx.
///
/// It uses a connection of its own, opened when it is first needed, so that nothing an application
/// does with its pool can starve the elector. That connection is taken out while a conversation
/// runs and put back only if it ended in good order: a call that was dropped in the middle leaves
/// none behind, and the next one opens a new connection instead of reading the answer to an old
/// question. So every call here may be cancelled; the statement may then still be executed.
pub struct SqlStore<C: Client> {
    pub(super) client: C,
    kept: Option<(C::Connection, C::Identity, Companions)>,
    pub(super) statements: Arc<Statements>,
    schema: Schema,
}

/// Settings are copied, connections are not.
impl<C: Client> Clone for SqlStore<C> {
    fn clone(&self) -> Self {
        Self {
            client: self.client.clone(),
            kept: None,
            statements: self.statements.clone(),
            schema: self.schema.clone(),
        }
    }
}

/// Runs an operation of [`Session`] on the store's own connection.
macro_rules! on_own_connection {
    ($store:ident.$operation:ident($($argument:expr),*)) => {{
        let (mut connection, identity) = $store.take(false).await?;
        let (client, statements) = (&$store.client, &$store.statements);
        let outcome = async {
            client.pin(&mut connection).await?;
            let mut session = Session::<C> { connection: &mut connection, statements, alone: true };
            let outcome = session.$operation($($argument),*).await;
            client.unpin(&mut connection, outcome.is_ok()).await?;
            outcome
        };
        let outcome = outcome.await;
        // A lock that was not to be had leaves the connection in good order.
        if outcome.as_ref().map_or_else(|error| error.kind == Failure::Conflict, |_| true) {
            $store.kept = Some((connection, identity, $store.client.companions()));
        }
        outcome.map_err(|error| error.in_context(&$store.client.place()))
    }};
}

impl<C: Client> SqlStore<C> {
    pub(super) fn with_client(client: C, tables: &Tables) -> Self {
        Self {
            client,
            kept: None,
            statements: Arc::new(Statements::new(C::DIALECT, tables)),
            schema: Schema::new(C::DIALECT, tables),
        }
    }

    /// The same database, with tables of these names: another prefix, or another schema.
    ///
    /// # Errors
    /// If the database cannot have such tables: SQLite has no schemas.
    pub fn with_tables(mut self, tables: &Tables) -> Result<Self, StoreError> {
        self.client.use_tables(tables)?;
        Ok(Self::with_client(self.client, tables))
    }

    /// Where this store looks, in words: server, database and schema, or file.
    #[must_use]
    pub fn place(&self) -> String {
        self.client.place()
    }

    /// Makes the tables where they are missing, and brings older ones up to date; on SQLite the
    /// database file too. Safe to call from every process at every start.
    ///
    /// # Errors
    /// If the database cannot be written, or its tables are newer than this program. On PostgreSQL
    /// also if no schema was named, `public` has no such tables, and another schema has: a second
    /// set would be a second election under the same name.
    pub async fn ensure_schema(&mut self) -> Result<(), StoreError> {
        let (mut connection, identity) = self.take(true).await?;
        let migrated = migrate(&self.client, &mut connection, &self.schema).await;
        migrated.map_err(|error| error.in_context(&self.client.place()))?;
        self.kept = Some((connection, identity, self.client.companions()));
        Ok(())
    }

    /// Reads who leads in a namespace.
    ///
    /// # Errors
    /// If the database cannot be read.
    pub async fn leader(&mut self, namespace: &Namespace) -> Result<Row, StoreError> {
        on_own_connection!(self.leader(namespace))
    }

    /// The candidates of a namespace whose registration has not run out, by name.
    ///
    /// # Errors
    /// If the database cannot be read.
    pub async fn list_candidates(
        &mut self,
        namespace: &Namespace,
    ) -> Result<Vec<CandidateRow>, StoreError> {
        on_own_connection!(self.list_candidates(namespace))
    }

    /// Puts a candidate on the list or keeps it there; `heartbeat` is the same.
    ///
    /// # Errors
    /// If the database cannot be written.
    pub async fn register_candidate(&mut self, who: &Candidacy) -> Result<(), StoreError> {
        on_own_connection!(self.answer(who.registration(), &who.register())).map(|_| ())
    }

    /// The same as [`register_candidate`](Self::register_candidate): it makes the entry if it is
    /// missing.
    ///
    /// # Errors
    /// As there.
    pub async fn heartbeat(&mut self, who: &Candidacy) -> Result<(), StoreError> {
        self.register_candidate(who).await
    }

    /// Takes a candidate off the list, and vacates the lease if it holds it, so that another can
    /// lead at once. Another's lease is never touched. Returns the row as it was found.
    ///
    /// # Errors
    /// If the database cannot be written.
    pub async fn unregister_candidate(&mut self, who: &mut Candidacy) -> Result<Row, StoreError> {
        let row = on_own_connection!(self.unregister(who))?;
        if who.leads(&row) {
            self.client.announce();
        }
        Ok(row)
    }

    /// Stands for election once: takes the lease if it is vacant or has run out, renews it if it
    /// is the candidate's own, and never preempts another's. Returns who leads after the call,
    /// under which term, and for how long unless renewed. The candidacy remembers the terms it has
    /// seen: keep it between the calls, so that what it wins is above them all.
    ///
    /// This is for services that elect on a timer of their own. Nothing here stops leader work
    /// when the lease ends: gate it with [`is_leader`](Self::is_leader), and fence what must not
    /// happen twice. [`Election`](crate::Election) does all that by itself. Do not use both
    /// under one incarnation.
    ///
    /// # Errors
    /// If the database cannot be written; of kind `Conflict` if the leader could not be told
    /// because others raced for it. An error of kind `Ambiguous` may have elected all the same:
    /// call again.
    ///
    /// Dropping the future may leave the call done or not done; call again.
    pub async fn elect(&mut self, who: &mut Candidacy) -> Result<Row, StoreError> {
        let row = on_own_connection!(self.elect(who))?;
        if who.leads(&row) && row.renewals == 0 {
            self.client.announce();
        }
        Ok(row)
    }

    /// Whether a candidate holds a lease that has not run out by the database's clock.
    ///
    /// # Errors
    /// If the database cannot be read.
    pub async fn is_leader(&mut self, who: &Candidacy) -> Result<bool, StoreError> {
        self.leader(&who.registration().namespace).await.map(|row| who.leads(&row))
    }

    /// Asks the holder of one term to resign, whichever process it is. Returns whether that term
    /// is held; it learns of the request by its next look at the row.
    ///
    /// # Errors
    /// If the database cannot be written.
    pub async fn request_resign(
        &mut self,
        namespace: &Namespace,
        epoch: Epoch,
    ) -> Result<bool, StoreError> {
        let asked = on_own_connection!(self.request_resign(namespace, epoch))?;
        if asked {
            self.client.announce();
        }
        Ok(asked)
    }

    /// The connection that was kept, or a new one.
    async fn take(&mut self, create: bool) -> Result<(C::Connection, C::Identity), StoreError> {
        let kept = self.kept.take();
        let found = find(&self.client, kept, create).await;
        found.map_err(|error| error.in_context(&self.client.place()))
    }
}

/// The connection that was kept, if it still leads where a new one would; else a new one.
async fn find<C: Client>(
    client: &C,
    kept: Option<(C::Connection, C::Identity, Companions)>,
    create: bool,
) -> Result<(C::Connection, C::Identity), StoreError> {
    if create {
        client.make()?;
    }
    client.admit()?;
    let there = client.identity();
    if let Some((connection, known, companions)) = kept {
        if Some(&known) == there.as_ref() && companions == client.companions() {
            return Ok((connection, known));
        }
        tracing::warn!(
            place = %client.place(),
            "the database, or a file beside it, was removed or exchanged while it was in use: what \
             was written may be lost, and two may have led; looking anew"
        );
    }
    let connection = client.connect(create).await?;
    // Only what led to the same place before and after is known to have led there meanwhile.
    match (there, client.identity()) {
        (Some(before), Some(after)) if before == after => Ok((connection, after)),
        _ => {
            let context = "the database was exchanged as it was opened; trying again";
            Err(StoreError::new(Failure::Transient, context))
        }
    }
}

impl<C: Client> Store for SqlStore<C> {
    fn prepare(&mut self, config: &Config) {
        self.client.bound_waits(config);
        self.kept = None; // it was opened with other bounds
    }

    async fn answer(
        &mut self,
        registration: &Registration,
        query: &Query,
    ) -> Result<Answer, StoreError> {
        let answer = on_own_connection!(self.answer(registration, query))?;
        if matches!(answer, Answer::Won { .. } | Answer::Released) {
            self.client.announce();
        }
        Ok(answer)
    }

    fn statements(&self) -> Option<Arc<Statements>> {
        Some(self.statements.clone())
    }

    fn notifications(&mut self, registration: &Registration, pause: Pause) -> Notifications {
        self.client.notifications(registration, pause)
    }
}
