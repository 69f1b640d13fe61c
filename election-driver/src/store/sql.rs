//! A lease store over any of the SQL databases.

use super::{
    Pause,
    client::Client,
    error::Connecting,
    link::{Link, Use},
    news,
    session::{Session, migrate},
    timeouts::Timeouts,
};
use crate::{Notifications, Store, StoreError, now};
use election_core::{
    Candidate, Epoch, Namespace, Timestamp,
    lease::{Answer, Candidacy, Config, Failure, Query, Registration, Row},
    sql::{Call, CandidateRow, ElectionRow, Question, Schema, Statements, Tables},
};
use std::sync::Arc;

/// The leader row in a SQL database, over sqlx.
///
/// It uses a connection of its own, opened on first use, so an application's use of its pool cannot
/// starve the elector. Every call here may be cancelled; the statement may then still be executed.
/// A call that was dropped midway may leave an unread answer on the connection: the next call opens
/// another one, and has the server end the first. However many calls are dropped, a store has no
/// more than two connections: the one in use, and one that is being given up. PostgreSQL's
/// notifications take one more.
///
/// Every call ends in bounded time, connecting included, with an error that names the cause. Within
/// an elector the bound is [`Config::attempt_timeout`]; otherwise it is ten seconds, of which the
/// call waits at most four for a lock. The runtime's timer has to be enabled.
/// [`ensure_schema`](Self::ensure_schema) takes at most a minute. The servers get the same bounds,
/// so a statement that was given up here soon ends there.
///
/// An [`Election`](crate::Election) takes one and asks by itself. A service with a timer of its own
/// calls it:
///
#[cfg_attr(feature = "sqlite", doc = "```no_run")]
#[cfg_attr(not(feature = "sqlite"), doc = "```ignore")]
/// # use election_driver::{SqliteStore, StoreError, core::lease::Candidacy};
/// # fn send_reports() {}
/// async fn every_ten_seconds(store: &mut SqliteStore, who: &mut Candidacy) -> Result<(), StoreError> {
///     let row = store.elect(who).await?; // takes the lease if it is free, renews it if it is ours
///     if who.leads(&row) {
///         send_reports(); // and fence what must not happen twice
///     }
///     Ok(())
/// }
/// ```
pub struct SqlStore<C: Client> {
    pub(super) client: C,
    link: Link<C>,
    pub(crate) statements: Arc<Statements>,
    schema: Schema,
}

/// A clone copies the settings, not the connections.
impl<C: Client> Clone for SqlStore<C> {
    fn clone(&self) -> Self {
        Self {
            client: self.client.clone(),
            link: Link::default(),
            statements: self.statements.clone(),
            schema: self.schema.clone(),
        }
    }
}

/// Runs an operation of [`Session`] on the store's own connection.
macro_rules! on_own_connection {
    ($store:ident.$operation:ident($($argument:expr),*)) => {
        on_own_connection!($store.$operation($($argument),*), within $store.client.timeouts().call())
    };
    ($store:ident.$operation:ident($($argument:expr),*), within $time:expr) => {{
        let time = $time;
        let (client, statements, link) = (&$store.client, &$store.statements, &mut $store.link);
        let call = async {
            let connection = link.open(client, Use::Call, statements).await?;
            client.pin(connection).await?;
            let mut session = Session::<C> {
                connection: &mut *connection,
                statements,
                alone: true,
                bound: client.bound_one(),
            };
            let outcome = session.$operation($($argument),*).await;
            client.unpin(connection, outcome.is_ok()).await?;
            match outcome {
                Err(error) => Err(client.blame(connection, error).await),
                answer => answer,
            }
        };
        let outcome = client.patiently(time, call).await;
        $store.settle(outcome, C::is_refusal)
    }};
}

impl<C: Client> SqlStore<C> {
    pub(super) fn with_client(client: C, tables: &Tables) -> Self {
        let statements = Arc::new(client.statements(tables));
        let schema = client.schema(tables);
        Self { client, link: Link::default(), statements, schema }
    }

