//! The database as the lease sees it.

use super::message::{Answer, Failure, Query};
use crate::{Candidate, Label, Namespace};
use alloc::{boxed::Box, string::String};
use core::{error::Error, future::Future};

/// Who asks, and in which election: the same for every query of one elector.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Registration {
    /// The election.
    pub namespace: Namespace,
    /// The process.
    pub candidate: Candidate,
    /// What the process publishes about itself.
    pub label: Option<Label>,
}

/// A database that answers the lease's questions; open to third parties.
///
/// An implementation must be atomic per query and must judge expiry by the database's clock read
/// at execution, never by a time the client brings. The statements in [`crate::sql`] do both.
pub trait Store: Send + 'static {
    /// Answers one query.
    ///
    /// The future may be dropped at any time. The statement may then still be executed, and the
    /// next call must work all the same, on a new connection if need be.
    ///
    /// # Errors
    /// With a kind that says whether the statement may have been executed. When in doubt,
    /// [`Failure::Ambiguous`].
    fn answer(
        &mut self,
        registration: &Registration,
        query: &Query,
    ) -> impl Future<Output = Result<Answer, StoreError>> + Send;
}

/// Why a query has no answer.
#[derive(Debug, thiserror::Error)]
#[error("{context}")]
#[non_exhaustive]
pub struct StoreError {
    /// What it means for the election.
    pub kind: Failure,
    /// What went wrong and, where it is known, the remedy.
    pub context: String,
    /// The cause.
    #[source]
    pub source: Option<Box<dyn Error + Send + Sync>>,
}

impl StoreError {
    /// An error without a cause of its own.
    #[must_use]
    pub fn new(kind: Failure, context: impl Into<String>) -> Self {
        Self { kind, context: context.into(), source: None }
    }

    /// The same error with its cause.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }
}
