//! The elector itself: one future that steps the core, asks the database and listens.

use crate::{
    Notice, Notifications, Observer, Pause, Runtime, Store, StoreError,
    inbox::Report,
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
    lease::{Action, Answer, Config, Event, Failure, Lease, Query, Ticket},
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
    task::{Context, Poll, ready},
    time::Duration,
};
use tracing::Instrument as _;

/// The elector as a plain future, for executors of any kind. Completes after a shutdown.
///
/// Poll it without long pauses: leadership runs out while nobody polls. Dropping it ends leadership
/// at once and leaves the lease to its ttl.
#[must_use = "an elector does nothing unless polled"]
pub struct Driver(Pin<Box<dyn Future<Output = ()> + Send>>);

impl Future for Driver {
    type Output = ();
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        self.0.as_mut().poll(cx)
    }
}

impl Driver {
    pub(crate) fn new<R: Runtime, S: Store>(
        config: Config,
        mut store: S,
        shared: Arc<Shared<R>>,
        inputs: Receiver<Input<Report>>,
    ) -> Self {
        // Small, since an unbounded channel takes five kilobytes, and there may be thousands of electors.
        let (asks, questions) = async_channel::bounded(1);
        // Of the question under way, and of the one behind it.
        let (answers, answered) = async_channel::bounded(2);
        let span = log::span(&shared.setup.registration);
        span.in_scope(|| store.prepare(&config));
        let clock = shared.setup.runtime.clone();
        store.set_clock(Arc::new(move || clock.now()));
        let closes = CloseOnDrop(shared.clone());
        let candidate = shared.setup.registration.candidate.clone();
        let log = Log::new(&config, candidate.clone(), store.tells_outages());
        let log = SharedLog(Arc::new(Mutex::new(log)));
        let mut lease = Lease::new(config.clone(), candidate, 0);
        let elector = async move {
            let runtime = shared.setup.runtime.clone();
            let pause: Pause = Arc::new(move |time| Box::pin(runtime.sleep(time)));
            let notifications = store.notifications(&shared.setup.registration, pause);
            let timer = shared.setup.timer();
            let mut host = Elector {
                shared: shared.clone(),
                inputs: Box::pin(inputs),
                answers: Box::pin(answered),
                asks,
                timer,
                log: log.clone(),
                observer: shared.setup.runtime.observer(),
            };
            let desk = Desk { shared: &shared, config: &config, log: &log, answers };
            let database = async {
                ask_database(store, &desk, questions).await;
                pending::<()>().await;
            };
            let listener = async {
                listen(notifications, &shared, &log).await;
                pending::<()>().await;
            };
            or(drive(&mut lease, &mut host), or(database, listener)).await;
            closes.0.finish();
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

/// One future polls both halves of the elector, so neither ever waits for this lock.
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
    inputs: Pin<Box<Receiver<Input<Report>>>>,
    answers: Pin<Box<Receiver<Event>>>,
    asks: Sender<Ask>,
    timer: Timer<R>,
    log: SharedLog,
    observer: Option<Arc<dyn Observer>>,
}

impl<R: Runtime> Host<Lease> for Elector<R> {
    fn now(&mut self) -> Timestamp {
        self.shared.setup.runtime.now()
    }

    fn publish(&mut self, lease: &Lease, change: Option<Change>) {
        if let Some(observer) = &self.observer {
            observer.stepped(lease, change.as_ref());
        }
        self.log.get().stepped(self.shared.setup.runtime.now(), lease, change.as_ref());
        self.shared.metrics.step(&self.shared.setup.runtime, lease, change.as_ref());
        self.shared.publish(lease, change);
    }

    fn perform(&mut self, action: Action) {
        if let Some(observer) = &self.observer {
            observer.asks(&action);
        }
        let Action::Query { ticket, query, deadline } = action;
        tracing::trace!(query = op(&query), "asking");
        // Only the newest question counts.
        let _ = self.asks.force_send(Ask { ticket, query, deadline });
    }

    fn poll_input(
        &mut self,
        cx: &mut Context<'_>,
        wake_at: Option<Timestamp>,
    ) -> Poll<Option<Input<Event>>> {
        self.shared.is_due(wake_at);
        let input = ready!(self.poll_next(cx, wake_at));
        if let (Some(observer), Some(input)) = (&self.observer, &input) {
            observer.takes(input);
        }
        Poll::Ready(input)
    }
}

impl<R: Runtime> Elector<R> {
    fn poll_next(
        &mut self,
        cx: &mut Context<'_>,
        wake_at: Option<Timestamp>,
    ) -> Poll<Option<Input<Event>>> {
        if let Some(at) = wake_at {
            if self.timer.poll_at(cx, at).is_ready() {
                return Poll::Ready(Some(Input::Tick));
            }
        }
        if let Poll::Ready(Some(answer)) = self.answers.as_mut().poll_next(cx) {
            return Poll::Ready(Some(Input::Event(answer)));
        }
        let input = ready!(self.inputs.as_mut().poll_next(cx));
        Poll::Ready(input.map(|input| match input {
            Input::Event(Report::Health(healthy)) => Input::Event(Event::Health(healthy)),
            Input::Event(Report::Wake) => {
                let resigned = self.shared.setup.inbox.woken();
                Input::Event(resigned.map_or(Event::Wake, Event::Resigned))
            }
            Input::Resign => Input::Resign,
            Input::Stopped(epoch) => Input::Stopped(epoch),
            Input::Withdraw => Input::Withdraw,
            Input::Tick => Input::Tick,
        }))
    }
}

/// Waiting for a statement that is nearly done is cheaper than a new connection, which takes a
/// dozen round trips: longer than the rest of a lease on a slow link. The newer statement has a deadline
/// too: the wait leaves it one and a half times what statements have recently taken.
struct Waits {
    /// What statements have taken of late.
    usual: Duration,
}

/// What a statement that is nearly done takes at most where statements take no time.
const NEARLY_DONE: Duration = Duration::from_millis(10);

impl Waits {
    /// A statement was answered after this time. One that had to connect takes far longer, and is
    /// soon forgotten.
    fn answered(&mut self, took: Duration) {
        self.usual = if took < self.usual { took } else { (self.usual * 3 + took) / 4 };
    }

    /// How long a statement with the deadline `newer` waits for one that was sent at `since`.
    fn wait(
        &self,
        config: &Config,
        since: Timestamp,
        now: Timestamp,
        newer: Timestamp,
    ) -> Duration {
        let least = NEARLY_DONE.min(config.attempt_timeout() / 8);
        let done = since + 2 * self.usual + least;
        let spare = newer.since(now).saturating_sub(self.usual * 3 / 2);
        done.since(now).min(spare).max(least)
    }
}

/// What the loop that asks the database works with.
struct Desk<'a, R: Runtime> {
    shared: &'a Shared<R>,
    config: &'a Config,
    log: &'a SharedLog,
    answers: Sender<Event>,
}

/// Answers the core's questions, one at a time. A new question drops the one under way, unless that
/// one is nearly done.
async fn ask_database<R: Runtime, S: Store>(
    mut store: S,
    desk: &Desk<'_, R>,
    questions: Receiver<Ask>,
) {
    let shared = desk.shared;
    let runtime = &shared.setup.runtime;
    let mut waits = Waits { usual: Duration::ZERO };
    let mut next = questions.recv().await;
    while let Ok(ask) = next {
        let ask = questions.try_recv().unwrap_or(ask);
        let asked = shared.metrics.asking(runtime);
        let since = runtime.now();
        let (outcome, newer) = {
            let mut answering = pin!(store.answer(&shared.setup.registration, &ask.query));
            let outcome =
                or(async { Ok(answering.as_mut().await) }, async { Err(questions.recv().await) });
            match outcome.await {
                Ok(result) => (Some(result), None),
                Err(Ok(newer)) if runtime.now() < ask.deadline => {
                    let wait = waits.wait(desk.config, since, runtime.now(), newer.deadline);
                    let patience = runtime.sleep(wait);
                    let outcome = or(async { Some(answering.await) }, async {
                        patience.await;
                        None
                    });
                    (outcome.await, Some(Ok(newer)))
                }
                Err(newer) => (None, Some(newer)),
            }
        };
        if outcome.as_ref().is_some_and(Result::is_ok) {
            waits.answered(runtime.now().since(since));
        }
        conclude(desk, &asked, since, ask, outcome);
        next = match newer {
            Some(newer) => newer,
            None => questions.recv().await,
        };
    }
}

/// Reports the outcome of a question that was asked at `since`; `None` if it was dropped.
fn conclude<R: Runtime>(
    desk: &Desk<'_, R>,
    asked: &Asked,
    since: Timestamp,
    ask: Ask,
    outcome: Option<Result<Answer, StoreError>>,
) {
    let (shared, log) = (desk.shared, desk.log);
    let (metrics, runtime) = (&shared.metrics, &shared.setup.runtime);
    let tell = |result| {
        let _ = desk.answers.try_send(Event::Answer { ticket: ask.ticket, result });
    };
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
            tell(Ok(answer));
        }
        Some(Err(error)) => {
            let kind = error.kind;
            ended(End::Failed(kind));
            log.get().failed(since, now, &ask.query, &error);
            database(Err(Arc::new(error)));
            tell(Err(kind));
        }
        None if now < ask.deadline => {
            ended(End::Overtaken);
            tracing::debug!(query = op(&ask.query), "cancelled for something more urgent");
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

/// A stream that always has another item must not keep the elector from its own work.
const NOTICES: usize = 1_000;

/// Notices that wait together, after a suspension for instance, become one step of the elector.
async fn listen<R: Runtime>(mut notifications: Notifications, shared: &Shared<R>, log: &SharedLog) {
    // If the database has room for only one connection, the elector's is the one that counts.
    shared.reached().await;
    for taken in 1.. {
        let Some(notice) = notifications.next().await else { return };
        match notice {
            Notice::Wake => shared.setup.inbox.wake(),
            Notice::Resigned(epoch) => shared.setup.inbox.wake_resigned(epoch),
            Notice::Listening => {
                log.get().hears();
                shared.listening(true);
            }
            Notice::NotListening(why) => {
                log.get().notifications_lost(shared.setup.runtime.now(), why);
                shared.listening(false);
            }
        }
        if taken % NOTICES == 0 {
            yield_now().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_statement_time_falls_at_once_and_rises_slowly() {
        let millis = Duration::from_millis;
        let mut waits = Waits { usual: Duration::ZERO };
        for (took, usual) in [(40, 10), (90, 30), (30, 30), (4, 4), (8, 5)] {
            waits.answered(millis(took));
            assert_eq!(waits.usual, millis(usual), "after {took} ms");
        }
    }

    #[test]
    fn a_statement_may_take_twice_as_long_as_usual() {
        let (millis, at) = (Duration::from_millis, Timestamp::ZERO + Duration::from_secs(9));
        let config = Config::builder().build().unwrap();
        let waits = Waits { usual: millis(100) };
        let wait = |passed, spare| waits.wait(&config, at, at + millis(passed), at + millis(spare));
        assert_eq!(wait(0, 2_000), millis(210));
        assert_eq!(wait(50, 2_000), millis(160));
        assert_eq!(wait(0, 350), millis(200), "the next takes half as long again as usual");
        assert_eq!(wait(300, 2_000), millis(10), "at least");
    }

    /// As slow as a link may be: a thirtieth of the lease, and half as slow again on a busy machine.
    #[test]
    fn a_renewal_outlasts_the_call_that_was_sent_just_before_it() {
        for ttl in [1200, 3000, 15_000] {
            let ttl = Duration::from_millis(ttl);
            let config = Config::builder().ttl(ttl).build().unwrap();
            let sent = Timestamp::from_nanos(1_000_000_000);
            let due = sent + Duration::from_millis(1);
            for usual in [ttl / 30, ttl / 20] {
                let waits = Waits { usual };
                let wait = waits.wait(&config, sent, due, due + config.attempt_timeout());
                assert!(due + wait >= sent + usual, "{wait:?} of {usual:?}");
                assert!(wait + usual <= config.attempt_timeout(), "{wait:?} and {usual:?}");
            }
        }
    }
}
