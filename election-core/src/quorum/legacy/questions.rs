//! What the other rules ask about peers of kevy-elect: how long their primary may go on, whether they
//! would refuse, whether enough others echo, and who hears nothing for a while.

use crate::{
    Timestamp,
    quorum::{
        machine::Quorum,
        places::Peer,
        state::{
            asked::Asked,
            peers::{Mask, View, bit, members_of},
            timers::Timer,
        },
    },
};
use core::cmp::Reverse;

/// How many of its own heartbeat intervals a primary of kevy-elect may go on after the voters that
/// it cannot hear any more: see [`Quorum::legacy_deadline`].
const LEGACY_TICKS: u64 = 4;

impl Quorum {
    /// When a primary of kevy-elect that sent its last frame now has stopped, if it hears nobody
    /// either.
    ///
    /// Its host stops `down_after` after the last frame that *it* heard, by its own clock. That frame
    /// came later than its own last frame was sent: by up to an interval between its heartbeats, by
    /// another because its thread ticks only after a frame or an interval of silence, and by a
    /// frame's trip. And it looks only once in an interval whether it still hears a majority.
    pub(crate) fn legacy_deadline(&self, last: Timestamp) -> Timestamp {
        let timing = &self.config.timing;
        last.after(timing.boot).after(timing.hb_interval.saturating_mul(LEGACY_TICKS))
    }

    /// An offer of kevy-elect was refused, and is to be judged again.
    pub(crate) fn keep_offer(&mut self, asked: Asked) {
        self.timers.set(Timer::Asked, self.now.after(self.config.timing.election_timeout));
        self.asked = Some(asked);
    }

    /// Its candidate has given up, or got the vote.
    pub(crate) fn forget_offer(&mut self) {
        self.asked = None;
        self.timers.stop(Timer::Asked);
    }

    /// Whether a peer of kevy-elect would refuse this node's offer, by its own rule: it compares
    /// offsets, and then ids. An offer to such a peer would only raise this node's epoch above those
    /// that the peer offers itself, and it learns of no epoch that it does not accept.
    pub(crate) fn is_refused_by_rank(&self, peer: Peer, view: &View) -> bool {
        let (shown, members) = (self.data.shown_to(false).offset, self.config.members());
        let (own, other) = (Reverse(members.id(self.me)), Reverse(members.id(peer)));
        (view.position.offset, other) > (shown, own)
    }

    /// Whether this node would refuse *its* offer: its data are older, whatever their offset.
    pub(crate) fn has_older_data(&self, view: &View) -> bool {
        view.position < self.data.position()
    }

    /// The peers of kevy-elect that get no heartbeats of this node now.
    ///
    /// Its trust has run out, so most do not reach it. But it may reach them, and then a peer of
    /// kevy-elect that ranks it higher would wait for it to stand, and refuse everybody else, for as
    /// long as it hears it. Silence lets that peer go on. It ends when this node sees another primary,
    /// or hears enough members to take part in an election.
    pub(crate) fn shunned(&self) -> Mask {
        let heard = || self.peers.fresh(self.now).count() + 1;
        if !self.forsaken || !self.leadership.is_none() || heard() >= self.majority {
            return 0;
        }
        let is_legacy = |view: &View| view.was_heard() && !view.is_extended();
        let shunned = |peer: &Peer| self.peers.get(*peer).is_some_and(is_legacy);
        members_of(self.boot.others()).filter(shunned).fold(0, |all, peer| all | bit(peer))
    }

    /// Whether this node and the peers that can echo make a majority: they hear this node, and were
    /// heard in the last half of `down_after`. (A peer that has died counts as fresh for longer than
    /// trust in its last echo lasts. Every primary that counted on it expired.)
    pub(crate) fn enough_echo(&self) -> bool {
        let soon = self.now.after(self.config.timing.down_after / 2);
        let echoing = self
            .peers
            .fresh(self.now)
            .filter(|(_, view)| view.is_extended() && view.hears_me && soon <= view.fresh_until);
        let voters = echoing.filter(|(peer, _)| self.config.members().is_voter(*peer));
        voters.count() >= self.majority - 1
    }
}
