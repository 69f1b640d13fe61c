//! A primary gives leadership back to the preferred member, if it is told to.
//!
//! Operators prefer a member for its hardware or its place, and want it to lead again when it has
//! come back. That costs a handover, so it must not be done for a member that comes and goes. The
//! primary looks once in a `down_after`. It hands over when the member has been connected in one
//! life, could have taken over, and has kept up with the data, at every look for the whole time that
//! was set. An outage is no reason: if the member is elected in one, it wins as any other does.

use crate::{
    Change,
    quorum::{
        machine::Quorum,
        members::Peer,
        position::Position,
        state::{
            fail_back::{FailBack, Streak},
            peers::View,
        },
    },
};

impl Quorum {
    /// The member that this node should give its leadership back to, and after how long.
    fn fails_back_to(&self) -> Option<(Peer, u64)> {
        let preferred = self.config.preferred_primary().filter(|peer| *peer != self.me)?;
        Some((preferred, self.config.fail_back?))
    }

    /// A leadership begins.
    pub(crate) fn watch_the_preferred(&mut self) {
        self.fail_back = FailBack::new();
        if self.fails_back_to().is_some() {
            self.fail_back.look_at = self.now.after(self.config.timing.down_after);
            self.plan_errands();
        }
    }

    /// Looks at the preferred member, and hands over to it if it is time.
    pub(crate) fn fail_back(&mut self) -> Option<Change> {
        self.fail_back.look_at = self.now.after(self.config.timing.down_after);
        let (preferred, after) = self.fails_back_to()?;
        let before = self.fail_back.streak.take();
        let view = self.peers.get(preferred)?;
        if !view.could_take_over(self.now) || self.upkeep.is_paused() {
            return None;
        }
        let (reached, connection) = (self.data.position(), view.open_connection());
        let goes_on = |streak: &Streak| streak.connection == connection && keeps_up(view, streak);
        let since = before.filter(goes_on).map_or(self.now, |streak| streak.since);
        if since.after(after) <= self.now {
            return self.hand_over(preferred);
        }
        self.fail_back.streak = Some(Streak { since, reached, connection });
        None
    }
}

/// Whether the member has what the primary had at the last look.
fn keeps_up(view: &View, last: &Streak) -> bool {
    let Position { history, offset } = last.reached;
    view.position.history == history && view.position.offset >= offset
}
