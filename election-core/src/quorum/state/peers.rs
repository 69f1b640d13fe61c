//! What this node knows of every other node: its last heartbeat, how fresh that is, and which life
//! of the peer sent it.

use crate::{
    Epoch, Incarnation, Timestamp,
    quorum::{
        maintenance::Held,
        members::Members,
        membership::Outline,
        message::{Availability, Connection, Heartbeat, Role, Stamp},
        places::{Fingerprint, Peer, PeerSet},
        position::Position,
    },
};
use alloc::boxed::Box;

/// A set of members, one bit for each: there are at most 63.
pub(crate) type Mask = u64;

/// The set that holds one member.
pub(crate) const fn bit(peer: Peer) -> Mask {
    1 << (peer.index() & 63)
}

/// The members of a set, in order.
pub(crate) fn members_of(mask: Mask) -> impl Iterator<Item = Peer> {
    PeerSet::from_bits(mask).members()
}

/// One peer, as this node last heard it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct View {
    /// The life that this node listens to; `None` if the peer sends no stamps.
    pub(crate) incarnation: Option<Incarnation>,
    /// Its newest connection.
    connection: Option<Connection>,
    /// The same, unless it has ended.
    open: Option<Connection>,
    /// The newest connection known to have ended.
    over: Option<Connection>,
    /// Two lives were heard at once. Neither counts before this instant.
    pub(crate) clash_until: Timestamp,
    /// How often the two have taken turns to speak since then.
    pub(crate) turns: u8,
    /// The peer counts as alive before this instant.
    pub(crate) fresh_until: Timestamp,
    /// The stamp of the newest heartbeat.
    pub(crate) stamped: Timestamp,
    pub(crate) epoch: Epoch,
    pub(crate) role: Role,
    pub(crate) position: Position,
    /// The life that the peer supports, if it echoes a frame of one. No rule depends on it: it is there
    /// to be shown.
    pub(crate) echoes: Option<Incarnation>,
    /// Whether the peer could vote; taken for free if it does not say.
    pub(crate) availability: Availability,
    /// Whether the peer hears this node; taken for granted if it does not say.
    pub(crate) hears_me: bool,
    /// The peer was given another list of members.
    pub(crate) differs: bool,
    /// Which record of maintenance the peer holds.
    pub(crate) holds: Held,
    /// The list that the peer has recorded, if it says so, and which others.
    pub(crate) list: Option<Fingerprint>,
    pub(crate) lists: Outline,
}

/// What to do with a frame, by the life and the connection it comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Admission {
    /// The frame comes from the life and connection that this node listens to.
    Admitted,
    /// The frame is the first after a silence, of a life, or on a connection.
    News,
    /// The same, and the life before may still run: it has only missed some heartbeats. What it
    /// has voted for does not count.
    Instead,
    /// The frame comes from a connection that was superseded or has ended.
    Superseded,
    /// Another life is heard before the known one is known to be gone: it may be its successor, or
    /// run beside it. Neither counts.
    Doubt,
    /// Two lives take turns to speak: two processes run under one id. Neither counts.
    Clash,
}

/// How often two lives take turns before they count as two processes. A process that lost its power
/// and has started again is heard once before, and once after; a frame that was late is a turn and
/// back. Two processes that run go on and on.
const TURNS: u8 = 4;

/// A life without stamps gives way to one with stamps after this part of `down_after`. An older
/// version that runs has spoken again by then.
pub(crate) const MISSED: u64 = 4;

/// Every peer, by its place in the list of members.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Peers(pub(crate) Box<[View]>);

impl Peers {
    pub(crate) fn new(members: &Members) -> Self {
        Self((0..members.places()).map(|_| View::unheard()).collect())
    }

    /// Nobody was heard.
    pub(crate) fn forget_all(&mut self) {
        self.0.fill(View::unheard());
    }

    /// There are so many places, and only these have the members that they had before.
    pub(crate) fn keep(&mut self, places: usize, kept: Mask) {
        let places = (0..).map(Peer::new).take(places);
        let view = |peer: Peer| self.get(peer).filter(|_| kept & bit(peer) != 0).cloned();
        self.0 = places.map(|peer| view(peer).unwrap_or_else(View::unheard)).collect();
    }

    pub(crate) fn get(&self, peer: Peer) -> Option<&View> {
        self.0.get(peer.index())
    }

    pub(crate) fn get_mut(&mut self, peer: Peer) -> Option<&mut View> {
        self.0.get_mut(peer.index())
    }

    /// Every peer that counts as alive. This node never hears itself, so its own place is not
    /// fresh.
    pub(crate) fn fresh(&self, now: Timestamp) -> impl Iterator<Item = (Peer, &View)> {
        let places = (0..).map(Peer::new);
        places.zip(&self.0).filter(move |(_, view)| view.is_fresh(now))
    }
}

