//! Leader work as one function: started when elected, told of a loss, stopped by force in time.

use crate::{Handle, Lease, NotElected, Runtime, log};
use election_core::Input;
use futures_lite::future::or;
use std::{fmt, future::Future};
use thiserror::Error;

/// Why `run_while_leader` returned before the work was done.
#[derive(Error)]
#[non_exhaustive]
pub enum WorkError<E> {
    /// The work failed while this process led.
    #[error("leader work failed: {0}")]
    Work(E),
    /// The elector ended without being asked to, or the store cannot be used.
    #[error(transparent)]
    NotElected(#[from] NotElected),
}

impl<E: fmt::Display> fmt::Debug for WorkError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&log::chain(self))
    }
}

/// Panicked work does not go on, but other handles may keep the elector alive: without a
/// resignation this process would go on leading and do nothing.
struct ResignsOnPanic<R: Runtime>(Handle<R>);

impl<R: Runtime> Drop for ResignsOnPanic<R> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.logs(|| {
                tracing::error!(
                    event = "work_panicked",
                    "leader work panicked, so this process resigns"
                );
            });
            self.0.shared().setup.inbox.tell(Input::Resign);
        }
    }
}

impl<R: Runtime> Handle<R> {
    fn logs(&self, say: impl FnOnce()) {
        log::span(self.registration()).in_scope(say);
    }

    /// Runs `work` whenever this process leads, until it is done.
    ///
    /// * The call passes `work` a guard each time this process is elected, and runs it inside the
    ///   returned future, not in a task of its own. Spawn that future to do other things meanwhile.
    /// * When leadership is lost the guard says so. Work that has not returned by the
    ///   [hard stop](Lease::stop_by) is dropped at its next await. Nothing can stop work that never
    ///   awaits: give it a thread and the guard, and let it check.
    /// * After a loss this process campaigns again. The result of work after a loss is logged and
    ///   otherwise ignored, errors included, since the loss explains them.
    /// * `Ok` while leading means done: this process resigns and the call returns. `Err` while
    ///   leading makes this process resign, and the call returns the error.
    ///
    /// The future holds a handle of its own, so it can be spawned as it is. Cancelling (dropping)
    /// it drops the work; the elector goes on until the last handle is dropped or shut down.
    ///
    /// # Panics
    /// If `work` does. This process then resigns, so that another can lead. It campaigns again
    /// later, so run work again or drop the handle.
    ///
    /// # Errors
    /// If work fails while leading, the elector ends by itself, or the store still
    /// [cannot be used](NotElected::Unusable) a ttl after the wait for leadership began. A [`shutdown`](Self::shutdown) by other code is no error.
    // Not an `async fn`: its future would borrow the handle, and such a future of an async closure
    // cannot be proved `Send`.
    pub fn run_while_leader<F, E>(
        &self,
        work: F,
    ) -> impl Future<Output = Result<(), WorkError<E>>> + use<R, F, E>
    where
        F: AsyncFn(Lease<R>) -> Result<(), E>,
        E: fmt::Display + fmt::Debug,
    {
        let handle = self.clone();
        async move {
            loop {
                let lease = match handle.elected().await {
                    Ok(lease) => lease,
                    Err(_) if handle.shared().is_finished() => return Ok(()),
                    Err(why) => return Err(why.into()),
                };
                let epoch = lease.epoch().get();
                let _panics = ResignsOnPanic(handle.clone());
                handle.logs(|| {
                    tracing::info!(event = "work_started", epoch, "leader work started");
                });
                let stop = async {
                    lease.hard_stop().await;
                    None
                };
                // Check the stop first: after a stall, work that is ready must not run on.
                let done = or(stop, async { Some(work(lease.clone()).await) }).await;
                let held = lease.is_held();
                drop(lease);
                let done = match done {
                    Some(outcome) if held => {
                        let _ = handle.resign().await;
                        return outcome.map_err(WorkError::Work);
                    }
                    done => done,
                };
                handle.logs(|| match done {
                    Some(Ok(())) => {
                        tracing::info!(
                            event = "work_ended",
                            epoch,
                            "leader work ended after leadership was lost"
                        );
                    }
                    Some(Err(error)) => {
                        let cause = error.to_string();
                        tracing::warn!(
                            event = "work_failed",
                            epoch,
                            cause,
                            "leader work failed after leadership was lost"
                        );
                    }
                    None => {
                        tracing::warn!(
                            event = "work_dropped",
                            epoch,
                            "leader work was stopped by force"
                        );
                    }
                });
            }
        }
    }
}
