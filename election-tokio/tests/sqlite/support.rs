//! What the tests share: files, electors, stores that misbehave, and patience.

use election_driver::{Notifications, Pause, Store, StoreError, core};
use election_tokio::{Election, Handle, Lease, SqliteStore, Status, WorkError};
use sqlx::{ConnectOptions as _, SqliteConnection, sqlite::SqliteConnectOptions};
use std::{
    future::Future,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    time::Duration,
};
use tempfile::TempDir;
use tokio::{sync::watch, task::JoinHandle};

pub(crate) use core::{
    Candidate, Change, Epoch, Incarnation, Label, Loss, Namespace, NodeId, Timestamp,
    lease::{Answer, Failure, Query, Registration, Row},
};
pub(crate) use election_driver::now;

/// The ttl of tests that have to wait for a lease to run out.
pub(crate) const SHORT: Duration = Duration::from_secs(1);
/// The ttl of tests in which no lease may run out, however slow the machine is, and no poll may
/// come before the test gives up: only the file tells of changes.
pub(crate) const LONG: Duration = Duration::from_secs(300);

/// Runs a test to its end; one that hangs fails and says so.
pub(crate) async fn patiently<F: Future>(test: F) -> F::Output {
    let minute = Duration::from_secs(60);
    tokio::time::timeout(minute, test).await.expect("what is waited for did not come in a minute")
}

/// A directory of its own with a database file in it.
pub(crate) struct Place {
    directory: TempDir,
    pub(crate) file: PathBuf,
}

impl Place {
    /// Wakes every elector on the database, as one does when leadership has moved.
    pub(crate) fn wake(&self) {
        use rustix::fs::{AtFlags, CWD, Timespec, Timestamps, UTIME_NOW, utimensat};
        let now = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
        let times = Timestamps { last_access: now, last_modification: now };
        utimensat(CWD, &self.file, &times, AtFlags::empty()).unwrap();
    }

    /// Nothing in the directory yet.
    pub(crate) fn empty() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("e.db");
        Self { directory, file }
    }

    /// With a database, and the tables in it.
    pub(crate) async fn new() -> Self {
        let place = Self::empty();
        place.store().ensure_schema().await.unwrap();
        place
    }

    pub(crate) fn directory(&self) -> &Path {
        self.directory.path()
    }

    pub(crate) fn store(&self) -> SqliteStore {
        SqliteStore::open(&self.file).unwrap()
    }

    /// An elector for the election `e`, not yet started.
    pub(crate) fn elector(&self, node: &str, ttl: Duration) -> Election<SqliteStore> {
        elector(self.store(), node, ttl)
    }

    /// A started elector for the election `e`.
    pub(crate) fn start(&self, node: &str, ttl: Duration) -> Handle {
        self.elector(node, ttl).start()
    }

    /// A connection that knows nothing of elections.
    pub(crate) async fn raw(&self) -> SqliteConnection {
        raw(&self.file).await
    }

    /// The row of the election `e`.
    pub(crate) async fn row(&self) -> Row {
        self.store().leader(&Namespace::new("e").unwrap()).await.unwrap()
    }
}

pub(crate) fn elector<S: Store>(store: S, node: &str, ttl: Duration) -> Election<S> {
    Election::builder("e").node(node).ttl(ttl).store(store).build().unwrap()
}

pub(crate) async fn raw(file: &Path) -> SqliteConnection {
    let options = SqliteConnectOptions::new().filename(file).create_if_missing(true);
    options.busy_timeout(Duration::from_secs(20)).connect().await.unwrap()
}

pub(crate) async fn execute(connection: &mut SqliteConnection, sql: &str) {
    sqlx::query(sqlx::AssertSqlSafe(sql)).execute(connection).await.unwrap();
}

/// Every row of the first column, as text.
pub(crate) async fn texts(connection: &mut SqliteConnection, sql: &str) -> Vec<String> {
    sqlx::query_scalar(sqlx::AssertSqlSafe(sql)).fetch_all(connection).await.unwrap()
}

/// A candidate of the election `e` in a new life.
pub(crate) fn registration(id: &str) -> Registration {
    Registration {
        namespace: Namespace::new("e").unwrap(),
        candidate: Candidate {
            id: NodeId::new(id).unwrap(),
            incarnation: Incarnation::new(uuid::Uuid::new_v4()),
        },
        label: None,
    }
}

pub(crate) fn attempt(ttl: Duration) -> Query {
    Query::Attempt { seen: Epoch::NONE, ttl }
}

/// The epoch of a won attempt.
pub(crate) async fn win(store: &mut SqliteStore, who: &Registration, ttl: Duration) -> Epoch {
    match store.answer(who, &attempt(ttl)).await.unwrap() {
        Answer::Won { epoch, .. } => epoch,
        other => panic!("{:?} did not win: {other:?}", who.candidate.id),
    }
}

