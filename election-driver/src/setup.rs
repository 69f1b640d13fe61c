//! What an elector is made with, and what does not change while it runs.

use crate::{Runtime, inbox::Inbox, timer::Timer};
use election_core::{
    lease::{Config, Registration},
    sql::Statements,
};
use std::sync::Arc;

/// The fixed part of an elector. It knows nothing of what is published, so that a leadership, which
/// is published, can hold it.
pub(crate) struct Setup<R: Runtime> {
    pub(crate) runtime: R,
    pub(crate) config: Config,
    pub(crate) registration: Registration,
    /// What the store can be fenced with.
    #[cfg_attr(not(feature = "_sql"), allow(dead_code))]
    pub(crate) statements: Option<Arc<Statements>>,
    pub(crate) inbox: Inbox,
}

impl<R: Runtime> Setup<R> {
    pub(crate) fn timer(&self) -> Timer<R> {
        Timer::new(self.runtime.clone(), self.config.timer_slice())
    }
}
