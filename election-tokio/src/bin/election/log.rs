//! What the command says while it runs.
//!
//! It goes to standard error through a thread of its own, which drops lines rather than wait: a
//! terminal that was stopped, or a pipe that nobody reads, must not hold up a renewal.
//!
//! Other libraries log here, too, so what looks like a password is taken out of every line.

use crate::{exit::printable, secret};
use std::io::{self, Write};
use tracing::Level;
use tracing_appender::non_blocking::{NonBlocking, WorkerGuard};

/// Starts logging; what is still on its way is written when the guard is dropped.
pub(crate) fn start(json: bool, level: Level) -> WorkerGuard {
    use std::io::IsTerminal as _;
    let (writer, guard) = tracing_appender::non_blocking(io::stderr());
    let subscriber = tracing_subscriber::fmt()
        .with_writer(move || Redacting(writer.clone()))
        .with_max_level(level)
        .with_ansi(io::stderr().is_terminal());
    // A subscriber that is set already (it never is) would serve as well.
    let _ = if json {
        tracing::subscriber::set_global_default(subscriber.json().flatten_event(true).finish())
    } else {
        tracing::subscriber::set_global_default(subscriber.with_target(false).compact().finish())
    };
    guard
}

/// Every event comes as a whole.
struct Redacting(NonBlocking);

impl Write for Redacting {
    fn write(&mut self, event: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(event);
        self.0.write_all(printable(&secret::redacted(&text)).as_bytes())?;
        Ok(event.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}
