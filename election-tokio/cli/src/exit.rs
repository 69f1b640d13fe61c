//! Exit codes, and errors that name their remedy.

use crate::{
    line::{Line, Style, printable},
    secret,
};
use election_tokio::{ClusterFileError, StoreErrorCode, log::chain};
use rustix::{
    event::{PollFd, PollFlags, poll},
    io::retry_on_intr,
};
use std::{
    error::Error,
    fmt, future,
    io::{ErrorKind, Write as _},
    process::ExitStatus,
};
use tokio::task::spawn_blocking;
use tracing::Level;

/// The outcomes of the command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Exit(i32);

impl Exit {
    pub(crate) const OK: Self = Self(0);
    /// What was asked is not so, or cannot be: `check`, `status --exit-code` and `resign`.
    pub(crate) const NO: Self = Self(1);
    /// Leadership was lost and `--on-lost stop` was given.
    pub(crate) const LOST: Self = Self(120);
    /// Not elected in time.
    pub(crate) const NOT_ELECTED: Self = Self(124);
    /// The command or its database failed.
    pub(crate) const TOOL_FAILED: Self = Self(125);
    /// The job was found but cannot be executed.
    pub(crate) const CANNOT_EXECUTE: Self = Self(126);
    /// The job was not found.
    pub(crate) const NOT_FOUND: Self = Self(127);

    pub(crate) const fn code(self) -> i32 {
        self.0
    }

    /// The code that the user wants instead of [`NOT_ELECTED`](Self::NOT_ELECTED), if this is it.
    /// Not for the exit of a job, which may be the same number.
    pub(crate) fn or_conflict(self, conflict: Option<u8>) -> Self {
        conflict.filter(|_| self == Self::NOT_ELECTED).map_or(self, |code| Self(code.into()))
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

/// Why the command could not do what it was asked to: what failed, the causes, and the remedy.
#[derive(Debug)]
pub(crate) struct Failed {
    message: Option<String>,
    exit: Exit,
    code: Option<StoreErrorCode>,
    /// Options one of which is missing.
    lacks: &'static [&'static str],
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.message.as_deref().unwrap_or_default())
    }
}

impl From<ClusterFileError> for Failed {
    fn from(error: ClusterFileError) -> Self {
        Self::new(error.to_string())
    }
}

impl Failed {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: Some(message.into()), exit: Exit::TOOL_FAILED, code: None, lacks: &[] }
    }

    /// The reader of standard output has gone away: no words, and the exit that SIGPIPE would be.
    fn unread() -> Self {
        const SIGPIPE: i32 = 13;
        Self { message: None, exit: Exit::signal(SIGPIPE), code: None, lacks: &[] }
    }

    /// An error with all of its causes.
    pub(crate) fn of(what: &str, error: &dyn Error) -> Self {
        Self::new(format!("{what}: {}", chain(error)))
    }

    /// The same, with what the database is known to have against it.
    pub(crate) fn because(self, code: Option<StoreErrorCode>) -> Self {
        Self { code, ..self }
    }

    /// The same, for want of one of these options.
    pub(crate) fn lacking(self, options: &'static [&'static str]) -> Self {
        Self { lacks: options, ..self }
    }

    /// The options one of which is missing.
    pub(crate) fn lacks(&self) -> &'static [&'static str] {
        self.lacks
    }

    /// What the database is known to have against it.
    pub(crate) fn store_code(&self) -> Option<StoreErrorCode> {
        self.code
    }

    /// The message, and the exit.
    pub(crate) fn into_parts(self) -> (Option<String>, Exit) {
        (self.message, self.exit)
    }

    /// Prints the message on standard error, even if nobody reads that any more, and returns the
    /// exit code.
    pub(crate) fn tell(&self, json: bool) -> Exit {
        if let Some(message) = &self.message {
            let text = if json {
                Line::new(Level::ERROR, message).with("event", "failed").written(Style::Json)
            } else {
                format!("election: {}\n", harmless(&secret::redacted(message)))
            };
            let _ = std::io::stderr().write_all(text.as_bytes());
        }
        self.exit
    }
}

/// The lines of a message with control characters escaped.
fn harmless(message: &str) -> String {
    let escaped = |character: char| match character {
        '\n' => "\n".to_owned(),
        _ if character.is_control() => character.escape_default().to_string(),
        _ => character.to_string(),
    };
    printable(&message.chars().map(escaped).collect::<String>()).into_owned()
}

/// Prints a line.
///
/// # Errors
/// As [`write_out`].
pub(crate) fn print(line: impl fmt::Display) -> Result<(), Failed> {
    write_out(format!("{}\n", printable(&line.to_string())).as_bytes())
}

/// Returns once nobody can read standard output any more, as when `head` has ended: who waits for
/// something to print would learn of it only then. Never returns where the system does not tell.
pub(crate) async fn unread() -> Failed {
    // A thread of its own, which nobody waits for: tokio wants to own what it watches.
    let closed = spawn_blocking(|| {
        let out = std::io::stdout();
        let mut polled = [PollFd::new(&out, PollFlags::empty())];
        let told = retry_on_intr(|| poll(&mut polled, None));
        told.is_ok() && polled[0].revents().intersects(PollFlags::ERR | PollFlags::HUP)
    });
    match closed.await {
        Ok(true) => Failed::unread(),
        _ => future::pending().await,
    }
}

/// Writes to standard output.
///
/// # Errors
/// If that fails. If the reader has gone away, as `head` does, this process ends silently, as
/// SIGPIPE would end it.
pub(crate) fn write_out(bytes: &[u8]) -> Result<(), Failed> {
    let mut out = std::io::stdout().lock();
    out.write_all(bytes).and_then(|()| out.flush()).map_err(|error| match error.kind() {
        ErrorKind::BrokenPipe => Failed::unread(),
        _ => Failed::of("standard output", &error),
    })
}
