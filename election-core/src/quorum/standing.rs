//! What keeps this node from voting and from asking for votes.
//!
//! An operator's first question is why nobody leads. So whatever forbids an election is a value
//! here: the rules ask whether there is one, and [`Quorum::status`] says which.

use super::{
    machine::Quorum,
    members::{Members, Peer},
    message::{Availability, Role},
    peers::View,
    position::Position,
    timers::Timer,
    voter::Eligibility,
};
use crate::{Epoch, NodeId, Timestamp};
use core::fmt;

/// Why a node does not ask for votes now, or is not ready. The first reason that holds; others may
/// hold, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Hindrance {
    /// It leads.
    Leads,
    /// It has ended its leadership, and waits until its work has stopped or its trust has run out.
    Drains(Epoch),
    /// It asks for votes.
    Campaigns(Epoch),
    /// It is a witness: it never leads.
    Witness,
    /// It is about to leave.
    Leaves,
    /// It is not fit to lead, by [`Event::Health`](super::Event::Health).
    Unfit,
    /// The application has not said how far the data have come.
    PositionUnknown,
    /// The leader work of this epoch was told to stop and has not.
    WorkGoesOn(Epoch),
    /// It cannot read its ballot.
    BallotUnusable,
    /// Its ballot was written under another list of members.
    MembersChanged,
    /// It has just started, and an earlier life may have supported another node until then.
    Boots {
        /// The end of the boot grace.
        until: Timestamp,
    },
    /// It has no ballot, and must hear more members before it knows what it may have promised.
    BallotMissing {
        /// How many.
        needed: usize,
    },
    /// It has no ballot, has heard enough members, and has yet to record what it learned.
    RecordsPromises,
    /// It supports this member, which leads or asks for votes.
    Supports {
        /// The member.
        node: Peer,
        /// When support ends, unless the member is heard again.
        until: Timestamp,
    },
    /// Automatic failover is paused, by an order to this member.
    Paused {
        /// The member that took the order.
        by: Peer,
    },
    /// It has resigned, or was deposed, and lets the others go first.
    StaysOut {
        /// Until when.
        until: Timestamp,
    },
    /// A member that it hears was given another list of members, and may vote by it.
    ListDiffers(Peer),
    /// Its disk was lost, and it has not caught up with what it may have acknowledged.
    LacksData {
        /// The position that it has to reach.
        floor: Position,
    },
    /// Its ballot is being written, or could not be.
    Saves,
    /// It failed to be elected, and waits before it tries again.
    BacksOff {
        /// Until when.
        until: Timestamp,
    },
    /// It tells the others first that it may vote, or that it leads no more.
    Tells,
    /// This member has newer data. With it, there would be enough votes.
    NewerData(Peer),
    /// Too few members would vote for it: see [`Refusal`] for each of them.
    TooFewVotes {
        /// How many would, this node included.
        willing: usize,
        /// How many are needed.
        needed: usize,
    },
    /// It lets better candidates go first.
    LetsOthersFirst {
        /// Until when.
        until: Timestamp,
    },
    /// Too few members and this one hear each other to elect anybody. Only of a member that is not
    /// ready: one that supports a primary needs to hear nobody else.
    Apart {
        /// How many of the others and this member hear each other.
        heard: usize,
        /// How many others there are.
        others: usize,
    },
}

/// Why a member would not vote for this node now, by what it last said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Refusal {
    /// It was not heard within `down_after`.
    NotHeard,
    /// Two processes run under its id.
    TwoLives,
    /// It says that it is not free to vote.
    NotFree(Availability),
    /// It does not hear this node.
    DoesNotHear,
    /// It has newer data, or is a witness that has recorded newer data.
    NewerData,
    /// It speaks only kevy-elect's protocol, and somebody leads.
    HasPrimary,
    /// It speaks only kevy-elect's protocol, whose rules prefer that member.
    Outranks,
}

impl Hindrance {
    /// The reason as a phrase that continues "this node does not ask for votes, because …", with the
    /// names of `members`. Instants are left out.
    #[must_use]
    pub fn named(self, members: &Members) -> impl fmt::Display + use<'_> {
        Named { hindrance: self, members }
    }
}

struct Named<'a> {
    hindrance: Hindrance,
    members: &'a Members,
}

