//! The node itself: one future that steps the protocol and moves its bytes.

#[cfg(feature = "tls")]
use super::keys::Keys;
use super::{
    ballot_writer::{BallotWriter, Outcome},
    clock::unix_millis,
    inbound::{Inbound, InboundEvent},
    link::{Link, News},
    log::Log,
    metrics::Metrics,
    node_state::{Locked, NodeState, Order},
    observer::MemberObserver,
    security::Security,
};
use crate::{
    Network,
    inbox::Report,
    shared::{Shared, Snapshot},
    timer::Timer,
};
use async_channel::Receiver;
use election_core::{
    Change, Input, Random, Timestamp,
    drive::{Host, drive},
    quorum::{Action, Audience, Event, Membership, Peer, UnixMillis, wire::Encoder},
};
use futures_core::Stream as _;
use futures_lite::future::or;
use std::{
    future::{Future, poll_fn},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::{Duration, SystemTime},
};
use tracing::{Instrument as _, Span};

/// A node as a plain future, for executors of any kind. Completes after a shutdown.
///
/// Poll it without long pauses: leadership runs out while nobody polls. Dropping it ends leadership
/// at once; the others then find out as after a crash.
#[must_use = "a node does nothing unless polled"]
pub struct Node(Pin<Box<dyn Future<Output = ()> + Send>>);

impl Node {
    pub(super) fn new<R: Network>(host: Net<R>, span: Span) -> Self {
        let closes = CloseOnDrop(host.shared.clone(), host.state.clone());
        Self(Box::pin(run(host, closes).instrument(span)))
    }
}

impl Future for Node {
    type Output = ();
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        self.0.as_mut().poll(cx)
    }
}

/// How long the end of a node waits for a save that is under way.
const LEAVING: Duration = Duration::from_secs(2);
/// How often the wall clock is read, which only the end of a pause depends on.
const MINUTE: Duration = Duration::from_secs(60);
/// How many inputs are taken before other tasks have their turn.
const AT_ONCE: u32 = 128;

async fn run<R: Network>(mut host: Net<R>, closes: CloseOnDrop<R>) {
    let mut protocol = Locked::new(host.state.clone(), host.observer.clone());
    drive(&mut protocol, &mut host).await;
    host.say_farewell().await;
    let Net { writer, links, inbound, .. } = host;
    drop((links, inbound));
    // A disk that hangs keeps its thread, not whoever waits for the end of this node.
    let patience = closes.0.setup.runtime.sleep(LEAVING);
    or(writer.close(), patience).await;
    closes.0.finish();
}

/// However the node ends, by a panic or a dropped runtime too, leadership ends with it.
struct CloseOnDrop<R: Network>(Arc<Shared<R>>, Arc<NodeState>);

impl<R: Network> Drop for CloseOnDrop<R> {
    fn drop(&mut self) {
        self.1.close();
        self.0.close();
    }
}

/// What the protocol has around it.
pub(super) struct Net<R: Network> {
    pub(super) shared: Arc<Shared<R>>,
    pub(super) state: Arc<NodeState>,
    pub(super) timer: Timer<R>,
    /// The lists that the rest goes by.
    pub(super) lists: Membership,
    pub(super) links: Vec<Link<R>>,
    pub(super) encoder: Encoder,
    pub(super) security: Security,
    /// The longest wait between two attempts to connect.
    pub(super) longest_wait: Duration,
    pub(super) inbound: Inbound<R>,
    pub(super) writer: BallotWriter,
    #[cfg(feature = "tls")]
    pub(super) keys: Keys,
    pub(super) log: Log,
    pub(super) metrics: Metrics,
    pub(super) observer: Option<Arc<dyn MemberObserver>>,
    pub(super) random: Random,
    pub(super) down_after: Duration,
    pub(super) inputs: Pin<Box<Receiver<Input<Report>>>>,
    pub(super) orders: Pin<Box<Receiver<Order>>>,
    /// What the application says of its health, and what the node has been told.
    pub(super) healthy: bool,
    pub(super) reported_healthy: bool,
    pub(super) clock_due: Timestamp,
    /// Inputs taken since others had their turn.
    pub(super) taken: u32,
}

impl<R: Network> Host<Locked> for Net<R> {
    fn now(&mut self) -> Timestamp {
        self.shared.setup.runtime.now()
    }

    fn publish(&mut self, protocol: &Locked, change: Option<Change>) {
        let quorum = protocol.state.quorum();
        self.log.stepped(&quorum, change.as_ref());
        self.shared.metrics.step(&self.shared.setup.runtime, &*quorum, change.as_ref());
        self.metrics.stepped(change.as_ref());
        let snapshot = Snapshot::from(&*quorum);
        // Before anybody is woken, who may look at the protocol in that very call.
        drop(quorum);
        if change.as_ref().is_some_and(|change| !matches!(change, Change::Alert(_))) {
            self.shared.database(Ok(()));
        }
        self.shared.publish(snapshot, change);
        // Afterwards: who is woken looks at the changes first.
        if protocol.records {
            self.regroup();
            self.state.recorded.notify(usize::MAX);
        }
    }

