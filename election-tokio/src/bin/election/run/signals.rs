//! The signals that are passed on to the job, and what they mean for the elector.

use crate::exit::Exit;
use rustix::process::Signal;
use std::{
    future::poll_fn,
    io,
    task::{Context, Poll},
};
use tokio::signal::unix::{self, SignalKind};

/// Every signal that is passed on, as they come.
pub(super) struct Signals(Vec<(Signal, unix::Signal)>);

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

/// Takes over the handling of these signals for the rest of this process's life, but for those it
/// was told to ignore (`nohup`, a shell's background jobs).
pub(super) fn listen() -> io::Result<Signals> {
    let ignored = ignored();
    PASSED_ON
        .into_iter()
        .filter(|each| ignored >> (each.as_raw() - 1) & 1 == 0)
        .map(|each| Ok((each, unix::signal(SignalKind::from_raw(each.as_raw()))?)))
        .collect::<io::Result<_>>()
        .map(Signals)
}

/// The signals this process was started to ignore, a bit each. Where that cannot be found out, none.
fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

impl Signals {
    /// The next signal. Dropping the future loses nothing.
    pub(super) async fn next(&mut self) -> Signal {
        poll_fn(|cx| self.poll(cx)).await
    }

    /// Waits for a signal that ends a process which waits to be elected: any that would by
    /// default.
    pub(super) async fn end_waiting(&mut self) -> Exit {
        loop {
            let signal = self.next().await;
            if ends(signal) || [Signal::HUP, Signal::QUIT].contains(&signal) {
                return Exit::signal(signal.as_raw());
            }
        }
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Signal> {
        for (signal, stream) in &mut self.0 {
            if let Poll::Ready(Some(())) = stream.poll_recv(cx) {
                return Poll::Ready(*signal);
            }
        }
        Poll::Pending
    }
}

/// Whether a signal asks this process to leave the election. The others are the job's business.
pub(super) fn ends(signal: Signal) -> bool {
    [Signal::TERM, Signal::INT].contains(&signal)
}
