//! What the service manager says in the environment.

use super::socket::Socket;
use std::{
    ffi::{OsStr, OsString},
    process::{self, Command},
    time::Duration,
};
use tracing::warn;

const SOCKET: &str = "NOTIFY_SOCKET";
const WATCHDOG: &str = "WATCHDOG_USEC";
const WATCHED: &str = "WATCHDOG_PID";

/// Keeps these words from a process that is about to be started.
pub(crate) fn keep_from(command: &mut Command) {
    [SOCKET, WATCHDOG, WATCHED].into_iter().for_each(|variable| {
        command.env_remove(variable);
    });
}

/// What it wants to hear.
pub(super) struct Environment {
    pub(super) socket: Socket,
    /// How long this process may be silent.
    pub(super) watchdog: Option<Duration>,
}

impl Environment {
    /// What this process was told; nothing if nobody listens. What makes no sense is warned of and
    /// left out: it is no reason to go without the job.
    pub(super) fn by(variable: impl Fn(&str) -> Option<OsString>) -> Option<Self> {
        let name = variable(SOCKET)?;
        let socket = match Socket::at(&name) {
            Ok(socket) => socket,
            Err(error) => {
                let name = name.to_string_lossy();
                warn!(
                    event = "warning",
                    "{SOCKET}={name}: {error}; the service manager is not notified: unset the \
                     variable, or let systemd set it (Type=notify)"
                );
                return None;
            }
        };
        let watchdog = variable(WATCHDOG).filter(|_| is_meant(variable(WATCHED).as_deref()));
        let watchdog = watchdog.and_then(|micros| {
            let time = micros.to_str().and_then(|micros| micros.parse().ok()).filter(|it| *it > 0);
            if time.is_none() {
                let micros = micros.to_string_lossy();
                warn!(
                    event = "warning",
                    "{WATCHDOG}={micros} is not a number of microseconds above 0; there is no \
                     watchdog: unset the variable, or let systemd set it (WatchdogSec=)"
                );
            }
            time.map(Duration::from_micros)
        });
        Some(Self { socket, watchdog })
    }
}

/// Whether the watchdog is for this process, not for one that has started it.
fn is_meant(watched: Option<&OsStr>) -> bool {
    watched.is_none_or(|pid| pid.to_str() == Some(process::id().to_string().as_str()))
}
