//! Fencing a transaction: the one protection against a leader that was paused without noticing.

use crate::{
    Lease, Lost, Runtime, SqlStore, StoreError,
    store::{Client, Fenced, fence},
};
use election_core::{
    Epoch, Term,
    lease::Candidacy,
    sql::{Dialect, Statements},
};
use thiserror::Error;

impl<R: Runtime> Lease<R> {
    /// Proves inside `transaction` that this leadership is in force, and keeps it in force until
    /// the transaction ends: no new term can begin before. A leader that has been succeeded
    /// therefore never commits the writes of such a transaction, however long its process was
    /// stopped in between. This works under every isolation level. Call it before the writes; the
    /// database must be the one that holds the lease.
    ///
    /// Keep such transactions short. While one is open, no other process can begin to lead, even
    /// after this lease has run out.
    ///
    /// | database | while the transaction is open | if it is left open |
    /// | --- | --- | --- |
    /// | PostgreSQL | renewals go on | the server ends it: for this transaction, `idle_in_transaction_session_timeout` and `statement_timeout` are set to the time left of the lease (or less, if they were less) |
    /// | MySQL, MariaDB | renewals go on, except under SERIALIZABLE | it blocks takeovers until its connection ends; MariaDB's `idle_transaction_timeout` bounds that |
    /// | SQLite | this elector cannot renew either | it blocks every writer until its process ends |
    ///
    /// On MySQL and MariaDB the session must have `foreign_key_checks` on; a session without it is
    /// refused. Rolling back a savepoint undoes a fence that was made after it: fence first.
    /// SQLite and MariaDB refuse a transaction that they have ended by themselves (after a deadlock,
    /// for instance); MySQL does not tell.
    ///
    /// On a MariaDB Galera cluster a lock holds up nobody at another server. A fence writes its row
    /// there, and if a new term has begun at another server meanwhile, the *commit* is refused (1213):
    /// nothing was written. The guide's page [`fencing`](crate::guide::fencing#galera) says what differs.
    ///
    /// On SQLite begin with `BEGIN IMMEDIATE` (`begin_with`). A transaction that has read before
    /// cannot be fenced once another connection has written.
    ///
    /// # Errors
    /// If the leadership is over, or the database did not confirm that it holds. Roll back then:
    /// after an error the transaction proves nothing. After [`FenceError::Store`] of kind
    /// `Conflict`, try again in a new transaction.
    ///
    /// Dropping the future leaves the transaction unfenced; roll back.
    pub async fn fence<T: Fenced>(&self, transaction: &mut T) -> Result<(), FenceError> {
        let setup = self.setup();
        let asked = <T::Client as Client>::DIALECT;
        let statements = setup.statements.as_deref();
        let Some(statements) = statements.filter(|known| known.dialect() == asked) else {
            return Err(FenceError::OtherDatabase {
                asked,
                lease: statements.map(Statements::dialect),
            });
        };
        let registration = &setup.registration;
        let fenced =
            self.until_lost(fence(transaction, statements, registration, self.epoch())).await??;
        if fenced {
            return Ok(());
        }
        // The elector has not noticed yet: make it look.
        setup.inbox.wake();
        Err(FenceError::Over(self.term().clone()))
    }
}

impl<C: Client> SqlStore<C> {
    /// The same as [`Lease::fence`] for who elects call by call: proves inside `transaction` that
    /// the candidate holds its lease under this epoch, and keeps every new term from beginning until
    /// the transaction ends. What is said there holds here.
    ///
    /// The epoch is that of the row that [`elect`](Self::elect) has returned. It must be the epoch
    /// under which the work began, and not just any under which the candidate leads now.
    ///
    /// # Errors
    /// If the leadership is over, or the database did not confirm that it holds. Roll back then.
    ///
    /// Dropping the future leaves the transaction unfenced; roll back.
    pub async fn fence<T: Fenced<Client = C>>(
        &self,
        transaction: &mut T,
        who: &Candidacy,
        epoch: Epoch,
    ) -> Result<(), FenceError> {
        let registration = who.registration();
        if fence(transaction, &self.statements, registration, epoch).await? {
            return Ok(());
        }
        Err(FenceError::Over(Term { epoch, leader: registration.candidate.id.clone() }))
    }
}

/// A transaction could not be fenced: roll it back.
#[derive(Error)]
#[non_exhaustive]
pub enum FenceError {
    /// This process no longer believes in its leadership.
    #[error(transparent)]
    Lost(#[from] Lost),
    /// The database says that the term is over, or has never known it.
    #[error(
        "the leadership of {0} is over, or this transaction is on a different database from the \
         lease; roll it back"
    )]
    Over(Term),
    /// The transaction is on another kind of database than the lease.
    #[error(
        "this lease, which is kept {}, cannot fence a transaction on {asked}; open the transaction \
         on the lease's database",
        match lease {
            Some(lease) => format!("on {lease}"),
            None => "in a store without fences".to_owned(),
        }
    )]
    OtherDatabase {
        /// The database of the transaction.
        asked: Dialect,
        /// The database of the lease, if its store can fence at all.
        lease: Option<Dialect>,
    },
    /// The database gave no answer.
    #[error(transparent)]
    Store(#[from] StoreError),
}

crate::log::shown!(FenceError);
