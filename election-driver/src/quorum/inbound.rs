//! Connections that others have made: members, and whoever else reaches the port.
//!
//! A connection belongs to nobody before its first frame says so. There is room for a bounded number
//! of those; when there are too many, one of whoever has most of them goes. So ten thousand silent
//! sockets cost the members nothing but the work of accepting and closing them.

use super::{
    admission,
    handshake::{Entered, Handshakes},
    refusal::Refusal,
    security::Security,
    socket,
    transport::Transport,
};
use crate::Network;
use election_core::{
    NodeId, Timestamp,
    quorum::{
        Connection, Members, Message, Peer,
        wire::{Decoder, Dialect, Incoming},
    },
};
use futures_lite::io::{AsyncRead, AsyncWrite};
use std::{
    collections::BTreeMap,
    io,
    net::{IpAddr, SocketAddr},
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

/// How many connections may not have said yet whose they are.
const UNKNOWN: usize = 64;
/// How many connections there may be in the name of one member. Usually there is one, and for
/// moments two: the old one of a member that has just come back. At least three, so that there is one
/// to end that neither has just spoken nor is the one that the node listens on.
const OF_ONE: usize = 4;
/// How many new connections are taken between two looks at the others.
const AT_ONCE: usize = 64;
/// The pause after the system has refused to give out a connection.
const REFUSED: Duration = Duration::from_millis(100);

/// What has come in.
pub(super) enum InboundEvent {
    /// A frame, or a greeting, which is for the outbox only.
    Heard { from: Peer, connection: Connection, dialect: Dialect, message: Option<Message> },
    /// A connection that has said whose it is has ended.
    Ended { from: Peer, connection: Connection },
    /// A connection was closed because of what came in.
    Refused { address: SocketAddr, error: Refusal },
    /// A process that no member dials speaks as a member that another process is.
    DuplicateId { from: Peer, address: SocketAddr },
    /// The system gives no connections out.
    AcceptFailed(io::Error),
}

struct InboundConnection<S> {
    transport: Transport<S>,
    address: SocketAddr,
    /// The only member in whose name it may speak, if it has proved to be one.
    proved: Option<NodeId>,
    number: Connection,
    decoder: Box<Decoder>,
    /// Since when no whole frame has come.
    since: Timestamp,
    /// Since when it has only greeted, as a process does that has not been heard.
    greets: Option<Timestamp>,
    /// It has to make room for another in the same name.
    evicted: bool,
    /// What it sent has been refused, and its end is still to be told.
    refused: bool,
    /// Its end has been told, or there was nobody to tell of.
    over: bool,
}

pub(super) struct Inbound<R: Network> {
    runtime: R,
    handshakes: Handshakes<R>,
    members: Members,
    down_after: Duration,
    listeners: Vec<R::Listener>,
    connections: Vec<InboundConnection<R::Stream>>,
    /// The number of the last connection.
    numbered: u64,
    /// Where to go on reading, so that everybody has a turn.
    turn: usize,
    accepts_from: Timestamp,
    /// Of each member in whose name somebody only greets, who that is.
    greeters: BTreeMap<Peer, Greeter>,
}

/// Somebody who has only greeted, on one connection or on several, one after the other: whoever is not
/// heard gives a connection up after a while, and makes another.
struct Greeter {
    address: IpAddr,
    since: Timestamp,
    last: Timestamp,
}

impl<R: Network> Inbound<R> {
    pub(super) fn new(
        runtime: R,
        security: Security,
        members: Members,
        down_after: Duration,
        listeners: Vec<R::Listener>,
    ) -> Self {
        Self {
            handshakes: Handshakes::new(runtime.clone(), security, down_after),
            runtime,
            members,
            down_after,
            listeners,
            connections: Vec::new(),
            numbered: 0,
            turn: 0,
            accepts_from: Timestamp::ZERO,
            greeters: BTreeMap::new(),
        }
    }

    /// What has come in next. If there is nothing, the task is woken when there is. `listens_on` says
    /// on which connection the node listens to a member.
    pub(super) fn poll(
        &mut self,
        cx: &mut Context<'_>,
        now: Timestamp,
        listens_on: impl Fn(Peer) -> Option<Connection>,
    ) -> Poll<InboundEvent> {
        if let Poll::Ready(error) = self.accept(cx, now) {
            return Poll::Ready(InboundEvent::AcceptFailed(error));
        }
        while let Poll::Ready(outcome) = self.handshakes.poll(cx) {
            match outcome {
                Ok(entered) => self.add(entered, now),
                Err((address, error)) => {
                    return Poll::Ready(InboundEvent::Refused { address, error });
                }
            }
        }
        for _ in 0..self.connections.len() {
            let place = self.turn % self.connections.len();
            self.turn = place + 1;
            let (members, down_after) = (&self.members, self.down_after);
            let greeted = self.connections[place].greets.is_some();
            if let Poll::Ready(call) = self.connections[place].poll(cx, members, now, down_after) {
                match call {
                    InboundEvent::Heard { from, message: None, .. } => {
                        self.greets(from, place, now);
                    }
                    InboundEvent::Heard { from, .. } if greeted => _ = self.greeters.remove(&from),
                    _ => {}
                }
                return Poll::Ready(match call {
                    InboundEvent::Heard { from, message: None, .. }
                        if self.is_duplicate(place, now) =>
                    {
                        InboundEvent::DuplicateId { from, address: self.connections[place].address }
                    }
                    InboundEvent::Heard { from, .. } => {
                        self.make_room(from, place, &listens_on);
                        call
                    }
                    call => call,
                });
            }
        }
        self.connections.retain(|each| !each.over);
        Poll::Pending
    }

    /// Goes by another list. A connection of somebody who has not the same place ends.
    pub(super) fn regroup(&mut self, members: &Members) {
        let old = std::mem::replace(&mut self.members, members.clone());
        let stays = |peer| old.id(peer) == members.id(peer);
        self.handshakes.regroup(stays);
        self.greeters.retain(|peer, _| stays(*peer));
        for each in &mut self.connections {
            each.evicted |= !each.decoder.peer().is_none_or(stays);
            each.decoder.decode_by(members.clone());
        }
    }

    /// A member is to be found there, so it may come from there.
    pub(super) fn expects(&mut self, peer: Peer, address: IpAddr) {
        self.handshakes.expects(peer, address);
    }

    /// Where members may come from.
    #[cfg(test)]
    pub(super) fn known(&self) -> Vec<IpAddr> {
        self.handshakes.known()
    }

    /// A greeting has come in a member's name.
    fn greets(&mut self, from: Peer, place: usize, now: Timestamp) {
        let address = self.connections[place].address.ip();
        let goes_on =
            |known: &&mut Greeter| known.address == address && now < known.last + self.down_after;
        match self.greeters.get_mut(&from).filter(goes_on) {
            Some(known) => known.last = now,
            None => _ = self.greeters.insert(from, Greeter { address, since: now, last: now }),
        }
    }

    /// Whether somebody who greets has only greeted for a long time, while another connection in the
    /// same name speaks. The other process is the one that the members dial. So this one hears nobody, and its
    /// greetings count for nothing.
    fn is_duplicate(&self, place: usize, now: Timestamp) -> bool {
        let each = &self.connections[place];
        let greeter = each.decoder.peer().and_then(|from| self.greeters.get(&from));
        let greets_on = greeter.is_some_and(|greeter| now >= greeter.since + self.down_after);
        let is_rival = |other: &InboundConnection<R::Stream>| {
            let same = other.decoder.peer() == each.decoder.peer();
            same && other.greets.is_none() && !other.over
        };
        greets_on && self.connections.iter().any(is_rival)
    }

    /// Ends connections that other credentials do not admit.
    #[cfg(feature = "tls")]
    pub(super) fn recheck(&mut self) {
        let security = self.handshakes.security();
        for each in &mut self.connections {
            let admitted = |proved| security.still_admits(&each.transport, proved);
            each.evicted |= !each.proved.as_ref().is_none_or(admitted);
        }
    }

    /// When to call again if nothing comes in.
    pub(super) fn deadline(&self) -> Option<Timestamp> {
        let silent = self.connections.iter().map(|each| each.since).min();
        let silent = silent.map(|since| since + self.down_after);
        let refused = (self.accepts_from > Timestamp::ZERO).then_some(self.accepts_from);
        silent.into_iter().chain(refused).min()
    }

    /// Takes connections in. Ready if the system has none to give.
    fn accept(&mut self, cx: &mut Context<'_>, now: Timestamp) -> Poll<io::Error> {
        if now < self.accepts_from {
            return Poll::Pending;
        }
        self.accepts_from = Timestamp::ZERO;
        for place in 0..self.listeners.len() {
            for taken in 0.. {
                if self.handshakes.is_crowded(UNKNOWN) {
                    break; // the end of a handshake wakes this task
                }
                if taken == AT_ONCE {
                    cx.waker().wake_by_ref();
                    break;
                }
                match self.runtime.poll_accept(&mut self.listeners[place], cx) {
                    Poll::Pending => break,
                    Poll::Ready(Ok((stream, address))) => self.accepted(stream, address, now),
                    Poll::Ready(Err(error)) if is_theirs(&error) => {}
                    Poll::Ready(Err(error)) => {
                        self.accepts_from = now + REFUSED;
                        return Poll::Ready(error);
                    }
                }
            }
        }
        Poll::Pending
    }

    fn accepted(&mut self, stream: R::Stream, address: SocketAddr, now: Timestamp) {
        if socket::prepare::<R>(&stream, self.down_after).is_err() {
            return; // it has gone already
        }
        if let Some(entered) = self.handshakes.admit(stream, address, UNKNOWN) {
            self.add(entered, now);
        }
    }

    fn add(&mut self, entered: Entered<R::Stream>, now: Timestamp) {
        let Entered { transport, address, proved } = entered;
        self.numbered += 1;
        self.connections.push(InboundConnection {
            transport,
            address,
            proved,
            number: Connection(self.numbered),
            decoder: Box::new(Decoder::new(self.members.clone())),
            since: now,
            greets: None,
            evicted: false,
            refused: false,
            over: false,
        });
        let unknown = self.connections.iter().enumerate();
        let unknown = unknown.filter(|(_, each)| each.decoder.peer().is_none());
        let (places, sources): (Vec<_>, Vec<_>) =
            unknown.map(|(place, each)| (place, each.address.ip())).unzip();
        if places.len() > UNKNOWN {
            let goes = admission::to_evict(&sources, &self.handshakes.known());
            goes.map(|goes| self.connections.remove(places[goes]));
        }
    }

    /// Ends the connection in a member's name that has been silent for longest, if there are too
    /// many. Not `heard`, which has just spoken, and not the one that the node listens on: whoever
    /// makes many connections speaks on each, and the member only once in a while.
    fn make_room(
        &mut self,
        from: Peer,
        heard: usize,
        listens_on: &impl Fn(Peer) -> Option<Connection>,
    ) {
        let belongs = |each: &InboundConnection<R::Stream>| {
            each.decoder.peer() == Some(from) && !each.over && !each.evicted
        };
        if self.connections.iter().filter(|each| belongs(each)).count() <= OF_ONE {
            return;
        }
        let kept = listens_on(from);
        let may_go =
            |each: &InboundConnection<R::Stream>| belongs(each) && Some(each.number) != kept;
        let others = self.connections.iter_mut().enumerate().filter(|(place, _)| *place != heard);
        let silent = others.filter(|(_, each)| may_go(each)).min_by_key(|(_, it)| it.since);
        if let Some((_, each)) = silent {
            each.evicted = true; // it ends when its turn comes
        }
    }
}

/// Whether an error of `accept` is about the connection that was to be accepted.
fn is_theirs(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionReset, Interrupted};
    matches!(error.kind(), ConnectionAborted | ConnectionReset | Interrupted)
}

