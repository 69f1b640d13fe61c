//! The members: who votes, and everybody whom a node speaks to.

use crate::{
    Namespace, NodeId,
    quorum::{
        membership::{Membership, Outline},
        places::{Fingerprint, MemberList, Peer, PeerSet},
    },
    random::fnv1a,
};
use alloc::sync::Arc;

/// The members of a cluster, and which of them this node is. Cheap to clone.
///
/// While the list changes, it has one neighbour or two ([`Membership`]). A member of
/// these that the list does not have is spoken to, but does not vote.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Members {
    /// By place.
    pub(super) ids: Arc<[Option<NodeId>]>,
    me: Peer,
    list: MemberList,
    /// Of the cluster's first list, if this is a later one.
    origin: Fingerprint,
    /// In nanoseconds; zero if it is not known.
    down_after: u64,
    /// Of the cluster's name; zero if it has none.
    cluster: u64,
}

impl Members {
    /// The largest number of members. Every member talks to every other.
    pub const MOST: usize = Membership::MOST;

    /// The members with these ids, in any order; `None` if `me` is not among them, an id occurs
    /// twice, or there are too many. (The configuration says which.)
    #[must_use]
    pub fn new(mut ids: alloc::vec::Vec<NodeId>, me: &NodeId) -> Option<Self> {
        ids.sort();
        let unique = ids.windows(2).all(|pair| pair[0] != pair[1]);
        if !unique || ids.len() > Self::MOST {
            return None;
        }
        let place = ids.iter().position(|id| id == me)?;
        let me = Peer::new(u8::try_from(place).ok()?);
        let voters = PeerSet::from_bits(u64::MAX >> (64 - ids.len()));
        let list = MemberList { generation: 0, voters, witnesses: PeerSet::default() };
        let ids = ids.into_iter().map(Some).collect();
        Some(Self { ids, me, list, origin: Fingerprint::new(0), down_after: 0, cluster: 0 })
    }

