//! One form for all states that behave alike, for whoever has to tell whether two are the same.
//!
//! A model checker that runs this machine meets the same situation at ever later times. What
//! follows from a state does not depend on how late it is: the machine compares instants of its
//! clock with *now*, and stamps of a peer with each other. So a state can be moved in time
//! ([`Quorum::rebase`]), and a timed protocol has finitely many states. Epochs stay as they are:
//! a search that bounds them has to tell them apart anyway, and so do nodes' ids, of which the
//! lower wins a tie.
//!
//! What has passed and counts only as passed becomes *now*; what the machine still adds a span to
//! keeps its distance, up to the longest such span; what nobody will look at again is forgotten.
//! Each field says below which of the three it is.

use super::{
    alerts::{Alerts, Published},
    boot::{Boot, Listening},
    leadership::Leadership,
    machine::Quorum,
    members::Peer,
    message::{Availability, Role, Stamp},
    peers::{View, bit},
    position::Position,
    timers::Timer,
    trust::Trust,
};
use crate::{Epoch, Random, Timestamp, time::nanos};
use core::time::Duration;

/// What the surroundings of a machine contain. What they do not contain need not be remembered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Surroundings {
    /// Takes the place of the generator: draws decide nothing but the back-off, within its
    /// bounds, which whoever explores chooses itself ([`Random::constant`]).
    pub draws: Random,
    /// No frame arrives later than this after it was sent, by any clock. Stamps older than that
    /// are compared with nothing any more. Zero if frames arrive once, in the instant in which
    /// they were sent and in their order: then whatever comes is newer than all before.
    pub lateness: Duration,
    /// Instants closer to each other than this count as one: frames of one instant bear stamps
    /// some nanoseconds apart, and trust is shortened by as much. At least one nanosecond.
    pub grain: Duration,
    /// Somebody listens to what the machine reports of alerts and addresses. Nothing that it does
    /// hangs on that, but for announcements repeated to let everybody know the address.
    pub reports: bool,
    /// Data tells its history. Otherwise nothing hangs on whether it is known to continue that of
    /// some primary.
    pub history: bool,
}

impl Quorum {
    /// Moves the state in time, so that what was to happen after `now` happens as long after
    /// `origin`. (`now` below the latest time seen counts as that.)
    ///
    /// `others` gives the stamps of other members, which are readings of *their* clocks, their
    /// new value: every clock is to read `origin` afterwards, and frames that are under way have
    /// to be moved likewise. What the surroundings do not contain is forgotten.
    ///
    /// `origin` must leave room for a few `down_after` below it.
    pub fn rebase(
        &mut self,
        now: Timestamp,
        origin: Timestamp,
        around: &Surroundings,
        others: &mut dyn FnMut(Peer, Timestamp) -> Timestamp,
    ) {
        let time = Rebase { now: now.max(self.now), origin, grain: nanos(around.grain).max(1) };
        let timing = self.config.timing;
        self.now = origin;
        self.random = around.draws.clone();
        time.due(&mut self.wake_at);
        for at in self.timers.iter_mut() {
            time.due(at);
        }
        self.timers.stop(Timer::Campaign); // set anew by every step that it matters to
        // A stamp is newer than the one before; how much older that is does not show.
        time.anchor(&mut self.stamps.newest, 1);
        if around.lateness.is_zero() {
            self.stamps.newest = origin.before(1);
        }
        self.stamps.ahead = if self.stamps.ahead < time.grain { 0 } else { self.stamps.ahead };
        self.rebase_peers(&time, around, others);
        let longest = timing.stagger.saturating_mul(self.peers.0.len() as u64);
        if let Some(since) = &mut self.eligible_since {
            time.anchor(since, longest);
        }
        if let Some(candidacy) = &mut self.candidacy {
            if let Some(offered) = &mut candidacy.offered {
                time.anchor(offered, timing.window.max(timing.election_timeout));
                time.floor(offered);
            }
        }
        self.rebase_leadership(&time, around);
        self.boot.rebase(&time, (nanos(around.lateness), timing.election), others);
        self.seen = self.seen.max(self.voter.promised);
        if !around.history && self.boot.is_settled() {
            self.data.resynced = true;
        }
        if !around.reports {
            self.forget_reports();
        }
        self.alerts.stirs();
    }

    /// Support, and what was heard: in stamps of the others.
    fn rebase_peers(
        &mut self,
        time: &Rebase,
        around: &Surroundings,
        others: &mut dyn FnMut(Peer, Timestamp) -> Timestamp,
    ) {
        let down_after = self.config.timing.down_after;
        let in_order = around.lateness.is_zero();
        let latest = if in_order { time.origin.before(1) } else { Timestamp::MAX };
        let mut others = |peer: Peer, at: Timestamp| others(peer, at).min(latest);
        for (peer, view) in (0..).map(Peer::new).zip(&mut self.peers.0) {
            view.rebase(time, around, &mut |at| others(peer, at));
        }
        let mut moved = |node: Peer, stamp: &mut Option<Stamp>| {
            if let Some(stamp) = stamp {
                stamp.at = others(node, stamp.at);
            }
        };
        if let Some(support) = &mut self.support {
            moved(support.node, &mut support.stamp);
        }
        if let Some(pledge) = &mut self.voter.pledge {
            time.anchor(&mut pledge.received, down_after);
            moved(pledge.node, &mut pledge.stamp);
        }
    }

