//! Which database, which cluster and which member the arguments name, checked.

use crate::{
    arguments::{Database, Look, Observe, Order, Target},
    cluster::{self, Client, Observer},
    exit::Failed,
    line,
    location::Location,
    source,
    store::{self, AnyStore},
};
use election_tokio::core::{Namespace, sql::Tables};
use tracing::{info, warn};

/// The member that a command which looks once is to ask; none if it is about a database.
pub(crate) fn client(look: &Look) -> Result<Option<Client>, Failed> {
    let database = &look.target.database;
    let Some(cluster) = cluster::cluster(&look.asked.membership, database)? else {
        return Ok(None);
    };
    Client::of(cluster, &look.asked, look.timeout, database.json).map(Some)
}

/// The same for a command that goes on.
pub(crate) fn observed(observe: &Observe) -> Result<Option<Observer>, Failed> {
    let (asked, database) = (&observe.asked, &observe.target.database);
    let Some(cluster) = cluster::cluster(&asked.membership, database)? else { return Ok(None) };
    Observer::of(cluster, asked, database.json).map(Some)
}

/// The same for a command that only clusters have.
pub(crate) fn ordered(order: &Order) -> Result<Client, Failed> {
    let cluster = order.asked.membership.cluster.as_deref().ok_or_else(|| {
        Failed::new(
            "only a cluster's failover can be paused: use --cluster FILE, set ELECTION_CLUSTER, or \
             put `cluster` into the --config file",
        )
    })?;
    Client::of(cluster, &order.asked, order.timeout, order.json)
}

/// The chosen database, if any, and the tables in it.
pub(crate) struct Named {
    pub(crate) store: Option<AnyStore>,
    pub(crate) tables: Tables,
    location: Location,
}

impl Named {
    pub(crate) fn by(database: &Database) -> Result<Self, Failed> {
        let schema = database.schema.as_deref();
        let tables = schema
            .map_or_else(|| Ok(Tables::default()), |name| Tables::new("election_", Some(name)))
            .map_err(|error| Failed::of("--schema", &error))?;
        let source = source::address(database)?;
        let store = source.as_ref().map(|it| AnyStore::of(&it.address, &it.what, &tables));
        let location = source.as_ref().map(|source| Location::of_database(source, schema));
        let location = location.unwrap_or_default();
        Ok(Self { store: store.transpose()?, tables, location })
    }
}

pub(crate) fn no_store() -> Failed {
    Failed::new(format!(
        "no database is named; use --store {} or --store-file, set ELECTION_STORE or \
         ELECTION_STORE_FILE, or put `store` or `store-file` into the --config file; an election \
         by votes needs --cluster FILE or ELECTION_CLUSTER instead",
        store::urls("PATH"),
    ))
    .lacking(&["--store", "--store-file", "--cluster"])
}

/// A store and the election in it.
pub(crate) struct Place {
    pub(crate) store: AnyStore,
    pub(crate) tables: Tables,
    pub(crate) namespace: Namespace,
    pub(crate) json: bool,
    /// The same for others.
    pub(crate) location: Location,
}

impl Place {
    pub(crate) fn of(target: &Target) -> Result<Self, Failed> {
        // Before any other line is written.
        target.name.iter().for_each(line::name_election);
        let Named { store, tables, location } = Named::by(&target.database)?;
        let store = store.ok_or_else(no_store)?;
        let name = target.name.as_ref().ok_or_else(|| {
            Failed::new(
                "no election is named; use --name NAME, the same for all participants (such as \
                 `default`), set ELECTION_NAME, or put `name` into the --config file",
            )
            .lacking(&["--name"])
        })?;
        let namespace = Namespace::new(name).map_err(|error| Failed::of("--name", &error))?;
        let json = target.database.json;
        Ok(Self { store, tables, namespace, json, location })
    }

    /// The same for a look at all elections, none of which has to be named.
    pub(crate) fn of_all(database: &Database) -> Result<Self, Failed> {
        let Named { store, tables, location } = Named::by(database)?;
        let namespace = Namespace::default(); // which nobody asks about
        let (store, json) = (store.ok_or_else(no_store)?, database.json);
        Ok(Self { store, tables, namespace, json, location })
    }

    /// Logs how the connection to the database is protected.
    pub(crate) fn announce(&self) {
        let way = self.store.transport();
        if way.exposed {
            let shown = way.shown;
            warn!(event = "database", "{shown}: somebody on the path could read the password");
        } else {
            info!(event = "database", "{}", way.shown);
        }
    }
}
