//! One form for all states that behave alike, for callers that must tell whether two states are the
//! same.
//!
//! A model checker that runs this machine meets the same situation at ever later times. The
//! behaviour of a state does not depend on how late it is: the machine compares instants of its
//! clock with *now*, and stamps of a peer with each other. So a state can be moved in time
//! ([`Quorum::rebase`]), and a timed protocol has finitely many states. Epochs stay as they are,
//! because a search that bounds them has to tell them apart anyway. So do the ids of nodes, because
//! the lower id wins a tie.
//!
//! An instant that has passed, and only matters as passed, becomes *now*. An instant to which the
//! machine still adds a span keeps its distance, up to the longest such span. A value that is never
//! read again is forgotten. Each field below says which of the three it is.

use crate::{
    Epoch, Random, Timestamp,
    quorum::{
        machine::Quorum,
        message::{Availability, Role, Stamp},
        places::Peer,
        position::Position,
        state::{
            alerts::{Alerts, Published},
            boot::{Boot, Listening},
            leadership::Leadership,
            peers::{View, bit},
            succession::FOR_NOMINEE,
            timers::Timer,
            trust::Trust,
        },
    },
    time::nanos,
};
use core::time::Duration;

/// What the surroundings of a machine contain. The machine may forget the rest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Surroundings {
    /// Replaces the generator. Draws only decide the back-off, within its bounds; the explorer
    /// chooses them itself ([`Random::constant`]).
    pub draws: Random,
    /// The longest delay of a frame, by any clock. Older stamps are not compared with anything any
    /// more. Zero if frames arrive once, in the instant in which they were sent and in their order:
    /// then every frame that comes is newer than all before.
    pub lateness: Duration,
    /// Instants closer to each other than this count as one: frames of one instant have stamps some
    /// nanoseconds apart, which shortens trust by as much. At least one nanosecond.
    pub grain: Duration,
    /// Somebody reads the alerts and addresses that the machine reports. Its behaviour does not
    /// depend on them, except that it repeats announcements to let everybody know the address.
    pub reports: bool,
    /// The data has a history. Otherwise it does not matter whether this data is known to continue
    /// some primary's.
    pub history: bool,
}

impl Quorum {
    /// Moves the state in time, so that everything due after `now` is due as long after `origin`.
    /// (If `now` is below the latest time seen, it counts as that.)
    ///
    /// `others` maps the stamps of other members, which are readings of *their* clocks, to new
    /// values. Every clock must read `origin` afterwards, and frames under way have to be moved
    /// likewise. The state forgets what the surroundings do not contain.
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
        for at in self.timers.iter_mut() {
            time.due(at);
        }
        self.timers.stop(Timer::Campaign); // every step that needs it sets it anew
        // A stamp is newer than the one before; it does not matter by how much.
        time.anchor(&mut self.stamps.newest, 1);
        if around.lateness.is_zero() {
            self.stamps.newest = origin.before(1);
        }
        self.stamps.ahead = if self.stamps.ahead < time.grain { 0 } else { self.stamps.ahead };
        self.rebase_peers(&time, around, others);
        let longest = timing.stagger.saturating_mul(self.peers.0.len() as u64 + FOR_NOMINEE);
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
        self.failover.rebase(|at| time.due(at));
        self.fail_back.rebase(|at| time.anchor(at, self.config.fail_back.unwrap_or(0)));
        self.boot.rebase(&time, (nanos(around.lateness), timing.election), others);
        self.seen = self.seen.max(self.voter.promised);
        self.ceiling.rebase(|at| time.due(at));
        self.last_record.rebase(|at| time.due(at));
        if !around.history && self.boot.is_settled() {
            self.data.resynced = true;
        }
        if !around.reports {
            self.forget_reports();
        }
    }

    /// Support and views of peers, in stamps of the others.
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

    /// This node's own leadership, in its own stamps.
    fn rebase_leadership(&mut self, time: &Rebase, around: &Surroundings) {
        let timing = self.config.timing;
        match &mut self.leadership {
            // Trust counts anew when the next leadership begins.
            Leadership::None => self.trust.forget(),
            Leadership::Draining(_) => self.trust.forget(),
            Leadership::Leading(lead) => {
                self.trust.rebase(time, timing.window);
                lead.since = Timestamp::ZERO; // nothing depends on it
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
                    lead.announced = time.origin; // all know: never compared again
                } else if lead.announced != Timestamp::ZERO {
                    time.anchor(&mut lead.announced, timing.down_after + nanos(around.lateness));
                }
            }
        }
    }

    /// Forgets what is only reported, and what only reports depend on.
    fn forget_reports(&mut self) {
        let ineligible = self.alerts.ineligible.take();
        self.alerts = Alerts::new(ineligible);
        // If missing data keeps this node from being elected, it reports that at once or never.
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
    /// The election in which this node offers itself, from its decision on.
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
    /// Moves an instant that does not matter once it has passed.
    fn due(&self, at: &mut Timestamp) {
        self.anchor(at, 0);
    }

    /// Moves an instant to which the machine adds at most `span` nanoseconds.
    fn anchor(&self, at: &mut Timestamp, span: u64) {
        if *at == Timestamp::MAX {
            return; // a stopped timer stays stopped
        }
        let origin = self.origin.as_nanos();
        let (now, then) = (self.now.as_nanos(), at.as_nanos());
        *at = Timestamp::from_nanos(if then >= now {
            origin.saturating_add(then - now)
        } else {
            origin.saturating_sub((now - then).min(span))
        });
    }

    /// Drops what is finer than the grain.
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
        self.turns = 0; // only an alert depends on it
        time.due(&mut self.fresh_until);
        (self.epoch, self.echoes) = (Epoch::NONE, None); // never looked at again
        if self.role == Role::Candidate {
            self.role = Role::Primary; // only a replica's heartbeat overtakes other frames
        }
        if self.stamped != Timestamp::ZERO {
            self.stamped = moved(self.stamped);
            if self.stamped + around.lateness < time.origin {
                (self.stamped, self.role) = (Timestamp::ZERO, Role::Primary);
            }
        }
        // Only willing peers are asked for votes, and nobody waits for one that stands aside.
        let is_fresh = self.fresh_until > time.origin;
        let willing = self.availability.is_free() && self.hears_me;
        let aside = !self.availability.stands();
        (self.availability, self.hears_me) = match (willing, aside) {
            (true, false) if is_fresh => (Availability::Free, true),
            (true, true) if is_fresh => (Availability::FreeAside, true),
            (false, true) if is_fresh => (Availability::Leaving, false),
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
                // Compared with incoming frames, which are no older than the longest delay.
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
    /// An anchor from which trust would have ended counts as no anchor.
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
        self.moved();
    }
}
