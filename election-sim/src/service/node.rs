//! What a simulated service gets: its node, and what there is around it.

use super::{
    cell::Cell,
    life::{self, Life},
    runtime::SimRuntime,
    store::SimStore,
};
use crate::{
    app::{Needs, Order, Write, WriteError},
    deed::Effect,
    schedule::announced,
};
use election_core::{Epoch, NodeId, Timestamp};
use election_driver::{Builder, Cluster, ClusterBuilder, Election, Runtime as _};
use std::{
    fmt,
    future::{Future, poll_fn},
    sync::Arc,
    time::Duration,
};

/// The node that a simulated service runs on: its election, and the world around it. Cheap to clone.
///
/// Production code takes part of it: [`runtime`](Self::runtime) and [`store`](Self::store), or an
/// [`Election`]. What a test adds stands for the rest of the world: a resource that many nodes write
/// to, frames to other nodes, random numbers.
#[derive(Clone)]
pub struct Node {
    life: Arc<Life>,
    runtime: SimRuntime,
    cell: Cell,
}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Node").field("candidate", &self.life.candidate).finish_non_exhaustive()
    }
}

impl Node {
    pub(super) fn new(cell: Cell, life: Life) -> Self {
        let life = Arc::new(life);
        Self { runtime: SimRuntime::new(cell.clone(), life.clone()), life, cell }
    }

    pub(super) fn cell(&self) -> &Cell {
        &self.cell
    }

    /// The number of this node, from zero.
    #[must_use]
    pub fn number(&self) -> usize {
        self.life.node
    }

