//! A session on one host, and whether that host is one to hold an election on: it takes writes and,
//! in a Galera cluster, is in the component that has the majority.

use super::{
    MySqlServer, column,
    errors::explain,
    session::{self, Named},
    settings::Settings,
};
use crate::{
    StoreError,
    store::{link::Progress, timeouts::Stage},
};
use election_core::{lease::Failure, sql::Value};
use sqlx::{ConnectOptions as _, Connection as _, Executor as _, MySqlConnection, raw_sql};

/// Every user may ask this, and a node of Galera answers it in any state.
const ASKED: [&str; 2] = [
    "SHOW SESSION VARIABLES WHERE Variable_name IN \
        ('read_only', 'super_read_only', 'tx_read_only', 'transaction_read_only', 'wsrep_on')",
    "SHOW GLOBAL STATUS WHERE Variable_name IN \
        ('wsrep_ready', 'wsrep_cluster_status', 'wsrep_cluster_state_uuid')",
];

/// What a server says of itself.
struct Told(Vec<(String, String)>);

impl Told {
    async fn by(connection: &mut MySqlConnection) -> Result<Self, StoreError> {
        let mut told = Vec::new();
        for asked in ASKED {
            let rows = connection.fetch_all(raw_sql(asked)).await;
            for row in rows.map_err(|error| explain(error, Failure::Transient))? {
                if let (Value::Text(name), Value::Text(value)) =
                    (column(&row, 0)?, column(&row, 1)?)
                {
                    told.push((name.to_ascii_lowercase(), value.into_owned()));
                }
            }
        }
        Ok(Self(told))
    }

    fn of(&self, name: &str) -> &str {
        self.0.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value)
    }

    fn is(&self, name: &str, value: &str) -> bool {
        self.of(name).eq_ignore_ascii_case(value)
    }

    /// The Galera cluster that it belongs to, if it belongs to one.
    fn cluster(&self) -> Option<String> {
        let cluster = self.of("wsrep_cluster_state_uuid");
        let named = cluster.bytes().any(|byte| byte.is_ascii_alphanumeric() && byte != b'0');
        (self.is("wsrep_on", "ON") && named).then(|| cluster.to_owned())
    }

    /// Why no election can be held there now. It may be able to at any moment.
    fn unfit(&self) -> Option<&'static str> {
        let galera = self.is("wsrep_on", "ON");
        let part = self.of("wsrep_cluster_status");
        if galera && (self.is("wsrep_ready", "OFF") || !matches!(part, "" | "Primary")) {
            return Some(APART);
        }
        let reads = ["read_only", "super_read_only", "tx_read_only", "transaction_read_only"];
        reads.into_iter().any(|name| self.is(name, "ON")).then_some(READS)
    }
}

const APART: &str = "this Galera node is not in the primary component, or not ready (wsrep_ready); it \
                     joins again by itself once it reaches the majority of the nodes";
const READS: &str = "it takes no writes (read_only or tx_read_only is on: a replica?); list the \
                     primary, too, or switch that off if this is the primary";

impl MySqlServer {
    /// Opens a session on a host, if it is one to use.
    pub(super) async fn enter(
        &self,
        host: usize,
        progress: &Progress,
    ) -> Result<(MySqlConnection, Named), StoreError> {
        let options = self.hosts.options(host);
        let connected = options.connect().await;
        let mut connection = connected.map_err(|error| explain(error, Failure::Transient))?;
        progress.reached(Stage::Inside);
        if session::bound(&mut connection, self.timeouts).await? {
            progress.reached(Stage::Bounded);
        }
        if self.hosts.are_several() {
            if let Err(error) = self.suits(host, &mut connection).await {
                let _ = connection.close().await; // it would be missed on the server's side
                return Err(error);
            }
            progress.heard();
        }
        let database = options.get_database();
        let session = session::begin(&mut connection, database, self.timeouts, progress).await?;
        Settings::of(&mut connection).await?.refuse_unless(Settings::fit_for_statements)?;
        progress.heard();
        self.warn(&mut connection).await;
        Ok((connection, session))
    }

    async fn suits(&self, host: usize, connection: &mut MySqlConnection) -> Result<(), StoreError> {
        let told = Told::by(connection).await?;
        if let Some(why) = told.unfit() {
            return Err(StoreError::new(Failure::Transient, why));
        }
        self.hosts.belongs(host, told.cluster())
    }
}
