//! Why a database has no answer.

use election_core::lease::Failure;
use std::error::Error;

/// Why a database has no answer.
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

    /// The same error, with the place where it happened.
    #[must_use]
    pub fn in_context(mut self, place: &str) -> Self {
        self.context = format!("{place}: {}", self.context);
        self
    }

    /// Whether nothing has failed yet: the connection takes longer to open than this call could
    /// wait, and the next call goes on waiting for it.
    #[must_use]
    pub fn is_connecting(&self) -> bool {
        self.source.as_ref().is_some_and(|source| source.is::<Connecting>())
    }

    /// The error and its cause, in one line.
    #[cfg(feature = "_sql")]
    pub(crate) fn told(&self) -> String {
        match &self.source {
            Some(cause) => format!("{self}: {cause}"),
            None => self.to_string(),
        }
    }

    /// The same error with its cause.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }
}

/// The cause of an error that [is none](StoreError::is_connecting) yet.
#[derive(Debug, thiserror::Error)]
#[error("no connection could be opened in time")]
pub(crate) struct Connecting;
