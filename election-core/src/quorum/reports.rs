//! What is owed to those who listen: who leads, and what is wrong. Recomputed from the state, so
//! that a step which has something else to tell loses nothing.

use super::{machine::Quorum, members::Peer, peers::Mask, peers::bit, reign::Reign};
use crate::{Change, Epoch, Fault, NodeId, Term};

/// Which leadership was published last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Announced {
    /// Nothing yet.
    Nothing,
    /// Nobody leads.
    Vacant,
    /// This member leads under this term; the last says whether its label was known.
    Followed(Peer, Epoch, bool),
    /// This node leads.
    Own,
}

/// A fault per member: which is there, and which has been told.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub(super) struct Level {
    there: Mask,
    told: Mask,
}

impl Level {
    fn set(&mut self, peer: Peer, there: bool) {
        if there {
            self.there |= bit(peer);
        } else {
            self.there &= !bit(peer);
            self.told &= !bit(peer);
        }
    }

    fn is_owed(&self) -> bool {
        self.there & !self.told != 0
    }

    fn owed(&self) -> Option<Peer> {
        let place = (self.there & !self.told).trailing_zeros();
        u8::try_from(place).ok().filter(|place| *place < 64).map(Peer::new)
    }

    fn tell(&mut self) -> Option<Peer> {
        let peer = self.owed()?;
        self.told |= bit(peer);
        Some(peer)
    }
}

/// What is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Reports {
    duplicate: Level,
    differs: Level,
    jump: Level,
    /// The epoch of the last jump.
    jumped_to: Epoch,
    /// Two that claim one epoch, and whether it has been told.
    two_primaries: Option<(Epoch, [Peer; 2], bool)>,
    best_effort: bool,
    best_effort_told: bool,
    save_failed: Option<(Epoch, bool)>,
    catch_up: Option<(Peer, bool)>,
    /// How many peers were to be heard, and whether it has been told.
    ballot_missing: Option<(usize, bool)>,
    /// Why this node does not vote, to be told once.
    pub(super) standing: Option<Fault>,
    /// Something has changed since nothing was owed: almost always nothing has, and a step need not
    /// look at all of the above.
    stirred: bool,
}

impl Reports {
    pub(super) fn new(standing: Option<Fault>) -> Self {
        Self {
            duplicate: Level::default(),
            differs: Level::default(),
            jump: Level::default(),
            jumped_to: Epoch::NONE,
            two_primaries: None,
            best_effort: false,
            best_effort_told: false,
            save_failed: None,
            catch_up: None,
            ballot_missing: None,
            stirred: standing.is_some(),
            standing,
        }
    }

    /// Two lives of a peer are heard at once.
    pub(super) fn duplicate(&mut self, peer: Peer) {
        self.stirred = true;
        self.duplicate.set(peer, true);
    }

    /// A peer has named an epoch too far ahead.
    pub(super) fn jump(&mut self, peer: Peer, to: Epoch) {
        self.stirred = true;
        self.jumped_to = to;
        self.jump.set(peer, true);
    }

    /// A peer's frame was as it should be.
    #[inline]
    pub(super) fn sound(&mut self, peer: Peer) {
        if (self.duplicate.there | self.jump.there) & bit(peer) != 0 {
            self.duplicate.set(peer, false);
            self.jump.set(peer, false);
        }
    }

    /// Whether a peer was given another list of members.
    #[inline]
    pub(super) fn differs(&mut self, peer: Peer, differs: bool) {
        if differs != (self.differs.there & bit(peer) != 0) {
            self.stirred = true;
            self.differs.set(peer, differs);
        }
    }

    pub(super) fn two_primaries(&mut self, epoch: Epoch, one: Peer, other: Peer) {
        self.stirred = true;
        if self.two_primaries.is_none_or(|(known, ..)| known != epoch) {
            self.two_primaries = Some((epoch, [one, other], false));
        }
    }

    pub(super) fn best_effort(&mut self, begins: bool) {
        self.stirred = true;
        self.best_effort = begins;
    }

    pub(super) fn is_best_effort(&self) -> bool {
        self.best_effort
    }

    pub(super) fn save_failed(&mut self, epoch: Epoch) {
        self.stirred = true;
        if self.save_failed.is_none() {
            self.save_failed = Some((epoch, false));
        }
    }

    pub(super) fn saved(&mut self) {
        self.save_failed = None;
    }

