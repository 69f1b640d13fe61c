//! What this repository's own tests look into.

pub use crate::store::client::Client;

use crate::{StoreError, store::Session};
use election_core::sql::{Call, Outcome, Statements};

/// Runs one statement as a store does.
pub async fn run<C: Client>(
    connection: &mut C::Connection,
    statements: &Statements,
    call: &Call<'_>,
) -> Result<Outcome, StoreError> {
    Session::<C> { connection, statements, alone: true, bound: None }.run(call).await
}
