//! The signals that are passed on to the job, and their meaning for the elector.

use crate::exit::Exit;
use rustix::process::Signal;
use std::{
    future::poll_fn,
    io,
    task::{Context, Poll},
    time::{Duration, Instant},
};
use tokio::signal::unix::{self, SignalKind};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

/// Every signal that is passed on, in order.
///
/// One request to end often comes as several signals at once: `timeout` sends one to its child and
/// one to the whole group, and a terminal's Ctrl-C reaches both a shell and the program it runs. So
/// all signals within [`BURST`] of the first such signal are the same request, and do not insist.
pub(super) struct Signals {
    streams: Vec<(Signal, unix::Signal)>,
    /// When this process was first told to end, and by which signals within the burst.
    told: Option<(Instant, Vec<Signal>)>,
    ending: CancellationToken,
}

/// Two requests to end are at least this far apart; otherwise they are one.
const BURST: Duration = Duration::from_secs(1);

/// What ends a process by default that writes beyond the size that it may give to a file. Taken over,
/// the write fails, and the database says so. A job has the default again.
const TOO_LARGE: Signal = Signal::XFSZ;

const PASSED_ON: [Signal; 9] = [
    Signal::TERM,
    Signal::INT,
    Signal::HUP,
    Signal::QUIT,
    Signal::USR1,
    Signal::USR2,
    Signal::ALARM,
    Signal::WINCH,
    Signal::CONT,
];

/// Takes over these signals for the rest of this process's life, except those that it was told to
/// ignore (`nohup`, a shell's background jobs).
pub(super) fn listen() -> io::Result<Signals> {
    let ignored = ignored();
    let is_ignored = |each: Signal| ignored >> (each.as_raw() - 1) & 1 != 0;
    let take = |each: Signal| unix::signal(SignalKind::from_raw(each.as_raw()));
    if !is_ignored(TOO_LARGE) {
        let _ = take(TOO_LARGE)?; // nobody has to hear of it
    }
    if is_ignored(Signal::TERM) {
        warn!(
            event = "warning",
            "SIGTERM was ignored when this process was started (trap '' TERM): it ends neither this \
             process nor its job; start it without that, or end it by SIGINT"
        );
    }
    PASSED_ON
        .into_iter()
        .filter(|each| !is_ignored(*each))
        .map(|each| Ok((each, take(each)?)))
        .collect::<io::Result<_>>()
        .map(|streams| Signals { streams, told: None, ending: CancellationToken::new() })
}

/// Takes over, too, what the kernel sends to a whole process group of which one process reads from its
/// terminal or sets it, without being in front there (as for a password): that one stands still, and
/// this process does not.
pub(super) fn stand_in_the_background() -> io::Result<[unix::Signal; 2]> {
    let take = |signal: Signal| unix::signal(SignalKind::from_raw(signal.as_raw()));
    Ok([take(Signal::TTIN)?, take(Signal::TTOU)?])
}

/// The signals that this process was started to ignore, a bit each; none if that is unknown.
fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

impl Signals {
    /// The next signal, each of a burst once. Dropping the future loses nothing.
    pub(super) async fn next(&mut self) -> Signal {
        loop {
            let signal = poll_fn(|cx| self.poll(cx)).await;
            if !ends(signal) || self.is_new(signal) {
                return signal;
            }
        }
    }

    /// Is cancelled as soon as this process is told to end, whoever takes the signal.
    pub(super) fn ending(&self) -> CancellationToken {
        self.ending.clone()
    }

    /// Whether this request to end is more than an echo of an earlier one.
    fn is_new(&mut self, signal: Signal) -> bool {
        match &mut self.told {
            None => {
                info!(
                    event = "stop_requested",
                    signal = signal.as_raw(),
                    "told to end by {}",
                    name(signal)
                );
                self.told = Some((Instant::now(), vec![signal]));
                self.ending.cancel();
            }
            Some((first, _)) if first.elapsed() >= BURST => {}
            Some((_, burst)) if burst.contains(&signal) => return false,
            Some((_, burst)) => burst.push(signal),
        }
        true
    }

    /// Whether the last signal insists on an end that was requested before.
    pub(super) fn insists(&self) -> bool {
        self.told.as_ref().is_some_and(|(first, _)| first.elapsed() >= BURST)
    }

    /// Waits for a signal that ends a process while it waits to be elected: any signal that would
    /// end it by default.
    pub(super) async fn end_waiting(&mut self) -> Exit {
        loop {
            let signal = self.next().await;
            if ends(signal) || [Signal::HUP, Signal::QUIT].contains(&signal) {
                self.told.get_or_insert_with(|| (Instant::now(), vec![signal]));
                self.ending.cancel();
                return Exit::signal(signal.as_raw());
            }
        }
    }

    /// Waits until a signal insists on an end that is under way.
    pub(super) async fn insist(&mut self) {
        loop {
            self.end_waiting().await;
            if self.insists() {
                return;
            }
        }
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Signal> {
        for (signal, stream) in &mut self.streams {
            if let Poll::Ready(Some(())) = stream.poll_recv(cx) {
                return Poll::Ready(*signal);
            }
        }
        Poll::Pending
    }
}

/// The two signals that [end](ends) this process.
fn name(signal: Signal) -> &'static str {
    if signal == Signal::TERM { "SIGTERM" } else { "SIGINT" }
}

/// Whether a signal asks this process to leave the election. The others concern only the job.
pub(super) fn ends(signal: Signal) -> bool {
    [Signal::TERM, Signal::INT].contains(&signal)
}
