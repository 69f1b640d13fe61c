//! The settings of an elector, which do not change while it runs.

use crate::{Runtime, inbox::Inbox, timer::Timer};
use election_core::{lease::Registration, sql::Statements};
use std::{sync::Arc, time::Duration};

/// The fixed part of an elector, whichever protocol decides. It knows nothing about what is
/// published, so a leadership, which is published, can hold it.
pub(crate) struct Setup<R: Runtime> {
    pub(crate) runtime: R,
    pub(crate) registration: Registration,
    /// How long a lease lasts; in a quorum, a `down_after`.
    pub(crate) ttl: Duration,
    /// How long before the hard stop belief ends.
    pub(crate) grace: Duration,
    /// How long a timer may sleep at most before it looks at the clock again.
    pub(crate) timer_slice: Duration,
    /// The statements to fence with, if the store has any.
    #[cfg_attr(not(feature = "_sql"), allow(dead_code))]
    pub(crate) statements: Option<Arc<Statements>>,
    pub(crate) inbox: Inbox,
    /// Whether metrics carry the election's name.
    #[cfg_attr(not(feature = "metrics"), allow(dead_code))]
    pub(crate) named_metrics: bool,
}

impl<R: Runtime> Setup<R> {
    pub(crate) fn timer(&self) -> Timer<R> {
        // Simulated timers follow the very clock that is looked at.
        let slice = self.runtime.observer().map_or(self.timer_slice, |_| Duration::MAX);
        Timer::new(self.runtime.clone(), slice)
    }
}
