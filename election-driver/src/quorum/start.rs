//! From a cluster on paper to a node: the ballot is locked and read, the ports are opened, and what
//! the node has around it is put together.

#[cfg(feature = "tls")]
use super::keys::Keys;
use super::{
    address::Address,
    ballot::{BallotFile, Unusable},
    ballot_writer::{BallotWriter, Keeper},
    blocking::blocking,
    cluster::Cluster,
    inbound::Inbound,
    log::Log,
    member::Member,
    metrics::Metrics,
    node::{Net, Node},
    node_state::NodeState,
    security::Security,
    starting::{Stage, StartError, Starting},
};
use crate::{
    Handle, Network,
    inbox::{Inbox, Report},
    log as events,
    setup::Setup,
    shared::Shared,
};
use election_core::{
    Candidate, Input, NodeId, Random, Timestamp,
    quorum::{Event, Quorum, Restored, wire::Encoder},
};
use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
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
        #[cfg(feature = "cluster-file")]
        let file = self.file.clone();
        let (member, host) = assemble(self, &span).await?;
        #[cfg(feature = "cluster-file")]
        if let Some(file) = file {
            file.follow(&host.state, &span)?;
        }
        Ok((member, Node::new(host, span)))
    }
}

/// What a node has opened.
struct Opened<R: Network> {
    writer: BallotWriter,
    restored: Restored,
    security: Security,
    listeners: Vec<R::Listener>,
}

/// Opens the ballot and the ports of a node, and puts together what it has around it.
pub(super) async fn assemble<R: Network>(
    mut cluster: Cluster<R>,
    span: &Span,
) -> Result<(Member<R>, Net<R>), StartError> {
    let Opened { writer, restored, security, listeners } = open(&mut cluster, span).await?;
    let Cluster { runtime, registration, config, addresses, position, .. } = cluster;
    let observer = runtime.member_observer();
    let (down_after, longest) = (config.down_after(), config.hb_interval());
    let seed = observer.as_ref().map(|observer| observer.seed());
    let mut random = Random::new(seed.unwrap_or_else(|| uuid::Uuid::new_v4().as_u64_pair().0));
    let incarnation = registration.candidate.incarnation;
    let (grace, timer_slice) = (config.grace(), config.timer_slice());
    let quorum = Quorum::new(config, incarnation, &restored, position, random.next_u64());
    let (members, lists) = (quorum.config().members().clone(), quorum.lists().clone());
    let encoder = Encoder::new(members.clone())?;
    let (state, orders) = NodeState::new(quorum, addresses);
    let (inbox, inputs) = Inbox::new();
    let statements = None;
    let setup = Setup {
        runtime: runtime.clone(),
        registration,
        ttl: down_after,
        grace,
        timer_slice,
        statements,
        inbox,
        named_metrics: true,
    };
    let shared = Arc::new(Shared::new(Arc::new(setup)));
    if let Some(observer) = &observer {
        let config = state.quorum().config().clone();
        observer.starts(&config, order_of(&shared.setup, &state));
    }
    let inbound = Inbound::new(runtime, security.clone(), members.clone(), down_after, listeners);
    let mut host = Net {
        timer: shared.setup.timer(),
        lists,
        encoder,
        links: Vec::new(),
        security: security.clone(),
        longest_wait: longest,
        inbound,
        log: Log::new(members.clone(), down_after),
        metrics: Metrics::new(&shared.setup.registration.namespace),
        #[cfg(feature = "tls")]
        keys: Keys::new(&security),
        writer,
        observer,
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
    host.follow(&members)?;
    host.connect(&members);
    let member = Member::new(Handle::new(shared), state, security);
    Ok((member, host))
}

/// Opens the ballot, reads the certificates and listens.
async fn open<R: Network>(cluster: &mut Cluster<R>, span: &Span) -> Result<Opened<R>, StartError> {
    let runtime = &cluster.runtime;
    let Candidate { id, .. } = cluster.registration.candidate.clone();
    let own = (cluster.registration.namespace.clone(), id.clone());
    let (path, listen) = (cluster.ballot.clone(), cluster.listen.clone());
    let (proof, starting) = (std::mem::take(&mut cluster.proof), cluster.starting());
    let observer = runtime.member_observer();
    let keeper = observer.clone();
    let blocks = move || {
        starting.begins(Stage::Ballot);
        let ballot = match keeper {
            None => open_ballot(&path, id)?,
            Some(keeper) => {
                let restored = keeper.restored();
                (Keeper::Observer(keeper), restored, None, path)
            }
        };
        starting.begins(Stage::Proof);
        let security = Security::open(proof, own)?;
        starting.begins(Stage::Ports);
        let numbers = listen.iter().map(found).collect::<Result<Vec<_>, _>>()?;
        Ok::<_, StartError>((ballot, security, numbers))
    };
    let opened = match observer {
        None => blocking("election-start", blocks).await.map_err(StartError::Thread)?,
        Some(_) => blocks(), // without a thread, whose pace nobody could repeat
    };
    let ((keeper, restored, unusable, path), security, numbers) = opened?;
    span.in_scope(|| Log::opened(&path, unusable.as_ref()));
    let listeners = cluster.listen.iter().zip(numbers).map(|(address, numbers)| {
        let failed = |source| StartError::Listen { address: address.to_string(), source };
        runtime.listen(&numbers).map_err(failed)
    });
    let listeners = listeners.collect::<Result<Vec<_>, _>>()?;
    cluster.starting.begins(Stage::Over);
    // Last: its thread keeps the ballot locked for a moment after its end.
    let writer = BallotWriter::new(keeper).map_err(StartError::Thread)?;
    Ok(Opened { writer, restored, security, listeners })
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

/// Locks a ballot and reads what an earlier life has saved, with the path that it has in truth.
fn open_ballot(
    path: &Path,
    node: NodeId,
) -> Result<(Keeper, Restored, Option<Unusable>, PathBuf), StartError> {
    let file = BallotFile::open(path, node)
        .map_err(|error| StartError::Ballot { reason: error.to_string(), path: path.to_owned() })?;
    let (restored, unusable) = file.read();
    let path = file.path().to_owned();
    Ok((Keeper::File(file), restored, unusable, path))
}

/// What hands orders to the member with these settings, while it lives.
fn order_of<R: Network>(
    setup: &Arc<Setup<R>>,
    state: &Arc<NodeState>,
) -> Box<dyn Fn(Input<Event>) + Send + Sync> {
    let (setup, state) = (Arc::downgrade(setup), Arc::downgrade(state));
    Box::new(move |order| {
        let (Some(setup), Some(state)) = (setup.upgrade(), state.upgrade()) else { return };
        match order {
            Input::Resign => setup.inbox.tell(Input::<Report>::Resign),
            Input::Withdraw => setup.inbox.tell(Input::Withdraw),
            Input::Event(Event::Health(healthy)) => setup.inbox.health(healthy),
            Input::Event(Event::Position(position)) => state.moved(position),
            Input::Event(event) => state.order(event),
            Input::Tick | Input::Stopped(_) => {}
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_lite::future::block_on;

    #[test]
    fn who_waits_for_a_look_up_reads_what_it_waits_for() {
        let starting = Starting::default();
        block_on(look_up(Vec::new(), starting.clone())).expect("nothing to look up");
        assert_eq!(starting.to_string(), "opening its ports and resolving their names");
    }
}
