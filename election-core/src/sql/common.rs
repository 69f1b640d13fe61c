//! Statements with the same text in more than one dialect.

/// How many entries one sweep removes at most: a fraction of a lease, whatever has piled up.
pub(super) const SWEPT: u64 = 1000;

/// The entries of these tables that a sweep removes.
macro_rules! swept {
    ($tables:expr) => {
        concat!(
            "SELECT ns, candidate_id, incarnation FROM ",
            $tables,
            " WHERE ns = {:ns} AND expires_ms < {now} - 86400000 LIMIT {swept}"
        )
    };
}
pub(super) use swept;

/// A sweep. MySQL has a LIMIT for this.
macro_rules! sweep {
    ($tables:expr) => {
        concat!(
            "DELETE FROM {candidate} WHERE (ns, candidate_id, incarnation) IN (",
            $crate::sql::common::swept!($tables),
            ")"
        )
    };
}
pub(super) use sweep;

pub(super) const SWEEP: &str = sweep!("{candidate}");

/// Takes those that this table names off the list.
macro_rules! unregister {
    ($asked:expr) => {
        concat!(
            "DELETE FROM {candidate} WHERE (ns, candidate_id, incarnation) IN \
             (SELECT {:ns}, {:id}, {:inc} FROM ",
            $asked,
            ")"
        )
    };
}
pub(super) use unregister;

pub(super) const UNREGISTER: &str = "DELETE FROM {candidate} \
     WHERE ns = {:ns} AND candidate_id = {:id} AND incarnation = {:inc}";

pub(super) const LIST: &str = "SELECT candidate_id, incarnation, label, last_heartbeat_ms, \
     expires_ms - {now} FROM {candidate} WHERE ns = {:ns} AND expires_ms > {now} \
     ORDER BY candidate_id, incarnation";

/// Those on the list beside the one who asks.
macro_rules! others {
    ($tables:expr) => {
        concat!(
            " FROM ",
            $tables,
            " WHERE ns = {:ns} AND expires_ms > {now} \
             AND (candidate_id <> {:id} OR incarnation <> {:inc})"
        )
    };
}
pub(super) use others;

pub(super) const OTHERS: &str = concat!("SELECT candidate_id", others!("{candidate}"), " LIMIT 1");

/// A new entry of the list, from these values.
macro_rules! candidate {
    ($values:expr) => {
        concat!(
            "INSERT INTO {candidate} \
             (ns, candidate_id, incarnation, label, last_heartbeat_ms, expires_ms) ",
            $values
        )
    };
}
pub(super) use candidate;

/// SQLite, and whatever speaks PostgreSQL's protocol.
macro_rules! upsert_candidate {
    ($values:expr) => {
        concat!(
            $crate::sql::common::candidate!($values),
            " ON CONFLICT (ns, candidate_id, incarnation) DO UPDATE SET label = excluded.label, \
             last_heartbeat_ms = excluded.last_heartbeat_ms, expires_ms = excluded.expires_ms"
        )
    };
}

pub(super) use upsert_candidate;

pub(super) const UPSERT_CANDIDATE: &str =
    upsert_candidate!("VALUES ({:ns}, {:id}, {:inc}, {:label}, {now}, {now}+{:ttl})");

/// Nobody holds the row.
macro_rules! free {
    () => {
        "(leader_id IS NULL OR expires_ms <= {now})"
    };
}
pub(super) use free;

/// Makes rows that nobody holds, from these values.
macro_rules! seed {
    ($insert:literal, $values:expr) => {
        concat!(
            $insert,
            " INTO {leader} (ns, epoch, elected_ms, expires_ms, ttl_ms, updated_ms) ",
            $values
        )
    };
}
pub(super) use seed;

/// What vacates a row.
macro_rules! vacated {
    () => {
        "leader_id = NULL, incarnation = NULL, label = NULL, expires_ms = {now}, updated_ms = {now}"
    };
}
pub(super) use vacated;

/// The row of one term.
macro_rules! of_term {
    () => {
        "ns = {:ns} AND leader_id = {:id} AND incarnation = {:inc} AND epoch = {:epoch}"
    };
}
pub(super) use of_term;

pub(super) const VACATE: &str = concat!("UPDATE {leader} SET ", vacated!(), " WHERE ", of_term!());

pub(super) const REQUEST_RESIGN: &str = "UPDATE {leader} \
     SET resign_requested_epoch = {:epoch}, updated_ms = {now} \
     WHERE ns = {:ns} AND epoch = {:epoch} AND leader_id IS NOT NULL";

/// MySQL returns no rows.
pub(super) const ASK_LEADER: &str = "UPDATE {leader} \
     SET resign_requested_epoch = epoch, updated_ms = {now} \
     WHERE ns = {:ns} AND leader_id IS NOT NULL AND expires_ms > {now} RETURNING epoch";
