//! This node as a voter: what it has bound itself to, and whether that is durable.

use super::{
    ballot::Ballot,
    members::{Fingerprint, Members, Peer},
    message::Stamp,
    position::Position,
};
use crate::{Epoch, Incarnation, Timestamp};

/// What was found where the ballot is kept, when the node started.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Restored {
    /// Nothing: the first start, or a disk that was wiped. The two cannot be told apart, so the
    /// node learns from the others what it may have promised before it votes.
    Nothing,
    /// The last ballot.
    Ballot(Ballot),
    /// Something that cannot be read. The node follows and never votes: nothing is known of what
    /// it has promised, and the others may be counting on it.
    Unusable,
}

/// Whether this node may vote at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Eligibility {
    /// It may.
    Eligible,
    /// Its ballot cannot be read.
    BallotUnusable,
    /// Its ballot was written under another list of members.
    MembersChanged,
}

/// What happens to the ballot outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Disk {
    /// Nothing.
    Idle,
    /// It is being saved.
    Saving,
    /// It could not be saved, and is tried again after a while.
    Failed,
}

/// What waits for the ballot to be durable: support, and the vote that announces it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Pledge {
    pub(super) node: Peer,
    pub(super) stamp: Option<Stamp>,
    /// When the frame came that asked for it: support counts from here.
    pub(super) received: Timestamp,
    /// It is a vote, to be answered.
    pub(super) vote: bool,
}

/// The ballot in memory, which binds from the moment at which its saving is asked for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Voter {
    pub(super) promised: Epoch,
    /// A vote for this node itself outside a candidacy is a vote that is spent.
    pub(super) voted_for: Option<Peer>,
    pub(super) eligibility: Eligibility,
    pub(super) pledge: Option<Pledge>,
    pub(super) disk: Disk,
    unsaved: bool,
}

impl Voter {
    pub(super) fn new(members: &Members, new_peers: bool, restored: &Restored) -> Self {
        let mut voter = Self {
            promised: Epoch::NONE,
            voted_for: None,
            eligibility: Eligibility::Eligible,
            pledge: None,
            disk: Disk::Idle,
            unsaved: false,
        };
        match restored {
            Restored::Nothing => {}
            Restored::Unusable => voter.eligibility = Eligibility::BallotUnusable,
            Restored::Ballot(ballot) => {
                voter.promised = ballot.promised;
                voter.voted_for = ballot.voted_for.as_ref().map(|id| {
                    // Whoever is no longer a member must not get another's vote instead.
                    members.find(id.as_str()).unwrap_or(members.me())
                });
                if ballot.members != members.fingerprint() {
                    voter.unsaved = new_peers;
                    if !new_peers {
                        voter.eligibility = Eligibility::MembersChanged;
                    }
                }
            }
        }
        voter
    }

    /// Whether what is bound in memory would survive a crash.
    pub(super) fn is_durable(&self) -> bool {
        !self.unsaved && self.disk == Disk::Idle
    }

    /// Binds this node, unless a save is outstanding: then what binds must not change.
    pub(super) fn bind(&mut self, epoch: Epoch, vote: Option<Peer>) -> bool {
        if self.disk == Disk::Saving {
            return false;
        }
        self.promised = epoch;
        self.voted_for = vote;
        self.unsaved = true;
        self.pledge = None;
        true
    }

    /// What the ballot says besides has changed.
    pub(super) fn renew(&mut self) {
        self.unsaved = true;
    }

    /// Whether the ballot should be saved now; `retry` says whether one that could not be may be
    /// tried again.
    pub(super) fn wants_saving(&self, retry: impl FnOnce() -> bool) -> bool {
        self.unsaved
            && match self.disk {
                Disk::Idle => true,
                Disk::Saving => false,
                Disk::Failed => retry(),
            }
    }

    /// The record to be saved now.
    pub(super) fn save(
        &mut self,
        members: &Members,
        incarnation: Incarnation,
        floor: Position,
    ) -> Ballot {
        self.disk = Disk::Saving;
        self.unsaved = false;
        let fingerprint: Fingerprint = members.fingerprint();
        Ballot {
            promised: self.promised,
            voted_for: self.voted_for.and_then(|peer| members.id(peer)).cloned(),
            incarnation,
            members: fingerprint,
            floor,
        }
    }

    /// The ballot is durable. False if nobody waited for that.
    pub(super) fn saved(&mut self, epoch: Epoch) -> bool {
        let awaited = self.disk == Disk::Saving && epoch == self.promised;
        if awaited {
            self.disk = Disk::Idle;
        }
        awaited
    }

    /// The ballot may or may not be durable: it goes on binding, and is saved again.
    pub(super) fn save_failed(&mut self, epoch: Epoch) -> bool {
        let awaited = self.disk == Disk::Saving && epoch == self.promised;
        if awaited {
            self.disk = Disk::Failed;
            self.unsaved = true;
        }
        awaited
    }
}