    pub(super) fn catch_up(&mut self, from: Option<Peer>) {
        let known = self.catch_up.map(|(peer, _)| peer);
        if known != from {
            self.stirred = true;
            self.catch_up = from.map(|peer| (peer, false));
        }
    }

    /// Told once, not again for every peer that is heard.
    pub(super) fn ballot_missing(&mut self, needed: Option<usize>) {
        if self.ballot_missing.is_some() != needed.is_some() {
            self.stirred = true;
            self.ballot_missing = needed.map(|needed| (needed, false));
        }
    }

    #[inline]
    pub(super) fn is_quiet(&self) -> bool {
        !self.stirred || self.owes_nothing()
    }

    /// Whether something is owed; if not, nothing need be looked at until something stirs.
    #[inline]
    pub(super) fn stirs(&mut self) -> bool {
        if self.stirred {
            self.stirred = !self.owes_nothing();
        }
        self.stirred
    }

    fn owes_nothing(&self) -> bool {
        !self.duplicate.is_owed()
            && !self.differs.is_owed()
            && !self.jump.is_owed()
            && self.best_effort == self.best_effort_told
            && self.standing.is_none()
            && self.two_primaries.is_none_or(|(.., told)| told)
            && self.save_failed.is_none_or(|(_, told)| told)
            && self.catch_up.is_none_or(|(_, told)| told)
            && self.ballot_missing.is_none_or(|(_, told)| told)
    }
}

impl Quorum {
    /// Whether something is to be told that has not been.
    pub(super) fn owes_change(&self) -> bool {
        self.owed_announcement().is_some() || !self.reports.is_quiet()
    }

    /// What is owed to those who listen, if this step has not told them anything yet.
    pub(super) fn owed_change(&mut self) -> Option<Change> {
        if let Some(owed) = self.owed_announcement() {
            self.announced = owed;
            return Some(match self.followed() {
                Some((term, label)) => Change::Followed { term, label },
                None => Change::Vacant,
            });
        }
        if !self.reports.stirs() {
            return None;
        }
        self.owed_fault().map(Change::Fault)
    }

    fn owed_announcement(&self) -> Option<Announced> {
        if matches!(self.reign, Reign::Leading(_)) {
            return None;
        }
        let owed = match &self.following {
            Some(followed) => {
                Announced::Followed(followed.primary, followed.term, followed.label.is_some())
            }
            None if self.announced == Announced::Nothing && !self.boot.is_over() => return None,
            None => Announced::Vacant,
        };
        (owed != self.announced).then_some(owed)
    }

    fn owed_fault(&mut self) -> Option<Fault> {
        if let Some(fault) = self.reports.standing.take() {
            return Some(fault);
        }
        if let Some(peer) = self.reports.duplicate.tell() {
            return Some(Fault::DuplicateId { node: self.name(peer)? });
        }
        if let Some((epoch, nodes, told)) = &mut self.reports.two_primaries {
            if !core::mem::replace(told, true) {
                let (epoch, [one, other]) = (*epoch, *nodes);
                return Some(Fault::TwoPrimaries {
                    epoch,
                    nodes: [self.name(one)?, self.name(other)?],
                });
            }
        }
        if let Some((epoch, told)) = &mut self.reports.save_failed {
            if !core::mem::replace(told, true) {
                return Some(Fault::SaveFailed { epoch: *epoch });
            }
        }
        if let Some(peer) = self.reports.differs.tell() {
            return Some(Fault::MembersDiffer { node: self.name(peer)? });
        }
        if let Some(peer) = self.reports.jump.tell() {
            let epoch = self.reports.jumped_to;
            return Some(Fault::EpochJump { node: self.name(peer)?, epoch });
        }
        if self.reports.best_effort != self.reports.best_effort_told {
            self.reports.best_effort_told = self.reports.best_effort;
            return Some(Fault::BestEffort { begins: self.reports.best_effort });
        }
        if let Some((needed, told)) = &mut self.reports.ballot_missing {
            if !core::mem::replace(told, true) {
                return Some(Fault::BallotMissing { needed: *needed });
            }
        }
        let (peer, told) = self.reports.catch_up.as_mut()?;
        if core::mem::replace(told, true) {
            return None;
        }
        let peer = *peer;
        Some(Fault::CatchUp { from: self.name(peer)? })
    }

    pub(super) fn name(&self, peer: Peer) -> Option<NodeId> {
        self.config.members().id(peer).cloned()
    }

    pub(super) fn term(&self, epoch: Epoch, leader: Peer) -> Option<Term> {
        Some(Term { epoch, leader: self.name(leader)? })
    }
}
