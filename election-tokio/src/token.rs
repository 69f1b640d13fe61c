//! Leadership as tokio's own means of cancellation.

use crate::Lease;
use std::{future::pending, io, sync::OnceLock, thread};
use tokio::runtime::{Builder, Handle};
use tokio_util::sync::CancellationToken;

/// Gives a lease as a `CancellationToken`.
pub trait CancellationTokenExt {
    /// A token that is cancelled when this leadership ends. Every call makes a new one.
    ///
    /// The token is cancelled whatever becomes of the runtime on which it was created: a runtime
    /// that has ended, is blocked, or is no longer driven cannot keep work on another one from
    /// being told. (One thread of its own watches all tokens of a process. If the machine refuses
    /// that thread, the token comes cancelled.) This method may be called outside of any runtime.
    /// The token holds no guard: leadership is released when the guards are dropped, even if a
    /// holder of the token has not stopped yet. Keep the guard until all of them have.
    fn cancellation_token(&self) -> CancellationToken;
}

impl CancellationTokenExt for Lease {
    fn cancellation_token(&self) -> CancellationToken {
        let token = CancellationToken::new();
        let Some(watch) = watch().filter(|_| self.is_held()) else {
            token.cancel();
            return token;
        };
        let (lost, cancelled, held) = (self.ended(), token.clone(), token.clone().drop_guard());
        drop(watch.spawn(async move {
            // However this ends, by a panic too.
            let _held = held;
            tokio::select! {
                _ = lost => {}
                () = cancelled.cancelled() => {}
            }
        }));
        token
    }
}

/// The executor of the thread that watches the tokens.
fn watch() -> Option<&'static Handle> {
    static WATCH: OnceLock<Option<Handle>> = OnceLock::new();
    WATCH.get_or_init(|| start().ok()).as_ref()
}

fn start() -> io::Result<Handle> {
    let runtime = Builder::new_current_thread().enable_time().build()?;
    let handle = runtime.handle().clone();
    let watching = move || runtime.block_on(pending::<()>());
    thread::Builder::new().name("election-tokens".to_owned()).spawn(watching)?;
    Ok(handle)
}
