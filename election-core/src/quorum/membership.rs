//! The lists of members that a node has recorded, and how one follows from another.
//!
//! A cluster begins with the list that every node is given. From then on the list in force is in the
//! ballots: lists change by one member at a time, as the majorities of both lists agree
//! ([`Quorum::propose`]).
//!
//! [`Quorum::propose`]: super::Quorum::propose

use crate::{
    Epoch, NodeId,
    quorum::places::{Fingerprint, MemberList, Peer, PeerSet},
};
use alloc::{sync::Arc, vec::Vec};

/// A change of the list by one member.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum MemberChange {
    /// A new member. One that was removed before starts without its old ballot: another may have
    /// its place.
    Add {
        /// Its id.
        id: NodeId,
        /// Whether it is a witness.
        witness: bool,
    },
    /// A member that leaves.
    Remove(NodeId),
}

/// The lists that a node has recorded.
///
/// A member keeps its place as long as any of these lists has it, so that the newest list can be told
/// from its neighbours by sets of places alone.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Membership {
    pub(super) ids: Arc<[Option<NodeId>]>,
    pub(super) origin: Fingerprint,
    pub(super) established: MemberList,
    pub(super) parent: Option<MemberList>,
    pub(super) accepted: Option<(Epoch, MemberList)>,
}

impl Membership {
    /// The lists with these members, by place; `None` if that is not what any cluster could have
    /// recorded.
    ///
    /// `origin` is the fingerprint of the first list of the cluster, `parent` the list before the
    /// established one, and `accepted` the list that was proposed to follow it, with the epoch of the
    /// primary that proposed it.
    #[must_use]
    pub fn new(
        ids: Vec<Option<NodeId>>,
        origin: Fingerprint,
        established: MemberList,
        parent: Option<MemberList>,
        accepted: Option<(Epoch, MemberList)>,
    ) -> Option<Self> {
        let whole = Self { ids: ids.into(), origin, established, parent, accepted };
        let named = whole.ids.iter().flatten();
        let unique =
            named.clone().all(|id| named.clone().filter(|other| *other == id).count() == 1);
        let all = whole.lists().fold(0, |all, list| all | list.voters.bits());
        let known = (0..).zip(&*whole.ids).filter(|(_, id)| id.is_some());
        let known = known.fold(0, |all, (place, _)| all | 1_u64.checked_shl(place).unwrap_or(0));
        let fits = whole.ids.len() <= Self::MOST && unique && all == known;
        let follow = parent.is_none_or(|parent| parent.is_whole() && established.follows(&parent))
            && accepted.is_none_or(|(_, list)| list.follows(&established));
        (fits && follow && established.is_whole()).then_some(whole)
    }

    /// The first list of a cluster.
    pub(super) const fn first(
        ids: Arc<[Option<NodeId>]>,
        origin: Fingerprint,
        established: MemberList,
    ) -> Self {
        Self { ids, origin, established, parent: None, accepted: None }
    }

    /// Every member, by place.
    #[must_use]
    pub fn ids(&self) -> &[Option<NodeId>] {
        &self.ids
    }

    /// The fingerprint of the cluster's first list.
    #[must_use]
    pub fn origin(&self) -> Fingerprint {
        self.origin
    }

    /// The list in force.
    #[must_use]
    pub fn established(&self) -> &MemberList {
        &self.established
    }

    /// The list before it, if the list ever changed.
    #[must_use]
    pub fn parent(&self) -> Option<&MemberList> {
        self.parent.as_ref()
    }

    /// The list that this node has accepted to follow, and the epoch of the primary that proposed it.
    #[must_use]
    pub fn accepted(&self) -> Option<(Epoch, &MemberList)> {
        self.accepted.as_ref().map(|(epoch, list)| (*epoch, list))
    }

    /// Whether the list in force has this member, or the one that is proposed to follow.
    #[must_use]
    pub fn wants(&self, peer: Peer) -> bool {
        let next = self.accepted.is_some_and(|(_, list)| list.voters.contains(peer));
        next || self.established.voters.contains(peer)
    }

    /// The lists that count for a node that does not know its promises.
    pub(super) fn lists(&self) -> impl Iterator<Item = &MemberList> {
        let accepted = self.accepted.as_ref().map(|(_, list)| list);
        core::iter::once(&self.established).chain(&self.parent).chain(accepted)
    }