    /// The same database, with tables of these names: another prefix, or another schema.
    ///
    /// # Errors
    /// If the database cannot have such tables: SQLite has no schemas.
    pub fn with_tables(mut self, tables: &Tables) -> Result<Self, StoreError> {
        self.client.use_tables(tables)?;
        Ok(Self::with_client(self.client, tables))
    }

    /// The tables that it needs.
    #[must_use]
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// Where this store looks, in words: server, database and schema, or file.
    #[must_use]
    pub fn place(&self) -> String {
        self.client.place()
    }

    /// Creates missing tables and upgrades older ones; on SQLite it also creates the database file.
    /// It is safe to call from every process at every start. Returns the version that the tables are at
    /// now: [`Schema::VERSION`], or that of a later release.
    ///
    /// # Errors
    /// If tables have to be made and the database cannot be written, or if its tables are of a
    /// version that this program cannot use ([`Schema::NEWEST_USABLE`]); the guide's page
    /// [`tables`](crate::guide::tables#upgrades) says who may share which. On PostgreSQL
    /// also if no schema was named, `public` has no such tables, and another schema has: a second
    /// set would be a second election under the same name.
    pub async fn ensure_schema(&mut self) -> Result<i64, StoreError> {
        let (client, schema, link) = (&self.client, &self.schema, &mut self.link);
        let statements = &self.statements;
        let call = async {
            let connection = link.open(client, Use::Making, statements).await?;
            migrate(client, connection, schema).await
        };
        // Eight statements in a transaction, two round trips each, and each may have to wait.
        let outcome = client.patiently(20 * client.timeouts().call(), call).await;
        let version = self.settle(outcome, |_| false)?;
        self.are_there().await?;
        Ok(version)
    }