    fn perform(&mut self, action: Action) {
        if let Some(observer) = &self.observer {
            observer.asks(&action);
        }
        let now = self.shared.setup.runtime.now();
        match action {
            Action::Save(ballot) => self.writer.save(ballot, now),
            Action::Send { to, message } => {
                let receivers = self.links.iter_mut().filter(|link| is_for(to, link.peer));
                receivers.for_each(|link| link.outbox.push(&message, now));
            }
        }
    }

    fn poll_input(
        &mut self,
        cx: &mut Context<'_>,
        wake_at: Option<Timestamp>,
    ) -> Poll<Option<Input<Event>>> {
        self.shared.is_due(wake_at);
        loop {
            if self.taken >= AT_ONCE {
                self.taken = 0;
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            let now = self.shared.setup.runtime.now();
            #[cfg(feature = "tls")]
            self.keys.look(
                cx,
                now,
                &mut self.links,
                &mut self.inbound,
                (&mut self.log, &self.metrics),
            );
            self.write(cx, now);
            if wake_at.is_some_and(|at| at <= now) {
                self.taken += 1;
                return Poll::Ready(Some(Input::Tick));
            }
            if let Poll::Ready(input) = self.poll_reports(cx, now) {
                self.taken += 1;
                return Poll::Ready(input);
            }
            if let Poll::Ready(input) = self.read(cx, now) {
                self.taken += 1;
                match input {
                    Some(input) => return Poll::Ready(Some(input)),
                    None => continue,
                }
            }
            self.doubt(now);
            let deadline = self.deadline(wake_at);
            if self.timer.poll_at(cx, deadline).is_pending() {
                self.taken = 0;
                return Poll::Pending;
            }
        }
    }
}

impl<R: Network> Net<R> {
    /// Connects to peers and writes to them.
    fn write(&mut self, cx: &mut Context<'_>, now: Timestamp) {
        let runtime = &self.shared.setup.runtime;
        for link in &mut self.links {
            while let Some(news) = link.poll(cx, now, runtime, &mut self.random) {
                linked(&self.state, &mut self.log, link, &news, now);
                let number = link.number();
                number.into_iter().for_each(|number| self.inbound.expects(link.peer, number.ip()));
            }
        }
    }

    /// Gives up connections on which a peer does not hear this node.
    fn doubt(&mut self, now: Timestamp) {
        for link in &mut self.links {
            if let Some(news) = link.doubt(now, &mut self.random) {
                linked(&self.state, &mut self.log, link, &news, now);
            }
        }
    }

    /// What this process itself reports: its disk, its application, its clock.
    fn poll_reports(&mut self, cx: &mut Context<'_>, now: Timestamp) -> Poll<Option<Input<Event>>> {
        if let Poll::Ready(Outcome { epoch, result, took }) = self.writer.poll_saved(cx, now) {
            self.metrics.saved(took, result.is_ok());
            self.log.saved(epoch, &result, took);
            return Poll::Ready(Some(Input::Event(match result {
                Ok(()) => Event::Saved(epoch),
                Err(_) => Event::SaveFailed(epoch),
            })));
        }
        if let Some(healthy) = self.health(now) {
            return Poll::Ready(Some(Input::Event(Event::Health(healthy))));
        }
        while let Poll::Ready(Some(report)) = self.inputs.as_mut().poll_next(cx) {
            let input = match report {
                Input::Event(Report::Health(healthy)) => {
                    self.healthy = healthy;
                    match self.health(now) {
                        Some(healthy) => Input::Event(Event::Health(healthy)),
                        None => continue,
                    }
                }
                // Of a database, which there is none of.
                Input::Event(Report::Wake) => continue,
                Input::Resign => Input::Resign,
                Input::Stopped(epoch) => Input::Stopped(epoch),
                Input::Withdraw => Input::Withdraw,
                Input::Tick => Input::Tick,
            };
            return Poll::Ready(Some(input));
        }
        while let Poll::Ready(Some(order)) = self.orders.as_mut().poll_next(cx) {
            let event = match order {
                Order::Event(event) => event,
                Order::Addresses => {
                    self.regroup();
                    continue;
                }
                // The step itself takes it.
                Order::Moved => return Poll::Ready(Some(Input::Tick)),
            };
            return Poll::Ready(Some(Input::Event(event)));
        }
        if now >= self.clock_due {
            self.clock_due = now + MINUTE;
            // Before 1970 it has never been set.
            let wall = match &self.observer {
                Some(observer) => observer.wall_clock(),
                None => unix_millis(SystemTime::now()),
            };
            if wall > UnixMillis(0) {
                return Poll::Ready(Some(Input::Event(Event::WallClock(wall))));
            }
        }
        Poll::Pending
    }

