//! A clock that the test moves, a database that does what the test says, and wakers that ask.

use election_driver::{
    Driver, Election, Handle, Lease, Notice, Notifications, Pause, Runtime, Store, StoreError,
    core::{
        Epoch, Timestamp,
        lease::{Answer, Config, Failure, Query, Registration, Row},
    },
};
use futures_lite::{
    Stream,
    future::{block_on, poll_fn, poll_once},
};
use std::{
    future::Future,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard},
    task::{Context, Poll, Wake, Waker},
    time::Duration,
};

#[derive(Clone, Default)]
pub(crate) struct World(Arc<Mutex<State>>);

#[derive(Default)]
pub(crate) struct State {
    nanos: u64,
    epoch: u64,
    pub(crate) renewal: Renewal,
    /// How all questions fail, or those about the list of candidates.
    pub(crate) fails: Option<Failure>,
    pub(crate) list_fails: Option<Failure>,
    /// No question is answered, or none about the list of candidates.
    pub(crate) hangs: bool,
    pub(crate) list_hangs: bool,
    /// How long a win takes.
    pub(crate) win: Duration,
    /// What happens between two readings of the clock, and after how many.
    pub(crate) between: Option<(u32, Act)>,
    /// Whether the timing was told before anything was asked.
    pub(crate) prepared: bool,
    pub(crate) asked: Vec<Query>,
    /// What the database says unasked.
    pub(crate) notices: Option<Pin<Box<dyn Stream<Item = Notice> + Send>>>,
    /// Whether a term was given back.
    pub(crate) released: bool,
}

pub(crate) type Act = Box<dyn FnOnce() + Send>;

/// How the database answers renewals.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) enum Renewal {
    #[default]
    Granted,
    Gone,
    Hangs,
    Fails(Failure),
    ResignRequested,
}

impl World {
    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    pub(crate) fn set(&self, now: Timestamp) {
        self.state().nanos = now.as_nanos();
    }
}

impl Runtime for World {
    type Sleep = Pin<Box<dyn Future<Output = ()> + Send>>;

    fn now(&self) -> Timestamp {
        let mut state = self.state();
        let now = Timestamp::from_nanos(state.nanos);
        if let Some((readings, _)) = &mut state.between {
            *readings -= 1;
        }
        let act = state.between.take_if(|(readings, _)| *readings == 0);
        drop(state);
        if let Some((_, act)) = act {
            act();
        }
        now
    }

    fn sleep(&self, duration: Duration) -> Self::Sleep {
        let (world, until) = (self.clone(), self.now() + duration);
        Box::pin(poll_fn(move |_| match world.now() >= until {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }))
    }

    fn spawn<F: Future<Output = ()> + Send + 'static>(&self, _: F) {
        unreachable!("the test polls the driver itself");
    }
}

impl Store for World {
    fn prepare(&mut self, _: &Config) {
        let mut state = self.state();
        state.prepared = state.asked.is_empty();
    }

    fn notifications(&mut self, _: &Registration, _: Pause) -> Notifications {
        let notices = self.state().notices.take();
        notices.unwrap_or_else(|| Box::pin(futures_lite::stream::pending()))
    }

    async fn answer(&mut self, _: &Registration, query: &Query) -> Result<Answer, StoreError> {
        self.state().asked.push(query.clone());
        if matches!(query, Query::Attempt { .. }) {
            let win = self.state().win;
            self.sleep(win).await;
        }
        let list = matches!(query, Query::Register { .. } | Query::Unregister | Query::Others);
        let renews = matches!(query, Query::Renew { .. });
        poll_fn(|_| {
            let state = self.state();
            let renewal_hangs = renews && matches!(state.renewal, Renewal::Hangs);
            match state.hangs || list && state.list_hangs || renewal_hangs {
                true => Poll::Pending,
                false => Poll::Ready(()),
            }
        })
        .await;
        let mut state = self.state();
        if let Some(kind) = state.fails.or(state.list_fails.filter(|_| list)) {
            return Err(StoreError::new(kind, "as the test says"));
        }
        Ok(match query {
            Query::Attempt { ttl, .. } | Query::TakeOver { ttl, .. } => {
                state.epoch += 1;
                Answer::Won { epoch: Epoch::new(state.epoch), remaining: *ttl }
            }
            Query::Renew { ttl, .. } => match state.renewal {
                Renewal::Granted => Answer::Renewed { remaining: *ttl, resign_requested: false },
                Renewal::ResignRequested => {
                    Answer::Renewed { remaining: *ttl, resign_requested: true }
                }
                Renewal::Gone => Answer::Gone,
                Renewal::Hangs => unreachable!("it is not answered"),
                Renewal::Fails(kind) => return Err(StoreError::new(kind, "as the test says")),
            },
            Query::Resign { .. } => {
                state.released = true;
                Answer::Released
            }
            Query::Observe => Answer::Seen(Row::vacant()),
            Query::Register { .. } | Query::Unregister => Answer::Listed,
            Query::Others => Answer::Others(true),
        })
    }
}

