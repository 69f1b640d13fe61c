//! Any of the databases, selected by the URL.

use crate::{exit::Failed, secret::Address};
use election_tokio::{
    MySqlStore, Notifications, Pause, PgStore, SqliteStore, Store, StoreError,
    core::{
        Epoch, Namespace,
        lease::{Answer, Config, Query, Registration, Row},
        sql::{CandidateRow, Dialect, ElectionRow, Schema, Tables},
    },
};

/// A store whose database is known only at run time.
#[derive(Clone)]
#[allow(clippy::large_enum_variant)] // a process has one
pub(crate) enum AnyStore {
    Sqlite(SqliteStore),
    Postgres(PgStore),
    MySql(MySqlStore),
}

/// The connection to a database.
pub(crate) struct TransportInfo {
    pub(crate) shown: String,
    /// Whether somebody in between could read the password.
    pub(crate) exposed: bool,
}

impl From<election_tokio::Transport> for TransportInfo {
    fn from(transport: election_tokio::Transport) -> Self {
        Self { shown: transport.to_string(), exposed: transport.is_exposed() }
    }
}

/// How URLs are written, with this path if they name a file.
pub(crate) fn urls(path: &str) -> String {
    format!("sqlite:{path}, postgres://… or mysql://…")
}

fn is_scheme(text: &str) -> bool {
    let more = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
    text.starts_with(|c: char| c.is_ascii_alphabetic()) && text.bytes().all(more)
}

/// What is wrong with a text that is no URL. The error may repeat a plain path.
fn no_scheme(text: &str) -> String {
    if text.starts_with(['"', '\'']) {
        return "is in quotes; write it without them".to_owned();
    }
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-".contains(&byte);
    let is_path = text.contains(['/', '.']) && text.bytes().all(plain);
    let path = if is_path { text } else { "PATH" };
    let is = if text.is_empty() { "is empty" } else { "has no scheme" };
    format!("{is}; write {}", urls(path))
}

/// Runs the same code on any of the stores.
macro_rules! on_any {
    ($any:expr, $store:ident => $words:expr) => {
        match $any {
            AnyStore::Sqlite($store) => $words,
            AnyStore::Postgres($store) => $words,
            AnyStore::MySql($store) => $words,
        }
    };
}

impl AnyStore {
    /// The store behind a URL, named by `what`, with these tables. Nothing is connected yet.
    ///
    /// # Errors
    /// The messages hold no part of the URL except its scheme and the path of a file: the rest may
    /// contain a password.
    pub(crate) fn of(address: &Address, what: &str, tables: &Tables) -> Result<Self, Failed> {
        let store = Self::behind(address, what)?;
        store.with_tables(tables).map_err(|error| Failed::of("--schema", &error))
    }

    fn behind(address: &Address, what: &str) -> Result<Self, Failed> {
        let url = address.reveal();
        // SQLite's own spelling, which is refused below for its meaning.
        let memory = url.starts_with(":memory:").then_some(("sqlite", url));
        let scheme = url.split_once(':').filter(|(scheme, _)| is_scheme(scheme));
        let Some((scheme, rest)) = memory.or(scheme) else {
            return Err(Failed::new(format!("{what} {}", no_scheme(url))));
        };
        let what = format!("{what} ({scheme}:…)");
        let failed = |error: StoreError| Failed::of(&what, &error);
        let dialect: Dialect = scheme.parse().map_err(|error| Failed::of(&what, &error))?;
        match dialect {
            Dialect::Sqlite => {
                let named = rest.strip_prefix("//").unwrap_or(rest);
                let (path, parameters) = crate::secret::file_and_parameters(named);
                let store = match parameters {
                    "" => SqliteStore::open(path),
                    "?filesystem=trusted" => SqliteStore::open_trusted(path),
                    _ => {
                        return Err(Failed::new(format!(
                            "{what}: a SQLite URL takes one parameter, filesystem=trusted; write \
                             sqlite:PATH, or sqlite:PATH?filesystem=trusted"
                        )));
                    }
                };
                store.map(Self::Sqlite).map_err(failed)
            }
            _ if !rest.starts_with("//") => Err(Failed::new(format!(
                "{what}: two slashes are missing; write {scheme}://USER@HOST/DATABASE"
            ))),
            Dialect::Postgres => PgStore::connect(url).map(Self::Postgres).map_err(failed),
            Dialect::MySql => MySqlStore::connect(url).map(Self::MySql).map_err(failed),
        }
    }

    /// Which database it is, and how the connection to it is protected.
    pub(crate) fn transport(&self) -> TransportInfo {
        match self {
            Self::Sqlite(store) => TransportInfo {
                shown: format!("SQLite at {}", store.path().display()),
                exposed: false,
            },
            Self::Postgres(store) => store.transport().into(),
            Self::MySql(store) => store.transport().into(),
        }
    }

    fn with_tables(self, tables: &Tables) -> Result<Self, StoreError> {
        Ok(match self {
            Self::Sqlite(store) => Self::Sqlite(store.with_tables(tables)?),
            Self::Postgres(store) => Self::Postgres(store.with_tables(tables)?),
            Self::MySql(store) => Self::MySql(store.with_tables(tables)?),
        })
    }

    /// Where the store looks, in words.
    pub(crate) fn place(&self) -> String {
        on_any!(self, store => store.place())
    }

    pub(crate) fn dialect(&self) -> Dialect {
        match self {
            Self::Sqlite(_) => Dialect::Sqlite,
            Self::Postgres(_) => Dialect::Postgres,
            Self::MySql(_) => Dialect::MySql,
        }
    }

    /// The tables that it needs.
    pub(crate) fn schema(&self) -> &Schema {
        on_any!(self, store => store.schema())
    }

    pub(crate) async fn ensure_schema(&mut self) -> Result<i64, StoreError> {
        on_any!(self, store => store.ensure_schema().await)
    }

    pub(crate) async fn leader(&mut self, namespace: &Namespace) -> Result<Row, StoreError> {
        on_any!(self, store => store.leader(namespace).await)
    }

    pub(crate) async fn is_replica(&mut self) -> Result<bool, StoreError> {
        on_any!(self, store => store.is_replica().await)
    }

    pub(crate) async fn list_candidates(
        &mut self,
        namespace: &Namespace,
    ) -> Result<Vec<CandidateRow>, StoreError> {
        on_any!(self, store => store.list_candidates(namespace).await)
    }

    pub(crate) async fn list_elections(&mut self) -> Result<Vec<ElectionRow>, StoreError> {
        on_any!(self, store => store.list_elections().await)
    }

    pub(crate) async fn election(
        &mut self,
        namespace: &Namespace,
    ) -> Result<Option<ElectionRow>, StoreError> {
        on_any!(self, store => store.election(namespace).await)
    }

    pub(crate) async fn request_resign_of_leader(
        &mut self,
        namespace: &Namespace,
    ) -> Result<Option<Epoch>, StoreError> {
        on_any!(self, store => store.request_resign_of_leader(namespace).await)
    }
}

impl Store for AnyStore {
    fn prepare(&mut self, config: &Config) {
        on_any!(self, store => store.prepare(config));
    }

    async fn answer(
        &mut self,
        registration: &Registration,
        query: &Query,
    ) -> Result<Answer, StoreError> {
        on_any!(self, store => store.answer(registration, query).await)
    }

    fn notifications(&mut self, registration: &Registration, pause: Pause) -> Notifications {
        on_any!(self, store => store.notifications(registration, pause))
    }
}
