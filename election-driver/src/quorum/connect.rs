//! One attempt to reach a member: its name, its addresses, and whether it is there.

use super::{
    lookup::{Found, Lookup},
    security::Security,
    socket,
    transport::Transport,
};
use crate::Network;
use election_core::NodeId;
use futures_lite::future::or;
use std::{io, net::SocketAddr, time::Duration};
use thiserror::Error;

pub(super) type Connected<R> = io::Result<(Transport<<R as Network>::Stream>, SocketAddr)>;

/// With which of the addresses that a name means an attempt begins.
#[derive(Clone, Copy, Debug)]
pub(super) enum Begin {
    First,
    /// The member was there the last time.
    With(SocketAddr),
    /// Somebody was there, but not the member.
    After(SocketAddr),
}

impl Begin {
    pub(super) fn order(self, mut found: Vec<SocketAddr>) -> Vec<SocketAddr> {
        let place = |number| found.iter().position(|known| *known == number);
        let first = match self {
            Self::First => None,
            Self::With(number) => place(number),
            Self::After(number) => place(number).map(|place| place + 1),
        };
        // Behind the last one comes the first.
        found.rotate_left(first.unwrap_or(0));
        found
    }
}

/// What became of an attempt at addresses that may be stale. What the error is stays known.
#[derive(Debug, Error)]
#[error("{error}; that was its last known address, since its name cannot be resolved now: {stale}")]
struct AtLastAddress {
    #[source]
    error: io::Error,
    stale: io::Error,
}

/// An attempt.
pub(super) struct Connect<R> {
    pub(super) runtime: R,
    pub(super) security: Security,
    pub(super) id: NodeId,
    pub(super) begin: Begin,
    pub(super) down_after: Duration,
}

impl<R: Network> Connect<R> {
    /// Looks the name up and tries what it means, one address after the other. Gives back what it was
    /// lent.
    pub(super) async fn attempt(self, mut lookup: Lookup) -> (Lookup, Connected<R>) {
        let limit = self.down_after / 2;
        let connected = match lookup.look_up(&self.runtime, limit / 4).await {
            Ok(found) => self.tried(found, limit).await,
            Err(error) => Err(error),
        };
        (lookup, connected)
    }

    pub(super) async fn tried(&self, found: Found, limit: Duration) -> Connected<R> {
        let Found { addresses, stale } = found;
        let share = limit / u32::try_from(addresses.len()).unwrap_or(u32::MAX).max(1);
        let mut outcome = Err(io::ErrorKind::NotFound.into());
        for number in self.begin.order(addresses) {
            let timeout = async {
                self.runtime.sleep(share).await;
                Err(io::Error::new(io::ErrorKind::TimedOut, format!("{number} does not answer")))
            };
            outcome = or(self.reached(number), timeout).await.map(|stream| (stream, number));
            if outcome.is_ok() {
                return outcome;
            }
        }
        outcome.map_err(|error| match stale {
            None => error,
            Some(stale) => io::Error::new(error.kind(), AtLastAddress { error, stale }),
        })
    }

    async fn reached(&self, number: SocketAddr) -> io::Result<Transport<R::Stream>> {
        let stream = self.runtime.connect(number).await?;
        socket::prepare::<R>(&stream, self.down_after)?;
        self.security.connect(stream, self.id.clone()).await
    }
}

#[cfg(test)]
mod tests;