/// An elector that has not been polled yet.
pub(crate) fn elector() -> (World, Handle<World>, Driver) {
    elector_in(World::default())
}

/// The same, in this world.
pub(crate) fn elector_in(world: World) -> (World, Handle<World>, Driver) {
    elector_of(Duration::from_secs(15), world)
}

/// The same, with a lease of this length.
pub(crate) fn elector_of(ttl: Duration, world: World) -> (World, Handle<World>, Driver) {
    world.set(Timestamp::from_nanos(1_000_000_000));
    let builder = Election::builder_on(world.clone(), "x").ttl(ttl);
    let (handle, driver) = builder.store(world.clone()).build().unwrap().into_parts();
    (world, handle, driver)
}

/// A leader.
pub(crate) fn leader() -> (World, Handle<World>, Driver, Lease<World>) {
    let (world, handle, mut driver) = elector();
    poll(&mut driver);
    let lease = handle.lease().expect("a leader");
    (world, handle, driver, lease)
}

/// Lets the elector do what it can do now.
pub(crate) fn poll(driver: &mut Driver) {
    for _ in 0..5 {
        if block_on(poll_once(&mut *driver)).is_some() {
            return; // it has left the election
        }
    }
}

/// Lets the elector run until the end of belief that it had at first, or until `over`.
pub(crate) fn run(
    world: &World,
    driver: &mut Driver,
    lease: &Lease<World>,
    over: impl Fn() -> bool,
) {
    let until = lease.until();
    while !over() && world.now() < until {
        world.set(world.now() + Duration::from_millis(100));
        poll(driver);
    }
}

type Question<T> = Box<dyn Fn() -> T + Send + Sync>;

/// A waker that asks at the moment of the wake-up, and keeps the answers.
pub(crate) struct Asking<T>(Question<T>, Mutex<Vec<T>>);

impl<T: Send + 'static> Asking<T> {
    pub(crate) fn new(question: impl Fn() -> T + Send + Sync + 'static) -> Arc<Self> {
        Arc::new(Self(Box::new(question), Mutex::default()))
    }

    /// Waits for `future`, which is not ready yet, with this waker.
    pub(crate) fn wait<F: Future>(self: &Arc<Self>, future: Pin<&mut F>) {
        let waker = Waker::from(self.clone());
        assert!(future.poll(&mut Context::from_waker(&waker)).is_pending());
    }

    pub(crate) fn is_silent(&self) -> bool {
        self.1.lock().unwrap().is_empty()
    }

    /// Takes the only answer.
    pub(crate) fn take(&self) -> T {
        let mut answers = self.1.lock().unwrap();
        assert_eq!(answers.len(), 1, "a waiter is woken once");
        answers.remove(0)
    }

    /// The answers so far; there has to be one.
    pub(crate) fn answers(&self) -> MutexGuard<'_, Vec<T>> {
        let answers = self.1.lock().unwrap();
        assert!(!answers.is_empty(), "nobody was woken");
        answers
    }
}

impl<T: Send + 'static> Wake for Asking<T> {
    fn wake(self: Arc<Self>) {
        let answer = (self.0)();
        self.1.lock().unwrap().push(answer);
    }
}