    /// This node's own leadership: in stamps of its own.
    fn rebase_leadership(&mut self, time: &Rebase, around: &Surroundings) {
        let timing = self.config.timing;
        match &mut self.leadership {
            // Trust counts anew when the next one begins.
            Leadership::None => self.trust.forget(),
            Leadership::Draining(_) => self.trust.forget(),
            Leadership::Leading(lead) => {
                self.trust.rebase(time, timing.window);
                time.due(&mut lead.trusted_until);
                time.floor(&mut lead.trusted_until);
                let mut until = self.timers.at(Timer::Belief);
                time.floor(&mut until);
                self.timers.set(Timer::Belief, until);
                if lead.outgrown <= lead.epoch {
                    lead.outgrown = Epoch::NONE;
                }
                if !around.reports {
                    lead.unaware = 0;
                    self.timers.stop(Timer::Announce);
                }
                if lead.unaware == 0 {
                    lead.announced = time.origin; // told to everybody: compared with nothing
                } else if lead.announced != Timestamp::ZERO {
                    time.anchor(&mut lead.announced, timing.down_after + nanos(around.lateness));
                }
            }
        }
    }

    /// Forgets what is only told and what only telling hangs on.
    fn forget_reports(&mut self) {
        let ineligible = self.alerts.ineligible.take();
        self.alerts = Alerts::new(ineligible);
        // Being unelectable for want of data is reported at once, if at all.
        let patience = self.config.timing.election_timeout;
        let booted = self.timers.at(Timer::Boot).after(patience);
        let at = if self.boot.is_over() { Timestamp::ZERO } else { booted };
        self.timers.set(Timer::Patience, at);
        if let Some(following) = &mut self.following {
            following.label = None;
        }
        if let Published::Followed(.., labelled) = &mut self.published {
            *labelled = false;
        }
    }
}

impl Quorum {
    /// The election in which this node is to be elected, from the decision on.
    #[must_use]
    pub fn campaigned(&self) -> Option<Epoch> {
        self.candidacy.as_ref().map(|candidacy| candidacy.epoch)
    }
}

/// A move in time.
struct Rebase {
    now: Timestamp,
    origin: Timestamp,
    grain: u64,
}

impl Rebase {
    /// Moves an instant that, once it has passed, has only passed.
    fn due(&self, at: &mut Timestamp) {
        self.anchor(at, 0);
    }

    /// Moves an instant to which no more than `span` nanoseconds are still added.
    fn anchor(&self, at: &mut Timestamp, span: u64) {
        if *at == Timestamp::MAX {
            return; // never stays never
        }
        let origin = self.origin.as_nanos();
        let (now, then) = (self.now.as_nanos(), at.as_nanos());
        *at = Timestamp::from_nanos(if then >= now {
            origin.saturating_add(then - now)
        } else {
            origin.saturating_sub((now - then).min(span))
        });
    }

    /// Leaves out what is finer than the grain.
    fn floor(&self, at: &mut Timestamp) {
        if *at != Timestamp::MAX {
            *at = at.before(at.as_nanos() % self.grain);
        }
    }
}

impl View {
    fn rebase(
        &mut self,
        time: &Rebase,
        around: &Surroundings,
        moved: &mut dyn FnMut(Timestamp) -> Timestamp,
    ) {
        time.due(&mut self.clash_until);
        time.due(&mut self.fresh_until);
        self.epoch = Epoch::NONE; // never looked at again
        if self.role == Role::Candidate {
            self.role = Role::Primary; // only a replica's word overtakes others
        }
        if self.stamped != Timestamp::ZERO {
            self.stamped = moved(self.stamped);
            if self.stamped + around.lateness < time.origin {
                (self.stamped, self.role) = (Timestamp::ZERO, Role::Primary);
            }
        }
        // Only who is willing is asked, and who is barred is waited for by nobody.
        let willing = self.is_willing() && self.fresh_until > time.origin;
        let ineligible =
            self.availability == Availability::Ineligible && self.fresh_until > time.origin;
        (self.availability, self.hears_me) = match (willing, ineligible) {
            (true, _) => (Availability::Free, true),
            (_, true) => (Availability::Ineligible, false),
            _ => (Availability::Busy, false),
        };
    }
}

impl Boot {
    fn rebase(
        &mut self,
        time: &Rebase,
        (lateness, election): (u64, u64),
        others: &mut dyn FnMut(Peer, Timestamp) -> Timestamp,
    ) {
        let longest = election.saturating_add(lateness);
        for (peer, listening) in (0..).map(Peer::new).zip(&mut self.listening) {
            match listening {
                Listening::Not => {}
                // Compared with what comes, which is no older than frames may be.
                Listening::Begun(stamp) => {
                    stamp.at = others(peer, stamp.at).max(time.origin.before(lateness + 1));
                }
                Listening::Since(stamp) if self.heard & bit(peer) != 0 => {
                    stamp.at = time.origin.before(longest); // long enough
                }
                Listening::Since(stamp) => {
                    stamp.at = others(peer, stamp.at).max(time.origin.before(longest));
                }
            }
        }
        if self.is_over() {
            self.untouched = 0;
        }
        if self.is_settled() {
            (self.heard, self.untouched, self.newest) = (0, 0, Position::default());
        }
    }
}

impl Trust {
    /// An anchor from which trust would have ended counts as none.
    fn rebase(&mut self, time: &Rebase, window: u64) {
        if self.majority == Timestamp::MAX {
            return;
        }
        for anchor in &mut self.anchors {
            if anchor.after(window) <= time.now {
                *anchor = Timestamp::ZERO;
            } else {
                time.anchor(anchor, window);
                time.floor(anchor);
            }
        }
        self.majority = self.newest_of_majority();
    }
}
