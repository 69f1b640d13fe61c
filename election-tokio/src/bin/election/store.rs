//! Any of the databases, chosen by the URL.

use crate::exit::Failed;
use election_tokio::{
    MySqlStore, Notifications, Pause, PgStore, SqliteStore, Store, StoreError,
    core::{
        Epoch, Namespace,
        lease::{Answer, Config, Query, Registration, Row},
        sql::{CandidateRow, Dialect},
    },
};

/// A store whose database is known only at run time.
#[derive(Clone)]
pub(crate) enum AnyStore {
    Sqlite(SqliteStore),
    Postgres(PgStore),
    MySql(MySqlStore),
}

/// Runs the same words on whichever store it is.
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
    /// The store behind a URL. Nothing is connected yet.
    pub(crate) fn of(url: &str) -> Result<Self, Failed> {
        let Some((scheme, rest)) = url.split_once(':') else {
            return Err(Failed::new(format!("--store {url:?} has no scheme; write sqlite:{url}")));
        };
        // A password in the URL stays out of the message.
        let what = format!("--store {scheme}:…");
        let failed = |error: StoreError| Failed::of(&what, &error);
        let dialect: Dialect =
            scheme.parse().map_err(|error| Failed::of(&format!("--store {url:?}"), &error))?;
        match dialect {
            Dialect::Sqlite => {
                let path = rest.strip_prefix("//").unwrap_or(rest);
                if path.contains('?') {
                    return Err(Failed::new(format!(
                        "--store {url:?}: a SQLite URL takes no parameters; write sqlite:PATH"
                    )));
                }
                let failed = |error| Failed::of(&format!("--store {url:?}"), &error);
                SqliteStore::open(path).map(Self::Sqlite).map_err(failed)
            }
            Dialect::Postgres => PgStore::connect(url).map(Self::Postgres).map_err(failed),
            Dialect::MySql => MySqlStore::connect(url).map(Self::MySql).map_err(failed),
        }
    }

    pub(crate) fn dialect(&self) -> Dialect {
        match self {
            Self::Sqlite(_) => Dialect::Sqlite,
            Self::Postgres(_) => Dialect::Postgres,
            Self::MySql(_) => Dialect::MySql,
        }
    }

    pub(crate) async fn ensure_schema(&mut self) -> Result<(), StoreError> {
        on_any!(self, store => store.ensure_schema().await)
    }

    pub(crate) async fn leader(&mut self, namespace: &Namespace) -> Result<Row, StoreError> {
        on_any!(self, store => store.leader(namespace).await)
    }

    pub(crate) async fn list_candidates(
        &mut self,
        namespace: &Namespace,
    ) -> Result<Vec<CandidateRow>, StoreError> {
        on_any!(self, store => store.list_candidates(namespace).await)
    }

    pub(crate) async fn request_resign(
        &mut self,
        namespace: &Namespace,
        epoch: Epoch,
    ) -> Result<bool, StoreError> {
        on_any!(self, store => store.request_resign(namespace, epoch).await)
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
