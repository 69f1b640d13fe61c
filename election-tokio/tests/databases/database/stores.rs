//! A store around a store, in which a test leaves something out.

use election_core::{
    lease::{Answer, Config, Query, Registration},
    sql::Statements,
};
use election_driver::{Store, StoreError};
use std::sync::Arc;

/// A store whose notifications are lost.
pub(crate) struct Deaf<S>(pub(crate) S);

impl<S: Store> Store for Deaf<S> {
    fn prepare(&mut self, config: &Config) {
        self.0.prepare(config);
    }

    async fn answer(&mut self, who: &Registration, query: &Query) -> Result<Answer, StoreError> {
        self.0.answer(who, query).await
    }

    fn statements(&self) -> Option<Arc<Statements>> {
        self.0.statements()
    }
}
