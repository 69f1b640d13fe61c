//! Why a database has no answer.

use election_core::lease::Failure;
use std::error::Error;

/// Why a database has no answer.
#[derive(thiserror::Error)]
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
    pub(super) code: Option<StoreErrorCode>,
}

/// What a database is known to have against a call, for programs that add a hint of their own. Most
/// errors have none: their text names the remedy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum StoreErrorCode {
    /// The server refused user or password, or admits nobody of this name from here.
    Login,
    /// There are no tables of an election, or they lack a column: they are of an older version, or
    /// another program's.
    Tables,
    /// A single row is the reason: its contents, a constraint, or a trigger.
    Row,
}

crate::log::shown!(StoreError);

impl StoreError {
    /// An error without a cause of its own.
    #[must_use]
    pub fn new(kind: Failure, context: impl Into<String>) -> Self {
        Self { kind, context: context.into(), source: None, code: None }
    }

    /// The same error, with the place where it happened.
    #[must_use]
    pub fn in_context(mut self, place: &str) -> Self {
        self.context = format!("{place}: {}", self.context);
        self
    }

    /// What the database has against the call, if that is known to be one of these.
    #[must_use]
    pub fn code(&self) -> Option<StoreErrorCode> {
        self.code
    }

    /// The same error with its code.
    #[cfg(feature = "_sql")]
    #[must_use]
    pub(crate) fn coded(self, code: Option<StoreErrorCode>) -> Self {
        Self { code, ..self }
    }

    /// Whether nothing has failed yet: the connection takes longer to open than this call could
    /// wait, and the next call goes on waiting for it.
    #[must_use]
    pub fn is_connecting(&self) -> bool {
        self.source.as_ref().is_some_and(|source| source.is::<Connecting>())
    }

    /// The same error, for somebody else who waits for the same statement.
    #[cfg(feature = "_sql")]
    pub(crate) fn shared(&self) -> Self {
        let error = Self::new(self.kind, self.told()).coded(self.code);
        if self.is_connecting() { error.with_source(Connecting) } else { error }
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
