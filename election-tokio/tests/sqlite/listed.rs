//! The list of candidates informs observers: whatever is wrong with it, the lease goes on.

use crate::places::InFile;
use async_lock::Semaphore;
use election_driver::{
    Notifications, Pause, SqliteStore, Store, StoreError,
    conformance::sqlite::*,
    core::lease::{Answer, Failure, Query, Registration},
};
use election_tokio::Election;
use std::sync::Arc;

/// Answers no first attempt, a second only on request, and never lets the candidate be listed.
struct Unlisted {
    store: SqliteStore,
    attempts: usize,
    /// A second attempt is waiting.
    asked: Arc<Semaphore>,
    /// It may be answered.
    answered: Arc<Semaphore>,
}

impl Store for Unlisted {
    async fn answer(
        &mut self,
        registration: &Registration,
        query: &Query,
    ) -> Result<Answer, StoreError> {
        match query {
            Query::Attempt { .. } if self.attempts == 0 => {
                self.attempts += 1;
                Err(StoreError::new(Failure::Transient, "no answer"))
            }
            Query::Register { .. } => Err(StoreError::new(Failure::Fatal, "a right is missing")),
            Query::Attempt { .. } => {
                self.asked.add_permits(1);
                let _open = self.answered.acquire().await;
                self.store.answer(registration, query).await
            }
            _ => self.store.answer(registration, query).await,
        }
    }

    fn notifications(&mut self, registration: &Registration, pause: Pause) -> Notifications {
        self.store.notifications(registration, pause)
    }
}

/// A process that waits for the database must not take it for one that refuses.
async fn what_is_said_of_the_list_is_not_said_of_the_lease(place: InFile) {
    let (asked, answered) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
    let store = Unlisted {
        store: place.store(),
        attempts: 0,
        asked: asked.clone(),
        answered: answered.clone(),
    };
    let election = Election::builder("test").node("a").ttl(LONG).store(store).build();
    let elector = election.unwrap().start();
    let _second = asked.acquire().await;
    // The attempt before it and the registration have both failed by now.
    let error = elector.status().error.unwrap();
    assert_eq!((error.kind, &*error.context), (Failure::Transient, "no answer"));
    answered.add_permits(1);
    elector.elected().await.unwrap();
    let status = elector.watch().until(|status| status.error.is_none()).await;
    assert!(status.tenure.is_some());
}

tests! {
    what_is_said_of_the_list_is_not_said_of_the_lease: in_file;
}