    /// The member with this id.
    pub(super) fn find(&self, id: &NodeId) -> Option<Peer> {
        let place = self.ids.iter().position(|known| known.as_ref() == Some(id))?;
        u8::try_from(place).ok().map(Peer::new)
    }

    /// These lists with a child of the established one, accepted in `epoch`. `None` if there is none:
    /// the member is there already, or is not; no place is left, the ids are too long
    /// ([`MOST_BYTES`](Self::MOST_BYTES)), or nobody could lead.
    #[must_use]
    pub fn propose(&self, epoch: Epoch, change: &MemberChange) -> Option<Self> {
        let MemberList { generation, voters, witnesses } = self.established;
        let mut child = MemberList { generation: generation + 1, voters, witnesses };
        let mut ids: Vec<_> = self.kept().collect();
        match change {
            MemberChange::Add { id, witness } => {
                let is_kept = |peer: &Peer| ids.get(peer.index()).is_some_and(Option::is_some);
                let known = self.find(id).filter(is_kept);
                let free = || {
                    let free = ids.iter().position(Option::is_none).unwrap_or(ids.len());
                    u8::try_from(free).ok().map(Peer::new)
                };
                let place = known.or_else(free)?;
                ids.resize(ids.len().max(place.index() + 1), None);
                ids[place.index()] = Some(id.clone());
                child.voters = child.voters.with(place);
                if *witness {
                    child.witnesses = child.witnesses.with(place);
                }
            }
            MemberChange::Remove(id) => {
                let place = self.find(id)?;
                child.voters = child.voters.without(place);
                child.witnesses = child.witnesses.without(place);
            }
        }
        let next = Self::new(ids, self.origin, self.established, self.parent, Some((epoch, child)));
        next.filter(Self::fits_a_frame)
    }

    /// The most members, and places of members.
    pub const MOST: usize = 63;
    /// The most bytes of all ids in a frame, a separator for each included.
    pub const MOST_BYTES: usize = 600;

    fn fits_a_frame(&self) -> bool {
        let length = |id: &Option<NodeId>| 1 + id.as_ref().map_or(0, |id| id.as_str().len());
        self.ids.iter().map(length).sum::<usize>() <= Self::MOST_BYTES
    }

    /// The same lists without a proposal.
    pub(super) fn without_proposal(&self) -> Self {
        let rest = Self { accepted: None, ..self.clone() };
        let ids: Vec<_> = rest.kept().collect();
        Self { ids: ids.into(), ..rest }
    }

    /// The members of the established list and its parent, by place.
    fn kept(&self) -> impl Iterator<Item = Option<NodeId>> {
        let parent = self.parent.map_or(0, |parent| parent.voters.bits());
        let kept = PeerSet::from_bits(self.established.voters.bits() | parent);
        let last = kept.members().last().map_or(0, |peer| peer.index() + 1);
        let ids = (0..).map(Peer::new).zip(&*self.ids).take(last);
        ids.map(move |(peer, id)| id.clone().filter(|_| kept.contains(peer)))
    }

    /// These lists, with what `other` has accepted, as accepted in `epoch`. `None` if that does not come
    /// after these.
    pub(super) fn accepting(&self, other: &Self, epoch: Epoch) -> Option<Self> {
        let (_, list) = other.accepted?;
        let Self { origin, established, parent, .. } = self.clone();
        Self::new(other.ids.to_vec(), origin, established, parent, Some((epoch, list)))
    }

    /// The same lists once the accepted one is in force; `None` if none is accepted.
    #[must_use]
    pub fn establish(&self) -> Option<Self> {
        let (_, established) = self.accepted?;
        let parent = Some(self.established);
        Some(Self { established, parent, ..self.clone() }.without_proposal())
    }
}

/// Which lists a node has recorded, as its frames say. (The fingerprint of the established one is a
/// field of its own.)
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Outline {
    /// The generation of the established list.
    pub generation: u64,
    /// The fingerprint of the list that it has accepted to follow, and the epoch of the primary that
    /// proposed it.
    pub accepted: Option<(Epoch, Fingerprint)>,
}
