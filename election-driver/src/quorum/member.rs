//! What an application holds of a running node.

use super::{
    cluster::ClusterError, node_state::NodeState, security::Security, unknown_leader::UnknownLeader,
};
use crate::{Handle, Network};
use election_core::{
    Alert, Change, Loss, NodeId,
    quorum::{
        ChangeRefusal, Config, Copies, Event, MaintenanceStatus, MemberChange, Members, Membership,
        Peer, PeerStatus, Position, Role, Status,
    },
};
use event_listener::listener;
use std::{sync::Arc, time::Duration};
use thiserror::Error;

/// A running node of a cluster.
///
/// [`handle`](Self::handle) is what leader work needs, the same as with a lease. What is here
/// besides belongs to a quorum: how far the data have come, orders of an operator, and what this
/// node knows of the others. Cheap to clone.
///
/// Dropping the last clone and the last handle leaves the cluster in the background; nobody waits
/// for it. For a graceful exit call [`Handle::shutdown`].
///
/// ```no_run
/// # use election_driver::{Member, Network, core::{NodeId, quorum::Position}};
/// # use std::{error::Error, time::Duration};
/// // Data that have grown: first this, then the acknowledgement.
/// fn is_durable<R: Network>(member: &Member<R>, position: Position) {
///     member.set_position(position);
/// }
///
/// async fn maintain<R: Network>(member: &Member<R>) -> Result<(), Box<dyn Error>> {
///     for peer in member.peers().iter().filter(|peer| !peer.connected) {
///         let why = peer.error.as_deref().unwrap_or("not yet");
///         println!("no connection to {} at {}: {why}", peer.id, peer.address);
///     }
///     member.pause(Some(Duration::from_secs(3600))).await?; // nobody fails over meanwhile
///     if member.handle().is_leader() {
///         member.hand_over(&NodeId::new("n2")?).await?;
///     }
///     Ok(member.resume().await?)
/// }
/// ```
#[must_use = "the node leaves the cluster when its last handle is dropped"]
pub struct Member<R: Network> {
    handle: Handle<R>,
    state: Arc<NodeState>,
    #[cfg_attr(not(feature = "tls"), allow(dead_code, reason = "it says nothing then"))]
    security: Security,
}

impl<R: Network> Clone for Member<R> {
    fn clone(&self) -> Self {
        let (handle, state) = (self.handle.clone(), self.state.clone());
        Self { handle, state, security: self.security.clone() }
    }
}

/// What a node knows of another member.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PeerReport {
    /// The member.
    pub id: NodeId,
    /// What it has said, and what it is good for.
    pub status: PeerStatus,
    /// Where it is reached, or was looked for last: while it moves, that can be its previous address.
    pub address: String,
    /// Whether this node is connected *to* it. ([`PeerStatus::heard`] tells of the other direction.)
    pub connected: bool,
    /// Why there was no connection to it the last time.
    pub error: Option<String>,
}

/// Why leadership was not handed over.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum HandOverError {
    /// This node does not lead.
    #[error("this node is not the leader; ask the leader")]
    NotLeader,
    /// The successor is no member, or is this node itself.
    #[error("{0} is not another member of this cluster")]
    NotAMember(NodeId),
    /// The successor could not take it now. This node goes on leading.
    #[error("{0}")]
    Refused(Alert),
    /// Leadership ended otherwise meanwhile.
    #[error("leadership ended before the handover ({0})")]
    Lost(Loss),
    /// The node has ended.
    #[error("the node has ended")]
    Stopped,
}

/// Why automatic failover was neither paused nor resumed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PauseError {
    /// A majority did not take the order. Nothing has changed.
    #[error("{0}")]
    Refused(Alert),
    /// The node has ended.
    #[error("the node has ended")]
    Stopped,
}

/// Why the list of members did not change.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ChangeError {
    /// This node does not make the change. Nothing has changed.
    #[error(transparent)]
    Refused(#[from] ChangeRefusal),
    /// This node led when it proposed the change, and no longer does.
    #[error("leadership ended before the change was in force; look which members there are now")]
    Lost,
    /// The node has ended.
    #[error("the node has ended")]
    Stopped,
}

impl<R: Network> Member<R> {
    pub(super) fn new(handle: Handle<R>, state: Arc<NodeState>, security: Security) -> Self {
        Self { handle, state, security }
    }

    /// Until when this member's certificates are valid; `None` without any. The log warns of their end
    /// thirty days ahead.
    #[cfg(feature = "tls")]
    #[must_use]
    pub fn expiry(&self) -> Option<super::tls::Expiry> {
        self.certificates().map(|status| status.expiry)
    }

    /// Which certificate this member has, which it accepts, and whether others wait that cannot be
    /// used; `None` without any.
    #[cfg(feature = "tls")]
    #[must_use]
    pub fn certificates(&self) -> Option<super::tls::CertificateStatus> {
        self.security.certificates()
    }

    /// What leader work needs; the same type as with a lease.
    pub fn handle(&self) -> &Handle<R> {
        &self.handle
    }

    /// The members and the timing.
    #[must_use]
    pub fn config(&self) -> Config {
        self.state.quorum().config().clone()
    }