    /// The same members, of which these are witnesses: they vote, but have no data and never lead.
    /// `None` if one is not a member, or if nobody else would be left. (The configuration says
    /// which.)
    #[must_use]
    pub fn with_witnesses<'a>(
        mut self,
        witnesses: impl IntoIterator<Item = &'a NodeId>,
    ) -> Option<Self> {
        for id in witnesses {
            self.list.witnesses = self.list.witnesses.with(self.find(id.as_str())?);
        }
        (self.data_nodes() > 0).then_some(self)
    }

    /// The same node with another list, of these members.
    pub(super) fn with_list(
        mut self,
        ids: Arc<[Option<NodeId>]>,
        origin: Fingerprint,
        list: MemberList,
    ) -> Self {
        self.origin = if list.generation == 0 { Fingerprint::new(0) } else { origin };
        (self.ids, self.list) = (ids, list);
        self
    }

    /// The lists of a cluster that begins with this one.
    #[must_use]
    pub fn first_lists(&self) -> Membership {
        Membership::first(self.ids.clone(), self.fingerprint(), self.list)
    }

    /// What others are told of these lists, without names.
    pub(super) fn outline(&self, lists: &Membership) -> Outline {
        let Membership { ids, origin, established, .. } = lists;
        let accepted = lists.accepted.map(|(epoch, list)| {
            (epoch, self.clone().with_list(ids.clone(), *origin, list).fingerprint())
        });
        Outline { generation: established.generation, accepted }
    }

    /// The same node under these lists; `None` if they do not have it.
    pub(super) fn under(&self, lists: &Membership) -> Option<Self> {
        let me = lists.find(self.id(self.me)?)?;
        Some(self.clone().with_list(lists.ids.clone(), lists.origin, lists.established).at(me))
    }

    /// The fingerprint of the list in force of these lists, under the same settings.
    #[must_use]
    pub fn fingerprint_of(&self, lists: &Membership) -> Fingerprint {
        let Membership { ids, origin, established, .. } = lists;
        self.clone().with_list(ids.clone(), *origin, *established).fingerprint()
    }

    /// Whether both lists have the same members in the same roles.
    #[must_use]
    pub fn has_the_same(&self, other: &Self) -> bool {
        let is_alike = |peer: Peer| {
            let there = self.id(peer).and_then(|id| other.find(id.as_str()));
            let votes = there.filter(|there| other.is_voter(*there));
            votes.is_some_and(|there| self.is_witness(peer) == other.is_witness(there))
        };
        self.count() == other.count() && self.list.voters.members().all(is_alike)
    }

    /// The same list, and another place of this node.
    pub(super) fn at(mut self, me: Peer) -> Self {
        self.me = me;
        self
    }

    /// The list in force.
    pub(super) const fn list(&self) -> MemberList {
        self.list
    }

    /// Whether this member votes.
    #[must_use]
    pub const fn is_voter(&self, peer: Peer) -> bool {
        self.list.voters.contains(peer)
    }

    /// The same members, which have agreed on this `down_after`. A voter's support lasts as long as its
    /// own, and a primary trusts it for as long as *its* own: with different ones, a voter could turn
    /// away from a primary that still trusts it.
    pub(super) fn with_down_after(mut self, down_after: u64) -> Self {
        self.down_after = down_after;
        self
    }

    /// The same members, of a cluster with this name. Two clusters may have the same ids, and one may
    /// be given the addresses of the other by mistake.
    pub(super) fn of_cluster(mut self, name: &Namespace) -> Self {
        self.cluster = fnv1a(name.as_str().bytes());
        self
    }

    /// Whether a member is a witness.
    #[must_use]
    pub const fn is_witness(&self, peer: Peer) -> bool {
        self.list.witnesses.contains(peer)
    }

    /// The number of members that are no witnesses.
    #[must_use]
    pub fn data_nodes(&self) -> usize {
        self.count().saturating_sub(self.list.witnesses.count())
    }

    /// This node.
    #[must_use]
    pub fn me(&self) -> Peer {
        self.me
    }

    /// The number of members, this node included.
    #[must_use]
    pub fn count(&self) -> usize {
        self.list.voters.count()
    }

    /// The number of places: every [`Peer`] is below it.
    #[must_use]
    pub fn places(&self) -> usize {
        self.ids.len()
    }

    /// The number of votes that make a majority: `N/2 + 1`.
    #[must_use]
    pub fn quorum(&self) -> usize {
        self.list.quorum()
    }

    /// The id of a member; `None` for a place that nobody has.
    #[must_use]
    pub fn id(&self, peer: Peer) -> Option<&NodeId> {
        self.ids.get(peer.index())?.as_ref()
    }

    /// The member with this id, compared byte by byte.
    #[must_use]
    pub fn find(&self, id: &str) -> Option<Peer> {
        let is_it = |known: &Option<NodeId>| known.as_ref().is_some_and(|it| it.as_str() == id);
        u8::try_from(self.ids.iter().position(is_it)?).ok().map(Peer::new)
    }

    /// Every member but this node, by place, and everybody else whom this node speaks to.
    pub fn others(&self) -> impl Iterator<Item = Peer> + use<> {
        let known = (0..).zip(&*self.ids).filter(|(_, id)| id.is_some());
        let all = known.fold(0, |all, (place, _)| all | 1 << place);
        PeerSet::from_bits(all).without(self.me).members()
    }

    /// The fingerprint of the list, in whatever order it was given, and of the `down_after` of a
    /// [`Config`](super::Config): 64-bit FNV-1a over the sorted ids, each followed by a byte (one for a
    /// witness, zero for any other member), and over the eight bytes of `down_after` in nanoseconds,
    /// least first, if it is known, and over the eight bytes of the same hash of the cluster's name, if it
    /// has one. Of a later list than the cluster's first, also over the place of each member, its generation
    /// and the fingerprint of the first.
    #[must_use]
    pub fn fingerprint(&self) -> Fingerprint {
        let mut ids: alloc::vec::Vec<_> = self.list.voters.members().collect();
        ids.sort_by_key(|peer| self.id(*peer));
        let bytes = ids.into_iter().flat_map(|peer| {
            let id = self.id(peer).map_or("", NodeId::as_str);
            let place = (self.list.generation != 0).then_some(peer.place());
            id.bytes().chain([u8::from(self.is_witness(peer))]).chain(place)
        });
        let agreed = (self.down_after != 0).then(|| self.down_after.to_le_bytes());
        let named = (self.cluster != 0).then(|| self.cluster.to_le_bytes());
        let later = (self.list.generation != 0)
            .then(|| [self.list.generation, self.origin.get()].map(u64::to_le_bytes));
        let numbers = [agreed, named].into_iter().flatten().chain(later.into_iter().flatten());
        Fingerprint::new(fnv1a(bytes.chain(numbers.flatten())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    fn members(ids: &[&str], me: &str) -> Option<Members> {
        let ids = ids.iter().map(|id| NodeId::new(id).unwrap()).collect::<Vec<_>>();
        Members::new(ids, &NodeId::new(me).unwrap())
    }

    #[test]
    fn places_follow_the_byte_order_of_ids() {
        let members = members(&["b", "Z", "a10", "a9"], "a9").unwrap();
        let order = ["Z", "a10", "a9", "b"];
        assert_eq!(order.map(|id| members.find(id).unwrap().index()), [0, 1, 2, 3]);
        assert_eq!(members.me(), Peer::new(2));
        assert_eq!(members.others().map(Peer::index).collect::<Vec<_>>(), [0, 1, 3]);
        assert_eq!(members.find("nobody"), None);
    }

    #[test]
    fn lists_that_cannot_be_are_refused() {
        assert_eq!(members(&["a", "b"], "c"), None);
        assert_eq!(members(&["a", "a"], "a"), None);
        assert_eq!(members(&[], "a"), None);
        let many = |count| {
            let ids = (0..count).map(|n| NodeId::new(&std::format!("n{n}")).unwrap());
            let ids = ids.collect::<Vec<_>>();
            let me = ids[0].clone();
            Members::new(ids, &me).map(|members| members.count())
        };
        assert_eq!((many(63), many(64)), (Some(63), None));
    }

    #[test]
    fn the_fingerprint_tells_lists_apart_and_orders_not() {
        let of = |ids: &[&str]| members(ids, ids[0]).unwrap().fingerprint();
        assert_eq!(of(&["a", "b", "c"]), of(&["c", "a", "b"]));
        assert_ne!(of(&["a", "b", "c"]), of(&["a", "b", "d"]));
        assert_ne!(of(&["ab", "c"]), of(&["a", "bc"]));
        assert_ne!(of(&["a", "b"]), of(&["a", "b", "c"]));
    }

    #[test]
    fn a_name_of_the_cluster_changes_the_fingerprint() {
        let of = |name: Option<&str>| {
            let list = members(&["a", "b"], "a").unwrap().with_down_after(7);
            let name = name.map(|name| Namespace::new(name).unwrap());
            name.map_or(list.clone(), |name| list.of_cluster(&name)).fingerprint()
        };
        assert_eq!(of(Some("one")), of(Some("one")));
        assert_ne!(of(Some("one")), of(Some("two")));
        assert_ne!(of(Some("one")), of(None));
    }

    #[test]
    fn a_witness_is_a_member_and_changes_the_fingerprint() {
        let list = members(&["a", "b", "c"], "a").unwrap();
        let id = |name: &str| NodeId::new(name).unwrap();
        let with = |names: &[&str]| {
            let ids: Vec<_> = names.iter().copied().map(id).collect();
            list.clone().with_witnesses(&ids)
        };
        let one = with(&["c"]).unwrap();
        assert!(one.is_witness(Peer::new(2)) && !one.is_witness(Peer::new(1)));
        assert_eq!((one.count(), one.quorum(), one.data_nodes()), (3, 2, 2));
        assert_ne!(one.fingerprint(), list.fingerprint());
        assert_ne!(one.fingerprint(), with(&["b"]).unwrap().fingerprint());
        assert_ne!(list.fingerprint(), with(&["a"]).unwrap().fingerprint());
        assert_eq!(with(&[]).unwrap().fingerprint(), list.fingerprint());
        assert_eq!(with(&["d"]), None, "no member");
        assert_eq!(with(&["a", "b", "c"]), None, "nobody could lead");
    }

    #[test]
    fn a_quorum_is_more_than_half() {
        let sizes = [(1, 1), (2, 2), (3, 2), (4, 3), (5, 3), (6, 4), (7, 4)];
        for (count, quorum) in sizes {
            let ids = (0..count).map(|n| std::format!("n{n}")).collect::<Vec<_>>();
            let ids = ids.iter().map(|id| NodeId::new(id).unwrap()).collect::<Vec<_>>();
            let me = ids[0].clone();
            assert_eq!(Members::new(ids, &me).unwrap().quorum(), quorum, "N = {count}");
        }
    }
}
