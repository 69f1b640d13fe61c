//! Three nodes over real TCP, with ballots on a real disk.

mod elections;
mod following;
#[cfg(feature = "tls")]
mod members;
#[cfg(feature = "tls")]
pub mod secured;
mod starts;
mod strangers;
mod work;

pub use elections::*;
pub use following::*;
#[cfg(feature = "tls")]
pub use members::*;
pub use starts::*;
pub use strangers::*;
pub use work::*;

use super::{
    fixture::OnNothing,
    ports::free_port,
    tasks::{Task, spawn},
};
use crate::{Cluster, ClusterBuilder, Handle, Member, Network, Node, Status};
use election_core::{Epoch, NodeId, quorum::Position};
use futures_lite::future::or;
use std::{path::PathBuf, time::Duration};

/// The name of every cluster that a test starts.
pub const CLUSTER: &str = "quorum";

/// When a silent peer counts as down; short, and long enough for a busy machine.
pub const DOWN_AFTER: Duration = Duration::from_secs(2);
pub const IDS: [&str; 3] = ["n1", "n2", "n3"];

/// Addresses on the loopback interface that nobody listens at, and a directory.
pub struct Place {
    directory: tempfile::TempDir,
    addresses: Vec<String>,
}

impl Place {
    /// Room for so many nodes.
    ///
    /// # Panics
    /// If there is no free port.
    #[must_use]
    pub fn new(nodes: usize) -> Self {
        let addresses = (0..nodes).map(|_| format!("127.0.0.1:{}", free_port())).collect();
        Self { directory: tempfile::tempdir().expect("a temporary directory"), addresses }
    }

    /// The address of a node.
    #[must_use]
    pub fn address(&self, place: usize) -> &str {
        &self.addresses[place]
    }

    /// The file of a node's ballot.
    #[must_use]
    pub fn ballot(&self, place: usize) -> PathBuf {
        self.directory.path().join(format!("ballot-{place}"))
    }

    /// A node `n1`, `n2`… of the cluster that has all of them.
    ///
    /// # Panics
    /// If it cannot be built.
    #[must_use]
    pub fn cluster<R: Network + Default>(&self, place: usize, position: Position) -> Cluster<R> {
        self.cluster_with(place, position, DOWN_AFTER)
    }

    /// The same with another time after which a silent peer counts as down.
    pub fn cluster_with<R: Network + Default>(
        &self,
        place: usize,
        position: Position,
        down_after: Duration,
    ) -> Cluster<R> {
        let builder = self.builder(place).down_after(down_after).position(position);
        builder.build().expect("a valid cluster")
    }

    /// The same, as far as it is the same for all nodes.
    pub fn builder<R: Network + Default>(&self, place: usize) -> ClusterBuilder<R> {
        self.routed(place, |other| self.address(other).to_owned())
    }

    /// The same for a node that finds the others elsewhere.
    pub fn routed<R: Network + Default>(
        &self,
        place: usize,
        address: impl Fn(usize) -> String,
    ) -> ClusterBuilder<R> {
        let members = (0..self.addresses.len())
            .fold(Cluster::builder(CLUSTER), |builder, other| {
                builder.member(format!("n{}", other + 1), address(other))
            });
        members.node(format!("n{}", place + 1)).ballot(self.ballot(place)).down_after(DOWN_AFTER)
    }
}

pub async fn trio<R: Network + Default>(positions: [u64; 3]) -> (Place, Vec<Member<R>>) {
    let place = Place::new(3);
    let mut members = Vec::new();
    for (nth, offset) in positions.into_iter().enumerate() {
        let position = Position { history: 1, offset };
        members.push(place.cluster(nth, position).start().await.expect("a node"));
    }
    (place, members)
}

/// A trio whose nodes are tasks, so that they can be killed: see [`Task::abort`].
pub async fn mortals<R: Network + Default>(place: &Place) -> (Vec<Member<R>>, Vec<Task<()>>) {
    let (mut members, mut tasks) = (Vec::new(), Vec::new());
    for (member, node) in opened(place).await {
        members.push(member);
        tasks.push(spawn::<R, _>(node));
    }
    (members, tasks)
}

/// A trio that nobody drives yet.
pub async fn opened<R: Network + Default>(place: &Place) -> Vec<(Member<R>, Node)> {
    let mut opened = Vec::new();
    for nth in 0..3 {
        opened.push(place.cluster(nth, Position::default()).open().await.expect("a node"));
    }
    opened
}

/// Waits until a member leads under this epoch still, this long after what it trusts in now.
pub async fn leads_on<R: Network>(leader: &Member<R>, epoch: Epoch, longer: Duration) {
    let tenure = leader.handle().status().tenure.expect("it leads");
    let enough = tenure.until + longer;
    let later = |status: &Status| status.tenure.as_ref().is_none_or(|own| own.until > enough);
    let now = leader.handle().watch().until(later).await.tenure.expect("it leads on");
    assert_eq!(now.term.epoch, epoch, "leadership has moved");
}

pub async fn shut_down<R: Network>(members: &[Member<R>]) {
    for member in members {
        member.handle().shutdown().await;
    }
}

/// The place of the member that leads first, and its epoch.
pub async fn first<R: Network>(members: &[Member<R>]) -> (usize, Epoch) {
    let elected = |place: usize| async move {
        let lease = members[place].handle().elected().await.expect("a node");
        (place, lease.epoch())
    };
    match members.len() {
        2 => or(elected(0), elected(1)).await,
        _ => or(or(elected(0), elected(1)), elected(2)).await,
    }
}

pub async fn followed<R: Network>(handle: &Handle<R>, after: Epoch) -> (NodeId, Epoch) {
    let newer = |status: &Status| status.leader.as_ref().is_some_and(|it| it.term.epoch > after);
    let status = handle.watch().until(newer).await;
    let term = status.leader.expect("somebody leads").term;
    (term.leader, term.epoch)
}

/// Hands leadership over until this member has it, and gives its epoch. The others wait 600 ms for
/// it, which a busy machine may miss; then whoever leads hands over.
pub async fn handed_over<R: Network>(members: &[Member<R>], to: usize) -> Epoch {
    let id = NodeId::new(IDS[to]).expect("a short id");
    let mut orders = 0;
    loop {
        let (leader, epoch) = first(members).await;
        if leader == to {
            return epoch;
        }
        // Refused until the successor has said that it can take over.
        orders += u32::from(members[leader].hand_over(&id).await.is_ok());
        assert!(orders <= 5, "{id} is passed over");
    }
}
