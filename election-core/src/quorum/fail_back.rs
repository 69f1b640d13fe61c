//! A primary gives leadership back to the preferred member, if it is told to.
//!
//! Operators prefer a member for its hardware or its place, and want it to lead again when it has
//! come back. That costs a handover, so it must not be done for a member that comes and goes. The
//! primary looks once in a `down_after`. It hands over when the member has been connected in one
//! life, could have taken over, and has kept up with the data, at every look for the whole time that
//! was set. An outage is no reason: if the member is elected in one, it wins as any other does.

use super::{machine::Quorum, members::Peer, message::Connection, peers::View, position::Position};
use crate::{Change, Timestamp};

/// What the primary has seen of the preferred member.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct FailBack {
    /// When to look next.
    pub(super) look_at: Timestamp,
    /// Since when the member has been able to lead, and how far the primary's own data had come at
    /// the last look. A member that keeps up has come as far at the next.
    streak: Option<Streak>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Streak {
    since: Timestamp,
    reached: Position,
    /// The connection that it was seen on. Whoever restarts has another.
    connection: Option<Connection>,
}

impl FailBack {
    /// Nobody looks.
    pub(super) const fn new() -> Self {
        Self { look_at: Timestamp::MAX, streak: None }
    }

    /// Moves the instants.
    #[cfg(feature = "model-checking")]
    pub(super) fn rebase(&mut self, mut anchor: impl FnMut(&mut Timestamp)) {
        anchor(&mut self.look_at);
        if let Some(streak) = &mut self.streak {
            anchor(&mut streak.since);
        }
    }
}

impl Quorum {
    /// The member that this node should give its leadership back to, and after how long.
    fn fails_back_to(&self) -> Option<(Peer, u64)> {
        let preferred = self.config.preferred_primary().filter(|peer| *peer != self.me)?;
        Some((preferred, self.config.fail_back?))
    }

    /// A leadership begins.
    pub(super) fn watch_the_preferred(&mut self) {
        self.fail_back = FailBack::new();
        if self.fails_back_to().is_some() {
            self.fail_back.look_at = self.now.after(self.config.timing.down_after);
            self.plan_errands();
        }
    }

    /// Looks at the preferred member, and hands over to it if it is time.
    pub(super) fn fail_back(&mut self) -> Option<Change> {
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
