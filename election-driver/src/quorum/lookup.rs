//! What a peer's name means: asked anew for every attempt to connect, since the peer may have moved.
//!
//! A name service that is down must not keep members apart whose addresses have not changed. So if it
//! fails, or does not answer for a while, the addresses that it gave last are tried. Whoever is found
//! there has to prove to be the member, as always.

use super::{address::Address, blocking::blocking};
use crate::Runtime;
use futures_lite::future::or;
use std::{
    future::{Future, pending},
    io,
    net::SocketAddr,
    pin::Pin,
    time::Duration,
};

type Addresses = Vec<SocketAddr>;

/// A name, and what is known of it.
pub(crate) struct Lookup {
    address: Address,
    /// What it meant last.
    known: Addresses,
    /// The question that has not been answered. The resolver has limits of its own, and is asked one
    /// question at a time.
    asked: Option<Pin<Box<dyn Future<Output = io::Result<Addresses>> + Send>>>,
}

/// What to try.
pub(crate) struct Found {
    pub(crate) addresses: Addresses,
    /// Why these are only the last ones that were known.
    pub(crate) stale: Option<io::Error>,
}

impl Lookup {
    pub(crate) fn new(address: Address) -> Self {
        Self { address, known: Vec::new(), asked: None }
    }

    pub(crate) fn address(&self) -> &Address {
        &self.address
    }

    /// What the name means. The last answer is used if there is one and no other comes within
    /// `patience`; what comes later serves the next call.
    ///
    /// # Errors
    /// If the resolver fails and the name never meant anything.
    pub(crate) async fn look_up<R: Runtime>(
        &mut self,
        runtime: &R,
        patience: Duration,
    ) -> io::Result<Found> {
        if let Some(number) = self.address.number() {
            return Ok(Found { addresses: vec![number], stale: None });
        }
        let address = self.address.clone();
        let ask = || {
            let asked = blocking("election-lookup", move || address.look_up());
            Box::pin(async { asked.await? }) as Pin<Box<dyn Future<Output = _> + Send>>
        };
        let asked = self.asked.get_or_insert_with(ask);
        let is_known = !self.known.is_empty();
        let silence = async {
            match is_known {
                true => runtime.sleep(patience).await,
                false => pending().await,
            }
            None
        };
        let answer = or(async { Some(asked.await) }, silence).await;
        if answer.is_some() {
            self.asked = None;
        }
        let error = match answer {
            Some(Ok(addresses)) => {
                self.known.clone_from(&addresses);
                return Ok(Found { addresses, stale: None });
            }
            Some(Err(error)) => error,
            None => io::Error::new(io::ErrorKind::TimedOut, "the name server does not answer"),
        };
        if !is_known {
            return Err(error);
        }
        Ok(Found { addresses: self.known.clone(), stale: Some(error) })
    }
}

#[cfg(test)]
pub(super) mod tests;
