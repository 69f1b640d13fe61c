//! The user's own state machine, which every process runs, and the resource that it writes to.
//!
//! This is what a lease is for: work that must not be done twice. An [`App`] is the part of that
//! work in one process. It learns of every change of leadership, has one timer, and writes to a
//! [`Resource`] that checks fencing tokens. The world decides how long a write travels, and it may
//! stop the process between two calls of the app.
//!
//! Each write says what it needs: leadership ([`Context::write`]), leadership or the time until the
//! hard stop ([`Context::write_while_stopping`]), or nothing ([`Context::write_without_leading`]). The
//! simulator knows whether the process had that when it sent the write, and fails the run if it had
//! not.

use crate::draw::{Draw, Stream};
use election_core::{Change, Epoch, Timestamp};
use std::{cell::Cell, fmt, time::Duration};

/// One process of the user's service. Every life of a node gets a new one: what it remembers dies
/// with it.
pub trait App {
    /// Leadership has changed. This is called before anything else happens to the process.
    fn changed(&mut self, change: &Change, context: &mut Context<'_>);

    /// A frame from the app of another node has arrived.
    fn received(&mut self, from: usize, bytes: &[u8], context: &mut Context<'_>) {
        let _ = (from, bytes, context);
    }

    /// The process has started. As far as it knows, nobody leads yet.
    fn started(&mut self, context: &mut Context<'_>) {
        let _ = context;
    }

    /// The time that [`Context::wake_in`] asked for has come.
    fn tick(&mut self, context: &mut Context<'_>);
}

/// What an [`App`] can observe and do.
#[derive(Debug)]
pub struct Context<'a> {
    pub(crate) node: usize,
    pub(crate) now: Timestamp,
    pub(crate) lead: Option<Epoch>,
    /// When the app last asked whether it leads, in true time, and what it was told.
    pub(crate) asked: &'a Cell<Option<Asked>>,
    /// True time since the start.
    pub(crate) elapsed: Duration,
    pub(crate) resource: &'a Resource,
    pub(crate) draw: Draw,
    pub(crate) drawn: &'a mut u64,
    pub(crate) orders: &'a mut Orders,
    /// Somebody is going to read the notes.
    pub(crate) read: bool,
}

/// What an app has requested.
#[derive(Debug, Default)]
pub(crate) struct Orders {
    pub(crate) notes: Vec<String>,
    pub(crate) writes: Vec<Order>,
    pub(crate) frames: Vec<(usize, Vec<u8>)>,
    pub(crate) wake_in: Option<Duration>,
    pub(crate) resign: bool,
    pub(crate) health: Option<bool>,
    pub(crate) stopped: Option<Epoch>,
}

/// When an app asked whether it leads, in true time since the start, and the answer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked {
    pub(crate) at: Duration,
    pub(crate) lead: Option<Epoch>,
}

/// A write that an app has requested.
#[derive(Debug)]
pub(crate) struct Order {
    pub(crate) needs: Needs,
    pub(crate) what: String,
}

/// What must hold when a write is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Needs {
    /// The process leads under this epoch.
    Leading(Epoch),
    /// It leads under this epoch, or did and has not reached its hard stop.
    Stopping(Epoch),
    /// Nothing, with this token or without one.
    Nothing(Option<Epoch>),
}

impl Needs {
    pub(crate) fn token(self) -> Option<Epoch> {
        match self {
            Self::Leading(epoch) | Self::Stopping(epoch) => Some(epoch),
            Self::Nothing(token) => token,
        }
    }
}

