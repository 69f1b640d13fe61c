//! SQLite: the embedded default.

mod errors;

use super::{
    Pause,
    calls::sqlx_calls,
    client::{Client, Companions, OVER, Reach},
    files::{self, FileId},
    news::NewsStream,
    progress::Progress,
    session::plain,
    sql::SqlStore,
    timeouts::Timeouts,
};
use crate::StoreError;
use election_core::{
    lease::Failure,
    sql::{Call, Dialect, Tables, Value},
};
use errors::explain;
use sqlx::{
    ConnectOptions as _, Connection as _, Row as _, SqliteConnection, TypeInfo as _, ValueRef as _,
    sqlite::{SqliteConnectOptions, SqlitePool, SqliteSynchronous},
};
use std::{
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

/// The leader row in a SQLite file, for processes on one machine.
///
/// It uses a connection of its own and waits for locks no longer than half of the elector's attempt
/// timeout. It watches the file, so other processes' writes wake it up at once and a graceful
/// handover does not wait for a poll.
///
/// The file must be on a local file system (ext4, xfs, btrfs, apfs, zfs, tmpfs, …). On Linux, macOS
/// and FreeBSD the store refuses every other: over NFS, SMB, 9p, virtiofs or FUSE (sshfs, bindfs)
/// SQLite's locks may not reach all processes, so that two could lead. See
/// [`open_trusted`](Self::open_trusted).
///
/// A process that is stopped inside a write transaction blocks every election until it goes on or
/// dies. A transaction that fences its writes blocks its own elector's renewals too: keep it short.
///
/// Every process has to reach the file by the same path, symbolic links aside, because SQLite keeps
/// its log beside the file. A file with several hard links, or one that is mounted by itself, is
/// refused. Mount the directory into a container, not the file.
///
/// A user who may read the file can hold a lock on it that costs the lease, and a user who may
/// write it can take the lease. A file that this library creates is therefore its owner's alone
/// (mode 0600, whatever the umask). An existing file keeps its mode, and SQLite gives its `-wal`
/// and `-shm` the same mode. Processes of several users need a group of their own: create the file
/// first (`install -m 660 -g GROUP`), in a directory that the group may write. The log warns of a
/// file that everybody can read.
pub type SqliteStore = SqlStore<SqliteFile>;

/// A SQLite file, as [`SqliteStore`]'s client.
#[derive(Clone)]
pub struct SqliteFile {
    /// The path as it was given: its target may change.
    path: PathBuf,
    /// Whatever file system it is on.
    trusted: bool,
    timeouts: Timeouts,
    /// Whether it was looked whether everybody may read the file, and said.
    warned: Arc<AtomicBool>,
    /// Whether this process has had the database open.
    used: Arc<AtomicBool>,
}

impl SqliteStore {
    /// The default tables in the database at `path`. Nothing is opened or created yet.
    ///
    /// # Errors
    /// If `path` cannot be a database that several processes share: it is empty, a URL, in memory, a
    /// directory, a device, on a file system that is not known to be local, a file with several
    /// names, or mounted by itself.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        Self::open_tables(path, &Tables::default())
    }

    /// Like [`open`](Self::open), on any file system, for instance 9p below WSL or virtiofs below a
    /// virtual machine. At most one process leads only if every process reaches the file through the
    /// same mount.
    ///
    /// # Errors
    /// As for [`open`](Self::open), whatever the file system.
    pub fn open_trusted(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        Self::open_on(path.as_ref(), true)
    }

    /// Like [`open`](Self::open), with tables of another prefix.
    ///
    /// # Errors
    /// As there, and if a schema is named: the elector opens the file on a connection of its own,
    /// which has no attached databases.
    pub fn open_tables(path: impl AsRef<Path>, tables: &Tables) -> Result<Self, StoreError> {
        Self::open_on(path.as_ref(), false)?.with_tables(tables)
    }

    fn open_on(path: &Path, trusted: bool) -> Result<Self, StoreError> {
        let path = files::checked(path)?;
        files::refuse(&files::resolved(&path), trusted)?;
        let (warned, used) = Default::default();
        let client = SqliteFile { path, trusted, timeouts: Timeouts::ALONE, warned, used };
        Ok(Self::with_client(client, &Tables::default()))
    }

    /// The database that a pool of the application uses. The elector still opens a connection of
    /// its own: an exhausted pool must not cost the lease.
    ///
    /// # Errors
    /// As for [`open`](Self::open).
    pub fn from_pool(pool: &SqlitePool) -> Result<Self, StoreError> {
        let options = pool.connect_options();
        // There is no accessor. The file name in such a pool's options is arbitrary, and a file of
        // that name would be another database.
        if format!("{options:?}").contains("in_memory: true") {
            return Err(files::in_memory());
        }
        Self::open(options.get_filename())
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.client.path
    }
}

