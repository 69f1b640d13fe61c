//! One connection for all elections of a process.
//!
//! Questions wait in the core's [`Queue`] while a statement is under way, and those that merge go out in one.
//!
//! A task asks the database, and another listens. So an election that gives up, or that nobody polls, takes
//! nothing with it.

mod subscribers;

use super::{client::Client, sql::SqlStore, timeouts::Timeouts};
use crate::{
    Notifications, Pause, Runtime, Store, StoreError, StoreErrorCode, log, metrics, now,
    outage::{Gravity, Outage},
    rate::Rate,
};
use async_channel::{Receiver, RecvError, Sender};
use election_core::{
    Timestamp,
    lease::{Answer, Config, Failure, Query, Registration},
    sql::{Asked, Concern, Dialect, Queue, Statements},
};
use futures_lite::future::or;
use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use subscribers::Subscribers;
use tracing::Instrument as _;

/// A store for many elections of a process, made by [`Election::share`](crate::Election::share). All its
/// clones use one connection, and on PostgreSQL one more that listens: two while all is well, three at most.
///
/// Each election stays what it is: it has its own handle, leases and timing, and nothing of it shows
/// in another. The guide's page [`many`](crate::guide::many) says what is asked together, and what a lock or a
/// slow statement of one election costs the others.
///
/// The shortest attempt time-out of any election that was started on this store bounds each statement.
#[derive(Clone)]
pub struct SharedStore {
    shared: Arc<Shared>,
    named_metrics: bool,
    /// Of the election on this clone.
    attempt_timeout: Duration,
}

/// Counters of a shared store. Sample them twice and subtract to get rates.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SharedStatus {
    /// How many electors use it.
    pub elections: usize,
    /// How many questions waited when the last batch was done.
    pub waiting: usize,
    /// How many batches it has asked: one to eight statements each.
    pub batches: u64,
    /// How many questions these have asked. Divided by the batches, their average size.
    pub questions: u64,
}

struct Shared {
    orders: Sender<Order>,
    statements: Arc<Statements>,
    subscribers: Arc<Subscribers>,
    /// Somebody wants to hear.
    listens: Sender<()>,
    work: Arc<Mutex<Work>>,
}

/// What has been done.
#[derive(Default)]
struct Work {
    status: SharedStatus,
    /// Why the last batch failed, if it did.
    error: Option<String>,
}

/// What clones tell the task that asks the database.
enum Order {
    /// An election with this timing begins.
    Prepare {
        attempt_timeout: Duration,
        ttl: Duration,
    },
    Ask(Asked<Reply>),
}

/// Where an answer goes.
type Reply = Sender<Result<Answer, StoreError>>;

impl SharedStore {
    pub(crate) fn start<R: Runtime, C: Client>(runtime: &R, store: SqlStore<C>) -> Self {
        let (orders, ordered) = async_channel::unbounded();
        let (listens, listened) = async_channel::bounded(1);
        let statements = store.statements.clone();
        let subscribers = Arc::<Subscribers>::default();
        let sleeper = runtime.clone();
        let pause: Pause = Arc::new(move |time| Box::pin(sleeper.sleep(time)));
        let (news, dispatched) = (store.client.news(pause), subscribers.clone());
        // It ends when the last clone goes, which drops the other end.
        let listening = async move {
            if listened.recv().await.is_ok() {
                let gone = async { while listened.recv().await.is_ok() {} };
                or(gone, subscribers::dispatch(news, &dispatched)).await;
            }
        };
        let span = tracing::error_span!(parent: None, "store", place = store.place());
        runtime.spawn(listening.instrument(span.clone()));
        let asker = Asker::new(store, subscribers.clone());
        let work = asker.work.clone();
        runtime.spawn(asker.run(ordered).instrument(span));
        let shared = Arc::new(Shared { orders, statements, subscribers, listens, work });
        Self { shared, named_metrics: true, attempt_timeout: Duration::MAX }
    }

    /// What it has done and has to do, for an operator or a dashboard of your own; the feature
    /// [`metrics`](crate::metrics) reports the same.
    #[must_use]
    pub fn status(&self) -> SharedStatus {
        let elections = self.shared.subscribers.count();
        SharedStatus { elections, ..lock(&self.shared.work).status.clone() }
    }

    /// The [metrics](crate::metrics) of elections on this clone carry no label `name`: their counters and histograms
    /// add up, `leader_election_master_status` is the number of those that this process leads, and the epoch and the
    /// trust left, which have no sum, are not reported. For more than about a thousand elections: each name costs a
    /// recorder some twenty series.
    #[must_use]
    pub fn unnamed_metrics(self) -> Self {
        Self { named_metrics: false, ..self }
    }
}

