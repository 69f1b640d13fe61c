//! The elector itself: one future that steps the core, asks the database and listens.

use crate::{
    Notice, Notifications, Pause, Runtime, Store, StoreError,
    log::{self, Log},
    metrics::{Asked, End, op},
    outage::HumanDuration,
    shared::Shared,
    timer::Timer,
};
use async_channel::{Receiver, Sender};
use election_core::{
    Change, Input, Timestamp,
    drive::{Host, drive},
    lease::{Action, Answer, Event, Failure, Lease, Query, Ticket},
};
use futures_core::Stream;
use futures_lite::{
    StreamExt as _,
    future::{or, pending, yield_now},
};
use std::{
    future::Future,
    pin::{Pin, pin},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll},
    time::Duration,
};
use tracing::Instrument as _;

/// The elector as a plain future, for executors of any kind. Completes after a shutdown.
///
/// Poll it without long pauses: leadership runs out while nobody polls. Dropping it ends leadership
/// at once and leaves the lease to its ttl.
#[must_use = "an elector that is not polled does nothing"]
pub struct Driver(Pin<Box<dyn Future<Output = ()> + Send>>);

impl Future for Driver {
    type Output = ();
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        self.0.as_mut().poll(cx)
    }
}

impl Driver {
    pub(crate) fn new<R: Runtime, S: Store>(
        mut lease: Lease,
        mut store: S,
        shared: Arc<Shared<R>>,
        inputs: Receiver<Input<Event>>,
    ) -> Self {
        let (asks, questions) = async_channel::unbounded();
        let span = log::span(&shared.setup.registration);
        span.in_scope(|| store.prepare(&shared.setup.config));
        let closes = CloseOnDrop(shared.clone());
        let log = SharedLog(Arc::new(Mutex::new(Log::new(&shared.setup.config))));
        let elector = async move {
            let runtime = shared.setup.runtime.clone();
            let pause: Pause = Arc::new(move |time| Box::pin(runtime.sleep(time)));
            let notifications = store.notifications(&shared.setup.registration, pause);
            let timer = shared.setup.timer();
            let inputs = Box::pin(inputs);
            let mut host =
                Elector { shared: shared.clone(), inputs, asks, timer, log: log.clone() };
            let database = async {
                ask_database(store, &shared, &log, questions).await;
                pending::<()>().await;
            };
            let listener = async {
                listen(notifications, &shared, &log).await;
                pending::<()>().await;
            };
            or(drive(&mut lease, &mut host), or(database, listener)).await;
            closes.0.finish();
            drop(closes);
        };
        Self(Box::pin(elector.instrument(span)))
    }
}

/// However the driver ends, by a panic or a dropped runtime too, leadership ends with it.
struct CloseOnDrop<R: Runtime>(Arc<Shared<R>>);

impl<R: Runtime> Drop for CloseOnDrop<R> {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// The two halves of the elector take turns, so that neither ever waits for this lock.
#[derive(Clone)]
struct SharedLog(Arc<Mutex<Log>>);

impl SharedLog {
    fn get(&self) -> MutexGuard<'_, Log> {
        // A panic elsewhere leaves nothing half-written here.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Ask {
    ticket: Ticket,
    query: Query,
    deadline: Timestamp,
}

struct Elector<R: Runtime> {
    shared: Arc<Shared<R>>,
    inputs: Pin<Box<Receiver<Input<Event>>>>,
    asks: Sender<Ask>,
    timer: Timer<R>,
    log: SharedLog,
}

impl<R: Runtime> Host<Lease> for Elector<R> {
    fn now(&mut self) -> Timestamp {
        self.shared.setup.runtime.now()
    }

    fn publish(&mut self, lease: &Lease, change: Option<Change>) {
        self.log.get().stepped(self.shared.setup.runtime.now(), lease, change.as_ref());
        self.shared.metrics.step(&self.shared.setup.runtime, lease, change.as_ref());
        self.shared.publish(lease, change);
    }

    fn perform(&mut self, action: Action) {
        let Action::Query { ticket, query, deadline } = action;
        tracing::trace!(query = op(&query), "asking");
        let _ = self.asks.try_send(Ask { ticket, query, deadline });
    }