impl Client for SqliteFile {
    type Connection = SqliteConnection;
    /// A file that was deleted and created anew is another database.
    type Identity = FileId;
    type Session = ();

    const DIALECT: Dialect = Dialect::Sqlite;
    /// Each connection has a thread of its own, which cannot be cancelled. A new one beside it
    /// would wait for the same lock, or the same disk.
    const QUEUES: bool = true;
    const CREATES: bool = true;

    fn timeouts(&self) -> Timeouts {
        self.timeouts
    }

    async fn begin_migration(&self, connection: &mut SqliteConnection) -> Result<(), StoreError> {
        plain::<Self>(connection, "BEGIN IMMEDIATE").await
    }

    async fn connect(
        &self,
        create: bool,
        _: &Progress,
    ) -> Result<(SqliteConnection, ()), StoreError> {
        let path = files::resolved(&self.path);
        files::refuse(&path, self.trusted)?;
        let options = SqliteConnectOptions::new()
            .filename(&path)
            .create_if_missing(false)
            .busy_timeout(self.timeouts.lock())
            // An acknowledged renewal must survive a power failure.
            .synchronous(SqliteSynchronous::Full)
            // On macOS, `fsync` leaves it in the disk's cache. Elsewhere this does nothing.
            .pragma("fullfsync", "1")
            .optimize_on_close(false, None)
            .disable_statement_logging();
        let connected = options.connect().await;
        let used = self.used.load(Ordering::Relaxed);
        let mut connection = connected
            .map_err(|error| errors::unopened(explain(error, Failure::Transient), &path, used))?;
        self.used.store(true, Ordering::Relaxed);
        if create {
            prepare_new(&mut connection).await?;
        }
        Ok((connection, ()))
    }

    fn make(&self) -> Result<(), StoreError> {
        files::make(&files::resolved(&self.path))
    }

    /// SQLite rolls a transaction back by itself (a full disk, `ON CONFLICT ROLLBACK`), and sqlx does
    /// not notice.
    async fn check(connection: &mut SqliteConnection) -> Result<Reach, StoreError> {
        // Within a transaction none can begin, and trying to changes nothing.
        if !connection.is_in_transaction() || plain::<Self>(connection, "BEGIN").await.is_err() {
            return Ok(Reach::All);
        }
        plain::<Self>(connection, "ROLLBACK").await?;
        Err(StoreError::new(Failure::Fatal, OVER))
    }

    const END_MIGRATION: &'static str = "COMMIT";

    fn misses_table(error: &StoreError) -> bool {
        errors::is_missing(error)
    }

    fn misses_column(error: &StoreError) -> bool {
        errors::lacks_column(error)
    }

    fn takes_part(&self) {
        self.warn_if_exposed();
    }

    fn admit(&self) -> Result<(), StoreError> {
        files::refuse_links(&self.path)
    }

    fn use_tables(&mut self, tables: &Tables) -> Result<(), StoreError> {
        match tables.named_schema() {
            None | Some("main") => Ok(()),
            Some(schema) => Err(StoreError::new(
                Failure::Fatal,
                format!(
                    "a SQLite file has no schema {schema:?}, since a database that is attached to \
                     one connection is invisible to others; name the file that holds the tables, \
                     without a schema"
                ),
            )),
        }
    }

    fn identity(&self) -> Option<FileId> {
        FileId::of(&self.path)
    }

    /// The log and its index. Deleting them while they are in use makes two databases of one.
    fn companions(&self) -> Companions {
        files::companions(&files::resolved(&self.path))
    }

    fn place(&self) -> String {
        self.path.display().to_string()
    }

    fn announce(&self) {
        files::touch(&self.path);
    }

