//! From a cluster on paper to a node: the ballot is locked and read, the ports are opened, and what
//! the node has around it is put together.

#[cfg(feature = "tls")]
use super::keys::Keys;
use super::{
    address::Address,
    ballot::{BallotError, BallotFile},
    ballot_writer::BallotWriter,
    blocking::blocking,
    cluster::Cluster,
    inbound::Inbound,
    link::{Link, Pace},
    log::Log,
    member::Member,
    metrics::Metrics,
    node::{Net, Node},
    node_state::NodeState,
    security::Security,
    starting::{Stage, StartError, Starting},
};
use crate::{Handle, Network, inbox::Inbox, log as events, setup::Setup, shared::Shared};
use election_core::{
    Random, Timestamp,
    quorum::{
        Quorum,
        wire::{Encoder, Outbox},
    },
};
use std::{
    net::{SocketAddr, TcpListener},
    sync::Arc,
};
use tracing::Span;

impl<R: Network> Cluster<R> {
    /// Looks up the names of the addresses that this node listens at, as a start does. A name server may
    /// be late, or may not know yet where this machine is: whoever wants to wait for that asks again
    /// before the start.
    ///
    /// # Errors
    /// [`StartError::Lookup`] if a name is not found.
    pub async fn look_up(&self) -> Result<(), StartError> {
        look_up(self.listen.clone(), self.starting()).await
    }

    /// Opens the ballot and the ports, and starts the node in a task of its own.
    ///
    /// # Errors
    /// If the ballot cannot be kept or a port cannot be opened. A ballot that cannot be *read* is no
    /// error: the node follows, never votes, and says so.
    pub async fn start(self) -> Result<Member<R>, StartError> {
        let runtime = self.runtime.clone();
        let (member, node) = self.open().await?;
        runtime.spawn(node);
        Ok(member)
    }

    /// Like [`start`](Self::start), with the node as a future for the caller's own executor.
    ///
    /// # Errors
    /// As [`start`](Self::start).
    pub async fn open(self) -> Result<(Member<R>, Node), StartError> {
        let span = events::span(&self.registration);
        let (member, host) = assemble(self, &span).await?;
        Ok((member, Node::new(host, span)))
    }
}

/// Opens the ballot and the ports of a node, and puts together what it has around it.
pub(super) async fn assemble<R: Network>(
    cluster: Cluster<R>,
    span: &Span,
) -> Result<(Member<R>, Net<R>), StartError> {
    let Cluster { runtime, registration, config, addresses, listen, ballot, .. } = cluster;
    let Cluster { position, proof, starting, .. } = cluster;
    let encoder = Encoder::new(config.members().clone())?;
    let node = registration.candidate.id.clone();
    let places = (registration.namespace.clone(), config.members().clone());
    let opened = blocking("election-start", move || {
        let path = ballot.clone();
        let refused = |error: BallotError| StartError::Ballot { reason: error.to_string(), path };
        starting.begins(Stage::Ballot);
        let file = BallotFile::open(&ballot, node).map_err(refused)?;
        let read = file.read();
        starting.begins(Stage::Proof);
        let security = Security::open(proof, places)?;
        starting.begins(Stage::Ports);
        let bound = listen.iter().map(bind).collect::<Result<Vec<_>, _>>()?;
        starting.begins(Stage::Over);
        Ok::<_, StartError>((file, read, security, bound))
    });
    let (file, (restored, unusable), security, bound) =
        opened.await.map_err(StartError::Thread)??;
    let path = file.path().to_owned();
    span.in_scope(|| Log::opened(&path, unusable.as_ref()));
    let listeners = bound.into_iter().map(|(address, socket)| {
        runtime.listener(socket).map_err(|source| StartError::Listen { address, source })
    });
    let listeners = listeners.collect::<Result<Vec<_>, _>>()?;
    let writer = BallotWriter::new(file).map_err(StartError::Thread)?;

    let members = config.members().clone();
    let (down_after, longest) = (config.down_after(), config.hb_interval());
    let mut random = Random::new(uuid::Uuid::new_v4().as_u64_pair().0);
    let incarnation = registration.candidate.incarnation;
    let (grace, timer_slice) = (config.grace(), config.timer_slice());
    let quorum = Quorum::new(config, incarnation, &restored, position, random.next_u64());
    let (state, orders) = NodeState::new(quorum);
    let (inbox, inputs) = Inbox::new();
    let statements = None;
    let setup =
        Setup { runtime: runtime.clone(), registration, grace, timer_slice, statements, inbox };
    let shared = Arc::new(Shared::new(Arc::new(setup)));
    let links = members.others().map(|peer| {
        let outbox = Outbox::new(encoder.clone(), down_after);
        let address = addresses[peer.index()].clone();
        Link::new(peer, address, security.clone(), outbox, Pace::new(longest, down_after))
    });
    let mut inbound =
        Inbound::new(runtime, security.clone(), members.clone(), down_after, listeners);
    for peer in members.others() {
        let number = addresses[peer.index()].number();
        number.into_iter().for_each(|number| inbound.expects(peer, number.ip()));
    }
    let host = Net {
        timer: shared.setup.timer(),
        links: links.collect(),
        inbound,
        log: Log::new(members.clone(), down_after),
        metrics: Metrics::new(&shared.setup.registration.namespace, &members),
        #[cfg(feature = "tls")]
        keys: Keys::new(&security),
        writer,
        random,
        down_after,
        inputs: Box::pin(inputs),
        orders: Box::pin(orders),
        healthy: true,
        reported_healthy: true,
        clock_due: Timestamp::ZERO,
        taken: 0,
        state: state.clone(),
        shared: shared.clone(),
    };
    let member = Member::new(Handle::new(shared), state, security);
    Ok((member, host))
}

/// Looks up the names of the addresses that a node is to listen at.
pub(super) async fn look_up(listen: Vec<Address>, starting: Starting) -> Result<(), StartError> {
    let asked = blocking("election-start", move || {
        starting.begins(Stage::Ports);
        listen.iter().try_for_each(|address| found(address).map(drop))
    });
    asked.await.map_err(StartError::Thread)?
}

fn found(address: &Address) -> Result<Vec<SocketAddr>, StartError> {
    let (shown, port) = (address.to_string(), address.port);
    address.look_up().map_err(|source| StartError::Lookup { address: shown, port, source })
}

/// Opens a port; the name is looked up first.
fn bind(address: &Address) -> Result<(String, TcpListener), StartError> {
    let shown = address.to_string();
    let failed = |source| StartError::Listen { address: shown.clone(), source };
    let socket = TcpListener::bind(&*found(address)?).map_err(failed)?;
    socket.set_nonblocking(true).map_err(failed)?;
    Ok((shown.clone(), socket))
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_lite::future::block_on;

    #[test]
    fn who_waits_for_a_look_up_reads_what_it_waits_for() {
        let starting = Starting::default();
        block_on(look_up(Vec::new(), starting.clone())).expect("nothing to look up");
        assert_eq!(starting.to_string(), "opening its ports, and looking their names up");
    }
}
