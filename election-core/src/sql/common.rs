//! Statements with the same text in more than one dialect.

/// How many entries one sweep removes at most: a fraction of a lease, whatever has piled up.
pub(super) const SWEPT: u64 = 1000;

/// MySQL has a LIMIT for this.
pub(super) const SWEEP: &str = "DELETE FROM {candidate} \
     WHERE (ns, candidate_id, incarnation) IN (SELECT ns, candidate_id, incarnation \
     FROM {candidate} WHERE ns = {:ns} AND expires_ms < {now} - 86400000 LIMIT {swept})";

pub(super) const UNREGISTER: &str = "DELETE FROM {candidate} \
     WHERE ns = {:ns} AND candidate_id = {:id} AND incarnation = {:inc}";

pub(super) const LIST: &str = "SELECT candidate_id, incarnation, label, last_heartbeat_ms, \
     expires_ms - {now} FROM {candidate} WHERE ns = {:ns} AND expires_ms > {now} \
     ORDER BY candidate_id, incarnation";

pub(super) const OTHERS: &str = "SELECT candidate_id FROM {candidate} \
     WHERE ns = {:ns} AND expires_ms > {now} \
     AND (candidate_id <> {:id} OR incarnation <> {:inc}) LIMIT 1";

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