    fn bound_waits(&mut self, timeouts: Timeouts) {
        self.timeouts = timeouts;
    }

    fn news(&self, _: Pause) -> NewsStream {
        files::touches(&files::resolved(&self.path))
    }

    sqlx_calls!(
        SqliteConnection,
        text: |text: &std::borrow::Cow<'_, str>| text.clone().into_owned(),
        column: column,
        explain: explain,
        id: |_| 0,
        prepared: |_: &SqliteConnection| true
    );
}

impl SqliteFile {
    fn warn_if_exposed(&self) {
        if self.warned.swap(true, Ordering::Relaxed) {
            return;
        }
        let path = files::resolved(&self.path);
        if let Some(mode) = files::exposed(&path) {
            tracing::warn!(
                "everybody on this machine can open {} (mode {mode:o}) and hold a lock that costs \
                 the lease; remove that right (chmod o-rwx, also on its -wal and -shm)",
                path.display()
            );
        }
    }
}

/// Gives a new database a write-ahead log, so that readers never wait for writers. A database that
/// an application made keeps its mode.
async fn prepare_new(connection: &mut SqliteConnection) -> Result<(), StoreError> {
    let fail = |error| explain(error, Failure::Ambiguous);
    let tables = sqlx::query("SELECT count(*) FROM sqlite_schema")
        .fetch_one(&mut *connection)
        .await
        .map_err(fail)?;
    if tables.try_get::<i64, _>(0).map_err(fail)? > 0 {
        return Ok(());
    }
    match sqlx::query("PRAGMA journal_mode = WAL").execute(connection).await {
        Ok(_) => Ok(()),
        Err(error) => match explain(error, Failure::Ambiguous) {
            // Another process is creating it at this very moment.
            error if error.kind == Failure::Conflict => Ok(()),
            error => Err(error),
        },
    }
}

fn column(row: &sqlx::sqlite::SqliteRow, at: usize) -> Result<Value<'static>, StoreError> {
    let fail = |error| explain(error, Failure::Fatal);
    let raw = row.try_get_raw(at).map_err(fail)?;
    if raw.is_null() {
        return Ok(Value::Null);
    }
    let kind = raw.type_info();
    match kind.name() {
        "INTEGER" | "BOOLEAN" => {
            row.try_get_unchecked::<i64, _>(at).map(Value::Integer).map_err(fail)
        }
        _ => row
            .try_get_unchecked::<String, _>(at)
            .map(|text| Value::Text(text.into()))
            .map_err(fail),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whoever creates it anew makes a second election.
    #[test]
    fn a_database_that_was_in_use_is_to_be_put_back() {
        let room = tempfile::tempdir().unwrap();
        let place = room.path().join("place");
        let opened = |store: &SqliteStore| {
            let client = store.client.clone();
            let connected =
                futures_lite::future::block_on(client.connect(false, &Progress::default()));
            connected.map(drop).map_err(|error| error.to_string())
        };
        let told = |store: &SqliteStore, remedy: &str| {
            let error = opened(store).unwrap_err();
            assert!(error.contains(remedy), "no {remedy:?}: {error}");
        };
        let store = SqliteStore::open(place.join("e.db")).unwrap();
        told(&store, "its directory does not exist; create it");
        std::fs::create_dir(&place).unwrap();
        told(&store, "the file does not exist; create it");
        store.client.make().unwrap();
        assert_eq!(opened(&store), Ok(()));
        let away = room.path().join("away");
        std::fs::rename(&place, &away).unwrap();
        told(&store, "its directory was moved or removed while in use; put it back");
        std::fs::create_dir(&place).unwrap();
        told(&store, "the file was moved or removed while in use; put it back");
        let other = SqliteStore::open(place.join("e.db")).unwrap();
        told(&other, "the file does not exist; create it");
    }

    #[test]
    fn an_acknowledged_commit_is_on_the_disk() {
        let directory = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(directory.path().join("e.db")).unwrap();
        futures_lite::future::block_on(async {
            store.client.make().unwrap();
            let (mut connection, ()) =
                store.client.connect(true, &Progress::default()).await.unwrap();
            let asked = sqlx::query_scalar::<_, i64>("PRAGMA synchronous");
            assert_eq!(asked.fetch_one(&mut connection).await.unwrap(), 2, "FULL");
        });
    }
}
