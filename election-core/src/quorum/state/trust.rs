//! How long a majority is sure to support nobody else: the order statistic behind every tenure.

use crate::{
    Timestamp,
    quorum::{
        members::Members,
        places::Peer,
        state::peers::{Mask, bit, members_of},
    },
};
use alloc::boxed::Box;

/// When this node sent the frame that each peer last vouched for, by this node's clock.
///
/// A peer that vouches for a frame supports its sender for `down_after` from *receiving* the frame,
/// and it cannot receive before the sender sends. So trust may count from sending, however late the
/// echo comes. (When trust counted from receipt, it overlapped by the delay of the frames.)
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Trust {
    /// [`Timestamp::ZERO`] means "never". This node's own place stays empty.
    pub(crate) anchors: Box<[Timestamp]>,
    /// The other voters, and how many of them make a majority together with this node.
    others: Mask,
    needed: usize,
    /// The `needed`-th newest anchor: a majority vouches for this instant.
    pub(crate) majority: Timestamp,
}

impl Trust {
    pub(crate) fn new(members: &Members) -> Self {
        let anchors = alloc::vec![Timestamp::ZERO; members.places()].into();
        let mut trust = Self { anchors, others: 0, needed: 0, majority: Timestamp::ZERO };
        trust.go_by(members, 0);
        trust
    }

    /// Another list of members counts, in which only these have the places that they had.
    pub(crate) fn go_by(&mut self, members: &Members, kept: Mask) {
        let anchor = |peer: Peer| self.anchors.get(peer.index()).filter(|_| kept & bit(peer) != 0);
        let places = (0..).map(Peer::new).take(members.places());
        let anchors = places.map(|peer| anchor(peer).copied().unwrap_or(Timestamp::ZERO));
        self.anchors = anchors.collect();
        self.others = members.list().voters.without(members.me()).bits();
        self.needed = members.quorum() - usize::from(members.is_voter(members.me()));
        self.majority = self.newest_of(self.others, self.needed);
    }

    /// Forgets what all peers vouched for.
    pub(crate) fn forget(&mut self) {
        self.anchors.fill(Timestamp::ZERO);
        self.majority = if self.needed == 0 { Timestamp::MAX } else { Timestamp::ZERO };
    }

    /// A peer vouches for a frame sent at `sent`.
    pub(crate) fn vouch(&mut self, peer: Peer, sent: Timestamp) {
        let Some(anchor) = self.anchors.get_mut(peer.index()) else { return };
        if sent <= *anchor {
            return;
        }
        *anchor = sent;
        if sent > self.majority && self.others & bit(peer) != 0 {
            self.advance();
        }
    }

    /// An anchor has passed the majority's. Fewer than needed were newer before. If as many as
    /// needed are newer now, the oldest of these is the majority's.
    fn advance(&mut self) {
        let (mut newer, mut oldest) = (0, Timestamp::MAX);
        for anchor in self.anchors_of(self.others).filter(|anchor| *anchor > self.majority) {
            newer += 1;
            oldest = oldest.min(anchor);
        }
        if newer >= self.needed {
            self.majority = oldest;
        }
    }

    /// The end of trust that lasts `window` nanoseconds from sending. Unlimited if this node alone
    /// is a majority.
    pub(crate) fn until(&self, window: u64) -> Timestamp {
        match self.majority {
            Timestamp::ZERO | Timestamp::MAX => self.majority,
            majority => majority.after(window),
        }
    }

    fn anchors_of(&self, peers: Mask) -> impl Iterator<Item = Timestamp> {
        members_of(peers).filter_map(|peer| self.anchors.get(peer.index()).copied())
    }

    /// The newest instant that so many of these peers vouch for.
    pub(crate) fn newest_of(&self, peers: Mask, needed: usize) -> Timestamp {
        if needed == 0 {
            return Timestamp::MAX;
        }
        let as_new = |anchor: Timestamp| self.anchors_of(peers).filter(|it| *it >= anchor).count();
        let newest = self.anchors_of(peers).filter(|anchor| as_new(*anchor) >= needed).max();
        newest.unwrap_or(Timestamp::ZERO)
    }

    /// Takes the majority's anchor anew when all of them have moved.
    #[cfg(feature = "model-checking")]
    pub(crate) fn moved(&mut self) {
        self.majority = self.newest_of(self.others, self.needed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NodeId;

    fn members(count: usize) -> Members {
        let ids = (0..count).map(|place| NodeId::new(&std::format!("n{place}")).unwrap());
        Members::new(ids.collect(), &NodeId::new("n0").unwrap()).unwrap()
    }

    /// The peer that vouches, the instant, and the majority's instant after that.
    type Row = (u8, u64, u64);

    #[test]
    fn the_majority_is_as_new_as_its_oldest_member() {
        let tables: [(usize, &[Row]); 5] = [
            (4, &[(1, 9, 0), (2, 3, 3), (1, 4, 3), (2, 8, 8)]),
            (2, &[(1, 5, 5), (1, 3, 5), (1, 9, 9)]),
            (3, &[(1, 5, 5), (2, 3, 5), (2, 8, 8), (1, 7, 8)]),
            (4, &[(1, 5, 0), (2, 3, 3), (3, 4, 4), (2, 9, 5)]),
            (5, &[(1, 5, 0), (2, 3, 3), (3, 4, 4), (4, 9, 5), (1, 7, 7)]),
        ];
        for (count, steps) in tables {
            let mut trust = Trust::new(&members(count));
            for (peer, sent, majority) in steps {
                trust.vouch(Peer::new(*peer), Timestamp::from_nanos(*sent));
                assert_eq!(trust.majority.as_nanos(), *majority, "N = {count}, {steps:?}");
            }
            trust.forget();
            assert_eq!(trust.until(100), Timestamp::ZERO);
            for peer in 1..count {
                trust.vouch(Peer::new(u8::try_from(peer).unwrap()), Timestamp::from_nanos(1));
            }
            assert_eq!(trust.majority.as_nanos(), 1, "nothing of before is left");
        }
    }

    #[test]
    fn one_node_is_a_majority_for_ever() {
        assert_eq!(Trust::new(&members(1)).until(7), Timestamp::MAX);
    }
}