impl Store for SharedStore {
    fn prepare(&mut self, config: &Config) {
        let (attempt_timeout, ttl) = (config.attempt_timeout(), config.ttl());
        self.attempt_timeout = attempt_timeout;
        let _ = self.shared.orders.try_send(Order::Prepare { attempt_timeout, ttl });
    }

    async fn answer(
        &mut self,
        registration: &Registration,
        query: &Query,
    ) -> Result<Answer, StoreError> {
        let (asker, answer) = async_channel::bounded(1);
        let (registration, query) = (registration.clone(), query.clone());
        // A quarter of its time is left for the statement.
        let until = now() + self.attempt_timeout / 4 * 3;
        let asked = Asked { registration, query, until, asker };
        let _ = self.shared.orders.try_send(Order::Ask(asked));
        // What still waits when its runtime ends is never answered.
        let ended = async {
            self.shared.orders.closed().await;
            Err(RecvError)
        };
        or(answer.recv(), ended).await.unwrap_or_else(|_| {
            if !self.shared.orders.is_closed() {
                let waited = "the question waited too long for the connection of the shared store, and was \
                              never sent";
                let context = match &lock(&self.shared.work).error {
                    Some(why) => format!("{waited}; the previous batch failed: {why}"),
                    None => format!("{waited}; if that goes on, {}", log::OVERLOAD_REMEDY),
                };
                return Err(StoreError::new(Failure::Transient, context));
            }
            let context = "the runtime on which the store was shared has ended; share it anew on \
                           the one that runs (`Election::share`)";
            Err(StoreError::new(Failure::Fatal, context))
        })
    }

    fn statements(&self) -> Option<Arc<Statements>> {
        Some(self.shared.statements.clone())
    }

    fn tells_outages(&self) -> bool {
        true
    }

    fn names_metrics(&self) -> bool {
        self.named_metrics
    }

    fn notifications(&mut self, registration: &Registration, _: Pause) -> Notifications {
        let subscription = self.shared.subscribers.subscribe(registration);
        let listens = self.shared.listens.clone();
        Box::pin(futures_lite::stream::unfold(
            (listens, subscription),
            |(listens, subscription)| async {
                let _ = listens.try_send(());
                let notice = subscription.next().await;
                Some((notice, (listens, subscription)))
            },
        ))
    }
}

/// The task that asks the database.
struct Asker<C: Client> {
    store: SqlStore<C>,
    queue: Queue<Reply>,
    /// The shortest attempt time-out and the longest ttl, which bound the waits of all.
    bounds: Option<(Duration, Duration)>,
    outage: Option<Outage>,
    overload: Rate,
    subscribers: Arc<Subscribers>,
    place: Arc<str>,
    work: Arc<Mutex<Work>>,
}

fn lock(work: &Mutex<Work>) -> MutexGuard<'_, Work> {
    // A panic elsewhere leaves nothing half-written here.
    work.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<C: Client> Asker<C> {
    fn new(store: SqlStore<C>, subscribers: Arc<Subscribers>) -> Self {
        let queue = Queue::new();
        let (place, work) = (store.place().into(), Arc::default());
        let (bounds, outage, overload) = (None, None, Rate::default());
        Self { store, queue, bounds, outage, overload, subscribers, place, work }
    }

    /// Answers what is asked, for as long as there is a store.
    async fn run(mut self, orders: Receiver<Order>) {
        loop {
            if self.queue.is_empty() {
                let Ok(order) = orders.recv().await else { return };
                self.take(order);
            }
            while let Ok(order) = orders.try_recv() {
                self.take(order);
            }
            self.answer().await;
        }
    }

    fn take(&mut self, order: Order) {
        match order {
            Order::Ask(asked) => self.queue.push(asked),
            Order::Prepare { attempt_timeout: attempt, ttl } => {
                let (shortest, longest) = self.bounds.unwrap_or((attempt, ttl));
                let (attempt, ttl) = (shortest.min(attempt), longest.max(ttl));
                if self.bounds.replace((attempt, ttl)) != Some((attempt, ttl)) {
                    self.store.bound(Timeouts::of(attempt, ttl).shared());
                    let earlier = self.outage.take();
                    self.outage = Some(Outage::of_database(attempt, ttl).continuing(earlier));
                }
            }
        }
    }

    /// Answers those whose turn it is.
    async fn answer(&mut self) {
        let (since, late) = (now(), self.queue.late());
        let turn = self.queue.next(since, |reply| !reply.is_closed());
        let questions: Vec<_> = turn.iter().map(|it| (&it.registration, &it.query)).collect();
        let merged = questions.len() > 1;
        if self.queue.late() > late && lock(&self.work).error.is_none() {
            self.overload.count(since).into_iter().for_each(log::overload);
        }
        let answers = match &*questions {
            [] => return self.count(0),
            [(registration, query)] => {
                self.store.answer(registration, query).await.map(|answer| vec![Some(answer)])
            }
            _ => self.store.answer_many(&questions).await,
        };
        self.tell(since, answers.as_ref().err());
        self.count(turn.len());
        match answers {
            Ok(answers) => {
                let answered = self.queue.answered(turn, answers);
                let mut released = Vec::new();
                for (asked, answer) in &answered {
                    let _ = asked.asker.try_send(Ok(answer.clone()));
                    if merged && *answer == Answer::Released {
                        released.push(&asked.registration); // a single statement has told of it
                    }
                }
                self.store.tell_many(&released, since).await;
            }
            Err(error) if merged && C::cannot_merge(&error) => self.queue.cannot_merge(turn),
            Err(error) => {
                for asked in self.queue.failed(turn, concern(C::DIALECT, &error), since, now()) {
                    let _ = asked.asker.try_send(Err(error.shared()));
                }
            }
        }
    }

    /// Counts a batch of so many questions. None is no batch: nothing was worth asking.
    fn count(&self, asked: usize) {
        let (batches, questions) = (u64::from(asked > 0), asked as u64);
        let status = &mut lock(&self.work).status;
        status.elections = self.subscribers.count();
        status.waiting = self.queue.len();
        status.batches += batches;
        status.questions += questions;
        metrics::shared(&self.place, status, batches, questions);
    }

    /// Logs what concerns all elections: that the database is out of reach, or does not notify.
    fn tell(&mut self, asked: Timestamp, error: Option<&StoreError>) {
        let now = now();
        lock(&self.work).error = error.map(StoreError::told);
        self.subscribers.asked(now, error);
        if let Some(outage) = &mut self.outage {
            tell(outage, asked, now, error);
        }
    }
}

