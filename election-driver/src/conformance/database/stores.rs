//! Stores around a store: a test leaves something out, or counts.

use crate::{Notifications, Pause, Store, StoreError};
use election_core::{
    lease::{Answer, Config, Query, Registration},
    sql::Statements,
};
use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

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

/// Counts what a store is asked.
pub(crate) struct Counting<S>(pub(crate) S, pub(crate) Arc<AtomicUsize>);

impl<S: Store> Store for Counting<S> {
    fn prepare(&mut self, config: &Config) {
        self.0.prepare(config);
    }

    async fn answer(&mut self, who: &Registration, query: &Query) -> Result<Answer, StoreError> {
        self.1.fetch_add(1, Ordering::Relaxed);
        self.0.answer(who, query).await
    }

    fn statements(&self) -> Option<Arc<Statements>> {
        self.0.statements()
    }

    fn notifications(&mut self, who: &Registration, pause: Pause) -> Notifications {
        self.0.notifications(who, pause)
    }
}
