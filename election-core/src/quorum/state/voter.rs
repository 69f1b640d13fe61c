//! This node as a voter: what it is bound to, and whether that is durable.

use crate::{
    Epoch, Incarnation, Timestamp,
    quorum::{
        ballot::Ballot,
        maintenance::{Maintenance, Remainder},
        members::Members,
        membership::Membership,
        message::Stamp,
        places::{Fingerprint, Peer},
        position::Position,
        state::peers::{Mask, bit},
    },
};

/// What the node's ballot file held when the node started.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[allow(clippy::large_enum_variant)] // there is one, at a start
pub enum Restored {
    /// Nothing: a first start, or a wiped disk. The two look alike, so the node learns from the
    /// others what it may have promised before it votes.
    Nothing,
    /// The last ballot.
    Ballot(Ballot),
    /// A ballot that cannot be read. The node follows and never votes: it does not know what it has
    /// promised, and the others may rely on it.
    Unusable,
}

/// Whether this node may vote at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Eligibility {
    /// It may.
    Eligible,
    /// Its ballot cannot be read.
    BallotUnusable,
    /// Its ballot was written under another list of members.
    MembersChanged,
}

/// The state of saving the ballot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Disk {
    /// No save is outstanding.
    Idle,
    /// The ballot is being saved.
    Saving,
    /// The last save failed and will be repeated after a while.
    Failed,
}

/// A promise that waits for the ballot to be durable: support, and the vote that announces it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Pledge {
    pub(crate) node: Peer,
    pub(crate) stamp: Option<Stamp>,
    /// When the frame that asked for it came in. Support counts from here.
    pub(crate) received: Timestamp,
    /// It is a vote, and the candidate is waiting for it.
    pub(crate) vote: bool,
}

/// The ballot in memory. It binds from the step that asks to save it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Voter {
    pub(crate) promised: Epoch,
    /// Outside a candidacy, a vote for this node itself means that the vote is spent.
    pub(crate) voted_for: Option<Peer>,
    pub(crate) eligibility: Eligibility,
    pub(crate) pledge: Option<Pledge>,
    pub(crate) disk: Disk,
    /// The promise or the vote is not known to be durable, and no save of it is outstanding.
    unsaved: bool,
    /// The same for any part of the ballot.
    outdated: bool,
    /// The save that is outstanding, or has failed, is of a new promise or vote.
    binding: bool,
}

impl Voter {
    pub(crate) fn new(members: &Members, new_peers: bool, restored: &Restored) -> Self {
        let mut voter = Self {
            promised: Epoch::NONE,
            voted_for: None,
            eligibility: Eligibility::Eligible,
            pledge: None,
            disk: Disk::Idle,
            unsaved: false,
            outdated: false,
            binding: false,
        };
        match restored {
            Restored::Nothing => {}
            Restored::Unusable => voter.eligibility = Eligibility::BallotUnusable,
            Restored::Ballot(ballot) => {
                voter.promised = ballot.promised;
                voter.voted_for = ballot.voted_for.as_ref().map(|id| {
                    // If the voted-for node is no longer a member, nobody else may get that vote.
                    members.find(id.as_str()).unwrap_or(members.me())
                });
                if ballot.members != members.fingerprint() {
                    (voter.unsaved, voter.outdated) = (new_peers, new_peers);
                    if !new_peers {
                        voter.eligibility = Eligibility::MembersChanged;
                    }
                }
            }
        }
        voter
    }

    /// Whether what is bound in memory would survive a crash. While another part of the ballot is
    /// saved, it would: the promise and the vote are the same in the old record and the new one.
    pub(crate) fn is_durable(&self) -> bool {
        !(self.unsaved || self.binding && self.disk == Disk::Saving)
    }

    /// Whether this node can bind itself anew: nothing it promised before waits for the disk.
    pub(crate) fn may_bind(&self) -> bool {
        self.is_durable() && !self.is_saving()
    }

    /// Whether a save is outstanding.
    pub(crate) fn is_saving(&self) -> bool {
        self.disk == Disk::Saving
    }

