//! What a user adds to a schedule: an app, and the conditions that must hold of it.

use crate::{
    app::{App, Resource, Write},
    fault::Contract,
};
use election_core::Epoch;
use std::{fmt, sync::Arc, time::Duration};

type MakeApp = Arc<dyn Fn(usize) -> Box<dyn App> + Send + Sync>;
pub(crate) type Holds = Arc<dyn Fn(&View<'_>) -> bool + Send + Sync>;
/// A condition of each write, with what it remembers of earlier ones.
pub(crate) type EachWrite = Box<dyn FnMut(&Write) -> bool>;

/// What each life of a node runs.
#[derive(Clone)]
pub(crate) enum Code {
    App(MakeApp),
    #[cfg(feature = "service")]
    Service(crate::service::Make),
}

/// The user's part of a run, shared by all runs of a test.
#[derive(Clone, Default)]
pub struct Workload {
    pub(crate) code: Option<Code>,
    pub(crate) always: Vec<(String, Holds)>,
    pub(crate) sometimes: Vec<(String, Holds)>,
    /// Each makes the condition of one run.
    pub(crate) each_write: Vec<(String, Arc<dyn Fn() -> EachWrite + Send + Sync>)>,
    pub(crate) unfenced: bool,
}

impl Workload {
    /// Whether the nodes run code of the user's.
    pub(crate) fn runs_code(&self) -> bool {
        self.code.is_some()
    }

    pub(crate) fn app(&self, node: usize) -> Option<Box<dyn App>> {
        match self.code.as_ref()? {
            Code::App(make) => Some(make(node)),
            #[cfg(feature = "service")]
            Code::Service(_) => None,
        }
    }

    pub(crate) fn runs_services(&self) -> bool {
        self.runs_code() && !matches!(self.code, Some(Code::App(_)))
    }

    #[cfg(feature = "service")]
    pub(crate) fn service(&self) -> Option<&crate::service::Make> {
        match self.code.as_ref()? {
            Code::Service(make) => Some(make),
            Code::App(_) => None,
        }
    }
}

impl fmt::Debug for Workload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = |all: &[(String, Holds)]| all.iter().map(|(name, _)| name.clone()).collect();
        let (always, sometimes): (Vec<_>, Vec<_>) = (names(&self.always), names(&self.sometimes));
        let each_write: Vec<_> = self.each_write.iter().map(|(name, _)| name).collect();
        let app = self.runs_code();
        f.debug_struct("Workload")
            .field("app", &app)
            .field("always", &always)
            .field("sometimes", &sometimes)
            .field("each_write", &each_write)
            .finish_non_exhaustive()
    }
}

/// The world as it truly is, for the conditions of a test.
#[derive(Debug)]
pub struct View<'a> {
    pub(crate) world: &'a dyn Seen,
}

/// What a test can see, whatever the protocol.
pub(crate) trait Seen: fmt::Debug {
    fn now(&self) -> u64;
    fn nodes(&self) -> usize;
    fn is_up(&self, node: usize) -> bool;
    fn leads(&self, node: usize) -> Option<Epoch>;
    fn elections(&self) -> u64;
    fn resource(&self) -> &Resource;
    fn contract(&self) -> Contract;
}

impl View<'_> {
    /// True time since the start.
    #[must_use]
    pub fn now(&self) -> Duration {
        Duration::from_nanos(self.world.now())
    }

    /// The number of nodes.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.world.nodes()
    }

    /// Whether the process of this node is alive; a paused process is.
    #[must_use]
    pub fn is_up(&self, node: usize) -> bool {
        self.world.is_up(node)
    }

    /// The nodes that believe at this instant that they lead, with their epochs. Within the
    /// contract there is never more than one.
    pub fn leaders(&self) -> impl Iterator<Item = (usize, Epoch)> {
        (0..self.nodes()).filter_map(|node| Some((node, self.world.leads(node)?)))
    }

    /// The number of elections so far.
    #[must_use]
    pub fn elections(&self) -> u64 {
        self.world.elections()
    }

    /// The resource to which the apps write.
    #[must_use]
    pub fn resource(&self) -> &Resource {
        self.world.resource()
    }

    /// Whether this run stays within the contract.
    #[must_use]
    pub fn within_contract(&self) -> bool {
        self.world.contract() == Contract::Within
    }
}