    fn poll_input(
        &mut self,
        cx: &mut Context<'_>,
        wake_at: Option<Timestamp>,
    ) -> Poll<Option<Input<Event>>> {
        if let Some(at) = wake_at {
            if self.timer.poll_at(cx, at).is_ready() {
                return Poll::Ready(Some(Input::Tick));
            }
        }
        Poll::Ready(match std::task::ready!(self.inputs.as_mut().poll_next(cx)) {
            Some(Input::Event(Event::Wake)) => Some(Input::Event(self.shared.setup.inbox.woken())),
            input => input,
        })
    }
}

/// Waiting for a statement that is nearly done is cheaper than a new connection. The limit is an
/// eighth of what a statement may take: the statement that waits has a deadline as well.
const NEARLY_DONE: Duration = Duration::from_millis(10);

/// Answers the core's questions, one at a time. A new question drops the one under way, unless that
/// one is [`NEARLY_DONE`].
async fn ask_database<R: Runtime, S: Store>(
    mut store: S,
    shared: &Shared<R>,
    log: &SharedLog,
    questions: Receiver<Ask>,
) {
    let mut next = questions.recv().await;
    while let Ok(mut ask) = next {
        while let Ok(newer) = questions.try_recv() {
            ask = newer;
        }
        let asked = shared.metrics.asking(&shared.setup.runtime);
        let since = shared.setup.runtime.now();
        let (outcome, newer) = {
            let mut answering = pin!(store.answer(&shared.setup.registration, &ask.query));
            let outcome =
                or(async { Ok(answering.as_mut().await) }, async { Err(questions.recv().await) });
            match outcome.await {
                Ok(result) => (Some(result), None),
                Err(newer) if newer.is_ok() && shared.setup.runtime.now() < ask.deadline => {
                    let most = shared.setup.config.attempt_timeout() / 8;
                    let patience = shared.setup.runtime.sleep(NEARLY_DONE.min(most));
                    let outcome = or(async { Some(answering.await) }, async {
                        patience.await;
                        None
                    });
                    (outcome.await, Some(newer))
                }
                Err(newer) => (None, Some(newer)),
            }
        };
        conclude(shared, log, &asked, since, ask, outcome);
        next = match newer {
            Some(newer) => newer,
            None => questions.recv().await,
        };
    }
}

/// Reports the outcome of a question that was asked at `since`; `None` if it was dropped.
fn conclude<R: Runtime>(
    shared: &Shared<R>,
    log: &SharedLog,
    asked: &Asked,
    since: Timestamp,
    ask: Ask,
    outcome: Option<Result<Answer, StoreError>>,
) {
    let (metrics, runtime) = (&shared.metrics, &shared.setup.runtime);
    // The list informs observers; whether it can be written says nothing about the lease.
    let list = matches!(ask.query, Query::Register { .. } | Query::Unregister | Query::Others);
    let database = |outcome| {
        if !list {
            shared.database(outcome);
        }
    };
    let ended = |end: End<'_>| metrics.asked(runtime, asked, &ask.query, &end);
    let now = runtime.now();
    match outcome {
        Some(Ok(answer)) => {
            ended(End::Answered(&answer));
            log.get().answered(now, &ask.query, &answer);
            database(Ok(()));
            let result = Ok(answer);
            shared.setup.inbox.tell(Input::Event(Event::Answer { ticket: ask.ticket, result }));
        }
        Some(Err(error)) => {
            let kind = error.kind;
            ended(End::Failed(kind));
            log.get().failed(since, now, &ask.query, &error);
            database(Err(Arc::new(error)));
            let result = Err(kind);
            shared.setup.inbox.tell(Input::Event(Event::Answer { ticket: ask.ticket, result }));
        }
        None if now < ask.deadline => {
            ended(End::Overtaken);
            tracing::debug!(query = op(&ask.query), "overtaken by something more urgent");
        }
        // The lease has given this question up by itself.
        None => {
            ended(End::TimedOut);
            let context = format!("no answer within {}", HumanDuration(ask.deadline.since(since)));
            let error = StoreError::new(Failure::Ambiguous, context);
            log.get().failed(since, now, &ask.query, &error);
            database(Err(Arc::new(error)));
        }
    }
}

async fn listen<R: Runtime>(mut notifications: Notifications, shared: &Shared<R>, log: &SharedLog) {
    // If the database has room for only one connection, the elector's is the one that counts.
    shared.reached().await;
    while let Some(notice) = notifications.next().await {
        match notice {
            Notice::Wake => shared.setup.inbox.wake(),
            Notice::Resigned(epoch) => shared.setup.inbox.wake_resigned(epoch),
            Notice::Listening => {
                log.get().hears();
                shared.listening(true);
            }
            Notice::Deaf(why) => {
                log.get().is_deaf(shared.setup.runtime.now(), why);
                shared.listening(false);
            }
        }
        // A stream that always has another item must not keep the elector from its own work.
        yield_now().await;
    }
}
