//! What is different with peers that speak only kevy-elect's protocol.
//!
//! They neither stamp nor echo, and they do not say whom they support. By their own rules they vote
//! for whoever offers a higher epoch and enough data, however well the primary is, and a primary of
//! theirs stops by what *it* has heard. Whatever this node does about that stands here.

use super::{
    leadership::Leadership,
    machine::Quorum,
    members::Peer,
    message::Role,
    peers::{Mask, View, bit, members_of},
    position::Position,
    timers::Timer,
    vote::Verdict,
};
use crate::{Change, Epoch, Loss, Timestamp};
use core::cmp::Reverse;

/// How many of its own heartbeat intervals a primary of kevy-elect may go on after the voters that
/// it cannot hear any more: see [`Quorum::legacy_deadline`].
const LEGACY_TICKS: u64 = 4;

/// The longest wait after being deposed by a primary that is not heard: this power of two of
/// `down_after`.
const LONGEST_WAIT: u32 = 4;

/// An offer of kevy-elect that was refused. Its candidates ask only once, often a moment before the
/// voter's support of the last primary ends, and then wait for an `election_timeout`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Asked {
    pub(super) candidate: Peer,
    pub(super) epoch: Epoch,
    pub(super) position: Position,
}

impl Quorum {
    /// When a primary of kevy-elect that sent its last frame now has stopped, if it hears nobody
    /// either.
    ///
    /// Its host stops `down_after` after the last frame that *it* heard, by its own clock. That frame
    /// came later than its own last frame was sent: by up to an interval between its heartbeats, by
    /// another because its thread ticks only after a frame or an interval of silence, and by a
    /// frame's trip. And it looks only once in an interval whether it still hears a majority.
    pub(super) fn legacy_deadline(&self, last: Timestamp) -> Timestamp {
        let timing = &self.config.timing;
        last.after(timing.boot).after(timing.hb_interval.saturating_mul(LEGACY_TICKS))
    }

    /// Whether a peer of kevy-elect would refuse this node's offer, by its own rule: it compares
    /// offsets, and then ids. An offer to such a peer would only raise this node's epoch above those
    /// that the peer offers itself, and it learns of no epoch that it does not accept.
    pub(super) fn is_refused_by_rank(&self, peer: Peer, view: &View) -> bool {
        let shown = self.data.shown_to(false).offset;
        (view.position.offset, Reverse(peer)) > (shown, Reverse(self.me))
    }

    /// Whether this node would refuse *its* offer: its data are older, whatever their offset.
    pub(super) fn has_older_data(&self, view: &View) -> bool {
        view.position < self.data.position()
    }

    /// Judges an offer of kevy-elect again, which was refused before: support or the boot grace may
    /// have ended since.
    pub(super) fn take_up_offer(&mut self) {
        let Some(Asked { candidate, epoch, position }) = self.asked else { return };
        let stands = self.peers.get(candidate).is_some_and(|view| {
            view.role != Role::Replica && !view.is_extended() && view.is_fresh(self.now)
        });
        if stands && matches!(self.judge(candidate, epoch, position, None), Verdict::Vote) {
            self.asked = None;
            self.timers.stop(Timer::Asked);
            self.vote(candidate, epoch, None);
        }
    }

    /// A peer that does not echo. If too few peers do, its heartbeats have to count as echoes, and
    /// only its epoch shows that it has turned away.
    #[cold]
    pub(super) fn legacy_vouched(
        &mut self,
        from: Peer,
        epoch: Epoch,
        at_own: bool,
    ) -> Option<Change> {
        if let Leadership::Leading(lead) = &mut self.leadership {
            lead.unaware &= if epoch == lead.epoch { !bit(from) } else { u64::MAX };
        }
        if self.enough_echo() {
            return None;
        }
        self.alerts.best_effort(true);
        if at_own {
            self.trust.vouch(from, self.now);
            self.refresh_trust();
            return None;
        }
        let higher = self.leadership.epoch().is_some_and(|own| own < epoch);
        if !higher {
            return None;
        }
        let change = self.end_belief(Loss::Replaced, None, None);
        self.give_way();
        change
    }

    /// The peers of kevy-elect that get no heartbeats of this node now.
    ///
    /// Its trust has run out, so most do not reach it. But it may reach them, and then a peer of
    /// kevy-elect that ranks it higher would wait for it to stand, and refuse everybody else, for as
    /// long as it hears it. Silence lets that peer go on. It ends when this node sees another primary,
    /// or hears enough members to take part in an election.
    pub(super) fn shunned(&self) -> Mask {
        let heard = || self.peers.fresh(self.now).count() + 1;
        if !self.forsaken || !self.leadership.is_none() || heard() >= self.majority {
            return 0;
        }
        let is_legacy = |view: &View| view.was_heard() && !view.is_extended();
        let shunned = |peer: &Peer| self.peers.get(*peer).is_some_and(is_legacy);
        members_of(self.boot.others()).filter(shunned).fold(0, |all, peer| all | bit(peer))
    }

    /// Stays out for a while, because a primary that this node does not hear may have deposed it.
    ///
    /// The peer that said so keeps to no primary, and would depose that one for this node just as
    /// readily. So the wait doubles each time, until this node follows somebody.
    fn give_way(&mut self) {
        if self.peers.fresh(self.now).count() + 1 == self.peers.0.len() {
            return; // it would hear that primary
        }
        let longest = self.config.down_after().saturating_mul(1 << self.unseen.min(LONGEST_WAIT));
        self.unseen = self.unseen.saturating_add(1);
        let random = self.random.jitter(longest / 2);
        self.timers.set(Timer::StayOut, self.now + longest / 2 + random);
    }

    /// Whether this node and the peers that can echo make a majority: they hear this node, and were
    /// heard in the last half of `down_after`. (A peer that has died counts as fresh for longer than
    /// trust in its last echo lasts. Every primary that counted on it expired.)
    pub(super) fn enough_echo(&self) -> bool {
        let soon = self.now.after(self.config.timing.down_after / 2);
        let echoing = self
            .peers
            .fresh(self.now)
            .filter(|(_, view)| view.is_extended() && view.hears_me && soon <= view.fresh_until);
        echoing.count() >= self.majority - 1
    }
}
