//! The calls of an election on a caller's connection: inside its transaction, if it has one.

use super::{client::Client, session::Session, sql::SqlStore, uncommitted::Uncommitted};
use crate::{StoreError, now};
use election_core::{
    Candidate, Epoch, Namespace,
    lease::{Candidacy, Registration, Row},
    sql::{CandidateRow, ElectionRow, Statements},
};

/// An election on a caller's connection; [`SqlStore::on`] creates one.
///
/// Every call of [`SqlStore`] is here, but for [`ensure_schema`](SqlStore::ensure_schema): MySQL
/// commits before it creates a table. To fence the transaction, see [`SqlStore::fence`].
///
/// Every call runs its few statements on that connection and neither begins, commits nor rolls
/// back anything. Inside a transaction:
///
/// * What a call has done takes effect at the commit; it never happened if the transaction is rolled
///   back, or its connection breaks before. The same goes for what others are told: a notification
///   is sent at the commit. If PostgreSQL refuses to send it, the call or the commit fails, with all
///   that the transaction has done; on the store's own connection that is only a warning. What a call
///   returns is therefore [`Uncommitted`].
/// * A lease begins with the call, and a transaction that takes long uses it up.
/// * The leader row of a win or a renewal stays locked until the end. No new term can begin
///   meanwhile, nor can anybody renew or resign, so keep the transaction short. What the same
///   transaction writes is therefore as safe as behind a [fence](SqlStore::fence): it is committed
///   together with the lease, or not at all.
/// * Expiry is judged by the database's clock at each call, not at the start of the transaction.
/// * Under READ COMMITTED the leader is as of the call. Under REPEATABLE READ and SERIALIZABLE a
///   transaction sees a snapshot. If the row has changed since, `elect` is refused as a `Conflict`,
///   or tells who led when the transaction began. It never tells a candidate that it leads if it
///   does not. [`is_leader`](Self::is_leader), which only reads, is as old as the snapshot.
/// * After an error, roll back, also where the database would go on. After one of kind `Conflict`
///   (a lock, a deadlock, a serialization failure), try again in a new transaction. Under
///   SERIALIZABLE, PostgreSQL may refuse the commit itself.
///
/// | database | begin with | a call waits for a lock | others wait for this transaction |
/// | --- | --- | --- | --- |
/// | PostgreSQL | any isolation level | 3.75 s, or the caller's `lock_timeout` | to win, renew, resign: at most their own bound, then `Conflict` |
/// | MySQL, MariaDB | any isolation level | the session's `innodb_lock_wait_timeout`, by default 50 s | the same |
/// | SQLite | `BEGIN IMMEDIATE` (`begin_with`) | the connection's `busy_timeout`, 5 s in sqlx | to write anything: the same |
///
/// On SQLite, a transaction that has read before another connection wrote can no longer write; no
/// waiting helps. It gets a `Conflict` that says so.
///
/// MySQL and MariaDB sessions can have settings under which none of this holds; such sessions are
/// refused. With `foreign_key_checks` off, nothing would wait for a fence. With `autocommit` off,
/// or a `completion_type` other than `NO_CHAIN`, or (MariaDB tells) inside a transaction that sqlx has
/// not begun, a call outside a sqlx transaction would never be committed.
///
/// A database can end a transaction of which sqlx believes that it is open: MySQL and MariaDB after
/// a deadlock, or before a statement that commits by itself (`CREATE TABLE`); SQLite when the disk is
/// full. Whatever came next would be committed at once. Calls on SQLite and MariaDB notice and refuse
/// (kind `Fatal`). MySQL does not tell: roll back after every error there.
///
/// Settings of the caller's session are left as they were. The exceptions are PostgreSQL's
/// `synchronous_commit`, which is on for a transaction that has taken or renewed a lease (an
/// acknowledged lease must survive a crash), and its `lock_timeout` after a call that was dropped
/// midway; both end with the transaction. Followers on SQLite are not woken; they poll.
///
/// # Example
///
/// Each turn, one of several processes does the work of the turn, in the transaction that makes it
/// the leader. Whatever happens, the work of one turn is never done under two leaderships.
///
/// ```
/// # #[cfg(feature = "sqlite")]
/// # mod example {
/// use election_driver::{SqliteStore, core::lease::Candidacy};
/// use std::error::Error;
///
/// /// Whether this process has done the work.
/// async fn turn(
///     pool: &sqlx::SqlitePool,
///     store: &SqliteStore,
///     me: &mut Candidacy,
/// ) -> Result<bool, Box<dyn Error>> {
///     let mut transaction = pool.begin_with("BEGIN IMMEDIATE").await?;
///     // An error on the way drops the transaction, which rolls it back.
///     let leader = store.on(&mut transaction).elect(me).await?;
///     if !me.leads(leader.peek()) {
///         return Ok(false);
///     }
///     sqlx::query("UPDATE report SET turn = turn + 1").execute(&mut *transaction).await?;
///     transaction.commit().await?;
///     // From here on it leads, for as long as this says. Before it did not, whatever it knew.
///     let leader = leader.committed();
///     println!("turn done under epoch {}, {:?} left", leader.epoch, leader.remaining);
///     Ok(true)
/// }
/// # }
/// ```
pub struct OnConnection<'c, C: Client> {
    connection: &'c mut C::Connection,
    statements: &'c Statements,
}

impl<C: Client> SqlStore<C> {
    /// The same tables on a caller's connection or in its transaction, which must be on the same
    /// database: `store.on(&mut transaction).elect(&mut me)`.
    pub fn on<'c>(&'c self, connection: &'c mut C::Connection) -> OnConnection<'c, C> {
        OnConnection { connection, statements: &self.statements }
    }
}

