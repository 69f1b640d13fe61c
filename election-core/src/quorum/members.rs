//! The voters: a fixed list, the same on every node.

use crate::NodeId;
use alloc::sync::Arc;

/// A member, as its place in the list sorted by id. So comparing two peers compares their ids byte
/// by byte, and the lower id wins a tie.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Peer(u8);

impl Peer {
    /// The member at this place.
    #[must_use]
    pub const fn new(place: u8) -> Self {
        Self(place)
    }

    /// The place, for indexing.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A set of members, with one bit for the place of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct PeerSet(u64);

impl PeerSet {
    /// The set with these bits; the lowest bit stands for the first place.
    #[must_use]
    pub const fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    /// The bits.
    #[must_use]
    pub const fn bits(self) -> u64 {
        self.0
    }

    /// Whether a member is in it.
    #[must_use]
    pub const fn contains(self, peer: Peer) -> bool {
        peer.index() < 64 && self.0 & (1 << peer.index()) != 0
    }
}

/// A number that two nodes share exactly if they have the same list of members.
///
/// If lists differ between nodes, two majorities may have no common member: two members of an old
/// list of three, and the other three members of a new list of five.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fingerprint(u64);

impl Fingerprint {
    /// The fingerprint with this number.
    #[must_use]
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// The number.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }
}

/// The members of a cluster in the order of their ids, and which of them this node is. Cheap to
/// clone.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Members {
    ids: Arc<[NodeId]>,
    me: Peer,
}

impl Members {
    /// The largest number of members. Every member talks to every other.
    pub const MOST: usize = 63;

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
        Some(Self { ids: ids.into(), me: Peer(u8::try_from(place).ok()?) })
    }

    /// This node.
    #[must_use]
    pub fn me(&self) -> Peer {
        self.me
    }

    /// The number of members, this node included.
    #[must_use]
    pub fn count(&self) -> usize {
        self.ids.len()
    }

    /// The number of votes that make a majority: `N/2 + 1`.
    #[must_use]
    pub fn quorum(&self) -> usize {
        self.ids.len() / 2 + 1
    }

    /// The id of a member; `None` for a place that the list does not have.
    #[must_use]
    pub fn id(&self, peer: Peer) -> Option<&NodeId> {
        self.ids.get(peer.index())
    }

    /// The member with this id, compared byte by byte.
    #[must_use]
    pub fn find(&self, id: &str) -> Option<Peer> {
        let place = self.ids.binary_search_by(|member| member.as_str().cmp(id)).ok()?;
        u8::try_from(place).ok().map(Peer)
    }

    /// Every member but this node, in order.
    pub fn others(&self) -> impl Iterator<Item = Peer> + use<> {
        let me = self.me;
        (0..u8::try_from(self.ids.len()).unwrap_or(u8::MAX))
            .map(Peer)
            .filter(move |peer| *peer != me)
    }

    /// The fingerprint of the list, in whatever order it was given: 64-bit FNV-1a over the sorted
    /// ids, each followed by a zero byte.
    #[must_use]
    pub fn fingerprint(&self) -> Fingerprint {
        let bytes = self.ids.iter().flat_map(|id| id.as_str().bytes().chain([0]));
        Fingerprint(bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        }))
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
        assert_eq!(members.me(), Peer(2));
        assert_eq!(members.others().map(Peer::index).collect::<Vec<_>>(), [0, 1, 3]);
        assert_eq!(members.find("nobody"), None);
    }

    #[test]
    fn lists_that_cannot_be_are_refused() {
        assert_eq!(members(&["a", "b"], "c"), None);
        assert_eq!(members(&["a", "a"], "a"), None);
        assert_eq!(members(&[], "a"), None);
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
