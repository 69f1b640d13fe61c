//! The signals that are passed on to the job, and what they mean for the elector.

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

/// Takes over the handling of these signals for the rest of this process's life.
pub(super) fn listen() -> io::Result<Signals> {
    PASSED_ON
        .into_iter()
        .map(|each| Ok((each, unix::signal(SignalKind::from_raw(each.as_raw()))?)))
        .collect::<io::Result<_>>()
        .map(Signals)
}

impl Signals {
    /// The next signal. Dropping the future loses nothing.
    pub(super) async fn next(&mut self) -> Signal {
        poll_fn(|cx| self.poll(cx)).await
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

/// Whether a signal ends a process that waits to be elected: all that would by default.
pub(super) fn ends_waiting(signal: Signal) -> bool {
    ends(signal) || [Signal::HUP, Signal::QUIT].contains(&signal)
}
