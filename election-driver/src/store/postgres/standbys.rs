//! Commits that wait for a synchronous standby. The server gives such a wait up only when its session is
//! ended, so the client hears nothing, and only the session that ends it can see what it waited for.

use crate::{
    now,
    store::{client::SILENT, progress::lock},
};
use election_core::Timestamp;
use std::{
    borrow::Cow,
    sync::{Arc, Mutex},
    time::Duration,
};

/// When a statement that was given up last waited for one.
#[derive(Clone, Default)]
pub(super) struct Standbys(Arc<Mutex<Option<Timestamp>>>);

/// What the server calls that wait.
const WAIT: &str = "SyncRep";
/// What was seen longer ago explains nothing any more.
const RECENT: Duration = Duration::from_secs(60);

impl Standbys {
    /// A session that was given up waited for this when it was ended.
    pub(super) fn met(&self, waited_for: Option<&str>) {
        *lock(&self.0) = waited_for.filter(|wait| *wait == WAIT).map(|_| now());
    }

    /// Why the server may not have answered.
    pub(super) fn silence(&self) -> Cow<'static, str> {
        match *lock(&self.0) {
            Some(last) if now().since(last) < RECENT => AWAY.into(),
            _ => format!(
                "{SILENT}, and that its synchronous standbys are running, if it waits for any \
                 (synchronous_standby_names)"
            )
            .into(),
        }
    }
}

const AWAY: &str = "the server did not answer in time, after an earlier commit was abandoned while \
                    waiting for a synchronous standby (SyncRep): no standby in \
                    synchronous_standby_names confirms writes (pg_stat_replication); start one, \
                    repair its connection, or take it off the list (ALTER SYSTEM SET \
                    synchronous_standby_names, SELECT pg_reload_conf())";
