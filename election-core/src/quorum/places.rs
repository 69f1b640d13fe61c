//! The vocabulary of lists of members: places, sets of them, and lists.

/// A member, as its place. The places of a cluster's first list are in the order of the ids; a member
/// that joins later gets a free one, and keeps it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Peer(u8);

impl Peer {
    /// A place that no list has.
    pub(super) const NOBODY: Self = Self(u8::MAX);

    /// The member at this place.
    #[must_use]
    pub const fn new(place: u8) -> Self {
        Self(place)
    }

    /// The place.
    #[must_use]
    pub const fn place(self) -> u8 {
        self.0
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

    /// The number of members in it.
    #[must_use]
    pub fn count(self) -> usize {
        usize::try_from(self.0.count_ones()).unwrap_or(usize::MAX)
    }

    /// The members in it, in order.
    pub fn members(self) -> impl Iterator<Item = Peer> {
        let mut rest = self.0;
        core::iter::from_fn(move || {
            let lowest = rest.trailing_zeros();
            rest &= rest.wrapping_sub(1);
            u8::try_from(lowest).ok().filter(|place| *place < 64).map(Peer)
        })
    }

    /// Whether a member is in it.
    #[must_use]
    pub const fn contains(self, peer: Peer) -> bool {
        peer.index() < 64 && self.0 & (1 << peer.index()) != 0
    }

    /// The set with this member.
    #[must_use]
    pub const fn with(self, peer: Peer) -> Self {
        Self(self.0 | 1 << (peer.index() & 63))
    }

    /// The set without this member.
    #[must_use]
    pub const fn without(self, peer: Peer) -> Self {
        Self(self.0 & !(1 << (peer.index() & 63)))
    }

    /// The members that both sets have.
    #[must_use]
    pub const fn intersection(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}

/// A number that two nodes share exactly if they have the same list of members, the same `down_after`
/// and the same name of the cluster.
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

/// One list of members, by their places in a [`Membership`](super::Membership).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MemberList {
    /// How many lists came before it.
    pub generation: u64,
    /// Who is a member, and so votes.
    pub voters: PeerSet,
    /// Which of them are witnesses.
    pub witnesses: PeerSet,
}

impl MemberList {
    /// The number of votes that make a majority: `N/2 + 1`.
    #[must_use]
    pub fn quorum(&self) -> usize {
        self.voters.count() / 2 + 1
    }

    /// Whether these nodes are a majority of it.
    #[must_use]
    pub fn is_majority(&self, nodes: PeerSet) -> bool {
        nodes.intersection(self.voters).count() >= self.quorum()
    }

    /// The member that one of two lists has and the other has not.
    pub(super) fn changed_from(&self, parent: &Self) -> PeerSet {
        PeerSet::from_bits(self.voters.bits() ^ parent.voters.bits())
    }

    /// Whether it may come after `parent`: it has one member more or less, and everybody else has the
    /// role of before.
    pub(super) fn follows(&self, parent: &Self) -> bool {
        let changed = self.changed_from(parent);
        let common = self.voters.intersection(parent.voters);
        self.generation == parent.generation + 1
            && changed.count() == 1
            && self.witnesses.intersection(common) == parent.witnesses.intersection(common)
            && self.is_whole()
    }

    /// Whether it has a member that could lead, and no witness that is no member.
    pub(super) fn is_whole(&self) -> bool {
        let witnesses = self.witnesses.bits();
        witnesses & !self.voters.bits() == 0 && self.voters.bits() & !witnesses != 0
    }
}
