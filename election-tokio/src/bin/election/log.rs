//! What the command says while it runs.
//!
//! It goes to standard error through a thread of its own, which drops lines rather than wait: a
//! terminal that was stopped, or a pipe that nobody reads, must not hold up a renewal.

use tracing::Level;
use tracing_appender::non_blocking::WorkerGuard;

/// Starts logging; what is still on its way is written when the guard is dropped.
pub(crate) fn start(json: bool, level: Level) -> WorkerGuard {
    use std::io::IsTerminal as _;
    let (writer, guard) = tracing_appender::non_blocking(std::io::stderr());
    let subscriber = tracing_subscriber::fmt()
        .with_writer(writer)
        .with_max_level(level)
        .with_ansi(std::io::stderr().is_terminal());
    // A subscriber that is set already (it never is) would serve as well.
    let _ = if json {
        tracing::subscriber::set_global_default(subscriber.json().flatten_event(true).finish())
    } else {
        tracing::subscriber::set_global_default(subscriber.with_target(false).compact().finish())
    };
    guard
}