impl Context<'_> {
    /// The number of this node.
    #[must_use]
    pub fn node(&self) -> usize {
        self.node
    }

    /// The reading of this node's clock.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.now
    }

    /// The epoch under which this process may believe that it leads. The state machine is asked
    /// now.
    #[must_use]
    pub fn lead(&self) -> Option<Epoch> {
        self.asked.set(Some(Asked { at: self.elapsed, lead: self.lead }));
        self.lead
    }

    /// The writes that the resource has accepted so far. Reading takes no time. Writes that are
    /// still travelling, this node's own included, are missing.
    #[must_use]
    pub fn read(&self) -> &[Write] {
        self.resource.accepted()
    }

    /// Notes something for whoever reads this run: it stands in the transcript, and in the report and
    /// the picture of a run that fails. It changes nothing in the run, and costs nothing where nobody
    /// reads: `context.note(format_args!("fires job {job}"))` formats only then.
    pub fn note(&mut self, what: impl fmt::Display) {
        if self.read {
            self.orders.notes.push(what.to_string());
        }
    }

    /// A number from zero to `most` that depends on the seed and on nothing else.
    pub fn draw(&mut self, most: u64) -> u64 {
        *self.drawn += 1;
        self.draw.between(Stream::App, self.node as u64, *self.drawn, (0, most))
    }

    /// Sends a write to the resource under this token. It arrives later; one in a hundred never does. The
    /// run fails if this process does not lead under the token at this instant.
    pub fn write(&mut self, token: Epoch, what: impl Into<String>) {
        self.order(Needs::Leading(token), what.into());
    }

    /// Like [`write`](Self::write), for what ends the work of a leadership that is over: also allowed
    /// from the loss until the hard stop or [`work_stopped`](Self::work_stopped), whichever is first.
    /// [`Change::Lost`] says when the hard stop is. It may be at once.
    pub fn write_while_stopping(&mut self, token: Epoch, what: impl Into<String>) {
        self.order(Needs::Stopping(token), what.into());
    }

    /// Sends a write that may be sent without leading. Under a token, only the resource's fence
    /// decides; without one (`None`), the resource takes it from everybody.
    pub fn write_without_leading(
        &mut self,
        token: impl Into<Option<Epoch>>,
        what: impl Into<String>,
    ) {
        self.order(Needs::Nothing(token.into()), what.into());
    }

    fn order(&mut self, needs: Needs, what: String) {
        self.orders.writes.push(Order { needs, what });
    }

    /// Sends a frame to the app of another node, over a network that may lose, duplicate, delay and
    /// reorder it.
    pub fn send(&mut self, to: usize, bytes: impl Into<Vec<u8>>) {
        self.orders.frames.push((to, bytes.into()));
    }

    /// Sets the one timer of this process, by its own clock.
    pub fn wake_in(&mut self, span: Duration) {
        self.orders.wake_in = Some(span);
    }

    /// Resigns leadership.
    pub fn resign(&mut self) {
        self.orders.resign = true;
    }

    /// Reports whether this process is fit to lead.
    pub fn report_health(&mut self, healthy: bool) {
        self.orders.health = Some(healthy);
    }

    /// Reports that all work of this epoch has ended, like dropping the last guard. Work of which
    /// this is not reported ends by force at the hard stop.
    pub fn work_stopped(&mut self, epoch: Epoch) {
        self.orders.stopped = Some(epoch);
    }
}

/// One write that arrived at the resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Write {
    /// The node that sent it.
    pub node: usize,
    /// Which life of that node sent it.
    pub life: u32,
    /// The token that it carries, if it carries one.
    pub token: Option<Epoch>,
    /// When it was sent, in true time since the start.
    pub sent: Duration,
    /// When it arrived at the resource.
    pub arrived: Duration,
    /// Whether its sender led under the token when it sent it. If it did not, and the write needs it,
    /// the run fails.
    pub led: bool,
    /// Whether its sender led under the token when it arrived. Only the resource's fence keeps out
    /// what arrives after the writes of a later leader.
    pub led_on_arrival: bool,
    /// Its content.
    pub what: String,
    /// Which of its node's writes this is.
    pub(crate) nth: u64,
    /// It is the world's own, since no code of a user runs.
    pub(crate) own: bool,
}

/// Why a write is not known to be accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WriteError {
    /// The resource has served a later leader, and refuses a write under an older token.
    #[error("refused: the resource has served a later leader")]
    Refused,
    /// No answer comes: the write was lost and never arrives, or it was decided on and the answer was lost.
    /// This happens to one write in fifty. Read before you send it again.
    #[error("no answer from the resource: the write may have been taken, or not")]
    Unknown,
}

/// An outside resource that many processes write to. It remembers the highest token that it has
/// served, and so protects itself whatever the election does.
#[derive(Clone, Debug, Default)]
pub struct Resource {
    highest: Epoch,
    accepted: Vec<Write>,
    served: u64,
    refused: u64,
    unfenced: bool,
}

impl Resource {
    /// The accepted writes of the user's app, in order.
    #[must_use]
    pub fn accepted(&self) -> &[Write] {
        &self.accepted
    }

    /// The number of accepted writes, the world's own included.
    #[must_use]
    pub fn served(&self) -> u64 {
        self.served
    }

    /// The number of writes refused because their token was outdated.
    #[must_use]
    pub fn refused(&self) -> u64 {
        self.refused
    }

    /// The highest token served so far.
    #[must_use]
    pub fn highest(&self) -> Epoch {
        self.highest
    }

    /// A resource that ignores tokens, as most do.
    pub(crate) fn unfenced() -> Self {
        Self { unfenced: true, ..Self::default() }
    }

    pub(crate) fn take(&mut self, write: Write) -> bool {
        if write.token.is_some_and(|token| token < self.highest) && !self.unfenced {
            self.refused += 1;
            return false;
        }
        self.highest = self.highest.max(write.token.unwrap_or_default());
        self.served += 1;
        if !write.own {
            self.accepted.push(write);
        }
        true
    }
}
