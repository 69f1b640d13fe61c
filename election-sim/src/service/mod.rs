//! Real services in simulated time: the driver of `election-driver`, and the user's code on it.
//!
//! Each life of a node is a small executor with the service's tasks in it. They meet the world in one
//! place, the [`Cell`](cell::Cell): there they read the clock, set timers, ask the database and write;
//! and there the world leaves answers, notifications and frames. Nothing else connects the two.

mod cell;
mod executor;
mod node;
mod process;
mod runtime;
mod store;

pub use node::{Node, Refused};
pub use runtime::SimRuntime;
pub use store::SimStore;

use crate::{lease::LeaseEnvironment, simulator};
use cell::Cell;
use election_core::{Candidate, lease::ConfigBuilder};
use process::Process;
use std::{fmt, future::Future, pin::Pin, sync::Arc};

/// One life of a node, before its code runs.
#[derive(Clone, Debug)]
pub(crate) struct Life {
    pub(crate) node: usize,
    pub(crate) life: u32,
    pub(crate) nodes: usize,
    pub(crate) config: ConfigBuilder,
    pub(crate) candidate: Candidate,
    /// Whether the database notifies of changes.
    pub(crate) notifies: bool,
}

/// Starts the service of one life.
pub(crate) type Make = Arc<dyn Fn(Life) -> Started + Send + Sync>;
pub(crate) type Started = Box<dyn simulator::Service<LeaseEnvironment>>;

/// A service as a test gives it, ready to be started on any node.
pub(crate) fn make<F>(service: impl Fn(Node) -> F + Send + Sync + 'static) -> Make
where
    F: Future<Output: fmt::Debug> + 'static,
{
    Arc::new(move |life| {
        let node = Node::new(Cell::new(&life), life);
        let ending = node.clone();
        let future = service(node.clone());
        let main: Pin<Box<dyn Future<Output = ()>>> = Box::pin(async move {
            let output = future.await;
            ending.note(format_args!("the service has ended: {output:?}"));
        });
        Box::new(Process::new(node.cell().clone(), main))
    })
}