/// Waits until a leader is known, and returns its epoch.
pub(crate) async fn followed(handle: &Handle) -> Epoch {
    let status = handle.watch().until(|status| status.leader.is_some()).await;
    status.leader.expect("an elector that runs").term.epoch
}

/// Waits for the first error of this kind, and returns what a user reads: the message with its
/// causes.
pub(crate) async fn complaint(handle: &Handle, kind: Failure) -> String {
    let is = |status: &Status| status.error.as_ref().is_some_and(|error| error.kind == kind);
    let status = handle.watch().until(is).await;
    message(status.error.expect("an error of that kind").as_ref())
}

pub(crate) fn message(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |error| error.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}

/// Waits for the next loss in a stream of changes.
pub(crate) async fn next_loss(changes: &mut election_tokio::Changes) -> Loss {
    loop {
        let change = changes.next().await.expect("a reader in time");
        match change.expect("a loss before the end of the elector") {
            Change::Lost { reason, .. } => return reason,
            _ => continue,
        }
    }
}

/// How a [`Line`] treats questions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Open,
    /// Questions hang, as on a network that swallows everything.
    Hangs,
    /// Questions fail at once, as on a network that says so.
    Fails,
}

/// A question, when it was asked, and its outcome and when that came.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) query: Query,
    pub(crate) at: Timestamp,
    pub(crate) done: Option<(Timestamp, Result<Answer, Failure>)>,
}

/// The test's end of a line to a database: cuts it, and reads what went over it.
#[derive(Clone)]
pub(crate) struct Line {
    state: Arc<watch::Sender<State>>,
    log: Arc<Mutex<Vec<Asked>>>,
}

impl Line {
    pub(crate) fn new() -> Self {
        Self { state: Arc::new(watch::Sender::new(State::Open)), log: Arc::default() }
    }

    pub(crate) fn set(&self, state: State) {
        self.state.send_replace(state);
    }

    pub(crate) fn to(&self, store: SqliteStore) -> Lined {
        Lined { store, line: self.clone() }
    }

    pub(crate) fn log(&self) -> Vec<Asked> {
        self.log.lock().unwrap().clone()
    }
}

/// A store at the other end of a [`Line`], in the form of a third party's store.
pub(crate) struct Lined {
    store: SqliteStore,
    line: Line,
}

impl Store for Lined {
    fn prepare(&mut self, config: &core::lease::Config) {
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
        let mut state = self.line.state.subscribe();
        // Cut means cut: an answer that is on its way is lost with the line.
        let cut = async { *state.wait_for(|state| *state != State::Open).await.unwrap() };
        let answered = tokio::select! {
            biased;
            how = cut => Err(how),
            result = self.store.answer(registration, query) => Ok(result),
        };
        let result = match answered {
            Ok(result) => result,
            Err(State::Hangs) => std::future::pending().await,
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
pub(crate) type Work = JoinHandle<Result<(), WorkError<String>>>;

/// Runs such work whenever this handle's process leads.
pub(crate) fn lead(handle: &Handle, journal: &Journal) -> Work {
    let journal = journal.clone();
    tokio::spawn(handle.run_while_leader(async move |lease: Lease| {
        let _working = journal.begin(lease.epoch());
        std::future::pending().await
    }))
}

/// When each piece of leader work ran, by the one clock.
#[derive(Clone, Default)]
pub(crate) struct Journal(Arc<watch::Sender<Vec<Entry>>>);

#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) epoch: Epoch,
    pub(crate) from: Timestamp,
    pub(crate) to: Option<Timestamp>,
}

impl Journal {
    /// Begins an entry, which its guard ends, however it goes.
    pub(crate) fn begin(&self, epoch: Epoch) -> Working {
        let entry = Entry { epoch, from: now(), to: None };
        self.0.send_modify(|entries| entries.push(entry));
        Working { journal: self.clone(), epoch }
    }

    pub(crate) fn entries(&self) -> Vec<Entry> {
        self.0.borrow().clone()
    }

    pub(crate) async fn until(&self, condition: impl FnMut(&Vec<Entry>) -> bool) -> Vec<Entry> {
        self.0.subscribe().wait_for(condition).await.unwrap().clone()
    }

    /// At no time more than one, and every one under a higher epoch than those before.
    pub(crate) fn assert_one_at_a_time(&self) {
        let entries = self.entries();
        for pair in entries.windows(2) {
            assert!(pair[0].epoch < pair[1].epoch, "epochs grow: {entries:?}");
            let ended = pair[0].to.is_some_and(|to| to <= pair[1].from);
            assert!(ended, "leader work overlaps: {pair:?}");
        }
    }
}

pub(crate) struct Working {
    journal: Journal,
    epoch: Epoch,
}

impl Drop for Working {
    fn drop(&mut self) {
        let to = Some(now());
        self.journal.0.send_modify(|entries| {
            let entry = entries.iter_mut().find(|entry| entry.epoch == self.epoch);
            entry.expect("an entry that was begun").to = to;
        });
    }
}
