//! Leadership as tokio's own means of cancellation.

use crate::Lease;
use tokio_util::sync::CancellationToken;

/// Gives a lease as a `CancellationToken`.
pub trait CancellationTokenExt {
    /// A token that is cancelled when this leadership ends. Every call makes a new one.
    ///
    /// The token holds no guard: leadership is released when the guards are dropped, whether or
    /// not those who hold the token have stopped. Keep the guard until they have.
    fn cancellation_token(&self) -> CancellationToken;
}

impl CancellationTokenExt for Lease {
    fn cancellation_token(&self) -> CancellationToken {
        let token = CancellationToken::new();
        let (lost, cancelled) = (self.ended(), token.clone());
        drop(tokio::spawn(async move {
            tokio::select! {
                _ = lost => cancelled.cancel(),
                () = cancelled.cancelled() => {}
            }
        }));
        token
    }
}
