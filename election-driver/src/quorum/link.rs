//! The connection to one peer: kept open, and written to from the peer's outbox.
//!
//! That a connection is open says little. Whoever has the peer's address or port now may have
//! accepted it, and something between the two may take bytes for a peer that never gets them. The
//! kernel knows of neither. So a connection counts only as long as the peer speaks, elsewhere, as one
//! that hears this node. On which nothing of the kind has come for `down_after`, is made anew. If the
//! name means several addresses, the next one has its turn then.
//!
//! A member can move. Until it has shown to be at its new address, the last one at which it was is tried as
//! well, in turn: the new one may be wrong, or the member may not have moved yet.

use super::{
    address::Address,
    connect::{Begin, Connect, Connected},
    lookup::Lookup,
    refusal::{COMPLAINT, HANDSHAKE},
    security::Security,
    transport::Transport,
};
use crate::Network;
use election_core::{
    NodeId, Random, Timestamp,
    quorum::{Connection, Peer, wire::Outbox},
};
use futures_lite::io::{AsyncRead, AsyncWrite};
use std::{
    future::Future,
    io,
    net::SocketAddr,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

/// The first wait before another attempt to connect. An election may be waiting for it.
const SOON: Duration = Duration::from_millis(10);

const ENCRYPTED: &str =
    "it speaks TLS, but this member has no certificate; give every member a certificate, or none";

/// What has become of a connection.
pub(super) enum News {
    Connected,
    /// The peer has shown that it hears this node.
    Hears,
    /// There is none, and why. It has been of no use since then.
    Failed(io::Error, Timestamp),
}

pub(super) struct Link<R: Network> {
    pub(super) peer: Peer,
    pub(super) id: NodeId,
    /// The member's address.
    home: Address,
    /// Whether it has shown to be there.
    is_home: bool,
    /// The last one at which it was, until it has shown to be at the other.
    previous: Option<Address>,
    /// Where it was looked for last.
    pub(super) address: Address,
    security: Security,
    pub(super) outbox: Outbox,
    state: State<R>,
    pace: Pace,
    /// Of the last address, while no attempt has it.
    lookup: Option<Lookup>,
    /// When the last attempt began.
    began: Timestamp,
    /// Where the next attempt begins.
    begin: Begin,
    /// The connection by which the peer has last shown to be there.
    shown: Option<Connection>,
}

/// Gives back what it was lent to look names up.
type Attempt<R> = Pin<Box<dyn Future<Output = (Lookup, Connected<R>)> + Send>>;

enum State<R: Network> {
    /// There is no connection, and the next attempt is due at this instant.
    Waiting(Timestamp),
    Connecting(Attempt<R>),
    Open(Open<R::Stream>),
    /// The node has left; no connection is wanted any more.
    Over,
}

struct Open<S> {
    stream: Transport<S>,
    number: SocketAddr,
    /// Since when the peer has not spoken as one that hears this node.
    since: Timestamp,
    /// Whether it has, on this connection.
    speaks: bool,
    /// Whether it has only greeted since.
    greets: bool,
}

/// How long to wait between attempts.
#[derive(Clone, Copy)]
pub(super) struct Pace {
    pub(super) longest: Duration,
    pub(super) down_after: Duration,
    next: Duration,
}

impl Pace {
    pub(super) fn new(longest: Duration, down_after: Duration) -> Self {
        Self { longest, down_after, next: SOON.min(longest) }
    }

    /// The next wait.
    fn wait(&mut self, random: &mut Random) -> Duration {
        self.wait_up_to(self.longest, random)
    }

    /// The same after the two have refused each other: that lasts until somebody does something about
    /// it, and each attempt costs both a handshake.
    fn wait_refused(&mut self, random: &mut Random) -> Duration {
        self.wait_up_to(self.longest.max(self.down_after), random)
    }

    /// Half of a wait is drawn, so that nodes that have failed together do not try again together.
    fn wait_up_to(&mut self, longest: Duration, random: &mut Random) -> Duration {
        let next = self.next.min(longest);
        self.next = (next * 2).min(longest);
        next / 2 + random.jitter(next / 2)
    }

    fn begin_anew(&mut self) {
        *self = Self::new(self.longest, self.down_after);
    }
}

impl<R: Network> Link<R> {
    pub(super) fn new(
        (peer, id): (Peer, NodeId),
        address: Address,
        security: Security,
        outbox: Outbox,
        pace: Pace,
    ) -> Self {
        let state = State::Waiting(Timestamp::ZERO);
        let (began, begin) = (Timestamp::ZERO, Begin::First);
        let home = address.clone();
        Self {
            peer,
            id,
            home,
            is_home: false,
            previous: None,
            address,
            security,
            outbox,
            state,
            pace,
            lookup: None,
            began,
            begin,
            shown: None,
        }
    }

    /// Connects, writes what waits, and notices an end. To be called again until there is no more
    /// news.
    pub(super) fn poll(
        &mut self,
        cx: &mut Context<'_>,
        now: Timestamp,
        runtime: &R,
        random: &mut Random,
    ) -> Option<News> {
        loop {
            match &mut self.state {
                State::Waiting(until) if now < *until => return None,
                State::Waiting(_) => {
                    self.began = now;
                    let known = self.lookup.take();
                    self.address = self.next_address();
                    let known = known.filter(|known| known.address().is_same(&self.address));
                    let lookup = known.unwrap_or_else(|| Lookup::new(self.address.clone()));
                    let connect = Connect {
                        runtime: runtime.clone(),
                        security: self.security.clone(),
                        id: self.id.clone(),
                        begin: self.begin,
                        down_after: self.pace.down_after,
                    };
                    self.state = State::Connecting(Box::pin(connect.attempt(lookup)));
                }
                State::Connecting(attempt) => {
                    let Poll::Ready((lookup, connected)) = attempt.as_mut().poll(cx) else {
                        return None;
                    };
                    self.lookup = Some(lookup);
                    return Some(self.connected(connected, now, random));
                }
                State::Open(open) => {
                    let flushed = flush(&mut self.outbox, &mut open.stream, cx, now);
                    return match flushed.and_then(|()| goes_on(&mut open.stream, cx)) {
                        Ok(()) => None,
                        Err(error) => Some(self.failed(error, now, random)),
                    };
                }
                State::Over => return None,
            }
        }
    }

    /// An attempt is over.
    fn connected(&mut self, outcome: Connected<R>, now: Timestamp, random: &mut Random) -> News {
        match outcome {
            // It was judged by credentials that are not in use any more.
            #[cfg(feature = "tls")]
            Ok((stream, _)) if !self.security.still_admits(&stream, &self.id) => {
                let why = "the certificates in use have changed meanwhile";
                self.failed(io::Error::new(io::ErrorKind::PermissionDenied, why), now, random)
            }
            Ok((stream, number)) => {
                self.outbox.opened(now);
                let (since, speaks, greets) = (now, false, false);
                self.state = State::Open(Open { stream, number, since, speaks, greets });
                News::Connected
            }
            Err(error) => self.failed(error, now, random),
        }
    }

    fn failed(&mut self, error: io::Error, now: Timestamp, random: &mut Random) -> News {
        let error = self.security.explained(error);
        self.closed(now, self.security.is_refusal(&error), random);
        News::Failed(error, now)
    }

    /// There is no connection any more; another attempt is due soon, unless it was refused.
    fn closed(&mut self, now: Timestamp, refused: bool, random: &mut Random) {
        self.outbox.closed();
        if let State::Open(Open { number, speaks, .. }) = self.state {
            self.begin = if speaks { Begin::With(number) } else { Begin::After(number) };
            // Who accepts and hangs up at once is no better than who refuses.
            if now.since(self.began) >= self.pace.longest && !refused {
                self.pace.begin_anew();
            }
        }
        let wait = if refused { self.pace.wait_refused(random) } else { self.pace.wait(random) };
        self.state = State::Waiting(now + wait);
    }

    /// The peer has shown to be there, on this connection: it need not be waited for. (Anybody can say
    /// that in its name, so it is tried again no sooner than after the least wait, and once for each
    /// connection.)
    pub(super) fn is_there(&mut self, connection: Connection) {
        if self.shown.replace(connection) != Some(connection) {
            self.hurry();
        }
    }

    /// Where the next attempt looks for the member.
    fn next_address(&self) -> Address {
        let previous = self.previous.as_ref().filter(|_| self.address.is_same(&self.home));
        previous.unwrap_or(&self.home).clone()
    }

    /// The member's address is this one from now on, and `others` belong to other members. A connection stays for
    /// as long as it is of use. Returns whether the address is another one.
    pub(super) fn relocate(&mut self, home: &Address, others: &[Address]) -> bool {
        let moves = !self.home.is_same(home);
        if moves {
            let former = std::mem::replace(&mut self.home, home.clone());
            if std::mem::take(&mut self.is_home) {
                self.previous = Some(former);
            }
            if let State::Connecting(_) = self.state {
                self.state = State::Waiting(Timestamp::MAX);
            }
            self.hurry();
        }
        let is_free = |address: &Address| !others.iter().any(|other| other.is_same(address));
        self.previous = self.previous.take().filter(is_free);
        moves
    }

    /// What was in the way of a connection may be over.
    pub(super) fn hurry(&mut self) {
        if let State::Waiting(until) = &mut self.state {
            *until = (*until).min(self.began + SOON);
            self.pace.begin_anew();
        }
    }

    /// A frame of the peer came in, on a connection of its own, or only a greeting. Returns whether it
    /// is the first on this connection to show that the peer hears this node.
    pub(super) fn spoke(&mut self, is_greeting: bool, now: Timestamp) -> bool {
        let State::Open(open) = &mut self.state else { return false };
        open.greets = is_greeting;
        if is_greeting {
            return false;
        }
        open.since = now;
        if std::mem::replace(&mut open.speaks, true) {
            return false;
        }
        if self.address.is_same(&self.home) {
            (self.is_home, self.previous) = (true, None);
        }
        true
    }

    /// Gives up a connection on which the peer evidently does not hear this node. To be called when
    /// everything that has come in was read: if this process stood still, the peer has spoken
    /// meanwhile.
    pub(super) fn doubt(&mut self, now: Timestamp, random: &mut Random) -> Option<News> {
        let limit = self.pace.down_after;
        let State::Open(open) = &self.state else { return None };
        if now < open.since + limit {
            return None;
        }
        let (number, since) = (open.number, open.since);
        let cause = match open.greets {
            true => format!(
                "it is running but has not heard this node for {limit:?}; something between them, \
                 or at {number}, accepts the bytes without delivering them"
            ),
            false => format!(
                "nothing has arrived from it for {limit:?}: it is cut off, it hangs, or {number} \
                 is not its address; a member is also silent towards this node while another \
                 process runs under this node's id"
            ),
        };
        let error = io::Error::new(io::ErrorKind::TimedOut, cause);
        self.closed(now, false, random);
        Some(News::Failed(error, since))
    }

    /// Ends a connection that other credentials do not admit; another attempt is due at once.
    #[cfg(feature = "tls")]
    pub(super) fn recheck(&mut self) {
        if let State::Open(open) = &self.state {
            if !self.security.still_admits(&open.stream, &self.id) {
                self.outbox.closed();
                self.state = State::Waiting(Timestamp::ZERO);
            }
        }
    }

    /// Where the peer is, if there is a connection.
    pub(super) fn number(&self) -> Option<SocketAddr> {
        match &self.state {
            State::Open(open) => Some(open.number),
            State::Waiting(_) | State::Connecting(_) | State::Over => None,
        }
    }

    /// When to call again if nothing happens before.
    pub(super) fn deadline(&self) -> Option<Timestamp> {
        match &self.state {
            State::Waiting(until) => Some(*until),
            State::Open(open) => {
                let doubt = open.since + self.pace.down_after;
                Some(self.outbox.cut_at().map_or(doubt, |cut| cut.min(doubt)))
            }
            State::Connecting(_) | State::Over => None,
        }
    }

    /// Writes the last frames and closes the connection; ready once nothing is left to do, or nobody
    /// is there.
    pub(super) fn poll_farewell(&mut self, cx: &mut Context<'_>, now: Timestamp) -> Poll<()> {
        let limit = self.pace.down_after;
        if let State::Open(Open { stream, since, .. }) = &mut self.state {
            let flushed = flush(&mut self.outbox, stream, cx, now);
            if flushed.is_ok() && now < *since + limit {
                if !self.outbox.is_empty() {
                    return Poll::Pending;
                }
                // Shuts it down for writing, so that the farewell is read before the end.
                if Pin::new(stream).poll_close(cx).is_pending() {
                    return Poll::Pending;
                }
            }
        }
        self.state = State::Over;
        Poll::Ready(())
    }
}

/// Writes as much as the connection takes.
fn flush<S: AsyncWrite + Unpin>(
    outbox: &mut Outbox,
    stream: &mut S,
    cx: &mut Context<'_>,
    now: Timestamp,
) -> io::Result<()> {
    while !outbox.is_empty() {
        match Pin::new(&mut *stream).poll_write(cx, outbox.bytes()) {
            Poll::Ready(Ok(0)) => return Err(io::ErrorKind::WriteZero.into()),
            Poll::Ready(Ok(count)) => outbox.written(count, now),
            Poll::Ready(Err(error)) => return Err(error),
            Poll::Pending => break,
        }
    }
    // What was encrypted is on its way only then.
    if let Poll::Ready(Err(error)) = Pin::new(&mut *stream).poll_flush(cx) {
        return Err(error);
    }
    // After writing: if this process stood still, the peer may have waited for it.
    match outbox.cut_at() {
        Some(at) if at <= now => Err(io::Error::new(io::ErrorKind::TimedOut, "it accepts no data")),
        _ => Ok(()),
    }
}

/// Notices that the peer has closed the connection. It never writes here, so what it says is not
/// read for its meaning.
fn goes_on<S: AsyncRead + Unpin>(stream: &mut S, cx: &mut Context<'_>) -> io::Result<()> {
    let mut ignored = [0; 64];
    match Pin::new(stream).poll_read(cx, &mut ignored) {
        Poll::Pending => Ok(()),
        Poll::Ready(Ok(0)) => Err(hung_up()),
        // Without the farewell of TLS, as when its process was killed.
        Poll::Ready(Err(error)) if error.kind() == io::ErrorKind::UnexpectedEof => Err(hung_up()),
        Poll::Ready(Ok(_)) if matches!(ignored[0], HANDSHAKE | COMPLAINT) => {
            Err(io::Error::new(io::ErrorKind::InvalidData, ENCRYPTED))
        }
        Poll::Ready(Ok(_)) => Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "its answer is not a member's; correct its address",
        )),
        Poll::Ready(Err(error)) => Err(error),
    }
}

fn hung_up() -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, "it closed the connection")
}

#[cfg(test)]
mod tests;
