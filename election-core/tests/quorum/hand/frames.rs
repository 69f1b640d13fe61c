//! What the peers of the node say.

use super::*;

/// A heartbeat to hear. Fields that matter in few tests have defaults.
#[derive(Clone, Copy)]
pub(crate) struct Beat {
    pub(crate) epoch: u64,
    pub(crate) role: Role,
    pub(crate) position: Position,
    pub(crate) availability: Availability,
    pub(crate) echo: Option<u64>,
    pub(crate) nominee: Option<Peer>,
    /// Whether it hears this node.
    pub(crate) hears: bool,
    pub(crate) token: u64,
    pub(crate) holds: Held,
    /// The fingerprint of its list of members, if it has another list.
    pub(crate) list: Option<u64>,
    pub(crate) lists: Outline,
}

/// The heartbeat of a replica without a primary.
pub(crate) fn replica(epoch: u64) -> Beat {
    let position = Position::default();
    Beat {
        epoch,
        role: Role::Replica,
        position,
        availability: Free,
        echo: None,
        nominee: None,
        hears: true,
        token: 0,
        holds: Held::default(),
        list: None,
        lists: Outline::default(),
    }
}

pub(crate) fn primary(epoch: u64) -> Beat {
    Beat { role: Role::Primary, availability: Busy, token: epoch, ..replica(epoch) }
}

pub(crate) fn candidate(epoch: u64) -> Beat {
    Beat { role: Role::Candidate, ..replica(epoch) }
}

/// The heartbeat of a replica that echoes a frame of this node.
pub(crate) fn echo(epoch: u64, stamp: u64) -> Beat {
    Beat { availability: Busy, echo: Some(stamp), ..replica(epoch) }
}

/// An announcement of `c` that bears this stamp.
pub(crate) fn announcement(number: u64, stamp: Stamp) -> Message {
    let (epoch, address) = (epoch(number), Label::new("c:1").unwrap());
    Message::Announce { epoch, address, token: epoch, stamp: Some(stamp) }
}

impl Hand {
    pub(crate) fn stamp(&mut self, from: Peer) -> Stamp {
        let stamps = &mut self.stamps[from.index()];
        let after = stamps.last().map_or(0, |last| last + 1);
        stamps.push(after.max(at(self.now).as_nanos()));
        self.old_stamp(from, 0)
    }

    /// A stamp that `from` gave this many frames ago.
    pub(crate) fn old_stamp(&self, from: Peer, ago: usize) -> Stamp {
        let nth = self.stamps[from.index()].iter().nth_back(ago);
        let at = Timestamp::from_nanos(nth.copied().unwrap_or_default());
        Stamp { incarnation: life(self.lives[from.index()]), at }
    }

    pub(crate) fn message(&mut self, from: Peer, message: Message) -> Option<Change> {
        let connection = Connection(self.connections[from.index()]);
        self.event(Event::Received { from, connection, message })
    }

    pub(crate) fn beat(&self, beat: Beat, stamp: Stamp) -> Message {
        let Beat { epoch: number, role, position, availability, nominee, holds, .. } = beat;
        let echo = beat.echo.map(|at| Stamp {
            incarnation: self.quorum.incarnation(),
            at: Timestamp::from_nanos(at),
        });
        let own = self.quorum.config().members().fingerprint();
        let fingerprint = beat.list.map_or(own, Fingerprint::new);
        let me = self.quorum.config().members().me();
        let hears = PeerSet::from_bits(if beat.hears { 1 << me.index() } else { 0 });
        let attestation = match (echo, beat.token) {
            (Some(echo), _) => Attestation::Echo(echo),
            (None, 0) => Attestation::None,
            (None, token) => Attestation::Token(epoch(token)),
        };
        let extension = Some(Extension {
            stamp,
            attestation,
            availability,
            nominee,
            fingerprint,
            hears,
            holds,
            lists: beat.lists,
        });
        Message::Heartbeat(Heartbeat { epoch: epoch(number), role, position, extension })
    }

    pub(crate) fn hear(&mut self, from: Peer, beat: Beat) -> Option<Change> {
        let stamp = self.stamp(from);
        let message = self.beat(beat, stamp);
        self.message(from, message)
    }

    pub(crate) fn hear_all(&mut self, from: &[Peer], beat: Beat) {
        from.iter().for_each(|peer| drop(self.hear(*peer, beat)));
    }

    /// A heartbeat of a peer that speaks only kevy-elect's protocol.
    pub(crate) fn hear_old(
        &mut self,
        from: Peer,
        number: u64,
        role: Role,
        reached: u64,
    ) -> Option<Change> {
        let (epoch, position) = (epoch(number), offset(reached));
        let heartbeat = Heartbeat { epoch, role, position, extension: None };
        self.message(from, Message::Heartbeat(heartbeat))
    }

    /// Lets time pass; every interval brings these heartbeats.
    pub(crate) fn listen(&mut self, millis: u64, heard: &[(Peer, Beat)]) {
        while self.now < millis {
            for (from, beat) in heard {
                self.hear(*from, *beat);
            }
            self.run_to(millis.min(self.now + 200));
        }
    }

    pub(crate) fn offer(&mut self, from: Peer, number: u64, position: Position) -> Option<Change> {
        let stamp = Some(self.stamp(from));
        self.message(from, Message::Offer { epoch: epoch(number), position, stamp })
    }

    pub(crate) fn accept(&mut self, from: Peer, number: u64) -> Option<Change> {
        let stamp = Some(self.stamp(from));
        self.message(from, Message::Accept { epoch: epoch(number), stamp, accepted: None })
    }

    pub(crate) fn announce(&mut self, from: Peer, number: u64, address: &str) -> Option<Change> {
        let stamp = Some(self.stamp(from));
        let address = Label::new(address).unwrap();
        self.message(
            from,
            Message::Announce { epoch: epoch(number), address, token: epoch(number), stamp },
        )
    }

    pub(crate) fn disconnect(&mut self, from: Peer) {
        let connection = Connection(self.connections[from.index()]);
        self.event(Event::Disconnected { from, connection });
    }

    /// The process of `from` ends, and another takes its place.
    pub(crate) fn replace(&mut self, from: Peer) {
        self.disconnect(from);
        self.restart(from);
    }

    /// Another process replaces that of `from`: a new life on a new connection.
    pub(crate) fn restart(&mut self, from: Peer) {
        self.lives[from.index()] += 1;
        self.connections[from.index()] += 1;
        self.stamps[from.index()].clear();
    }
}
