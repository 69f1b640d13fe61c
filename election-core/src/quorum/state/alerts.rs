//! The alerts: which conditions hold, and which have been reported. They are recomputed from the
//! state, so that a step with something else to report loses none.

use crate::{
    Alert, Epoch,
    quorum::{
        maintenance::{Maintenance, UnixMillis},
        members::Members,
        places::Peer,
        state::peers::{Mask, bit, members_of},
    },
};
use core::{
    hash::{Hash, Hasher},
    time::Duration,
};

/// The leadership that was published last, unless it is this node's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Published {
    /// Nothing yet.
    Nothing,
    /// Nobody leads.
    Vacant,
    /// This member leads under this epoch; the flag says whether its label was known.
    Followed(Peer, Epoch, bool),
}

impl Published {
    /// Nobody else leads: this node has won.
    pub(crate) fn own(&mut self) {
        *self = Self::Vacant;
    }

    /// This member leads in place of this node.
    pub(crate) fn replaced(&mut self, by: Peer, token: Epoch) {
        *self = Self::Followed(by, token, false);
    }

    /// The primary's label is another one.
    pub(crate) fn relabelled(&mut self) {
        *self = Self::Nothing;
    }

    pub(crate) fn tell(&mut self, owed: Self) {
        *self = owed;
    }
}

/// A pause of automatic failover: who took the order, and what is left of it if it ends by itself.
#[derive(Clone, Copy, Debug, Eq)]
struct Pause {
    by: Peer,
    since: Option<UnixMillis>,
    left: Option<Duration>,
}

impl Pause {
    /// What tells it from another order. It is the same, however much is left of it.
    fn order(&self) -> (Peer, Option<UnixMillis>, bool) {
        (self.by, self.since, self.left.is_some())
    }
}

impl PartialEq for Pause {
    fn eq(&self, other: &Self) -> bool {
        self.order() == other.order()
    }
}

impl Hash for Pause {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.order().hash(state);
    }
}

/// An alert per member: for which members it holds, and for which it has been reported.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub(crate) struct Level {
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

    fn tell(&mut self) -> Option<Peer> {
        let peer = members_of(self.there & !self.told).next()?;
        self.told |= bit(peer);
        Some(peer)
    }
}

/// All alerts.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Alerts {
    duplicate: Level,
    differs: Level,
    jump: Level,
    /// The epoch of the last jump.
    jumped_to: Epoch,
    /// Two members that claim one epoch, and whether it has been reported.
    two_primaries: Option<(Epoch, [Peer; 2], bool)>,
    best_effort: bool,
    best_effort_told: bool,
    save_failed: Option<(Epoch, bool)>,
    catch_up: Option<(Peer, bool)>,
    /// How many of which peers were missing, and whether it has been reported.
    ballot_missing: Option<(usize, Mask, bool)>,
    /// The position is unknown, and whether this has been reported.
    position_unknown: Option<bool>,
    /// The member that cannot take the leadership over now, and whether it is heard.
    hand_over: Option<(Peer, bool)>,
    /// The pause that holds, and the one that was reported last.
    paused: Option<Pause>,
    paused_told: Option<Pause>,
    /// How many members would have taken an order, and how many must.
    maintenance: Option<(usize, usize)>,
    /// Why this node does not vote, to be reported once.
    pub(crate) ineligible: Option<Alert>,
}