    /// Binds this node, unless a save is outstanding: then the ballot must not change.
    pub(crate) fn bind(&mut self, epoch: Epoch, vote: Option<Peer>) -> bool {
        if self.disk == Disk::Saving {
            return false;
        }
        self.promised = epoch;
        self.voted_for = vote;
        (self.unsaved, self.outdated) = (true, true);
        self.pledge = None;
        true
    }

    /// Whether this node's vote in the epoch that it is bound to is this node's.
    pub(crate) fn has_voted_for(&self, node: Peer, epoch: Epoch) -> bool {
        epoch == self.promised && self.voted_for == Some(node)
    }

    /// Supports a primary. If there was no vote in its epoch, that is it: so a later life knows whom
    /// this one supported. Nothing waits for the disk, because that election is over.
    pub(crate) fn supports(&mut self, primary: Peer, epoch: Epoch) {
        if epoch == self.promised && self.voted_for.is_none() {
            self.voted_for = Some(primary);
            self.renew();
        }
    }

    /// Places have other members than before, except these. A vote for whoever is gone is spent.
    pub(crate) fn spend_vote_unless(&mut self, kept: Mask, me: Peer) {
        self.voted_for =
            self.voted_for.map(|voted| if kept & bit(voted) == 0 { me } else { voted });
        self.pledge.take_if(|pledge| kept & bit(pledge.node) == 0);
    }

    /// Support, or a vote, that waits for the ballot.
    pub(crate) fn pledge(&mut self, pledge: Pledge) {
        self.pledge = Some(pledge);
    }

    pub(crate) fn take_pledge(&mut self) -> Option<Pledge> {
        self.pledge.take()
    }

    /// A node says that it neither leads nor asks for votes any more, in a frame that is not older
    /// than the one that asked for the pledge.
    pub(crate) fn take_back(&mut self, from: Peer, stamp: Option<&Stamp>) {
        let precedes = |known: Stamp| stamp.is_some_and(|stamp| stamp.at < known.at);
        self.pledge.take_if(|pledge| {
            pledge.node == from && pledge.stamp.is_none_or(|known| !precedes(known))
        });
    }

    /// Another part of the ballot has changed. A node that does not vote leaves its ballot as it is:
    /// the operator needs it.
    pub(crate) fn renew(&mut self) {
        self.outdated |= self.eligibility == Eligibility::Eligible;
    }

    /// Whether to save the ballot now; `retry` says whether a failed save may be repeated.
    pub(crate) fn wants_saving(&self, retry: impl FnOnce() -> bool) -> bool {
        self.outdated
            && match self.disk {
                Disk::Idle => true,
                Disk::Saving => false,
                Disk::Failed => retry(),
            }
    }

    /// The ballot to save now.
    pub(crate) fn save(
        &mut self,
        members: &Members,
        incarnation: Incarnation,
        floor: Position,
        (maintenance, pause): (Maintenance, Option<Remainder>),
        lists: Membership,
    ) -> Ballot {
        self.disk = Disk::Saving;
        self.binding = self.unsaved;
        (self.unsaved, self.outdated) = (false, false);
        let next = members.clone().with_list(lists.ids.clone(), lists.origin, lists.established);
        // A vote for whoever has no place any more, or whose place another gets, is spent.
        let own = members.id(members.me());
        let stays = |peer| members.id(peer).filter(|id| next.id(peer) == Some(id));
        let voted_for = self.voted_for.and_then(|peer| stays(peer).or(own)).cloned();
        let fingerprint: Fingerprint = next.fingerprint();
        Ballot {
            promised: self.promised,
            voted_for,
            incarnation,
            members: fingerprint,
            lists,
            floor,
            maintenance,
            pause,
        }
    }

    /// The ballot is durable. Returns false if nobody waited for that.
    pub(crate) fn saved(&mut self, epoch: Epoch) -> bool {
        let awaited = self.disk == Disk::Saving && epoch == self.promised;
        if awaited {
            self.disk = Disk::Idle;
        }
        awaited
    }

    /// The ballot may or may not be durable. It still binds, and is saved again.
    pub(crate) fn save_failed(&mut self, epoch: Epoch) -> bool {
        let awaited = self.disk == Disk::Saving && epoch == self.promised;
        if awaited {
            self.disk = Disk::Failed;
            self.unsaved |= self.binding;
            self.outdated = true;
        }
        awaited
    }
}
