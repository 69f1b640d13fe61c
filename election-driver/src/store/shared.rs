//! One connection for all elections of a process.
//!
//! Questions wait in a [`Line`] while a statement is under way. When it is done, those that
//! [merge](election_core::sql::Statements::merge) with the most urgent one go out with it in one
//! statement: a store that has little to do adds no delay, and a busy one needs few statements.
//!
//! No task runs here. Whoever waits for an answer also does what everybody waits for ([`Common`]), so
//! a store needs no runtime of its own, and a caller that gives up takes nothing with it: its statement
//! goes on as soon as anybody asks anything.

mod common;
mod dispatch;
mod line;

use super::{client::Client, sql::SqlStore};
use crate::{Notifications, Pause, Store, StoreError};
use async_channel::{Receiver, Sender};
use common::Common;
use dispatch::Dispatch;
use election_core::{
    lease::{Answer, Config, Failure, Query, Registration},
    sql::Statements,
};
use line::{Ask, Line};
use std::sync::Arc;
use tracing::Instrument as _;

/// A store for many elections of a process, by [`SqlStore::shared`]. All its clones use one connection,
/// and on PostgreSQL one more that listens: two while all is well, three at most.
///
/// Each election stays what it is: it has its own handle, leases and timing, and nothing of it shows
/// in another.
///
/// ```no_run
/// # use election_driver::{Election, Runtime, SharedStore, SqlStore};
/// # #[cfg(feature = "sqlite")]
/// # async fn example<R: Runtime + Default>() -> Result<(), Box<dyn std::error::Error>> {
/// let store = election_driver::SqliteStore::open("app.db")?.shared();
/// let mut tenants = Vec::new();
/// for tenant in ["acme", "globex", "initech"] {
///     let election = Election::<R>::builder(tenant).store(store.clone()).build()?;
///     tenants.push(election.start());
/// }
/// # Ok(())
/// # }
/// ```
///
/// The shortest timing among the elections bounds each statement, for all of them. A row that somebody
/// has locked is left out of a statement for many (PostgreSQL) or ends it (MySQL), and is then asked for by
/// itself; meanwhile the others wait, for a lock no longer than one of them would.
///
/// On MySQL and MariaDB, statements for many need `JSON_TABLE` (MySQL 8, MariaDB 10.6). An older server
/// is asked one question at a time.
///
/// Whoever waits for an answer also drives the connection, so all electors have to be polled without
/// long pauses, as one has to be by itself: on a runtime whose threads work and do not block.
pub struct SharedStore<C: Client>(Arc<Shared<C>>);

struct Shared<C: Client> {
    asks: Sender<Order>,
    asking: Common,
    dispatch: Dispatch,
    statements: Arc<Statements>,
    client: C,
}

/// What clones tell whoever asks the database.
enum Order {
    /// An election with this timing begins.
    Prepare(Box<Config>),
    Ask(Ask),
}

impl<C: Client> Clone for SharedStore<C> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<C: Client> SqlStore<C> {
    /// One store for many elections of this process.
    #[must_use]
    pub fn shared(self) -> SharedStore<C> {
        let (asks, orders) = async_channel::unbounded();
        let (client, statements) = (self.client.clone(), self.statements.clone());
        let span = tracing::error_span!(parent: None, "store", place = self.place());
        let asking = Common::new(answer_all(self, orders).instrument(span));
        let dispatch = Dispatch::default();
        SharedStore(Arc::new(Shared { asks, asking, dispatch, statements, client }))
    }
}

impl<C: Client> Store for SharedStore<C> {
    fn prepare(&mut self, config: &Config) {
        let _ = self.0.asks.try_send(Order::Prepare(Box::new(config.clone())));
    }

    async fn answer(
        &mut self,
        registration: &Registration,
        query: &Query,
    ) -> Result<Answer, StoreError> {
        let (ask, answer) = Ask::new(registration, query);
        let _ = self.0.asks.try_send(Order::Ask(ask));
        let answered = self.0.asking.drive_until(answer.recv()).await;
        answered.unwrap_or_else(|_| {
            let context = "the shared store was lost: a thread that asked the database panicked";
            Err(StoreError::new(Failure::Fatal, context))
        })
    }

    fn statements(&self) -> Option<Arc<Statements>> {
        Some(self.0.statements.clone())
    }

    fn notifications(&mut self, registration: &Registration, pause: Pause) -> Notifications {
        let shared = self.0.clone();
        let news = || shared.client.news(pause);
        let subscription = shared.dispatch.subscribe(registration, news);
        Box::pin(futures_lite::stream::unfold(
            (shared, subscription),
            |(shared, subscription)| async {
                let notice = shared.dispatch.next(&subscription).await?;
                Some((notice, (shared, subscription)))
            },
        ))
    }
}

/// Answers what is asked, for as long as there is a store.
async fn answer_all<C: Client>(mut store: SqlStore<C>, orders: Receiver<Order>) {
    let mut line = Line::default();
    let mut shortest: Option<Config> = None;
    loop {
        let mut next =
            if line.is_empty() { orders.recv().await.ok() } else { orders.try_recv().ok() };
        while let Some(order) = next {
            match order {
                Order::Ask(ask) => line.join(ask),
                Order::Prepare(config) => {
                    let before = shortest.as_ref().map(Config::attempt_timeout);
                    if before.is_none_or(|before| config.attempt_timeout() < before) {
                        store.prepare(&config);
                        shortest = Some(*config);
                    }
                }
            }
            next = orders.try_recv().ok();
        }
        answer(&mut store, &mut line).await;
    }
}

/// Answers those whose turn it is.
async fn answer<C: Client>(store: &mut SqlStore<C>, line: &mut Line) {
    let turn = line.next();
    if turn.is_empty() {
        return;
    }
    if let [ask] = &*turn {
        let answer = store.answer(ask.registration(), ask.query()).await;
        line.answered(ask, &answer);
        ask.reply(answer);
        return;
    }
    let questions: Vec<_> = turn.iter().map(|ask| (ask.registration(), ask.query())).collect();
    match store.answer_many(&questions).await {
        Ok(answers) => {
            for (ask, answer) in turn.into_iter().zip(answers) {
                match answer {
                    Some(answer) => ask.reply(Ok(answer)),
                    None => line.join_alone(ask),
                }
            }
        }
        Err(error) if matches!(error.kind, Failure::Transient | Failure::Ambiguous) => {
            turn.iter().for_each(|ask| ask.reply(Err(error.shared())));
        }
        // One of them has a lock, a right or a server that stands in the way of all.
        Err(_) => turn.into_iter().for_each(|ask| line.join_alone(ask)),
    }
}
