//! The lists of members: what is recorded, and what is to be.

use crate::{
    Epoch,
    quorum::{
        members::Members,
        membership::Membership,
        places::{Fingerprint, Peer},
        position::Position,
        state::peers::{Mask, bit, members_of},
    },
};

/// The lists that this node goes by, which its disk has, and those that it is about to record.
///
/// Nothing counts before it is durable: a node that has forgotten a list could help a majority of the one
/// before.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Lists {
    recorded: Membership,
    /// What the next ballot says, until that is durable; and what the one says that is being saved.
    next: Option<Membership>,
    saving: Option<Membership>,
    /// The newest list that voters have told to have accepted, since this node asked for their votes
    /// or has lost its own ballot.
    pub(crate) learned: Option<Membership>,
    /// How far this primary's data had come when it proposed the next list. Whoever has less may not
    /// be counted on for what was acknowledged under the old one.
    pub(crate) proposed_at: Position,
    /// The peers that are still to get the lists, since the last heartbeat.
    owed: Mask,
    /// A later list has no place for this node.
    pub(crate) removed: bool,
}

impl Lists {
    pub(crate) fn new(recorded: Membership) -> Self {
        Self {
            recorded,
            next: None,
            saving: None,
            learned: None,
            proposed_at: Position::default(),
            owed: 0,
            removed: false,
        }
    }

    /// The lists that count.
    pub(crate) fn recorded(&self) -> &Membership {
        &self.recorded
    }

    /// Whether other lists are on their way to the disk.
    pub(crate) fn are_changing(&self) -> bool {
        self.next.is_some() || self.saving.is_some()
    }

    /// The next ballot says this.
    pub(crate) fn record(&mut self, lists: Membership) {
        self.next = Some(lists);
    }

    /// The ballot is being saved. Returns the lists that belong into it.
    pub(crate) fn save(&mut self) -> Membership {
        if let Some(next) = self.next.take() {
            self.saving = Some(next);
        }
        self.saving.as_ref().unwrap_or(&self.recorded).clone()
    }

    /// The ballot has been saved. Returns the lists that count from now on, if they have changed.
    pub(crate) fn saved(&mut self) -> Option<Membership> {
        self.saving.take()
    }

    /// These lists count from now on.
    pub(crate) fn count_by(&mut self, lists: Membership) {
        self.recorded = lists;
    }

    /// Whether this is the fingerprint of one of these lists.
    pub(crate) fn know(&self, list: Fingerprint, members: &Members) -> bool {
        let Membership { ids, origin, .. } = &self.recorded;
        let of = |known| members.clone().with_list(ids.clone(), *origin, known).fingerprint();
        self.recorded.lists().any(|known| of(*known) == list)
    }

    /// The newest list that is known to have been accepted, and that the next primary goes on with.
    pub(crate) fn newest_accepted(&self) -> Option<&Membership> {
        let epoch = |lists: &Membership| lists.accepted.map(|(epoch, _)| epoch);
        let known = self.learned.iter().chain(core::iter::once(&self.recorded));
        known.filter(|lists| epoch(lists).is_some()).max_by_key(|lists| epoch(lists))
    }

    /// Whether what a voter says to have accepted may count: no list, or none newer than those known.
    pub(crate) fn knows(&self, accepted: Option<(Epoch, Fingerprint)>) -> bool {
        let newest = self.newest_accepted().and_then(|lists| lists.accepted);
        accepted.map(|(epoch, _)| epoch) <= newest.map(|(epoch, _)| epoch)
    }

    /// Takes in what a voter has accepted.
    pub(crate) fn learn(&mut self, lists: &Membership) {
        let is_news = !self.knows(lists.accepted.map(|(epoch, _)| (epoch, Fingerprint::new(0))));
        if is_news {
            self.learned = Some(lists.clone());
        }
    }

    /// These peers are to get the lists.
    pub(crate) fn owe(&mut self, peers: Mask) {
        self.owed |= peers;
    }

    pub(crate) fn owed(&self) -> Mask {
        self.owed
    }

    /// The next peer that is to get the lists.
    pub(crate) fn take_owed(&mut self) -> Option<Peer> {
        let to = members_of(self.owed).next()?;
        self.owed &= !bit(to);
        Some(to)
    }

    /// This peer is to get them now.
    pub(crate) fn take_owed_to(&mut self, peer: Peer) -> bool {
        let owed = self.owed & bit(peer) != 0;
        self.owed &= !bit(peer);
        owed
    }
}