impl Alerts {
    pub(crate) fn new(ineligible: Option<Alert>) -> Self {
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
            position_unknown: None,
            hand_over: None,
            paused: None,
            paused_told: None,
            maintenance: None,
            ineligible,
        }
    }

    /// Two lives of a peer are heard at once.
    pub(crate) fn duplicate(&mut self, peer: Peer) {
        self.duplicate.set(peer, true);
    }

    /// A peer has named an epoch too far ahead.
    pub(crate) fn jump(&mut self, peer: Peer, to: Epoch) {
        self.jumped_to = to;
        self.jump.set(peer, true);
    }

    /// A frame of this peer was in order.
    pub(crate) fn sound(&mut self, peer: Peer) {
        self.duplicate.set(peer, false);
        self.jump.set(peer, false);
    }

    /// Whether a peer was given another list of members.
    pub(crate) fn differs(&mut self, peer: Peer, differs: bool) {
        self.differs.set(peer, differs);
    }

    pub(crate) fn two_primaries(&mut self, epoch: Epoch, one: Peer, other: Peer) {
        if self.two_primaries.is_none_or(|(known, ..)| known != epoch) {
            self.two_primaries = Some((epoch, [one, other], false));
        }
    }

    pub(crate) fn best_effort(&mut self, begins: bool) {
        self.best_effort = begins;
    }

    pub(crate) fn save_failed(&mut self, epoch: Epoch) {
        if self.save_failed.is_none() {
            self.save_failed = Some((epoch, false));
        }
    }

    pub(crate) fn saved(&mut self) {
        self.save_failed = None;
    }

    pub(crate) fn catch_up(&mut self, from: Option<Peer>) {
        let known = self.catch_up.map(|(peer, _)| peer);
        if known != from {
            self.catch_up = from.map(|peer| (peer, false));
        }
    }

    #[inline]
    pub(crate) fn position_unknown(&mut self, lasts: bool) {
        if self.position_unknown.is_some() != lasts {
            self.position_unknown = lasts.then_some(false);
        }
    }

    pub(crate) fn hand_over_refused(&mut self, to: Peer, heard: bool) {
        self.hand_over = Some((to, heard));
    }

    #[inline]
    pub(crate) fn paused(&mut self, record: Option<(Maintenance, Option<Duration>)>) {
        let pause = record.map(|(record, left)| Pause { by: record.by, since: record.since, left });
        self.paused = pause;
    }

    pub(crate) fn maintenance_refused(&mut self, heard: usize, needed: usize) {
        self.maintenance = Some((heard, needed));
    }

    /// Reported once, not again for every peer that is heard.
    pub(crate) fn ballot_missing(&mut self, lacks: Option<(usize, Mask)>) {
        if self.ballot_missing.is_some() != lacks.is_some() {
            self.ballot_missing = lacks.map(|(needed, missing)| (needed, missing, false));
        }
    }

    /// The most important unreported alert, which then counts as reported.
    pub(crate) fn tell(&mut self, members: &Members) -> Option<Alert> {
        let name = |peer| members.id(peer).cloned();
        if let Some(alert) = self.ineligible.take() {
            return Some(alert);
        }
        if let Some((to, heard)) = self.hand_over.take() {
            return Some(Alert::HandOverRefused { to: name(to), heard });
        }
        if let Some((heard, needed)) = self.maintenance.take() {
            return Some(Alert::MaintenanceRefused { heard, needed });
        }
        if self.paused != self.paused_told {
            self.paused_told = self.paused;
            return Some(match self.paused {
                None => Alert::FailoverResumed,
                Some(Pause { by, left, .. }) => Alert::FailoverPaused { by: name(by)?, left },
            });
        }
        if let Some(peer) = self.duplicate.tell() {
            return Some(Alert::DuplicateId { node: name(peer)? });
        }
        if let Some((epoch, nodes, told)) = &mut self.two_primaries {
            if !core::mem::replace(told, true) {
                let (epoch, [one, other]) = (*epoch, *nodes);
                return Some(Alert::TwoPrimaries { epoch, nodes: [name(one)?, name(other)?] });
            }
        }
        if let Some((epoch, told)) = &mut self.save_failed {
            if !core::mem::replace(told, true) {
                return Some(Alert::SaveFailed { epoch: *epoch });
            }
        }
        if let Some(peer) = self.differs.tell() {
            return Some(Alert::MembersDiffer { node: name(peer)? });
        }
        if let Some(peer) = self.jump.tell() {
            let epoch = self.jumped_to;
            return Some(Alert::EpochJump { node: name(peer)?, epoch });
        }
        if self.best_effort != self.best_effort_told {
            self.best_effort_told = self.best_effort;
            return Some(Alert::BestEffort { begins: self.best_effort });
        }
        if let Some((needed, missing, told)) = &mut self.ballot_missing {
            if !core::mem::replace(told, true) {
                let missing = members_of(*missing).filter_map(name).collect();
                return Some(Alert::BallotMissing { needed: *needed, missing });
            }
        }
        if let Some(told @ false) = &mut self.position_unknown {
            *told = true;
            return Some(Alert::PositionUnknown);
        }
        let (peer, told) = self.catch_up.as_mut().filter(|(_, told)| !*told)?;
        *told = true;
        let peer = *peer;
        Some(match members.is_witness(peer) {
            true => Alert::DataOutOfReach { witness: name(peer)? },
            false => Alert::CatchUp { from: name(peer)? },
        })
    }
}
