//! What the tests share: files, electors, stores that misbehave, and patience.

pub use super::tasks::spawn;
pub use crate::{Runtime, now};
pub use election_core::{
    Candidate, Change, Epoch, Incarnation, Label, Loss, Namespace, NodeId, Timestamp,
    lease::{Answer, Failure, Query, Registration, Row, Server},
};

use super::{
    fixture::{Fixture, Stores},
    tasks::{News, Task},
};
use crate::{
    Changes, Election, Handle, Lease, Notifications, Pause, SqliteStore, Status, Store, StoreError,
    WorkError,
};
use election_core::lease::Config;
use futures_lite::future::{or, pending};
use sqlx::{ConnectOptions as _, SqliteConnection, sqlite::SqliteConnectOptions};
use std::{
    marker::PhantomData,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    time::Duration,
};
use tempfile::TempDir;

/// The ttl of tests that have to wait for a lease to run out.
pub const SHORT: Duration = Duration::from_secs(1);
/// The ttl of tests in which no lease may run out, however slow the machine is, and no poll may
/// come before the test gives up: only the file tells of changes.
pub const LONG: Duration = Duration::from_secs(300);

/// A directory of its own with a database file in it.
pub struct InFile<R> {
    directory: TempDir,
    /// The database file.
    pub file: PathBuf,
    runtime: PhantomData<fn() -> R>,
}

impl<R: Runtime + Default> Fixture for InFile<R> {
    type Runtime = R;

    async fn start() -> Self {
        Self::new().await
    }
}

impl<R: Runtime + Default> Stores for InFile<R> {
    type Store = SqliteStore;

    fn store(&self) -> SqliteStore {
        Self::store(self)
    }
}

impl<R: Runtime + Default> InFile<R> {
    /// Nothing in the directory yet.
    pub fn empty() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("e.db");
        Self { directory, file, runtime: PhantomData }
    }

    /// With a database, and the tables in it.
    pub async fn new() -> Self {
        let place = Self::empty();
        place.store().ensure_schema().await.unwrap();
        place
    }

    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    pub fn store(&self) -> SqliteStore {
        SqliteStore::open(&self.file).unwrap()
    }

    /// An elector for the election `e`, not yet started.
    pub fn elector(&self, node: &str, ttl: Duration) -> Election<R, SqliteStore> {
        elector(self.store(), node, ttl)
    }

    /// A started elector for the election `e`.
    pub fn start(&self, node: &str, ttl: Duration) -> Handle<R> {
        self.elector(node, ttl).start()
    }

    /// A connection that knows nothing of elections.
    pub async fn raw(&self) -> SqliteConnection {
        raw(&self.file).await
    }

    /// The row of the election `e`.
    pub async fn row(&self) -> Row {
        self.store().leader(&Namespace::new("e").unwrap()).await.unwrap()
    }
}

pub fn elector<R: Runtime + Default, S: Store>(
    store: S,
    node: &str,
    ttl: Duration,
) -> Election<R, S> {
    Election::<R>::builder("e").node(node).ttl(ttl).store(store).build().unwrap()
}

pub async fn raw(file: &Path) -> SqliteConnection {
    let options = SqliteConnectOptions::new().filename(file).create_if_missing(true);
    options.busy_timeout(Duration::from_secs(20)).connect().await.unwrap()
}

pub async fn execute(connection: &mut SqliteConnection, sql: &str) {
    sqlx::query(sqlx::AssertSqlSafe(sql)).execute(connection).await.unwrap();
}

/// Every row of the first column, as text.
pub async fn texts(connection: &mut SqliteConnection, sql: &str) -> Vec<String> {
    sqlx::query_scalar(sqlx::AssertSqlSafe(sql)).fetch_all(connection).await.unwrap()
}

/// A candidate of the election `e` in a new life.
pub fn registration(id: &str) -> Registration {
    Registration {
        namespace: Namespace::new("e").unwrap(),
        candidate: Candidate {
            id: NodeId::new(id).unwrap(),
            incarnation: Incarnation::new(uuid::Uuid::new_v4()),
        },
        label: None,
    }
}

pub fn attempt(ttl: Duration) -> Query {
    Query::Attempt { seen: Epoch::NONE, ttl, clock_step: Duration::ZERO }
}

/// The epoch of a won attempt.
pub async fn win(store: &mut SqliteStore, who: &Registration, ttl: Duration) -> Epoch {
    match store.answer(who, &attempt(ttl)).await.unwrap() {
        Answer::Won { epoch, .. } => epoch,
        other => panic!("{:?} did not win: {other:?}", who.candidate.id),
    }
}

/// Waits until a leader is known, and returns its epoch.
pub async fn followed<R: Runtime>(handle: &Handle<R>) -> Epoch {
    let status = handle.watch().until(|status| status.leader.is_some()).await;
    status.leader.expect("an elector that runs").term.epoch
}

/// Waits for the first error of this kind, and returns what a user reads: the message with its
/// causes.
pub async fn complaint<R: Runtime>(handle: &Handle<R>, kind: Failure) -> String {
    let is = |status: &Status| status.error.as_ref().is_some_and(|error| error.kind == kind);
    let status = handle.watch().until(is).await;
    message(status.error.expect("an error of that kind").as_ref())
}

