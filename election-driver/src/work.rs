//! Leader work as one function: started when elected, told when lost, stopped by force in time.

use crate::{Handle, Lease, Runtime, Stopped};
use futures_lite::future::or;
use std::fmt;
use thiserror::Error;

/// Why `run_while_leader` returned without the work being done.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum WorkError<E> {
    /// The work failed while this process led.
    #[error("leader work failed: {0}")]
    Work(E),
    /// The elector ended without having been told to.
    #[error(transparent)]
    Stopped(#[from] Stopped),
}

impl<R: Runtime> Handle<R> {
    /// Runs `work` whenever this process leads, until it is done.
    ///
    /// * It is called with a guard each time this process is elected, and runs inside the returned
    ///   future, not in a task of its own: spawn that future if something else has to go on.
    /// * When leadership is lost the guard says so. Work that has not returned by the
    ///   [hard stop](Lease::stop_by) is dropped at its next await. Work that never awaits cannot
    ///   be stopped by anybody: give it a thread and the guard, and let it check.
    /// * Losing is not the end: it campaigns again. What work returns after a loss is logged and
    ///   otherwise ignored, errors included, since the loss explains them.
    /// * `Ok` while leading means done: this process resigns and the call returns. `Err` while
    ///   leading resigns and is returned.
    ///
    /// Cancelling (dropping the returned future) drops the work; the elector goes on until the
    /// handle is dropped or shut down.
    ///
    /// # Errors
    /// If work fails while leading, or the elector ends on its own account. A
    /// [`shutdown`](Self::shutdown) by somebody else is no error.
    pub async fn run_while_leader<F, E>(&self, work: F) -> Result<(), WorkError<E>>
    where
        F: AsyncFn(Lease<R>) -> Result<(), E>,
        E: fmt::Display + fmt::Debug,
    {
        loop {
            let Ok(lease) = self.elected().await else { return Ok(()) };
            let epoch = lease.epoch();
            tracing::info!(%epoch, "leader work starts");
            let done = or(async { Some(work(lease.clone()).await) }, async {
                lease.hard_stop().await;
                None
            })
            .await;
            let held = lease.is_held();
            drop(lease);
            match done {
                Some(outcome) if held => {
                    let _ = self.resign().await;
                    return outcome.map_err(WorkError::Work);
                }
                Some(Ok(())) => tracing::info!(%epoch, "leader work ended after the loss"),
                Some(Err(error)) => {
                    tracing::warn!(%epoch, %error, "leader work failed after the loss");
                }
                None => tracing::warn!(%epoch, "leader work was stopped by force"),
            }
        }
    }
}
