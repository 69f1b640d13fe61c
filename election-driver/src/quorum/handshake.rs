//! Where connections of others arrive, until it is known whether they are a member's.
//!
//! Without TLS that is at once: the first frame says whose a connection is, and is believed. With TLS
//! everybody proves it first. A handshake is work, and a stranger decides how many there are. So each
//! is a task of its own, beside the node's, there is a bounded number of them, and each has a bounded
//! time. When there are too many, one of whoever has most of them goes. Its task has to run once more to
//! end, so there may be as many again for moments; nobody else is let in before.

#[cfg(feature = "tls")]
use super::admission;
use super::{refusal::Refusal, security::Security, transport::Transport};
use crate::Network;
use election_core::{NodeId, quorum::Peer};
use std::{
    collections::BTreeMap,
    net::{IpAddr, SocketAddr},
    task::{Context, Poll},
    time::Duration,
};
#[cfg(feature = "tls")]
use {
    super::tls,
    async_channel::{Receiver, Sender},
    futures_core::Stream as _,
    futures_lite::future::or,
    std::{collections::VecDeque, io, pin::Pin, sync::Arc},
};

/// A connection that may speak.
pub(super) struct Entered<S> {
    pub(super) transport: Transport<S>,
    pub(super) address: SocketAddr,
    /// The only member in whose name it may, if it has proved to be one.
    pub(super) proved: Option<NodeId>,
}

type Outcome<S> = Result<Entered<S>, (SocketAddr, Refusal)>;

pub(super) struct Handshakes<R: Network> {
    runtime: R,
    security: Security,
    /// How long a handshake may take.
    limit: Duration,
    /// Where members are, as far as that is known.
    known: BTreeMap<Peer, IpAddr>,
    #[cfg(feature = "tls")]
    under_way: VecDeque<Handshake>,
    #[cfg(feature = "tls")]
    shaken: Sender<Shaken<R::Stream>>,
    #[cfg(feature = "tls")]
    outcomes: Pin<Box<Receiver<Shaken<R::Stream>>>>,
    #[cfg(feature = "tls")]
    numbered: u64,
    /// As many as there are tasks, and this one.
    #[cfg(feature = "tls")]
    tasks: Arc<()>,
}

/// A task that ends when this is dropped.
#[cfg(feature = "tls")]
struct Handshake {
    number: u64,
    address: IpAddr,
    _ends: Sender<()>,
}

#[cfg(feature = "tls")]
struct Shaken<S>(u64, Option<Outcome<S>>);

impl<R: Network> Handshakes<R> {
    pub(super) fn new(runtime: R, security: Security, limit: Duration) -> Self {
        #[cfg(feature = "tls")]
        let (shaken, outcomes) = async_channel::unbounded();
        Self {
            runtime,
            security,
            limit,
            known: BTreeMap::new(),
            #[cfg(feature = "tls")]
            under_way: VecDeque::new(),
            #[cfg(feature = "tls")]
            shaken,
            #[cfg(feature = "tls")]
            outcomes: Box::pin(outcomes),
            #[cfg(feature = "tls")]
            numbered: 0,
            #[cfg(feature = "tls")]
            tasks: Arc::default(),
        }
    }

    #[cfg(feature = "tls")]
    pub(super) fn security(&self) -> &Security {
        &self.security
    }

    /// A member is to be found there, so it may come from there.
    pub(super) fn expects(&mut self, peer: Peer, address: IpAddr) {
        self.known.insert(peer, address);
    }

    /// Other members have these places.
    pub(super) fn regroup(&mut self, stays: impl Fn(Peer) -> bool) {
        self.known.retain(|peer, _| stays(*peer));
    }

    /// Where members may come from.
    pub(super) fn known(&self) -> Vec<IpAddr> {
        self.known.values().copied().collect()
    }

