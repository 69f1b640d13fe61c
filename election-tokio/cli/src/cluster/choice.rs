//! Whether an election is held in a database or in a cluster, and what then cannot be said.

use crate::{
    arguments::{Database, Membership},
    exit::Failed,
    secret::{STORE, STORE_FILE},
};
use std::{
    env,
    path::{Path, PathBuf},
};

/// What the configuration file says of it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Filed {
    pub(crate) cluster: Option<PathBuf>,
    pub(crate) names_database: bool,
}

/// The file of the cluster, unless a database was chosen. The command line wins, then the
/// environment, then the configuration file.
///
/// # Errors
/// If one of these names both, or the command line says what only the other has.
pub(crate) fn cluster(
    membership: &Membership,
    database: &Database,
    filed: Filed,
) -> Result<Option<PathBuf>, Failed> {
    let written = |flag| membership.wrote(flag);
    let given = membership.cluster.clone();
    let from_environment = given.clone().filter(|_| !written("cluster"));
    let in_environment = from_environment.is_some()
        && [STORE, STORE_FILE].iter().any(|it| env::var_os(it).is_some());
    let stored = database.store.is_some() || database.store_file.is_some();
    if written("cluster") && stored {
        return Err(Failed::new(
            "--cluster and --store (or --store-file) both say where the election is held; keep one",
        ));
    }
    let cluster = match (given, stored) {
        (Some(cluster), false) if !in_environment => Some(cluster),
        (Some(_), false) => {
            return Err(Failed::new(format!(
                "both ELECTION_CLUSTER and {STORE} (or {STORE_FILE}) are set; unset one of them"
            )));
        }
        (_, true) => None,
        (None, false) if [STORE, STORE_FILE].iter().any(|it| env::var_os(it).is_some()) => None,
        (None, false) => {
            if filed.cluster.is_some() && filed.names_database {
                return Err(Failed::new(
                    "the --config file has both `cluster` and a database (`store`, `store-file`); \
                     keep one",
                ));
            }
            filed.cluster
        }
    };
    match &cluster {
        Some(cluster) => only_for_databases(membership, cluster)?,
        None => only_for_clusters(membership)?,
    }
    Ok(cluster)
}

/// Refuses what was written on the command line and would have no effect in a cluster.
fn only_for_databases(membership: &Membership, cluster: &Path) -> Result<(), Failed> {
    let cluster = cluster.display();
    let why = [
        ("ttl", "there is no lease; how long a silent leader counts as alive is `down-after`"),
        ("interval", "there is no lease to renew; members speak once in each `heartbeat`"),
        ("at-least-for", "there is no lease that could last; the epoch ends with its primary"),
        ("clock-step", "there is no database whose clock could step"),
        ("name", "the election is named by `election`"),
        ("min-epoch", "every member reads it as `min-epoch`"),
        ("no-schema", "there are no tables"),
        ("schema", "there are no tables"),
    ];
    match why.iter().find(|(flag, _)| membership.wrote(flag)) {
        Some((flag, why)) => {
            Err(Failed::new(format!("--{flag} is for databases: {why} in --cluster {cluster}")))
        }
        None => Ok(()),
    }
}

/// Refuses what was written on the command line and would have no effect in a database.
fn only_for_clusters(membership: &Membership) -> Result<(), Failed> {
    let flags = ["ballot", "listen", "socket", "new-peers", "accept-loss", "to"];
    match flags.iter().find(|flag| membership.wrote(flag)) {
        Some(flag) => Err(Failed::new(format!(
            "--{flag} is for clusters: name one with --cluster FILE, or leave --{flag} out"
        ))),
        None => Ok(()),
    }
}
