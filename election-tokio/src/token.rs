//! Leadership as tokio's own means of cancellation.

use crate::Lease;
use std::{future::pending, io, sync::OnceLock, thread};
use tokio::runtime::{Builder, Handle};
use tokio_util::sync::CancellationToken;

/// Gives a lease as a `CancellationToken`.
pub trait CancellationTokenExt {
    /// A token that is cancelled when this leadership ends. Every call makes a new one.
    ///
    /// It is cancelled whatever becomes of the runtime on which it was made: one that has ended, or
    /// is blocked, or is not driven any more, cannot keep work on another from being told. (All
    /// tokens of a process are watched over on one thread of their own. Should the machine refuse
    /// that thread, a token comes cancelled.) It may be called outside of any runtime.
    ///
    /// The token holds no guard: leadership is released when the guards are dropped, whether or
    /// not those who hold the token have stopped. Keep the guard until they have.
    fn cancellation_token(&self) -> CancellationToken;
}

impl CancellationTokenExt for Lease {
    fn cancellation_token(&self) -> CancellationToken {
        let token = CancellationToken::new();
        let Some(watch) = watch().filter(|_| self.is_held()) else {
            token.cancel();
            return token;
        };
        let (lost, cancelled) = (self.ended(), token.clone());
        drop(watch.spawn(async move {
            // However this ends, a panic included.
            let cancelled = cancelled.drop_guard();
            tokio::select! {
                _ = lost => {}
                () = cancelled.token().cancelled() => {}
            }
        }));
        token
    }
}

/// Where tokens are watched over.
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