pub fn message(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |error| error.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}

/// Waits for the next loss in a stream of changes.
pub async fn next_loss(changes: &mut Changes) -> Loss {
    loop {
        let change = changes.next().await.expect("a reader in time");
        match change.expect("a loss before the end of the elector") {
            Change::Lost { reason, .. } => return reason,
            _ => continue,
        }
    }
}

/// How a [`Line`] treats questions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum State {
    #[default]
    Open,
    /// Questions hang, as on a network that swallows everything.
    Hangs,
    /// Questions fail at once, as on a network that says so.
    Fails,
}

/// A question, when it was asked, and its outcome and when that came.
#[derive(Clone, Debug)]
pub struct Asked {
    pub query: Query,
    pub at: Timestamp,
    pub done: Option<(Timestamp, Result<Answer, Failure>)>,
}

/// The test's end of a line to a database: cuts it, and reads what went over it.
#[derive(Clone, Default)]
pub struct Line {
    state: Arc<News<State>>,
    log: Arc<Mutex<Vec<Asked>>>,
}

impl Line {
    pub fn set(&self, state: State) {
        self.state.change(|now| *now = state);
    }

    pub fn to(&self, store: SqliteStore) -> Lined {
        Lined { store, line: self.clone() }
    }

    pub fn log(&self) -> Vec<Asked> {
        self.log.lock().unwrap().clone()
    }
}

/// A store at the other end of a [`Line`], in the form of a third party's store.
pub struct Lined {
    store: SqliteStore,
    line: Line,
}

impl Store for Lined {
    fn prepare(&mut self, config: &Config) {
        self.store.prepare(config);
    }

    async fn answer(
        &mut self,
        registration: &Registration,
        query: &Query,
    ) -> Result<Answer, StoreError> {
        let place = {
            let mut log = self.line.log.lock().unwrap();
            log.push(Asked { query: query.clone(), at: now(), done: None });
            log.len() - 1
        };
        // Cut means cut: an answer that is on its way is lost with the line.
        let is_cut = |state: &State| (*state != State::Open).then_some(*state);
        let cut = async { Err(self.line.state.until(is_cut).await) };
        let answered = or(cut, async { Ok(self.store.answer(registration, query).await) }).await;
        let result = match answered {
            Ok(result) => result,
            Err(State::Hangs) => pending().await,
            Err(_) => Err(StoreError::new(Failure::Transient, "the line is cut")),
        };
        let outcome = result.as_ref().map(Answer::clone).map_err(|error| error.kind);
        self.line.log.lock().unwrap()[place].done = Some((now(), outcome));
        result
    }

    fn notifications(&mut self, registration: &Registration, pause: Pause) -> Notifications {
        self.store.notifications(registration, pause)
    }
}

/// Leader work that goes on until it is dropped and ignores everything.
pub type Work = Task<Result<(), WorkError<String>>>;

/// Runs such work whenever this handle's process leads.
pub fn lead<R: Runtime + Default>(handle: &Handle<R>, journal: &Journal) -> Work {
    let journal = journal.clone();
    spawn::<R, _>(handle.run_while_leader(async move |lease: Lease<R>| {
        let _working = journal.begin(lease.epoch());
        pending().await
    }))
}

/// When each piece of leader work ran, by the one clock.
#[derive(Clone, Default)]
pub struct Journal(Arc<News<Vec<Entry>>>);

#[derive(Clone, Debug)]
pub struct Entry {
    pub epoch: Epoch,
    pub from: Timestamp,
    pub to: Option<Timestamp>,
}

impl Journal {
    /// Begins an entry, which its guard ends, however it goes.
    pub fn begin(&self, epoch: Epoch) -> Working {
        let entry = Entry { epoch, from: now(), to: None };
        self.0.change(|entries| entries.push(entry));
        Working { journal: self.clone(), epoch }
    }

    pub fn entries(&self) -> Vec<Entry> {
        self.0.get().clone()
    }

    pub async fn until(&self, mut condition: impl FnMut(&[Entry]) -> bool) -> Vec<Entry> {
        self.0.until(|entries| condition(entries).then(|| entries.clone())).await
    }

    /// At no time more than one, and every one under a higher epoch than those before.
    pub fn assert_one_at_a_time(&self) {
        let entries = self.entries();
        for pair in entries.windows(2) {
            assert!(pair[0].epoch < pair[1].epoch, "epochs grow: {entries:?}");
            let ended = pair[0].to.is_some_and(|to| to <= pair[1].from);
            assert!(ended, "leader work overlaps: {pair:?}");
        }
    }
}

pub struct Working {
    journal: Journal,
    epoch: Epoch,
}

impl Drop for Working {
    fn drop(&mut self) {
        let to = Some(now());
        self.journal.0.change(|entries| {
            let entry = entries.iter_mut().find(|entry| entry.epoch == self.epoch);
            entry.expect("an entry that was begun").to = to;
        });
    }
}
