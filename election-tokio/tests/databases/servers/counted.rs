//! Electors whose calls are counted, and their sessions on the server.

use crate::database::{SHORT, Served};
use election_core::{
    Epoch,
    lease::{Answer, Config, Query, Registration},
    sql::Statements,
};
use election_driver::{Notifications, Pause, Store, StoreError};
use election_testing::Kind;
use election_tokio::{Election, Handle};
use futures_lite::future::or;
use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

/// The elector's own connection, the listener's, and one that is being given up.
pub(crate) const MOST: usize = 3;
pub(crate) const ELECTORS: [&str; 3] = ["a", "b", "c"];
/// Enough attempts to show a pile-up, however slowly it grows.
const ATTEMPTS: usize = 16;

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

/// An elector, and how often it has asked.
pub(crate) struct Counted {
    pub(crate) handle: Handle,
    asked: Arc<AtomicUsize>,
}

pub(crate) fn counted(store: impl Store, node: &str) -> Counted {
    let asked = Arc::new(AtomicUsize::new(0));
    let store = Counting(store, asked.clone());
    let election = Election::builder("test").node(node).ttl(SHORT).store(store).build().unwrap();
    Counted { handle: election.start(), asked }
}

/// How many sessions the electors have on the server, as its administrator sees it.
pub(crate) fn sessions<B: Served>(database: &B) -> usize {
    let (place, count) = match B::KIND {
        Kind::Postgres => (
            "postgres",
            "SELECT count(*) FROM pg_stat_activity \
             WHERE usename = 'election' AND application_name LIKE 'election%'",
        ),
        Kind::MariaDb => {
            // One that was ended stays on the list until its thread has a turn.
            (
                "mysql",
                "SELECT count(*) FROM information_schema.processlist \
                 WHERE user = 'election' AND command <> 'Killed'",
            )
        }
    };
    database.server().administer(place, count).parse().unwrap()
}

/// What the server says of every session, for a test that has failed.
pub(crate) fn listed<B: Served>(database: &B) -> String {
    let (place, list) = match B::KIND {
        Kind::Postgres => (
            "postgres",
            "SELECT clock_timestamp(), pid, application_name, state, backend_start, state_change, \
             wait_event, query FROM pg_stat_activity WHERE usename IS NOT NULL",
        ),
        Kind::MariaDb => ("mysql", "SHOW FULL PROCESSLIST"),
    };
    database.server().administer(place, list)
}

/// Watches until every elector has asked that many times, and then some.
pub(crate) fn watched(electors: &[Counted], sessions: impl Fn() -> usize) -> usize {
    let before: Vec<_> = electors.iter().map(|each| each.asked.load(Ordering::Relaxed)).collect();
    let enough = || {
        let asked = electors.iter().map(|each| each.asked.load(Ordering::Relaxed));
        asked.zip(&before).all(|(asked, before)| asked - before >= ATTEMPTS)
    };
    let mut most = 0;
    while !enough() {
        most = most.max(sessions());
        assert!(most <= MOST * electors.len(), "{most} sessions of {} electors", electors.len());
    }
    most
}

pub(crate) async fn led(electors: &[Counted]) -> Epoch {
    let [a, b, c] = electors else { panic!("three electors") };
    let others = or(b.handle.elected(), c.handle.elected());
    or(a.handle.elected(), others).await.unwrap().epoch()
}