macro_rules! operation {
    ($self:ident.$operation:ident($($argument:expr),*)) => {{
        let asked = now();
        C::check($self.connection).await?;
        let kept = C::keep_settings($self.connection).await?;
        let mut session = Session::<C> {
            connection: &mut *$self.connection,
            statements: $self.statements,
            alone: false,
            bound: None,
        };
        let outcome = session.$operation($($argument),*).await;
        // Also after an error: it need not have ended the transaction.
        let restored = C::restore_settings($self.connection, kept).await;
        let outcome = outcome?;
        restored?;
        Uncommitted::new(outcome, asked)
    }};
}

impl<C: Client> OnConnection<'_, C> {
    /// Like [`SqlStore::register_candidate`].
    ///
    /// # Errors
    /// If the database cannot be written.
    pub async fn register_candidate(&mut self, who: &Candidacy) -> Result<(), StoreError> {
        let _ = operation!(self.answer(who.registration(), &who.register()));
        Ok(())
    }

    /// The same as [`register_candidate`](Self::register_candidate).
    ///
    /// # Errors
    /// As there.
    pub async fn heartbeat(&mut self, who: &Candidacy) -> Result<(), StoreError> {
        self.register_candidate(who).await
    }

    /// Like [`SqlStore::unregister_candidate`].
    ///
    /// # Errors
    /// If the database cannot be written.
    pub async fn unregister_candidate(
        &mut self,
        who: &mut Candidacy,
    ) -> Result<Uncommitted<Row>, StoreError> {
        let row = operation!(self.unregister(who));
        if who.leads(row.peek()) {
            let Registration { namespace, candidate, .. } = who.registration();
            self.tell(namespace, Some(candidate)).await?;
        }
        Ok(row)
    }

    /// Like [`SqlStore::list_candidates`].
    ///
    /// # Errors
    /// If the database cannot be read.
    pub async fn list_candidates(
        &mut self,
        namespace: &Namespace,
    ) -> Result<Uncommitted<Vec<CandidateRow>>, StoreError> {
        Ok(operation!(self.list_candidates(namespace)))
    }

    /// Like [`SqlStore::list_elections`].
    ///
    /// # Errors
    /// If the database cannot be read.
    pub async fn list_elections(&mut self) -> Result<Uncommitted<Vec<ElectionRow>>, StoreError> {
        Ok(operation!(self.list_elections()))
    }

    /// Like [`SqlStore::election`].
    ///
    /// # Errors
    /// If the database cannot be read.
    pub async fn election(
        &mut self,
        namespace: &Namespace,
    ) -> Result<Uncommitted<Option<ElectionRow>>, StoreError> {
        Ok(operation!(self.election(namespace)))
    }

    /// Like [`SqlStore::elect`]. A win is none before the commit, and its lease counts from the call:
    /// ask the row that [`committed`](Uncommitted::committed) returns.
    ///
    /// The epoch of a win that is rolled back may be given to the next winner, so nothing outside
    /// the transaction may use it before the commit. This candidacy remembers it all the same, and
    /// never wins it again.
    ///
    /// # Errors
    /// As there; roll back then. If the answer to the commit is lost, elect again: it renews the
    /// lease if the commit had been made.
    ///
    /// Dropping the future may leave the call done or not done within the transaction; roll back.
    pub async fn elect(&mut self, who: &mut Candidacy) -> Result<Uncommitted<Row>, StoreError> {
        Ok(operation!(self.elect(who)))
    }

    /// Like [`SqlStore::is_leader`].
    ///
    /// # Errors
    /// If the database cannot be read.
    pub async fn is_leader(&mut self, who: &Candidacy) -> Result<Uncommitted<bool>, StoreError> {
        Ok(operation!(self.leader(&who.registration().namespace)).led_by(who))
    }

    /// Like [`SqlStore::leader`].
    ///
    /// # Errors
    /// If the database cannot be read.
    pub async fn leader(&mut self, namespace: &Namespace) -> Result<Uncommitted<Row>, StoreError> {
        Ok(operation!(self.leader(namespace)))
    }

    /// Like [`SqlStore::request_resign`]; the holder is not asked before the commit.
    ///
    /// # Errors
    /// If the database cannot be written.
    pub async fn request_resign(
        &mut self,
        namespace: &Namespace,
        epoch: Epoch,
    ) -> Result<Uncommitted<bool>, StoreError> {
        let asked = operation!(self.request_resign(namespace, epoch));
        if *asked.peek() {
            self.tell(namespace, None).await?;
        }
        Ok(asked)
    }

    /// Like [`SqlStore::request_resign_of_leader`]; the leader is not asked before the commit.
    ///
    /// # Errors
    /// If the database cannot be written.
    pub async fn request_resign_of_leader(
        &mut self,
        namespace: &Namespace,
    ) -> Result<Uncommitted<Option<Epoch>>, StoreError> {
        let asked = operation!(self.ask_leader(namespace));
        if asked.peek().is_some() {
            self.tell(namespace, None).await?;
        }
        Ok(asked)
    }

    async fn tell(
        &mut self,
        namespace: &Namespace,
        released_by: Option<&Candidate>,
    ) -> Result<(), StoreError> {
        let (statements, connection) = (self.statements, &mut *self.connection);
        let Some(call) = statements.tell(namespace, released_by) else { return Ok(()) };
        let mut session = Session::<C> { connection, statements, alone: false, bound: None };
        session.run(&call).await.map(|_| ())
    }
}