    /// The number of nodes.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.life.names.len()
    }

    /// The number of the node with this id, as in [`Handle::leader`](election_driver::Handle::leader): to
    /// send it a frame.
    #[must_use]
    pub fn number_of(&self, id: &NodeId) -> Option<usize> {
        self.life.names.iter().position(|name| name == id.as_str())
    }

    /// Which life of the node this is, from one: it grows with every crash.
    #[must_use]
    pub fn life(&self) -> u32 {
        self.life.life
    }

    /// An election with the name, the store, the runtime and the timing filled in. A process takes
    /// part in one.
    ///
    /// # Panics
    /// If a quorum is simulated: see [`cluster`](Self::cluster).
    pub fn election(&self) -> Builder<SimRuntime, SimStore> {
        let config = self.life.lease().config.clone();
        Election::builder_on(self.runtime.clone(), "simulated")
            .node(self.life.candidate.id.as_str())
            .config(|_| config)
            .store(self.store())
    }

    /// This node's part of a cluster, with the members, the runtime, the timing, the ballot and the
    /// position of its data filled in. The data are the world's: they grow while this node leads and are
    /// copied to those who follow it, and the member is told how far they have come. A process takes
    /// part in one cluster. The preferred primary and the address to announce are the schedule's, too.
    ///
    /// # Panics
    /// If a lease is simulated: see [`election`](Self::election).
    pub fn cluster(&self) -> ClusterBuilder<SimRuntime> {
        let part = self.life.quorum();
        let builder = Cluster::builder_on(self.runtime.clone(), "simulated")
            .node(self.life.candidate.id.as_str())
            .announce(announced(&self.life.candidate.id))
            .ballot("simulated");
        let builder = match part.position {
            Some(position) => builder.position(position),
            None => builder.position_later(),
        };
        let config = part.config.clone();
        let members = part.members.iter().enumerate();
        let builder = members.fold(builder, |builder, (place, (id, is_witness))| {
            let address = life::address(place).to_string();
            match is_witness {
                true => builder.witness(id.as_str(), address),
                false => builder.member(id.as_str(), address),
            }
        });
        builder.config(|_| config)
    }

    /// The clock, the timers and the tasks of this process.
    #[must_use]
    pub fn runtime(&self) -> SimRuntime {
        self.runtime.clone()
    }

    /// The simulated database.
    ///
    /// # Panics
    /// If a quorum is simulated, which has none.
    #[must_use]
    pub fn store(&self) -> SimStore {
        SimStore::new(self.cell.clone(), self.life.lease().notifies)
    }

    /// The reading of this node's clock.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.runtime.now()
    }

    /// Completes after this long by the node's clock.
    pub fn sleep(&self, duration: Duration) -> impl Future<Output = ()> + Send + 'static {
        self.runtime.sleep(duration)
    }

    /// Runs a task in the background. It ends with the process.
    pub fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.runtime.spawn(task);
    }

    /// A number from zero to `most` that depends on the seed and on nothing else.
    #[must_use]
    pub fn draw(&self, most: u64) -> u64 {
        self.cell.state().draw(most)
    }

    /// Notes something for whoever reads this run, as [`Context::note`](crate::Context::note) does.
    pub fn note(&self, what: impl fmt::Display) {
        let read = self.cell.state().read;
        if read {
            let words = what.to_string();
            self.cell.state().does(Effect::Noted(words)); // no call, or readers would see another run
        }
    }

    /// Sends a write to the resource under this token. It arrives later; one in a hundred never does, and
    /// of another one the answer is lost. The run fails if this process does not lead under the token at
    /// this instant.
    ///
    /// The write is sent before this returns. [`Written::decided`] waits for the resource's answer.
    pub fn write(&self, token: Epoch, what: impl Into<String>) -> Written {
        self.order(Needs::Leading(token), what.into())
    }

    /// Like [`write`](Self::write), for what ends the work of a leadership that is over: also allowed
    /// from the loss until the hard stop or the end of the last guard, whichever is first.
    pub fn write_while_stopping(&self, token: Epoch, what: impl Into<String>) -> Written {
        self.order(Needs::Stopping(token), what.into())
    }

    /// Sends a write that may be sent without leading. Under a token, only the resource's fence
    /// decides; without one (`None`), the resource takes it from everybody.
    pub fn write_without_leading(
        &self,
        token: impl Into<Option<Epoch>>,
        what: impl Into<String>,
    ) -> Written {
        self.order(Needs::Nothing(token.into()), what.into())
    }

    fn order(&self, needs: Needs, what: String) -> Written {
        let mut state = self.cell.state();
        state.sent += 1;
        let nth = state.sent;
        state.await_verdict(nth);
        state.acts(Effect::Wrote(Order { needs, what }));
        Written { cell: self.cell.clone(), nth }
    }

    /// The writes that the resource has accepted so far. Reading takes no time. Writes that are still
    /// travelling, this node's own included, are missing.
    #[must_use]
    pub fn read(&self) -> Vec<Write> {
        self.cell.state().resource.accepted().to_vec()
    }

    /// Sends a frame to the service of another node, over a network that may lose, duplicate, delay
    /// and reorder it.
    pub fn send(&self, to: usize, bytes: impl Into<Vec<u8>>) {
        self.cell.state().acts(Effect::SentFrame(to, bytes.into()));
    }

    /// The next frame, and the number of the node that has sent it. One task at a time may wait for it.
    pub async fn receive(&self) -> (usize, Vec<u8>) {
        poll_fn(|cx| self.cell.state().frames.poll(cx)).await
    }
}

/// A write under way.
pub struct Written {
    cell: Cell,
    nth: u64,
}

impl fmt::Debug for Written {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Written").field("nth", &self.nth).finish_non_exhaustive()
    }
}

impl Written {
    /// Waits until the resource has decided.
    ///
    /// # Errors
    /// If it has served a later leader, or nobody knows.
    pub async fn decided(self) -> Result<(), WriteError> {
        poll_fn(|cx| self.cell.state().poll_verdict(self.nth, cx)).await
    }
}

impl Drop for Written {
    fn drop(&mut self) {
        self.cell.state().forget_verdict(self.nth);
    }
}