/// Whom an error of a statement for many concerns. One that comes after a win is ambiguous, whatever its reason.
fn concern(dialect: Dialect, error: &StoreError) -> Concern {
    match error.kind {
        Failure::Fatal if error.code() == Some(StoreErrorCode::Row) => Concern::Row,
        // SQLite has one lock for all.
        Failure::Conflict if dialect != Dialect::Sqlite => Concern::Lock,
        _ => Concern::All,
    }
}

/// Logs an outage, and its end. An error that concerns one election is told by that election.
fn tell(outage: &mut Outage, asked: Timestamp, now: Timestamp, error: Option<&StoreError>) {
    match error {
        None => outage.answered(now).into_iter().for_each(log::outage_over),
        Some(error) if log::out_of_reach(error) => {
            let gravity = match error.kind {
                Failure::Fatal => Gravity::Fatal,
                _ if error.is_connecting() => Gravity::Usual, // an ordinary start over a slow link
                _ => Gravity::Passing,
            };
            if let Some(word) = outage.failed(asked, now, gravity) {
                log::outage(word, &log::chain(error));
            }
        }
        Some(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_lock_or_a_row_concerns_one() {
        use Dialect::{MySql, Sqlite};
        use Failure::{Ambiguous, Conflict, Fatal};
        let row = Some(StoreErrorCode::Row);
        for (dialect, kind, code, expected) in [
            (MySql, Fatal, row, Concern::Row),
            (MySql, Ambiguous, row, Concern::All),
            (MySql, Fatal, None, Concern::All),
            (MySql, Fatal, Some(StoreErrorCode::Tables), Concern::All),
            (MySql, Conflict, None, Concern::Lock),
            (Sqlite, Conflict, None, Concern::All),
            (Sqlite, Fatal, row, Concern::Row),
        ] {
            let error = StoreError::new(kind, "it does not work").coded(code);
            assert_eq!(concern(dialect, &error), expected, "{dialect:?} {kind:?} {code:?}");
        }
    }

    #[test]
    fn only_what_keeps_all_from_an_answer_is_an_outage() {
        let (attempt, ttl) = (Duration::from_secs(2), Duration::from_secs(15));
        let told = |kinds: &[Failure], code| {
            log::capture::told(|| {
                let mut outage = Outage::of_database(attempt, ttl);
                let mut at = Timestamp::ZERO;
                for kind in kinds {
                    let error = StoreError::new(*kind, "it does not work").coded(code);
                    at = at + Duration::from_secs(1);
                    tell(&mut outage, at, at, Some(&error));
                }
                tell(&mut outage, at, at, None);
            })
        };
        use Failure::{Ambiguous, Conflict, Fatal, Transient};
        assert_eq!(told(&[Transient, Ambiguous, Transient], None), ["outage", "outage_over"]);
        assert_eq!(told(&[Conflict, Fatal, Conflict, Fatal], None), [] as [&str; 0]);
        assert_eq!(told(&[Fatal; 3], Some(StoreErrorCode::Login)), ["outage", "outage_over"]);
    }
}