impl fmt::Display for Named<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |peer| self.members.id(peer).map_or("?", NodeId::as_str);
        match self.hindrance {
            Hindrance::Leads => f.write_str("it leads"),
            Hindrance::Drains(epoch) => write!(f, "its leadership of epoch {epoch} is ending"),
            Hindrance::Campaigns(epoch) => write!(f, "it does, in epoch {epoch}"),
            Hindrance::Witness => f.write_str("it is a witness"),
            Hindrance::Leaves => f.write_str("it is about to leave"),
            Hindrance::Unfit => f.write_str("it is not fit to lead"),
            Hindrance::PositionUnknown => {
                f.write_str("it has not been told how far its data have come")
            }
            Hindrance::WorkGoesOn(epoch) => {
                write!(f, "its leader work of epoch {epoch} has not stopped")
            }
            Hindrance::BallotUnusable => f.write_str("it cannot read its ballot"),
            Hindrance::MembersChanged => {
                f.write_str("its ballot is of another list of members, down_after or name")
            }
            Hindrance::Boots { .. } => {
                f.write_str("it has just started, and its last run may have promised its vote")
            }
            Hindrance::BallotMissing { needed } => {
                write!(f, "it has no ballot, and must hear {needed} more of the others")
            }
            Hindrance::RecordsPromises => f.write_str("it records what it may have promised"),
            Hindrance::Supports { node, .. } => write!(f, "it supports {}", name(node)),
            Hindrance::Paused { by } => {
                write!(f, "automatic failover is paused, by an order to {}", name(by))
            }
            Hindrance::StaysOut { .. } => f.write_str("it has resigned, or was deposed, lately"),
            Hindrance::ListDiffers(peer) => {
                write!(f, "{} has another list of members, down_after or name", name(peer))
            }
            Hindrance::LacksData { floor } => {
                write!(f, "it lost its disk and has not caught up with {floor}")
            }
            Hindrance::Saves => f.write_str("its ballot is being written, or cannot be"),
            Hindrance::BacksOff { .. } => f.write_str("it failed to be elected lately"),
            Hindrance::Tells => f.write_str("it has yet to tell the others that it may"),
            Hindrance::NewerData(peer) => write!(f, "{} has newer data", name(peer)),
            Hindrance::TooFewVotes { willing, needed } => {
                write!(f, "{willing} of the {needed} votes that it needs are in sight")
            }
            Hindrance::LetsOthersFirst { .. } => f.write_str("it lets better candidates go first"),
            Hindrance::Apart { heard, others } => write!(
                f,
                "it and {heard} of the {others} others hear each other, which is no majority"
            ),
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotHeard => "not heard",
            Self::TwoLives => "two processes run under its id",
            Self::NotFree(Availability::Busy | Availability::BusyAside) => "leads or supports one",
            Self::NotFree(Availability::Waiting) => "does not vote yet",
            Self::NotFree(Availability::Leaving) => "is about to leave",
            Self::NotFree(Availability::Loading) => "does not know its position",
            Self::NotFree(_) => "may not vote",
            Self::DoesNotHear => "does not hear this node",
            Self::NewerData => "has newer data",
            Self::HasPrimary => "has a primary",
            Self::Outranks => "stands itself",
        })
    }
}

impl Quorum {
    /// What keeps this node from standing for election, however the others stand. If anything does,
    /// nobody has to wait for it.
    #[inline(always)] // most callers only ask whether there is anything
    pub(super) fn aside(&self) -> Option<Hindrance> {
        if self.data.is_witness() {
            return Some(Hindrance::Witness);
        }
        if self.withdrawn {
            return Some(Hindrance::Leaves);
        }
        if !self.healthy {
            return Some(Hindrance::Unfit);
        }
        if !self.data.is_known() {
            return Some(Hindrance::PositionUnknown);
        }
        if let Some(epoch) = self.unstopped {
            return Some(Hindrance::WorkGoesOn(epoch));
        }
        let until = self.timers.at(Timer::StayOut);
        (self.now < until).then_some(Hindrance::StaysOut { until })
    }

    /// Whether it is fit and willing to stand for election.
    pub(super) fn may_stand(&self) -> bool {
        self.aside().is_none()
    }

    /// What keeps this node from voting, whomever it supports.
    #[inline(always)]
    pub(super) fn voteless(&self) -> Option<Hindrance> {
        match self.voter.eligibility {
            Eligibility::Eligible => {}
            Eligibility::BallotUnusable => return Some(Hindrance::BallotUnusable),
            Eligibility::MembersChanged => return Some(Hindrance::MembersChanged),
        }
        if !self.boot.is_over() {
            return Some(Hindrance::Boots { until: self.timers.at(Timer::Boot) });
        }
        if !self.boot.permits_support() {
            let lacks = self.boot.lacks();
            return Some(lacks.map_or(Hindrance::RecordsPromises, |(needed, _)| {
                Hindrance::BallotMissing { needed }
            }));
        }
        let mut fresh = self.peers.fresh(self.now);
        fresh.find(|(_, view)| view.contradicts()).map(|(peer, _)| Hindrance::ListDiffers(peer))
    }

    /// Whether this node's own state permits it to vote.
    pub(super) fn may_vote(&self) -> bool {
        self.voteless().is_none()
    }

