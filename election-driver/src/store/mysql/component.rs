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
    store::{calls::is_lost, progress::Progress, timeouts::Stage},
};
use election_core::{lease::Failure, sql::Value};
use sqlx::{ConnectOptions as _, Connection as _, Executor as _, MySqlConnection, raw_sql};

/// Every user may ask this, and a node of Galera answers it in any state.
const ASKED: [&str; 2] = [
    "SHOW SESSION VARIABLES WHERE Variable_name IN \
        ('read_only', 'super_read_only', 'tx_read_only', 'transaction_read_only', 'wsrep_on', \
        'wsrep_reject_queries')",
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
        if galera && !matches!(self.of("wsrep_reject_queries"), "" | "NONE") {
            return Some(REFUSES);
        }
        let reads = ["read_only", "super_read_only", "tx_read_only", "transaction_read_only"];
        reads.into_iter().any(|name| self.is(name, "ON")).then_some(READS)
    }
}

const APART: &str = "this Galera node is not in the primary component, or not ready (wsrep_ready); \
                     it rejoins by itself once it reaches a majority of the nodes";
const REFUSES: &str = "this Galera node refuses all statements (wsrep_reject_queries); set it to \
                       NONE once the node may be used again";
const READS: &str = "it accepts no writes (read_only or tx_read_only is on: a replica?); list the \
                     primary too, or turn that off if this is the primary";

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
                // It would be missed on the server's side.
                if connection.close().await.is_ok() && !is_lost(&error) {
                    progress.left();
                }
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A server says this, in its own case, and nothing else.
    fn says(pairs: &[(&str, &str)]) -> Told {
        Told(pairs.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect())
    }

    const UUID: &str = "64c0a1a3-0000-11f0-8b1c-d6a1c7e0a5b1";

    /// In the words of MariaDB 10.11 with Galera 26.
    fn node(ready: &'static str, part: &'static str) -> Told {
        let part = ("wsrep_cluster_status", part);
        let known = ("wsrep_cluster_state_uuid", UUID);
        says(&[("wsrep_on", "ON"), ("read_only", "OFF"), ("wsrep_ready", ready), part, known])
    }

    #[test]
    fn a_node_apart_from_its_cluster_is_left() {
        assert_eq!(node("ON", "Primary").unfit(), None);
        for (ready, part) in
            [("OFF", "Primary"), ("ON", "non-Primary"), ("OFF", "Disconnected"), ("OFF", "")]
        {
            assert_eq!(node(ready, part).unfit(), Some(APART), "{ready}, {part}");
        }
    }

    #[test]
    fn a_node_that_was_taken_out_of_use_is_left() {
        for (refuses, unfit) in
            [("NONE", None), ("ALL", Some(REFUSES)), ("ALL_KILL", Some(REFUSES))]
        {
            let Told(mut told) = node("ON", "Primary");
            told.push(("wsrep_reject_queries".into(), refuses.into()));
            assert_eq!(Told(told).unfit(), unfit, "{refuses}");
        }
    }

    /// A server without a cluster tells of one that is off, or of none at all.
    #[test]
    fn a_server_of_its_own_is_no_node() {
        for own in [
            says(&[("read_only", "OFF")]),
            says(&[("wsrep_on", "OFF"), ("wsrep_ready", "OFF"), ("wsrep_cluster_status", "")]),
        ] {
            assert_eq!((own.unfit(), own.cluster()), (None, None));
        }
    }

    #[test]
    fn whatever_forbids_writes_is_seen() {
        for name in ["read_only", "super_read_only", "tx_read_only", "transaction_read_only"] {
            assert_eq!(says(&[(name, "ON")]).unfit(), Some(READS), "{name}");
            assert_eq!(says(&[(name, "OFF")]).unfit(), None, "{name}");
        }
    }

    #[test]
    fn a_node_tells_its_cluster_once_it_has_joined() {
        assert_eq!(node("ON", "Primary").cluster().as_deref(), Some(UUID));
        let zeros = "00000000-0000-0000-0000-000000000000";
        for (on, known) in [("ON", zeros), ("ON", ""), ("OFF", UUID)] {
            let told = says(&[("wsrep_on", on), ("wsrep_cluster_state_uuid", known)]);
            assert_eq!(told.cluster(), None, "{on}, {known}");
        }
    }
}
