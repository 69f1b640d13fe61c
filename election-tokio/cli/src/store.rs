//! Any of the databases, selected by the URL.

use crate::{
    exit::Failed,
    secret::{Address, is_etcd},
};
use election_tokio::{
    Clock, EtcdRegister, MySqlStore, Notifications, Pause, PgStore, RegisterStore, SqliteStore,
    Store, StoreError,
    core::{
        Epoch, Namespace,
        lease::{Answer, Config, Failure, Query, Registration, Row},
        sql::{CandidateRow, Dialect, ElectionRow, Schema, Tables},
    },
};
use std::path::Path;

/// A store whose database is known only at run time.
#[derive(Clone)]
#[allow(clippy::large_enum_variant)] // a process has one
pub(crate) enum AnyStore {
    Sqlite(SqliteStore),
    Postgres(PgStore),
    MySql(MySqlStore),
    Etcd(Etcd),
}

const ETCD_LISTS: &str =
    "`etcdctl get --prefix PREFIX --keys-only` shows the keys of the existing elections";

/// Elections in etcd.
#[derive(Clone)]
pub(crate) struct Etcd {
    store: RegisterStore<EtcdRegister>,
    place: String,
    is_exposed: bool,
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
    format!("sqlite:{path}, postgres://…, mysql://… or etcd://…")
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

/// The directory of a path that is missing here and there in the root: two slashes do not lead there.
fn missing_here(path: &str) -> Option<&Path> {
    let directory = Path::new(path).parent().filter(|it| it.is_relative() && *it != "")?;
    (!directory.exists() && Path::new("/").join(directory).exists()).then_some(directory)
}

/// Runs the same code on any of the databases, or other code on etcd.
macro_rules! on_any {
    ($any:expr, $store:ident => $words:expr, $etcd:pat => $other:expr) => {
        match $any {
            AnyStore::Sqlite($store) => $words,
            AnyStore::Postgres($store) => $words,
            AnyStore::MySql($store) => $words,
            AnyStore::Etcd($etcd) => $other,
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
        if is_etcd(scheme) {
            let register = EtcdRegister::connect(url).map_err(failed)?;
            let (place, is_exposed) = (register.place(), register.is_exposed());
            return Ok(Self::Etcd(Etcd { store: RegisterStore::new(register), place, is_exposed }));
        }
        let unknown =
            |_| Failed::new(format!("{what}: unknown kind of store; write {}", urls("PATH")));
        let dialect: Dialect = scheme.parse().map_err(unknown)?;
        match dialect {
            Dialect::Sqlite => {
                let named = rest.strip_prefix("//").unwrap_or(rest);
                let (path, parameters) = crate::secret::file_and_parameters(named);
                if let Some(directory) = missing_here(path).filter(|_| named != rest) {
                    let place = directory.display();
                    return Err(Failed::new(format!(
                        "{what}: there is no directory {place} here; write sqlite:/{path} for the one \
                         in /"
                    )));
                }
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
            Self::Etcd(etcd) => {
                TransportInfo { shown: etcd.place.clone(), exposed: etcd.is_exposed }
            }
        }
    }

    fn with_tables(self, tables: &Tables) -> Result<Self, StoreError> {
        Ok(match self {
            Self::Sqlite(store) => Self::Sqlite(store.with_tables(tables)?),
            Self::Postgres(store) => Self::Postgres(store.with_tables(tables)?),
            Self::MySql(store) => Self::MySql(store.with_tables(tables)?),
            Self::Etcd(_) if tables.named_schema().is_some() => {
                let why = "etcd has no schemas; leave --schema out, and put a prefix into the URL";
                return Err(StoreError::new(Failure::Fatal, why));
            }
            Self::Etcd(etcd) => Self::Etcd(etcd),
        })
    }

    /// Where the store looks, in words.
    pub(crate) fn place(&self) -> String {
        on_any!(self, store => store.place(), etcd => etcd.place.clone())
    }

    /// The dialect of a database.
    pub(crate) fn dialect(&self) -> Option<Dialect> {
        match self {
            Self::Sqlite(_) => Some(Dialect::Sqlite),
            Self::Postgres(_) => Some(Dialect::Postgres),
            Self::MySql(_) => Some(Dialect::MySql),
            Self::Etcd(_) => None,
        }
    }

    /// Creates the tables, if it needs any.
    pub(crate) async fn ensure_schema(&mut self) -> Result<i64, StoreError> {
        on_any!(self, store => store.ensure_schema().await, _ => Ok(Schema::VERSION))
    }

    pub(crate) async fn leader(&mut self, namespace: &Namespace) -> Result<Row, StoreError> {
        on_any!(self, store => store.leader(namespace).await, etcd => etcd.store.leader(namespace).await)
    }

    pub(crate) async fn is_replica(&mut self) -> Result<bool, StoreError> {
        on_any!(self, store => store.is_replica().await, _ => Ok(false))
    }

    pub(crate) async fn list_candidates(
        &mut self,
        namespace: &Namespace,
    ) -> Result<Vec<CandidateRow>, StoreError> {
        on_any!(
            self,
            store => store.list_candidates(namespace).await,
            etcd => etcd.store.list_candidates(namespace).await
        )
    }

    pub(crate) async fn list_elections(&mut self) -> Result<Vec<ElectionRow>, StoreError> {
        on_any!(self, store => store.list_elections().await, etcd => {
            let why = format!("etcd has no list of elections; name one (--name); {ETCD_LISTS}");
            Err(StoreError::new(Failure::Fatal, why).in_context(&etcd.place))
        })
    }

    /// Whether it says how old a lease is.
    pub(crate) fn knows_age(&self) -> bool {
        !matches!(self, Self::Etcd(_))
    }

    /// How to see which elections there are.
    pub(crate) fn how_to_list(&self) -> &'static str {
        match self {
            Self::Etcd(_) => ETCD_LISTS,
            _ => "`election list --elections` shows the existing elections",
        }
    }

    pub(crate) async fn election(
        &mut self,
        namespace: &Namespace,
    ) -> Result<Option<ElectionRow>, StoreError> {
        on_any!(self, store => store.election(namespace).await, etcd => {
            let row = etcd.store.leader(namespace).await?;
            let namespace = namespace.clone();
            Ok((row.epoch > Epoch::NONE).then_some(ElectionRow { namespace, row }))
        })
    }

    pub(crate) async fn request_resign_of_leader(
        &mut self,
        namespace: &Namespace,
    ) -> Result<Option<Epoch>, StoreError> {
        on_any!(
            self,
            store => store.request_resign_of_leader(namespace).await,
            etcd => etcd.store.request_resign_of_leader(namespace).await
        )
    }
}

impl Store for AnyStore {
    fn prepare(&mut self, config: &Config) {
        on_any!(self, store => store.prepare(config), etcd => etcd.store.prepare(config));
    }

    fn set_clock(&mut self, clock: Clock) {
        on_any!(self, store => store.set_clock(clock), etcd => etcd.store.set_clock(clock));
    }

    async fn answer(
        &mut self,
        registration: &Registration,
        query: &Query,
    ) -> Result<Answer, StoreError> {
        on_any!(
            self,
            store => store.answer(registration, query).await,
            etcd => etcd.store.answer(registration, query).await
        )
    }

    fn notifications(&mut self, registration: &Registration, pause: Pause) -> Notifications {
        on_any!(
            self,
            store => store.notifications(registration, pause),
            etcd => etcd.store.notifications(registration, pause)
        )
    }
}
