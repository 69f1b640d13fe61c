//! Exit codes, and errors that name their remedy.

use std::{error::Error, fmt, process::ExitStatus};

/// How the command ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Exit(i32);

impl Exit {
    pub(crate) const OK: Self = Self(0);
    /// Leadership was lost and `--on-lost stop` was given.
    pub(crate) const LOST: Self = Self(120);
    /// Not elected in time.
    pub(crate) const NOT_ELECTED: Self = Self(124);
    /// The tool or its database failed.
    pub(crate) const TOOL_FAILED: Self = Self(125);
    /// The job was found but cannot be executed.
    pub(crate) const CANNOT_EXECUTE: Self = Self(126);
    /// The job was not found.
    pub(crate) const NOT_FOUND: Self = Self(127);

    pub(crate) const fn code(self) -> i32 {
        self.0
    }

    /// 128 plus the number of the signal.
    pub(crate) const fn signal(number: i32) -> Self {
        Self(128 + number)
    }

    /// The job's own code, or 128 plus the signal that ended it.
    pub(crate) fn of_job(status: ExitStatus) -> Self {
        use std::os::unix::process::ExitStatusExt as _;
        match (status.code(), status.signal()) {
            (Some(code), _) => Self(code),
            (None, Some(signal)) => Self::signal(signal),
            (None, None) => Self::TOOL_FAILED,
        }
    }
}

/// Why the command could not do what it was asked: what, the causes, and the remedy.
#[derive(Debug)]
pub(crate) struct Failed(String);

impl Failed {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }

    /// An error with everything that caused it.
    pub(crate) fn of(what: &str, error: &dyn Error) -> Self {
        let mut message = format!("{what}: {error}");
        let mut cause = error.source();
        while let Some(deeper) = cause {
            message.push_str(&format!(": {deeper}"));
            cause = deeper.source();
        }
        Self(message)
    }
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