    /// Whether this node is fit to lead, if that has changed. A disk on which a ballot hangs is not
    /// one to lead on.
    fn health(&mut self, now: Timestamp) -> Option<bool> {
        let hangs = self.writer.since().is_some_and(|since| now >= since + self.down_after);
        self.log.disk_hangs(hangs);
        let healthy = self.healthy && !hangs;
        let is_news = healthy != self.reported_healthy;
        self.reported_healthy = healthy;
        is_news.then_some(healthy)
    }

    /// What has come in next, if anything has: a frame of a peer, the end of its connection, or what
    /// is not for the protocol.
    fn read(&mut self, cx: &mut Context<'_>, now: Timestamp) -> Poll<Option<Input<Event>>> {
        let listens_on = |peer| self.state.quorum().listens_on(peer);
        let event = match std::task::ready!(self.inbound.poll(cx, now, listens_on)) {
            InboundEvent::Heard { from, connection, dialect, message } => {
                if let Some(link) = link(&mut self.links, from) {
                    link.outbox.heard(connection, dialect, now);
                    if message.is_none() {
                        link.outbox.greeted(connection, now);
                    }
                    link.is_there(connection);
                    if link.spoke(message.is_none(), now) {
                        linked(&self.state, &mut self.log, link, &News::Hears, now);
                    }
                }
                self.metrics.heard(from, message.as_ref());
                message.map(|message| Event::Received { from, connection, message })
            }
            InboundEvent::Ended { from, connection } => {
                if let Some(link) = link(&mut self.links, from) {
                    link.outbox.ended(connection, now);
                }
                Some(Event::Disconnected { from, connection })
            }
            InboundEvent::Refused { address, error } => {
                self.metrics.refused(&error);
                self.log.refused(now, address, &error);
                None
            }
            InboundEvent::DuplicateId { from, address } => {
                self.log.duplicate_id(now, from, address);
                None
            }
            InboundEvent::AcceptFailed(error) => {
                self.log.accept_failed(now, &error);
                None
            }
        };
        Poll::Ready(event.map(Input::Event))
    }

    fn deadline(&self, wake_at: Option<Timestamp>) -> Timestamp {
        let hangs = self.writer.since().map(|since| since + self.down_after);
        let hangs = hangs.filter(|_| self.reported_healthy);
        let links = self.links.iter().filter_map(Link::deadline);
        let others = [wake_at, hangs, self.inbound.deadline(), Some(self.clock_due)];
        #[cfg(feature = "tls")]
        let links = links.chain(self.keys.deadline());
        links.chain(others.into_iter().flatten()).min().unwrap_or(Timestamp::MAX)
    }

    /// Lets the last heartbeat, by which the others elect at once, leave every socket.
    async fn say_farewell(&mut self) {
        poll_fn(|cx| {
            let now = self.shared.setup.runtime.now();
            let mut all = Poll::Ready(());
            for link in &mut self.links {
                if link.poll_farewell(cx, now).is_pending() {
                    all = Poll::Pending;
                }
            }
            let deadline = self.links.iter().filter_map(Link::deadline).min();
            let due = deadline.map(|at| self.timer.poll_at(cx, at));
            if all.is_pending() && due.is_some_and(|due| due.is_ready()) {
                cx.waker().wake_by_ref();
            }
            all
        })
        .await;
    }
}

/// Tells what has become of the connection to a peer.
fn linked<R: Network>(
    state: &NodeState,
    log: &mut Log,
    link: &Link<R>,
    news: &News,
    now: Timestamp,
) {
    let mut links = state.links();
    let state = links.entry(link.id.clone()).or_default();
    state.address = link.address.to_string();
    match news {
        News::Connected => {
            log.connected(now, &link.id, &link.address);
            state.connected = true;
        }
        News::Hears => {
            log.hears(&link.id, &link.address);
            state.error = None;
        }
        News::Failed(error, since) => {
            log.disconnected(now, *since, &link.id, &link.address, error);
            (state.connected, state.error) = (false, Some(error.to_string()));
        }
    }
}

/// Whether a frame goes to this peer. One that is for another, a vote for instance, must not.
fn is_for(to: Audience, peer: Peer) -> bool {
    match to {
        Audience::All => true,
        Audience::One(receiver) => receiver == peer,
    }
}

fn link<R: Network>(links: &mut [Link<R>], peer: Peer) -> Option<&mut Link<R>> {
    links.iter_mut().find(|link| link.peer == peer)
}

#[cfg(test)]
mod tests;