    /// The members by their places, as this node knows them now.
    #[must_use]
    pub fn members(&self) -> Members {
        self.state.quorum().config().members().clone()
    }

    /// The lists of members: the one in force, the one before, and one that has been proposed.
    #[must_use]
    pub fn lists(&self) -> Membership {
        self.state.quorum().lists().clone()
    }

    /// Whether a majority of the members is known to have recorded that they are the members: then the
    /// list can change again. A primary knows first.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        self.state.quorum().is_settled()
    }

    /// Why the list of members in this node's cluster file is not in force, with the remedy; `None` if it
    /// is, is about to be, or there is no file.
    #[must_use]
    pub fn odd_file(&self) -> Option<String> {
        self.state.odd_file().clone()
    }

    /// Reports how far this node's data have come: what is durable, never more. Report it whenever
    /// they have grown, at least every heartbeat interval while they grow: elections and handovers
    /// wait for it. Cheap; of many reports in a row, the last counts.
    ///
    /// Once this returns, this node gives no vote that overlooks it. So report first, and only then
    /// acknowledge a write to the primary. A position may also go down: a node whose data are a fork
    /// reports the lower position *before* it cuts them.
    ///
    /// Whoever reports more than there is can win an election, and lose what the others have
    /// acknowledged.
    pub fn set_position(&self, position: Position) {
        self.state.moved(position);
    }

    /// Changes the addresses of members, each given as its id and `host:port`. Members that are not named keep
    /// theirs. An open connection stays for as long as it is of use; then the new address is tried, and until the member
    /// answers there, the last one at which it did, too.
    ///
    /// To move a member, call this on every other one, and restart it at its new address. A member that moves before the
    /// others know of it is cut off until they do. This is not stored: build the cluster with the new addresses at the
    /// next start. (A member's own address has no effect while it runs: it listens where it did at its start.)
    /// An id that is no member's may join later ([`change_members`](Self::change_members)).
    ///
    /// # Errors
    /// If an id is none, two members would have one address, or an address cannot be used:
    /// [`ClusterError`], as at [`build`](super::ClusterBuilder::build). Nothing has changed then.
    pub fn set_addresses<I: Into<String>, A: Into<String>>(
        &self,
        addresses: impl IntoIterator<Item = (I, A)>,
    ) -> Result<(), ClusterError> {
        // Before anything is locked: who knows what the caller's iterator does.
        let named = addresses.into_iter().map(|(id, address)| (id.into(), address.into()));
        self.state.relocate(&named.collect::<Vec<_>>())
    }

    /// Adds a member, or removes one, while everybody runs. Only the primary does so, one change after the
    /// other; the leadership goes on. A new member has to be started, with a list that has it and with the
    /// addresses of the others, and each of these has to know its address
    /// ([`set_addresses`](Self::set_addresses)). (A cluster file does both.) One that was a member before
    /// starts without its old ballot. A primary that removes itself resigns as soon as the others can elect.
    ///
    /// Returns once a majority of the new list has recorded it: then the next change can follow, and a
    /// member that was removed can be stopped. Until the new list is in force, the old one rules, so a new
    /// member that cannot be reached costs nothing; but its addition stays pending, and is completed by
    /// whoever leads. Dropping the future does not take the change back.
    ///
    /// # Errors
    /// Why this node does not make the change, with the remedy; [`ChangeError::Lost`] if it no longer leads
    /// before the change is in force: the next primary completes it, unless nobody who elected that one had heard of it.
    pub async fn change_members(&self, change: MemberChange) -> Result<(), ChangeError> {
        let wanted = match &change {
            MemberChange::Add { id, .. } => (id.clone(), true),
            MemberChange::Remove(id) => (id.clone(), false),
        };
        self.state.quorum().change_members(&change)?;
        self.state.order(Event::ChangeMembers(change));
        loop {
            listener!(self.state.recorded => recorded);
            {
                let quorum = self.state.quorum();
                let members = quorum.config().members();
                let is_member =
                    members.find(wanted.0.as_str()).is_some_and(|peer| members.is_voter(peer));
                if is_member == wanted.1 && quorum.is_settled() {
                    return Ok(());
                }
                if quorum.role() != Role::Primary {
                    return Err(ChangeError::Lost);
                }
            }
            if self.state.is_closed() {
                return Err(ChangeError::Stopped);
            }
            recorded.await;
        }
    }

    /// What this node knows of itself now. Instants are those of [`now`](crate::now).
    #[must_use]
    pub fn status(&self) -> Status {
        self.state.quorum().status(self.now())
    }

    /// What this node knows of the others now, in the order of their ids.
    #[must_use]
    pub fn peers(&self) -> Vec<PeerReport> {
        let links = self.state.links().clone();
        let quorum = self.state.quorum();
        let members = quorum.config().members();
        let report = |peer: Peer| {
            let link = links.get(members.id(peer)?).cloned().unwrap_or_default();
            Some(PeerReport {
                id: members.id(peer)?.clone(),
                status: quorum.peer_status(peer, self.now())?,
                address: link.address,
                connected: link.connected,
                error: link.error,
            })
        };
        members.others().filter_map(report).collect()
    }

    /// Why this node does not know who leads; `None` if it does, or knows that nobody leads.
    #[must_use]
    pub fn unknown_leader(&self) -> Option<UnknownLeader> {
        if self.handle.is_leader() {
            return None;
        }
        let leader = self.handle.leader().map(|term| term.leader);
        UnknownLeader::of(&self.state.quorum(), self.now(), leader.as_ref())
    }

    /// Whether automatic failover is paused; `None` if nobody has ever paused it.
    #[must_use]
    pub fn maintenance(&self) -> Option<MaintenanceStatus> {
        self.state.quorum().maintenance()
    }

    /// How many nodes have the data up to `position`, as far as they have said in heartbeats. That may
    /// be a heartbeat interval ago: to acknowledge writes sooner, let the followers say it to the
    /// primary themselves. This node's own position counts a moment after
    /// [`set_position`](Self::set_position) returns.
    #[must_use]
    pub fn copies(&self, position: Position) -> Copies {
        self.state.quorum().copies(position)
    }

    /// Hands leadership over to another member. Leader work is told to stop; once every guard is
    /// gone and the successor has all data, the successor stands for election, and the others leave
    /// it ten staggers (30 % of `down_after`) to save its vote. If its disk takes longer, any of
    /// them may be elected.
    ///
    /// Returns once leader work has been told to stop in the successor's favour. Dropping the future
    /// does not take the order back.
    ///
    /// # Errors
    /// If this node does not lead, or the successor could not be elected now. This node then goes on
    /// as before.
    pub async fn hand_over(&self, to: &NodeId) -> Result<(), HandOverError> {
        let me = &self.handle.registration().candidate.id;
        let peer = self.members().find(to.as_str()).filter(|_| to != me);
        let peer = peer.ok_or_else(|| HandOverError::NotAMember(to.clone()))?;
        let mut changes = self.handle.changes();
        let Some(lease) = self.handle.lease() else { return Err(HandOverError::NotLeader) };
        let epoch = lease.epoch();
        drop(lease);
        self.state.order(Event::HandOver(peer));
        loop {
            match changes.next().await {
                Ok(Some(Change::Lost { term, reason, .. })) if term.epoch == epoch => {
                    return match reason {
                        Loss::Resigned => Ok(()),
                        reason => Err(HandOverError::Lost(reason)),
                    };
                }
                Ok(Some(Change::Alert(alert @ Alert::HandOverRefused { .. }))) => {
                    return Err(HandOverError::Refused(alert));
                }
                Ok(Some(_)) => {}
                Ok(None) | Err(_) => return Err(HandOverError::Stopped),
            }
        }
    }

    /// Pauses automatic failover in the whole cluster, for this long or until it is resumed: while it
    /// is paused nobody is elected because a primary has fallen silent. Leadership itself goes on by
    /// the same rules: a primary that loses its majority stops. One that resigns is elected again;
    /// only [`hand_over`](Self::hand_over) names a successor.
    ///
    /// Returns once a majority has recorded it: from then on it holds, whatever fails. Dropping the
    /// future does not take the order back.
    ///
    /// # Errors
    /// If this node hears no majority, or may not vote yet: one that has just started and hears no
    /// primary refuses for about a `down_after`. Nothing has changed then.
    pub async fn pause(&self, lasts: Option<Duration>) -> Result<(), PauseError> {
        self.maintain(Event::Pause(lasts), true).await
    }

    /// Resumes automatic failover. Without a pause there is nothing to do.
    ///
    /// # Errors
    /// As [`pause`](Self::pause).
    pub async fn resume(&self) -> Result<(), PauseError> {
        if self.maintenance().is_none_or(|known| !known.is_paused && known.proposed.is_none()) {
            return Ok(());
        }
        self.maintain(Event::Resume, false).await
    }

    async fn maintain(&self, order: Event, paused: bool) -> Result<(), PauseError> {
        let mut changes = self.handle.changes();
        let before = self.maintenance().map_or(0, |known| known.record.number);
        let majority = self.members().quorum();
        self.state.order(order);
        loop {
            listener!(self.state.recorded => recorded);
            let mut refusal = None;
            while let Ok(Some(change)) = changes.try_next() {
                if let Change::Alert(alert @ Alert::MaintenanceRefused { .. }) = change {
                    refusal = Some(alert);
                }
            }
            let known = self.maintenance();
            let holds = known.is_some_and(|known| {
                let is_news = known.record.number > before && known.record.paused == paused;
                is_news && known.recorded >= majority
            });
            if holds {
                return Ok(());
            }
            // Unless another order to this node has taken the place of the one that was refused.
            let pending = known.is_some_and(|known| {
                known.proposed.is_some()
                    || known.record.number > before && known.recorded < majority
            });
            if let Some(alert) = refusal.filter(|_| !pending) {
                return Err(PauseError::Refused(alert));
            }
            if self.state.is_closed() {
                return Err(PauseError::Stopped);
            }
            recorded.await;
        }
    }

    fn now(&self) -> election_core::Timestamp {
        self.handle.shared().setup.runtime.now()
    }
}
