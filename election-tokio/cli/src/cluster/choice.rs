//! Whether an election is held in a database or in a cluster, and what then cannot be said.

use crate::{
    arguments::{Database, Given, Membership},
    exit::Failed,
};
use std::path::Path;

/// The file of the cluster, unless a database was chosen.
///
/// # Errors
/// If the command line says what only the other has.
pub(crate) fn cluster<'a>(
    membership: &'a Membership,
    database: &Database,
) -> Result<Option<&'a Path>, Failed> {
    let cluster = membership.cluster.as_deref();
    match cluster {
        Some(cluster) => only_for_databases(&database.given, cluster)?,
        None => only_for_clusters(&database.given)?,
    }
    Ok(cluster)
}

/// Refuses what was written on the command line and would have no effect in a cluster.
fn only_for_databases(given: &Given, cluster: &Path) -> Result<(), Failed> {
    let cluster = cluster.display();
    let why = [
        ("ttl", "there is no lease; `down-after` sets how long a silent leader counts as alive"),
        ("interval", "there is no lease to renew; members send a heartbeat instead"),
        ("at-least-for", "there is no lease to keep; an epoch ends with its primary"),
        ("clock-step", "there is no database clock"),
        ("name", "the file's `election` names the election"),
        ("min-epoch", "the file's `min-epoch` sets it for every member"),
        ("no-schema", "there are no tables"),
        ("schema", "there are no tables"),
    ];
    match why.iter().find(|(flag, _)| given.wrote(flag)) {
        Some((flag, why)) => {
            Err(Failed::new(format!("--{flag} is for databases; with --cluster {cluster} {why}")))
        }
        None => Ok(()),
    }
}

/// Refuses what was written on the command line and would have no effect in a database.
fn only_for_clusters(given: &Given) -> Result<(), Failed> {
    let flags = ["ballot", "listen", "socket", "new-peers", "accept-loss", "to"];
    match flags.iter().find(|flag| given.wrote(flag)) {
        Some(flag) => Err(Failed::new(format!(
            "--{flag} is for clusters: use --cluster FILE, or remove --{flag}"
        ))),
        None => Ok(()),
    }
}
