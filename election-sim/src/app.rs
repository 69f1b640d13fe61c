//! The user's own state machine, run by whoever leads, and the resource it writes to.
//!
//! This is what a lease is for: work that must not be done twice. An [`App`] is one process's
//! share of it. It is told of every change of leadership, has one timer, and writes to a
//! [`Resource`] that checks fencing tokens. The world decides how long a write is on its way, and
//! may stop the process between the question "do I lead?" and the write.

use crate::draw::{Draw, Stream};
use election_core::{Change, Epoch, Timestamp};
use std::time::Duration;

/// One process of the user's own. A new one is made for every life of a node: what it remembers
/// dies with it.
pub trait App {
    /// Leadership changed; called before anything else happens to the process.
    fn changed(&mut self, change: &Change, context: &mut Context<'_>);

    /// A frame has come from the app of another node.
    fn received(&mut self, from: usize, bytes: &[u8], context: &mut Context<'_>) {
        let _ = (from, bytes, context);
    }

    /// The process has started. Nobody leads yet as far as it knows.
    fn started(&mut self, context: &mut Context<'_>) {
        let _ = context;
    }

    /// The time asked for with [`Context::wake_in`] has come.
    fn tick(&mut self, context: &mut Context<'_>);
}

/// What an [`App`] can find out and do.
#[derive(Debug)]
pub struct Context<'a> {
    pub(crate) node: usize,
    pub(crate) now: Timestamp,
    pub(crate) lead: Option<Epoch>,
    pub(crate) resource: &'a Resource,
    pub(crate) draw: Draw,
    pub(crate) drawn: &'a mut u64,
    pub(crate) orders: &'a mut Orders,
}

/// What an app has asked for.
#[derive(Debug, Default)]
pub(crate) struct Orders {
    pub(crate) writes: Vec<(Epoch, String)>,
    pub(crate) frames: Vec<(usize, Vec<u8>)>,
    pub(crate) wake_in: Option<Duration>,
    pub(crate) resign: bool,
    pub(crate) health: Option<bool>,
    pub(crate) stopped: Option<Epoch>,
}

impl Context<'_> {
    /// The number of this node.
    #[must_use]
    pub fn node(&self) -> usize {
        self.node
    }

    /// What this node's clock reads.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.now
    }

    /// The epoch under which this process may believe it leads, asked of the state machine now.
    #[must_use]
    pub fn lead(&self) -> Option<Epoch> {
        self.lead
    }

    /// What the resource has accepted so far: a read that takes no time. Writes that are still on
    /// their way, one's own included, are not in it.
    #[must_use]
    pub fn read(&self) -> &[Write] {
        self.resource.accepted()
    }

    /// A number from zero to `most` that depends on the seed and nothing else.
    pub fn draw(&mut self, most: u64) -> u64 {
        *self.drawn += 1;
        self.draw.between(Stream::App, self.node as u64, *self.drawn, (0, most))
    }

    /// Sends a write to the resource under this token. It arrives after a while, if ever.
    pub fn write(&mut self, token: Epoch, what: impl Into<String>) {
        self.orders.writes.push((token, what.into()));
    }

    /// Sends a frame to the app of another node, over a network that may lose, double, delay
    /// and reorder it.
    pub fn send(&mut self, to: usize, bytes: impl Into<Vec<u8>>) {
        self.orders.frames.push((to, bytes.into()));
    }

    /// Sets the one timer of this process, on its own clock.
    pub fn wake_in(&mut self, span: Duration) {
        self.orders.wake_in = Some(span);
    }

    /// Gives leadership up.
    pub fn resign(&mut self) {
        self.orders.resign = true;
    }

    /// Reports whether this process is fit to lead.
    pub fn report_health(&mut self, healthy: bool) {
        self.orders.health = Some(healthy);
    }

    /// Reports that all work of this epoch has ended, sooner than the world would have it.
    pub fn work_stopped(&mut self, epoch: Epoch) {
        self.orders.stopped = Some(epoch);
    }
}

/// One write that arrived at the resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Write {
    /// Who sent it.
    pub node: usize,
    /// In which of its lives.
    pub life: u32,
    /// Under which token.
    pub token: Epoch,
    /// When it was sent, in true time since the start.
    pub sent: Duration,
    /// What it says.
    pub what: String,
}

/// Something outside that many processes write to, and that remembers the highest token it has
/// served. Whatever becomes of the election, this protects it.
#[derive(Clone, Debug, Default)]
pub struct Resource {
    highest: Epoch,
    accepted: Vec<Write>,
    served: u64,
    refused: u64,
    unfenced: bool,
}

impl Resource {
    /// The writes of the user's app that were accepted, in order.
    #[must_use]
    pub fn accepted(&self) -> &[Write] {
        &self.accepted
    }

    /// How many writes were accepted, the world's own included.
    #[must_use]
    pub fn served(&self) -> u64 {
        self.served
    }

    /// How many writes came under a token that was over.
    #[must_use]
    pub fn refused(&self) -> u64 {
        self.refused
    }

    /// The highest token served.
    #[must_use]
    pub fn highest(&self) -> Epoch {
        self.highest
    }

    /// A resource that looks at no token, as most are.
    pub(crate) fn unfenced() -> Self {
        Self { unfenced: true, ..Self::default() }
    }

    pub(crate) fn take(&mut self, write: Write) -> bool {
        if write.token < self.highest && !self.unfenced {
            self.refused += 1;
            return false;
        }
        self.highest = self.highest.max(write.token);
        self.served += 1;
        if !write.what.is_empty() {
            self.accepted.push(write);
        }
        true
    }
}