impl View {
    fn unheard() -> Self {
        Self {
            incarnation: None,
            connection: None,
            open: None,
            over: None,
            clash_until: Timestamp::ZERO,
            turns: 0,
            fresh_until: Timestamp::ZERO,
            stamped: Timestamp::ZERO,
            epoch: Epoch::NONE,
            role: Role::Replica,
            position: Position::default(),
            echoes: None,
            availability: Availability::Busy,
            hears_me: false,
            differs: false,
            holds: Held::default(),
            list: None,
            lists: Outline::default(),
        }
    }

    /// Whether the peer was heard within `down_after`, and in one life only.
    pub(crate) fn is_fresh(&self, now: Timestamp) -> bool {
        now < self.fresh_until && self.clash_until <= now
    }

    /// Whether this node has ever heard the peer.
    pub(crate) fn was_heard(&self) -> bool {
        self.fresh_until != Timestamp::ZERO
    }

    /// Whether the peer is fresh, and no end of its connection says that it is gone.
    pub(crate) fn is_heard(&self, now: Timestamp) -> bool {
        self.is_fresh(now) && !self.has_ended()
    }

    /// Whether the peer could be elected in place of this node, as far as it says. One that speaks only
    /// kevy-elect's protocol cannot be named.
    pub(crate) fn could_take_over(&self, now: Timestamp) -> bool {
        let waits = self.availability == Availability::Waiting;
        let is_able = self.is_extended() && self.availability.stands() && !waits && !self.differs;
        is_able && self.hears_me && self.is_heard(now)
    }

    /// Whether the peer could help to elect another primary than this node does: it was given another
    /// list of members of this generation, and may vote by it. (It would be told of a later one, and
    /// tells it.) A peer whose own ballot is of another list than its file says that it may not, and
    /// that does not change in this life: it might as well be silent.
    pub(crate) fn contradicts(&self, generation: u64) -> bool {
        let same = self.lists.generation == generation;
        self.differs && same && self.availability != Availability::Ineligible
    }

    /// Whether two lives of the peer were heard lately.
    pub(crate) fn clashes(&self, now: Timestamp) -> bool {
        now < self.clash_until
    }

    /// Its open connection.
    pub(crate) fn open_connection(&self) -> Option<Connection> {
        self.open
    }

    /// Whether the peer stamps its frames and echoes. Its newest life decides: an older version may
    /// have replaced it.
    pub(crate) fn is_extended(&self) -> bool {
        self.incarnation.is_some()
    }

    /// The stamp of the newest heartbeat of this life.
    pub(crate) fn stamped(&self) -> Timestamp {
        self.stamped
    }

    /// Whether a heartbeat with this stamp is newer than all before. Heartbeats without stamps
    /// count in the order in which they come.
    pub(crate) fn supersedes(&mut self, stamp: Option<&Stamp>) -> bool {
        let Some(stamp) = stamp else { return true };
        if stamp.at <= self.stamped {
            return false;
        }
        self.stamped = stamp.at;
        true
    }

    /// Keeps what a heartbeat says, to `me`.
    pub(crate) fn keep(&mut self, heartbeat: &Heartbeat, me: Peer) {
        let said = heartbeat.extension.as_ref();
        self.epoch = heartbeat.epoch;
        self.role = heartbeat.role;
        self.position = heartbeat.position;
        let echo = said.and_then(|said| said.attestation.echo());
        self.echoes = echo.map(|echo| echo.incarnation);
        // A peer that does not say counts as willing: it is asked, and can refuse.
        self.availability = said.map_or(Availability::Free, |said| said.availability);
        self.hears_me = said.is_none_or(|said| said.hears.bits() & bit(me) != 0);
        self.holds = said.map_or(Held::default(), |said| said.holds);
        self.list = said.map(|said| said.fingerprint);
        self.lists = said.map_or(Outline::default(), |said| said.lists);
    }

    /// Keeps what the peer states of its data.
    pub(crate) fn states(&mut self, position: Position) {
        self.position = position;
    }

    pub(crate) fn disconnected(&mut self, connection: Connection) {
        if self.connection == Some(connection) {
            (self.open, self.over) = (None, self.over.max(self.connection));
        }
    }

    /// Whether the life that this node listens to has no connection any more.
    pub(crate) fn has_ended(&self) -> bool {
        self.open.is_none()
    }