impl<S: AsyncRead + AsyncWrite + Unpin> InboundConnection<S> {
    fn poll(
        &mut self,
        cx: &mut Context<'_>,
        members: &Members,
        now: Timestamp,
        down_after: Duration,
    ) -> Poll<InboundEvent> {
        if self.over {
            return Poll::Pending;
        }
        if self.evicted || self.refused {
            return self.ended();
        }
        loop {
            match self.decoder.incoming() {
                Ok(Incoming::Incomplete) => {}
                Ok(Incoming::Message(message)) => return self.heard(members, now, Some(message)),
                Ok(Incoming::Greeting) => return self.heard(members, now, None),
                Err(error) => return self.refused(error.into()),
            }
            match Pin::new(&mut self.transport).poll_read(cx, self.decoder.space()) {
                Poll::Ready(Ok(0)) => {
                    return match self.decoder.ended() {
                        Err(error) if self.decoder.peer().is_none() => self.refused(error.into()),
                        _ => self.ended(),
                    };
                }
                Poll::Ready(Ok(count)) => self.decoder.filled(count),
                Poll::Ready(Err(_)) => return self.ended(),
                // After reading: if this process stood still, the frames have come meanwhile.
                Poll::Pending if now >= self.since + down_after => return self.ended(),
                Poll::Pending => return Poll::Pending,
            }
        }
    }

