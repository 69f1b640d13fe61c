//! The few things that differ between runtimes.

use crate::Observer;
use election_core::Timestamp;
use std::{future::Future, sync::Arc, time::Duration};

/// A runtime as this crate needs it. Cheap to clone.
pub trait Runtime: Clone + Send + Sync + Unpin + 'static {
    /// The future that [`sleep`](Self::sleep) returns.
    type Sleep: Future<Output = ()> + Send + 'static;

    /// The clock. It must be monotonic and should go on while the machine is suspended;
    /// [`now`](crate::now) is such a clock.
    fn now(&self) -> Timestamp;

    /// A future that completes after about `duration` on the runtime's own timer. That timer may
    /// stop while the machine is suspended: this crate sleeps in slices and looks at the clock
    /// after each.
    fn sleep(&self, duration: Duration) -> Self::Sleep;

    /// Runs a future to its end in the background.
    fn spawn<F>(&self, future: F)
    where
        F: Future<Output = ()> + Send + 'static;

    /// Who watches the elector, in a simulation.
    #[doc(hidden)]
    fn observer(&self) -> Option<Arc<dyn Observer>> {
        None
    }
}