    /// Judges the origin of a frame, before anything in it counts.
    ///
    /// Only the newest connection of a peer counts: the one with the greatest number, until an
    /// earlier one brings a newer frame of the same life, or speaks when the newest has been silent
    /// for `down_after`. (Connections can be accepted in another order than they were made in, and
    /// the one that came late then ends. And a stranger may have spoken once in the peer's name.) A
    /// new life replaces the known life only if the known life's connection has ended, or if it was
    /// silent for `down_after`. Otherwise two processes may run under one id, and neither counts
    /// (one vote would count twice). That they do run is certain enough to be reported only when
    /// both go on speaking: nothing ends the connections of a host that loses its power.
    ///
    /// A life without stamps gives way to one with stamps earlier, as soon as it misses some
    /// heartbeats ([`MISSED`]). It may be a stranger's, who has spoken once while the peer had no
    /// connection.
    pub(crate) fn admit(
        &mut self,
        connection: Connection,
        stamp: Option<&Stamp>,
        now: Timestamp,
        down_after: u64,
    ) -> Admission {
        let incarnation = stamp.map(|stamp| &stamp.incarnation);
        let newest = self.open == Some(connection);
        let mut admitted = Admission::Admitted;
        if newest && self.incarnation.as_ref() == incarnation {
            if now < self.clash_until {
                self.fresh_until = now.after(down_after);
                return self.speaks(true);
            }
        } else {
            admitted = self.admit_other(connection, stamp, now, down_after);
            if !matches!(admitted, Admission::News | Admission::Instead) {
                return admitted;
            }
        }
        if !self.is_fresh(now) {
            admitted = Admission::News;
        }
        self.fresh_until = now.after(down_after);
        admitted
    }

    /// Admits or refuses a frame from another life or connection than the known one. If admitted,
    /// they become the known ones.
    #[cold]
    fn admit_other(
        &mut self,
        connection: Connection,
        stamp: Option<&Stamp>,
        now: Timestamp,
        down_after: u64,
    ) -> Admission {
        let incarnation = stamp.map(|stamp| &stamp.incarnation);
        let silent = self.fresh_until <= now || self.falters(stamp, now, down_after);
        let gone = self.has_ended() || silent;
        let learnt = self.incarnation.is_none() && self.connection == Some(connection);
        let same_life = self.incarnation.as_ref() == incarnation || learnt;
        let goes_on = stamp.is_some_and(|stamp| same_life && self.stamped < stamp.at)
            && Some(connection) != self.over;
        // Whoever was heard on a newer one is silent by now, and this one speaks: that was a stranger,
        // or a life that was short.
        let outlives = silent && Some(connection) != self.over;
        if Some(connection) <= self.over && !goes_on && !outlives {
            return Admission::Superseded;
        }
        if Some(connection) < self.connection && !goes_on && !outlives {
            // An old connection is no news, unless another life still sends on it.
            if self.incarnation.as_ref() == incarnation || incarnation.is_none() {
                return Admission::Superseded;
            }
            return self.clash(now, down_after);
        }
        if incarnation.is_none() && !same_life && !gone {
            // The stamped life is still there: whoever else speaks in its name takes nothing from
            // it. If an older version has replaced it, its connection ends, or falls silent.
            return Admission::Superseded;
        }
        if !same_life && !gone {
            return self.clash(now, down_after);
        }
        let may_run = !same_life && !self.has_ended();
        if self.incarnation.as_ref() != incarnation {
            self.stamped = Timestamp::ZERO;
            self.clash_until = Timestamp::ZERO;
            (self.list, self.lists) = (None, Outline::default()); // its disk may be new
        }
        self.incarnation = incarnation.copied();
        (self.connection, self.open) = (Some(connection), Some(connection));
        if now < self.clash_until {
            self.fresh_until = now.after(down_after);
            return self.speaks(true);
        }
        if may_run { Admission::Instead } else { Admission::News }
    }

    /// Whether a frame with this stamp finds a life without stamps that has missed some heartbeats.
    fn falters(&self, stamp: Option<&Stamp>, now: Timestamp, down_after: u64) -> bool {
        let heard = self.fresh_until.before(down_after);
        stamp.is_some() && !self.is_extended() && heard.after(down_after / MISSED) <= now
    }

    /// Another life than the known one speaks.
    fn clash(&mut self, now: Timestamp, down_after: u64) -> Admission {
        if self.clash_until <= now {
            self.turns = 0;
        }
        self.clash_until = now.after(down_after);
        self.speaks(false)
    }

    /// The known life speaks, or another. The other has every odd turn.
    fn speaks(&mut self, known: bool) -> Admission {
        let is_known_turn = self.turns % 2 == 0;
        if known != is_known_turn {
            self.turns = (self.turns + 1).min(TURNS);
        }
        if self.turns < TURNS { Admission::Doubt } else { Admission::Clash }
    }
}