    fn heard(
        &mut self,
        members: &Members,
        now: Timestamp,
        message: Option<Message>,
    ) -> Poll<InboundEvent> {
        self.since = now;
        match message {
            Some(_) => self.greets = None,
            None => _ = self.greets.get_or_insert(now),
        }
        let Some(from) = self.decoder.peer() else { return Poll::Pending };
        if let (Some(proved), Some(claimed)) = (&self.proved, members.id(from)) {
            if proved != claimed {
                let (proved, claimed) = (proved.clone(), claimed.clone());
                return self.refused(Refusal::Impostor { proved, claimed });
            }
        }
        let (connection, dialect) = (self.number, self.decoder.dialect());
        Poll::Ready(InboundEvent::Heard { from, connection, dialect, message })
    }

    /// A refusal is told first, and the end of the connection when its turn comes again.
    fn refused(&mut self, error: Refusal) -> Poll<InboundEvent> {
        self.refused = true;
        Poll::Ready(InboundEvent::Refused { address: self.address, error })
    }

    fn ended(&mut self) -> Poll<InboundEvent> {
        self.over = true;
        match self.decoder.peer() {
            Some(from) => Poll::Ready(InboundEvent::Ended { from, connection: self.number }),
            None => Poll::Pending,
        }
    }
}

#[cfg(test)]
mod tests;
