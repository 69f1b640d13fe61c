//! Which cluster answers, and that it has not gone back in time.
//!
//! Two clusters, or one before and after a restore, have versions that mean different values. A write
//! that is acknowledged by one of them says nothing about the other.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// The head of each answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) cluster: u64,
    pub(super) revision: i64,
}

/// What all clones of a register have learnt.
#[derive(Default)]
pub(super) struct Identity(Mutex<Known>);

#[derive(Default)]
struct Known {
    cluster: Option<u64>,
    /// The newest of the whole store.
    revision: i64,
}

const REMEDY: &str = "list the members of one cluster only; if it was restored from a backup, start \
                      every process that takes part in its elections again, all at once";

impl Identity {
    fn known(&self) -> MutexGuard<'_, Known> {
        // No panic leaves it half written.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The newest revision that any answer has named.
    pub(super) fn revision(&self) -> i64 {
        self.known().revision
    }

    /// Whether an answer comes from the cluster that all others came from.
    ///
    /// # Errors
    /// If not: what is wrong, and the remedy.
    pub(super) fn belongs(&self, cluster: u64) -> Result<(), String> {
        let known = *self.known().cluster.get_or_insert(cluster);
        if known == cluster {
            return Ok(());
        }
        Err(format!(
            "it belongs to the etcd cluster {cluster:x}, and earlier answers came from the cluster \
             {known:x}; {REMEDY}"
        ))
    }

    /// Whether an answer can follow those that were known when it was asked for.
    ///
    /// # Errors
    /// If not: what is wrong, and the remedy.
    pub(super) fn follows(&self, header: Header, known_before: i64) -> Result<(), String> {
        self.belongs(header.cluster)?;
        let Header { revision, .. } = header;
        if revision < known_before {
            return Err(format!(
                "its revision {revision} is older than {known_before}, which the cluster has already \
                 confirmed: it has lost writes, as after a restore; {REMEDY}"
            ));
        }
        let mut known = self.known();
        known.revision = known.revision.max(revision);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_cluster_and_an_older_one_are_refused() {
        let identity = Identity::default();
        let head = |cluster, revision| Header { cluster, revision };
        identity.follows(head(7, 5), identity.revision()).unwrap();
        assert!(identity.follows(head(8, 9), 5).unwrap_err().contains("cluster 8"));
        assert_eq!(identity.revision(), 5, "of its own cluster");
        assert!(identity.follows(head(7, 4), 5).unwrap_err().contains("revision 4"));
        // Answers overtake each other.
        identity.follows(head(7, 9), 5).unwrap();
        identity.follows(head(7, 8), 5).unwrap();
        assert_eq!(identity.revision(), 9);
    }
}
