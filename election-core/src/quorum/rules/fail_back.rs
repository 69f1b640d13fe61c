//! A primary gives leadership back to the preferred member, if it is told to, and to any that can take
//! over, if the list of members no longer has it.
//!
//! Operators prefer a member for its hardware or its place, and want it to lead again when it has
//! come back. That costs a handover, so it must not be done for a member that comes and goes. The
//! primary looks once in a `down_after`. It hands over when the member has been connected in one
//! life, could have taken over, and has kept up with the data, at every look for the whole time that
//! was set. An outage is no reason: if the member is elected in one, it wins as any other does.

use crate::{
    Change,
    quorum::{machine::Quorum, places::Peer, state::timers::Timer},
};
use core::cmp::Reverse;

impl Quorum {
    /// The member that this node should give its leadership back to, and after how long.
    fn fails_back_to(&self) -> Option<(Peer, u64)> {
        let preferred = self.config.preferred_primary().filter(|peer| *peer != self.me)?;
        Some((preferred, self.config.fail_back?))
    }

    /// A leadership begins.
    pub(crate) fn watch_the_preferred(&mut self) {
        self.fail_back.forget();
        if self.fails_back_to().is_some() {
            self.timers.set(Timer::FailBack, self.now.after(self.config.timing.down_after));
        }
    }

    /// A primary that the list does not have hands over as soon as a member can take over, also while
    /// failover is paused.
    fn make_room(&mut self) -> Option<Change> {
        self.timers.set(Timer::FailBack, self.now.after(self.config.timing.hb_interval));
        let members = self.config.members();
        let is_able = |peer: &Peer| {
            let view = self.peers.get(*peer);
            members.is_voter(*peer) && view.is_some_and(|view| view.could_take_over(self.now))
        };
        let able = members.others().filter(is_able);
        let data = |peer: Peer| self.peers.get(peer).map(|view| view.position);
        let heir = able.max_by_key(|peer| (data(*peer), Reverse(members.id(*peer))))?;
        self.hand_over(heir)
    }

    /// Looks at the preferred member, and hands over to it if it is time.
    pub(crate) fn fail_back(&mut self) -> Option<Change> {
        if !self.config.members().is_voter(self.me) {
            return self.make_room();
        }
        self.timers.set(Timer::FailBack, self.now.after(self.config.timing.down_after));
        let (preferred, after) = self.fails_back_to()?;
        let able = self.peers.get(preferred).filter(|view| view.could_take_over(self.now));
        let Some(view) = able.filter(|_| !self.failover.is_paused()) else {
            self.fail_back.forget();
            return None;
        };
        let since = self.fail_back.sees(view, self.data.position(), self.now);
        if since.after(after) > self.now {
            return None;
        }
        self.hand_over(preferred)
    }
}