    /// Whether tasks that had to go have not ended yet, so that nobody else is to be let in.
    pub(super) fn is_crowded(&self, most: usize) -> bool {
        #[cfg(feature = "tls")]
        let is_crowded = Arc::strong_count(&self.tasks) > 2 * most;
        #[cfg(not(feature = "tls"))]
        let (_, is_crowded): (usize, bool) = (most, false);
        is_crowded
    }

    /// Somebody has connected. Returns the connection if nothing has to be proved.
    pub(super) fn admit(
        &mut self,
        stream: R::Stream,
        address: SocketAddr,
        most: usize,
    ) -> Option<Entered<R::Stream>> {
        match &self.security {
            Security::Plain => {
                let _: (&R, Duration, usize) = (&self.runtime, self.limit, most);
                Some(Entered { transport: Transport::Plain(stream), address, proved: None })
            }
            #[cfg(feature = "tls")]
            Security::Tls(keyring) => {
                let keyring = keyring.clone();
                self.shake(keyring, stream, address, most);
                None
            }
        }
    }

    #[cfg(feature = "tls")]
    fn shake(
        &mut self,
        keyring: tls::Keyring,
        stream: R::Stream,
        address: SocketAddr,
        most: usize,
    ) {
        self.numbered += 1;
        let (ends, ended) = async_channel::bounded::<()>(1);
        let (number, source) = (self.numbered, address.ip());
        self.under_way.push_back(Handshake { number, address: source, _ends: ends });
        if self.under_way.len() > most {
            let all: Vec<_> = self.under_way.iter().map(|handshake| handshake.address).collect();
            admission::to_evict(&all, &self.known()).map(|place| self.under_way.remove(place));
        }
        let (limit, done) = (self.limit, self.shaken.clone());
        let (runtime, counted) = (self.runtime.clone(), self.tasks.clone());
        self.runtime.spawn(async move {
            let shaken = async { Some(keyring.current().accept(stream).await) };
            let late = async {
                runtime.sleep(limit).await;
                Some(Err(io::Error::new(
                    io::ErrorKind::TimedOut,
                    "it does not complete the handshake",
                )))
            };
            let ended = async {
                let _ = ended.recv().await;
                None
            };
            let outcome = match or(or(shaken, late), ended).await {
                None => None, // it has made room for another
                // As a probe does that only looks whether a port is open.
                Some(Err(error)) if error.kind() == io::ErrorKind::UnexpectedEof => None,
                Some(Ok((transport, id))) => {
                    Some(Ok(Entered { transport, address, proved: Some(id) }))
                }
                Some(Err(error)) => {
                    keyring.ask();
                    let reason = tls::reason(&error);
                    let cause =
                        tls::explained(error).unwrap_or_else(|explained| explained).to_string();
                    Some(Err((address, Refusal::Unproved { reason, cause })))
                }
            };
            // In this order: whoever waits for the outcome may have waited for room.
            drop((runtime, counted));
            let _ = done.try_send(Shaken(number, outcome));
        });
    }

    /// Whether the present credentials admit a connection that was under way when they came into use.
    #[cfg(feature = "tls")]
    fn admits(&self, entered: &Entered<R::Stream>) -> bool {
        let proved = entered.proved.as_ref();
        proved.is_none_or(|id| self.security.still_admits(&entered.transport, id))
    }

    /// Who has proved to be a member, or has failed to.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Outcome<R::Stream>> {
        #[cfg(feature = "tls")]
        while let Poll::Ready(Some(Shaken(number, outcome))) = self.outcomes.as_mut().poll_next(cx)
        {
            let known = self.under_way.iter().position(|it| it.number == number);
            // Otherwise it had to go while it finished.
            if let Some(place) = known {
                self.under_way.remove(place);
                match outcome {
                    // It was judged by credentials that are not in use any more.
                    Some(Ok(entered)) if !self.admits(&entered) => {}
                    Some(outcome) => return Poll::Ready(outcome),
                    None => {}
                }
            }
        }
        #[cfg(not(feature = "tls"))]
        let _: &mut Context<'_> = cx;
        Poll::Pending
    }
}

#[cfg(all(test, feature = "tls"))]
mod tests;