    /// Handles tables that somebody dropped or changed while the table with their version stayed.
    async fn are_there(&mut self) -> Result<(), StoreError> {
        let any = Namespace::default();
        // The second statement also reads what tells a promoted server's history.
        let read = async {
            self.election(&any).await?;
            self.list_candidates(&any).await?;
            self.leader(&any).await.map(|_| ())
        };
        let Err(error) = read.await else { return Ok(()) };
        let context = if C::misses_table(&error) {
            "a table is missing, although the version table (`election_schema` by default) says \
             that all exist; create the one that the server names with its statement (`election \
             schema` prints it), or drop all of them, including the version table, and create them \
             again"
        } else if C::misses_column(&error) {
            "a column is missing, although the version table says that all exist: the tables are \
             from before the first release, or somebody has changed them; stop all processes that \
             use them, drop all of them, including the version table (`election_schema` by \
             default), and create them again"
        } else {
            return Ok(());
        };
        let fatal = StoreError { kind: Failure::Fatal, context: context.into(), ..error };
        Err(fatal.in_context(&self.client.place()))
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

    /// The elections that these tables know, by name, and who leads in each, all from one moment by
    /// the database's clock.
    ///
    /// # Errors
    /// If the database cannot be read.
    pub async fn list_elections(&mut self) -> Result<Vec<ElectionRow>, StoreError> {
        on_own_connection!(self.list_elections())
    }

    /// Who leads in one election, as [`leader`](Self::leader) says, and since when; `None` if nobody
    /// ever stood in it.
    ///
    /// # Errors
    /// If the database cannot be read.
    pub async fn election(
        &mut self,
        namespace: &Namespace,
    ) -> Result<Option<ElectionRow>, StoreError> {
        on_own_connection!(self.election(namespace))
    }

    /// Whether the server is a replica, whose rows may be old: on PostgreSQL one in recovery, on MySQL
    /// and MariaDB one with `read_only` on. Ask before you read, on the same store.
    ///
    /// # Errors
    /// If the server does not say.
    pub async fn is_replica(&mut self) -> Result<bool, StoreError> {
        on_own_connection!(self.is_replica())
    }

    /// Puts a candidate on the list or keeps it there; `heartbeat` does the same.
    ///
    /// # Errors
    /// If the database cannot be written.
    pub async fn register_candidate(&mut self, who: &Candidacy) -> Result<(), StoreError> {
        on_own_connection!(self.answer(who.registration(), &who.register())).map(|_| ())
    }

    /// The same as [`register_candidate`](Self::register_candidate): it creates a missing entry.
    ///
    /// # Errors
    /// As there.
    pub async fn heartbeat(&mut self, who: &Candidacy) -> Result<(), StoreError> {
        self.register_candidate(who).await
    }

    /// Takes a candidate off the list. If the candidate holds the lease, this also vacates it, so
    /// that another can lead at once. Another candidate's lease is never touched. Returns the row
    /// as it was before.
    ///
    /// # Errors
    /// If the database cannot be written.
    pub async fn unregister_candidate(&mut self, who: &mut Candidacy) -> Result<Row, StoreError> {
        let since = now();
        let row = on_own_connection!(self.unregister(who))?;
        if who.leads(&row) {
            let Registration { namespace, candidate, .. } = who.registration();
            self.tell(namespace, Some(candidate), since).await;
        }
        Ok(row)
    }

    /// Stands for election once: takes the lease if it is vacant or has run out, renews it if it is
    /// the candidate's own, and never preempts another's. Returns who leads after the call, under
    /// which term, and for how long unless renewed. The candidacy remembers the epochs it has seen:
    /// keep it between calls, so that each epoch it wins is above them all.
    ///
    /// This is for services that elect on a timer of their own. Nothing here stops leader work when
    /// the lease ends: gate the work with [`is_leader`](Self::is_leader), and fence what must not
    /// happen twice. [`Election`](crate::Election) does all that by itself. Do not use both under
    /// one incarnation.
    ///
    /// # Errors
    /// If the database cannot be written. The kind is `Conflict` if the leader could not be
    /// determined because others raced for the lease. An error of kind `Ambiguous` may have elected
    /// all the same: call again.
    ///
    /// Dropping the future may leave the call done or not done; call again.
    pub async fn elect(&mut self, who: &mut Candidacy) -> Result<Row, StoreError> {
        let row = on_own_connection!(self.elect(who))?;
        self.client.takes_part();
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

    /// Asks the holder of one term to resign, whichever process it is. Returns whether that term is
    /// held. The holder learns of the request when it next looks at the row.
    ///
    /// A node that resigns stands aside so that another can lead: until it has seen another leader
    /// or, if none comes, for an interval and twice its jitter at most after the release (5 to 7 s
    /// at the default ttl). A single candidate leads again after a quarter of a second, if the
    /// list of candidates says that it is the only one. A candidate that stands without being
    /// listed ([`elect`](Self::elect) alone lists nobody) may miss its turn then.
    ///
    /// # Errors
    /// If the database cannot be written.
    pub async fn request_resign(
        &mut self,
        namespace: &Namespace,
        epoch: Epoch,
    ) -> Result<bool, StoreError> {
        let since = now();
        let asked = on_own_connection!(self.request_resign(namespace, epoch))?;
        if asked {
            self.tell(namespace, None, since).await;
        }
        Ok(asked)
    }

    /// Asks the current leader to resign, in one statement: a process that begins to lead in
    /// between is not asked. Returns the term that was asked; none if nobody leads.
    ///
    /// # Errors
    /// If the database cannot be written. After an error of kind `Ambiguous` the leader may have
    /// been asked all the same; asking again may then ask the next leader.
    pub async fn request_resign_of_leader(
        &mut self,
        namespace: &Namespace,
    ) -> Result<Option<Epoch>, StoreError> {
        let since = now();
        let asked = on_own_connection!(self.ask_leader(namespace))?;
        if asked.is_some() {
            self.tell(namespace, None, since).await;
        }
        Ok(asked)
    }

    pub(super) fn bound(&mut self, timeouts: Timeouts) {
        self.client.bound_waits(timeouts);
        self.link = Link::default(); // it was opened with other bounds
    }

    /// Answers questions that merge, in one statement; `None` for one that has to be asked by itself.
    pub(super) async fn answer_many(
        &mut self,
        questions: &[Question<'_>],
    ) -> Result<Vec<Option<Answer>>, StoreError> {
        let answers = on_own_connection!(self.answer_many(questions))?;
        if questions.iter().any(|(_, query)| **query != Query::Observe) {
            self.client.takes_part();
        }
        if answers.iter().flatten().any(|answer| matches!(answer, Answer::Won { .. })) {
            self.client.announce();
        }
        Ok(answers)
    }

    /// Wakes waiting processes, after a change that they need not wait for: without it they find out
    /// when they next look. The change is committed before, so nothing that fails here undoes it.
    /// It gets what the change, asked for at `since`, has left of a call's time.
    async fn tell(
        &mut self,
        namespace: &Namespace,
        released_by: Option<&Candidate>,
        since: Timestamp,
    ) {
        let statements = self.statements.clone();
        self.told(statements.tell(namespace, released_by), since).await;
    }

    /// The same for many that were released.
    pub(super) async fn tell_many(&mut self, released: &[&Registration], since: Timestamp) {
        if !released.is_empty() {
            let statements = self.statements.clone();
            self.told(statements.tell_many(released), since).await;
        }
    }

    async fn told(&mut self, call: Option<Call<'_>>, since: Timestamp) {
        self.client.announce();
        let Some(call) = call else { return };
        let timeouts = self.client.timeouts();
        let left = timeouts.lock().min(timeouts.call().saturating_sub(now().since(since)));
        if let Err(error) = on_own_connection!(self.run(&call), within left) {
            tracing::warn!(
                error = error.told(),
                "the other processes could not be notified: they find out at their next poll, so a \
                 handover takes that much longer"
            );
        }
    }

    /// Ends a call on the store's own connection.
    fn settle<T>(
        &mut self,
        outcome: Option<Result<T, StoreError>>,
        leaves_order: impl FnOnce(&StoreError) -> bool,
    ) -> Result<T, StoreError> {
        let Some(outcome) = outcome else {
            // Its use stays recorded until the next call handles it.
            let failed = self.client.failed().filter(|_| !self.link.is_open());
            let error = match failed {
                Some(failed) => failed.with_source(Connecting),
                None if self.link.is_open() => {
                    StoreError::new(Failure::Ambiguous, self.client.silence())
                }
                None => unreached(),
            };
            return Err(error.in_context(&self.client.place()));
        };
        let in_order = outcome.as_ref().map_or_else(leaves_order, |_| true);
        self.link.settle(&self.client, in_order);
        let client = &self.client;
        outcome.map_err(|error| client.remedied(error).in_context(&client.place()))
    }
}

fn unreached() -> StoreError {
    let context = "the server does not answer: no connection could be opened in time; check host, \
                   port and firewall, and that the server is neither stopped nor overloaded";
    StoreError::new(Failure::Transient, context).with_source(Connecting)
}

impl<C: Client> Store for SqlStore<C> {
    fn prepare(&mut self, config: &Config) {
        self.bound(Timeouts::of(config.attempt_timeout(), config.ttl()));
    }

    async fn answer(
        &mut self,
        registration: &Registration,
        query: &Query,
    ) -> Result<Answer, StoreError> {
        let since = now();
        let answer = on_own_connection!(self.answer(registration, query))?;
        if *query != Query::Observe {
            self.client.takes_part();
        }
        match answer {
            Answer::Won { .. } => self.client.announce(),
            Answer::Released => {
                let Registration { namespace, candidate, .. } = registration;
                self.tell(namespace, Some(candidate), since).await;
            }
            _ => {}
        }
        Ok(answer)
    }

    fn statements(&self) -> Option<Arc<Statements>> {
        Some(self.statements.clone())
    }

    fn notifications(&mut self, registration: &Registration, pause: Pause) -> Notifications {
        news::of(registration.clone(), self.client.news(pause))
    }
}