    /// What keeps this node from campaigning, apart from the other members' votes and a running
    /// candidacy.
    #[inline(always)]
    pub(super) fn barred(&self) -> Option<Hindrance> {
        if let Some(drain) = self.leadership.drain() {
            return Some(Hindrance::Drains(drain.token));
        }
        if !self.leadership.is_none() {
            return Some(Hindrance::Leads);
        }
        if let Some(hindrance) = self.aside().or_else(|| self.voteless()) {
            return Some(hindrance);
        }
        if let Some(support) = &self.support {
            let until = self.timers.at(Timer::Support);
            return Some(Hindrance::Supports { node: support.node, until });
        }
        if !self.may_be_elected(self.me) {
            return Some(Hindrance::Paused { by: self.upkeep.agreed().by });
        }
        let floor = self.boot.floor();
        if self.data.position() < floor {
            return Some(Hindrance::LacksData { floor });
        }
        if !self.voter.may_bind() {
            return Some(Hindrance::Saves);
        }
        if self.outbox.farewell || !self.readiness.is_told() {
            return Some(Hindrance::Tells);
        }
        let until = self.timers.at(Timer::Backoff);
        (self.now < until).then_some(Hindrance::BacksOff { until })
    }

    /// Whether this node may campaign, apart from the other members and a running candidacy.
    #[inline(never)] // most steps ask only this
    pub(super) fn may_campaign(&self) -> bool {
        self.barred().is_none()
    }

    /// Why a peer would refuse this node's offer, if it would.
    pub(super) fn refusal(&self, peer: Peer, view: &View) -> Option<Refusal> {
        if view.clashes(self.now) {
            return Some(Refusal::TwoLives);
        }
        if !view.is_fresh(self.now) {
            return Some(Refusal::NotHeard);
        }
        self.refusal_of_fresh(peer, view)
    }

    #[inline(always)]
    fn refusal_of_fresh(&self, peer: Peer, view: &View) -> Option<Refusal> {
        if !view.availability.is_free() {
            return Some(Refusal::NotFree(view.availability));
        }
        if !view.hears_me {
            return Some(Refusal::DoesNotHear);
        }
        // A peer that does not say whom it supports would vote against a living primary.
        if !view.is_extended() && self.is_led() {
            return Some(Refusal::HasPrimary);
        }
        if view.position > self.data.position() {
            return Some(Refusal::NewerData);
        }
        if view.is_extended() || !self.is_refused_by_rank(peer, view) {
            return None;
        }
        // It will stand itself, and this node can vote for it unless its data are older.
        Some(if self.has_older_data(view) { Refusal::NewerData } else { Refusal::Outranks })
    }

    /// Whether a peer that is heard leads.
    fn is_led(&self) -> bool {
        self.peers.fresh(self.now).any(|(_, view)| view.role == Role::Primary)
    }

    /// Whether enough fresh peers could vote for this node and would hear its offer. This is the
    /// pre-vote; it costs no message and no epoch.
    pub(super) fn survey(&self) -> Survey {
        let (mut willing, mut present) = (1, 1);
        let mut newest: Option<((bool, Position), Peer)> = None;
        for (peer, view) in self.peers.fresh(self.now) {
            match self.refusal_of_fresh(peer, view) {
                None => (willing, present) = (willing + 1, present + 1),
                Some(Refusal::Outranks) => present += 1,
                Some(Refusal::NewerData) => {
                    present += 1;
                    let has_data = !self.config.members().is_witness(peer);
                    let data = (has_data, view.position);
                    newest = newest.filter(|(known, _)| *known >= data).or(Some((data, peer)));
                }
                Some(_) => {}
            }
        }
        let electable = willing >= self.majority;
        let ahead = newest.filter(|_| present >= self.majority && !electable);
        Survey { willing, electable, ahead: ahead.map(|(_, peer)| peer) }
    }

    /// Why this node does not ask for votes now.
    pub(super) fn hindrance(&self) -> Option<Hindrance> {
        if let (true, Some(own)) = (self.leadership.is_none(), &self.candidacy) {
            return Some(Hindrance::Campaigns(own.epoch));
        }
        if let Some(hindrance) = self.barred() {
            return Some(hindrance);
        }
        let Survey { willing, electable, ahead } = self.survey();
        if electable {
            let until = self.timers.at(Timer::Campaign);
            return (self.now < until && until != Timestamp::MAX)
                .then_some(Hindrance::LetsOthersFirst { until });
        }
        Some(match ahead {
            Some(peer) => Hindrance::NewerData(peer),
            None => Hindrance::TooFewVotes { willing, needed: self.majority },
        })
    }
}

/// What an offer of this node would bring now.
pub(super) struct Survey {
    /// How many would vote for it, this node included.
    willing: usize,
    /// They are a majority.
    pub(super) electable: bool,
    /// The peer with the newest data, if only data is missing; a witness only if no other peer has
    /// newer data.
    pub(super) ahead: Option<Peer>,
}
