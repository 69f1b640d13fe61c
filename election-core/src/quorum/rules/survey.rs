//! What an offer of this node would bring, and in whose favour it waits.

use crate::quorum::{
    hindrance::Refusal,
    machine::Quorum,
    message::Role,
    places::Peer,
    position::Position,
    state::{peers::View, succession::FOR_NOMINEE},
};
use core::cmp::Reverse;

impl Quorum {
    /// Why a peer would refuse this node's offer, if it would.
    pub(crate) fn refusal(&self, peer: Peer, view: &View) -> Option<Refusal> {
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
    pub(crate) fn survey(&self) -> Survey {
        let (mut willing, mut present) = (1, 1);
        let mut newest: Option<((bool, Position), Peer)> = None;
        let votes = |peer: Peer| self.config.members().is_voter(peer);
        for (peer, view) in self.peers.fresh(self.now).filter(|(peer, _)| votes(*peer)) {
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
}

/// What an offer of this node would bring now.
pub(crate) struct Survey {
    /// How many would vote for it, this node included.
    pub(crate) willing: usize,
    /// They are a majority.
    pub(crate) electable: bool,
    /// The peer with the newest data, if only data is missing; a witness only if no other peer has
    /// newer data.
    pub(crate) ahead: Option<Peer>,
}

impl Quorum {
    /// What decides between two candidates: the data, then the preference, then the lower id.
    pub(crate) fn merit(&self, peer: Peer, position: Position) -> impl Ord + use<'_> {
        let is_preferred = self.config.preferred_primary() == Some(peer);
        (position, is_preferred, Reverse(self.config.members().id(peer)))
    }

    /// How many staggers this node leaves to others: one for each peer that stands for election and
    /// would be better, and [`FOR_NOMINEE`] for the nominee of a handover. The nominee itself waits
    /// for newer data only. Nobody waits for the primary that nominated it.
    pub(crate) fn rank(&self) -> u64 {
        let position = self.data.position();
        let own = self.merit(self.me, position);
        let (mut better, mut newer, mut wanted) = (0, false, false);
        let wants = self.succession.nominee();
        let past = self.succession.past();
        let members = self.config.members();
        let rivals = |peer: Peer, view: &View| {
            let stands = view.availability.stands() && !members.is_witness(peer);
            stands
                && members.is_voter(peer)
                && Some(peer) != past
                && !view.has_ended()
                && self.may_be_elected(peer)
        };
        for (peer, view) in self.peers.fresh(self.now).filter(|(peer, view)| rivals(*peer, view)) {
            better += u64::from(self.merit(peer, view.position) > own);
            newer |= view.position > position;
            wanted |= wants == Some(peer);
        }
        if self.succession.names(self.me) && !newer {
            return 0;
        }
        better + if wanted { FOR_NOMINEE } else { 0 }
    }
}
