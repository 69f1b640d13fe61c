//! The calls of an election on a caller's connection: inside its transaction, if it has one.

use super::{client::Client, session::Session, sql::SqlStore};
use crate::StoreError;
use election_core::{
    Epoch, Namespace,
    lease::{Candidacy, Row},
    sql::{CandidateRow, ElectionRow, Statements},
};

/// What a call in a transaction has seen or done. If the transaction is rolled back, it has done
/// nothing: acting on an election before its commit makes two leaders after a rollback (oban#1488).
#[must_use = "it is not true before the commit"]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Uncommitted<T>(T);

impl<T> Uncommitted<T> {
    /// The outcome, once the caller's commit has succeeded (or if there was no transaction).
    pub fn committed(self) -> T {
        self.0
    }

    /// The outcome as it would be: for logs and for what the same transaction writes.
    pub fn peek(&self) -> &T {
        &self.0
    }
}

/// An election on a caller's connection; [`SqlStore::on`] creates one.
///
/// Every call runs its few statements on that connection and neither begins, commits nor rolls
/// back anything. Inside a transaction:
///
/// * A win takes effect at the commit. The row stays locked until then and everybody else waits, so
///   keep the transaction short, and expect deadlocks with the application's own locks to be
///   reported as `Conflict`.
/// * Expiry is still judged by the database's clock at each call, not at the start of the
///   transaction.
/// * Under READ COMMITTED the leader is as of the call. Under REPEATABLE READ and SERIALIZABLE a
///   transaction sees a snapshot; `elect` may then be refused as a `Conflict`, or see who led when
///   the transaction began.
/// * After an error, roll back.
///
/// MySQL and MariaDB sessions can have settings under which none of this holds; such sessions are
/// refused. With `foreign_key_checks` off, nothing would wait for a fence. With `autocommit` off,
/// or a `completion_type` other than `NO_CHAIN`, a call outside a sqlx transaction would never be
/// committed.
///
/// Settings of the caller's session are left as they were. The exception is PostgreSQL's
/// `synchronous_commit`, which is on for a transaction that has taken or renewed a lease: an
/// acknowledged lease must survive a crash. Followers on SQLite are not woken; they poll.
pub struct OnConnection<'c, C: Client> {
    connection: &'c mut C::Connection,
    statements: &'c Statements,
}

impl<C: Client> SqlStore<C> {
    /// The same tables on a caller's connection or in its transaction, which must be on the same
    /// database.
    pub fn on<'c>(&'c self, connection: &'c mut C::Connection) -> OnConnection<'c, C> {
        OnConnection { connection, statements: &self.statements }
    }
}

macro_rules! operation {
    ($self:ident.$operation:ident($($argument:expr),*)) => {{
        C::check($self.connection).await?;
        let kept = C::keep_settings($self.connection).await?;
        let mut session = Session::<C> {
            connection: &mut *$self.connection,
            statements: $self.statements,
            alone: false,
        };
        let outcome = session.$operation($($argument),*).await?;
        C::restore_settings($self.connection, kept).await?;
        outcome
    }};
}

impl<C: Client> OnConnection<'_, C> {
    /// Like [`SqlStore::register_candidate`].
    ///
    /// # Errors
    /// If the database cannot be written.
    pub async fn register_candidate(&mut self, who: &Candidacy) -> Result<(), StoreError> {
        operation!(self.answer(who.registration(), &who.register()));
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
        Ok(Uncommitted(operation!(self.unregister(who))))
    }

    /// Like [`SqlStore::list_candidates`].
    ///
    /// # Errors
    /// If the database cannot be read.
    pub async fn list_candidates(
        &mut self,
        namespace: &Namespace,
    ) -> Result<Vec<CandidateRow>, StoreError> {
        Ok(operation!(self.list_candidates(namespace)))
    }

    /// Like [`SqlStore::list_elections`].
    ///
    /// # Errors
    /// If the database cannot be read.
    pub async fn list_elections(&mut self) -> Result<Vec<ElectionRow>, StoreError> {
        Ok(operation!(self.list_elections()))
    }

    /// Like [`SqlStore::election`].
    ///
    /// # Errors
    /// If the database cannot be read.
    pub async fn election(
        &mut self,
        namespace: &Namespace,
    ) -> Result<Option<ElectionRow>, StoreError> {
        Ok(operation!(self.election(namespace)))
    }

    /// Like [`SqlStore::elect`]. The candidacy remembers the epoch of a term even if the term is
    /// rolled back; the next epoch is only a little higher for it.
    ///
    /// # Errors
    /// As there; roll back then.
    pub async fn elect(&mut self, who: &mut Candidacy) -> Result<Uncommitted<Row>, StoreError> {
        Ok(Uncommitted(operation!(self.elect(who))))
    }

    /// Like [`SqlStore::is_leader`].
    ///
    /// # Errors
    /// If the database cannot be read.
    pub async fn is_leader(&mut self, who: &Candidacy) -> Result<Uncommitted<bool>, StoreError> {
        let row = operation!(self.leader(&who.registration().namespace));
        Ok(Uncommitted(who.leads(&row)))
    }

    /// Like [`SqlStore::leader`].
    ///
    /// # Errors
    /// If the database cannot be read.
    pub async fn leader(&mut self, namespace: &Namespace) -> Result<Uncommitted<Row>, StoreError> {
        Ok(Uncommitted(operation!(self.leader(namespace))))
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
        Ok(Uncommitted(operation!(self.request_resign(namespace, epoch))))
    }

    /// Like [`SqlStore::request_resign_of_leader`]; the leader is not asked before the commit.
    ///
    /// # Errors
    /// If the database cannot be written.
    pub async fn request_resign_of_leader(
        &mut self,
        namespace: &Namespace,
    ) -> Result<Uncommitted<Option<Epoch>>, StoreError> {
        Ok(Uncommitted(operation!(self.ask_leader(namespace))))
    }
}
