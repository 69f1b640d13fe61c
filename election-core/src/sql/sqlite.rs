//! SQLite.
//!
//! The clock is `julianday('now')`, since `unixepoch('now','subsec')` is NULL before 3.42. The
//! statement reads it after taking the write lock. An attempt is an upsert: it makes a missing row.
//! It takes the write lock even when it loses, so the machine reads first whenever it expects to
//! lose.

use super::{
    common::{self, free, of_term, upsert_candidate, vacated},
    template::{Many, Templates, Told},
};

/// What a reader wants to know of a leader row.
macro_rules! row {
    () => {
        "SELECT epoch, leader_id, incarnation, label, expires_ms - {now}, ttl_ms, renewals, \
         resign_requested_epoch IS epoch, elected_ms"
    };
}

/// A new term, of these values, if nobody holds the row; and first of what it returns.
macro_rules! attempt {
    ($values:expr, $first:literal) => {
        concat!(
            "INSERT INTO {leader} AS l (ns, epoch, leader_id, incarnation, label, elected_ms, \
             expires_ms, ttl_ms, renewals, updated_ms) ",
            $values,
            " ON CONFLICT (ns) DO UPDATE SET epoch = max(l.epoch+1, excluded.epoch), \
             leader_id = excluded.leader_id, incarnation = excluded.incarnation, \
             label = excluded.label, elected_ms = excluded.elected_ms, \
             expires_ms = excluded.expires_ms, ttl_ms = excluded.ttl_ms, renewals = 0, \
             updated_ms = excluded.updated_ms WHERE ",
            free!(),
            " RETURNING ",
            $first,
            "epoch, expires_ms - {now}"
        )
    };
}

/// The next term in a row that is as it was found, by this table, that returns this first.
macro_rules! take_over {
    ($from:expr, $first:literal) => {
        concat!(
            "UPDATE {leader} SET epoch = max(epoch+1, {now}, {:seen}+1), leader_id = {:id}, \
             incarnation = {:inc}, label = {:label}, elected_ms = {now}, \
             expires_ms = {now}+{:kept}, ttl_ms = {:ttl}, renewals = 0, updated_ms = {now}",
            $from,
            " WHERE ns = {:ns} AND epoch = {:epoch} AND leader_id = {:holder} \
             AND incarnation = {:holder_inc} AND renewals = {:n} RETURNING ",
            $first,
            "epoch, expires_ms - {now}"
        )
    };
}

/// A renewal, from this table, that returns this first.
macro_rules! renewal {
    ($from:expr, $first:literal) => {
        concat!(
            "UPDATE {leader} SET expires_ms = {now}+{:kept}, ttl_ms = {:ttl}, renewals = {:n}, \
             updated_ms = {now}",
            $from,
            " WHERE ",
            of_term!(),
            " AND renewals < {:n} AND expires_ms > {now} RETURNING ",
            $first,
            "expires_ms - {now}, resign_requested_epoch IS epoch"
        )
    };
}

/// The questions about many elections, as a table.
macro_rules! asked {
    () => {
        "(SELECT json_extract(value, '$.ns') AS q_ns, json_extract(value, '$.id') AS q_id, \
         json_extract(value, '$.inc') AS q_inc, json_extract(value, '$.label') AS q_label, \
         json_extract(value, '$.epoch') AS q_epoch, json_extract(value, '$.seen') AS q_seen, \
         json_extract(value, '$.n') AS q_n, json_extract(value, '$.holder') AS q_holder, \
         json_extract(value, '$.holder_inc') AS q_holder_inc, \
         json_extract(value, '$.ttl') AS q_ttl, json_extract(value, '$.kept') AS q_kept \
         FROM json_each({:asked}))"
    };
}

pub(super) const TEMPLATES: Templates = Templates {
    told: Told::no_history("CAST(ROUND((julianday('now')-2440587.5)*86400000.0) AS INTEGER)"),
    attempt: attempt!(
        "VALUES ({:ns}, max({now}, {:seen}+1), {:id}, {:inc}, {:label}, {now}, {now}+{:kept}, {:ttl}, 0, {now})",
        ""
    ),
    take_over: take_over!("", ""),
    read: concat!(row!(), " FROM {leader} WHERE ns = {:ns}"),
    elections: concat!(row!(), ", ns FROM {leader} ORDER BY ns"),
    election: concat!(row!(), ", ns FROM {leader} WHERE ns = {:ns}"),
    seed: None,
    renew: renewal!("", ""),
    resign: common::VACATE,
    register: common::UPSERT_CANDIDATE,
    sweep: common::SWEEP,
    unregister: common::UNREGISTER,
    others: common::OTHERS,
    list: common::LIST,
    request_resign: common::REQUEST_RESIGN,
    ask_leader: common::ASK_LEADER,
    tell: None,
    // This changes nothing, but takes the write lock, and fails on a snapshot that is not the
    // newest.
    fence: "UPDATE {leader} SET updated_ms = updated_ms WHERE ns = {:ns} AND epoch = {:epoch} \
            AND leader_id = {:id} AND incarnation = {:inc} AND expires_ms > {now} \
            RETURNING expires_ms - {now}",
    seed_fence: None,
    rewrite_fence: None,
    seed_server: None,
    many: Many {
        read: concat!(row!(), ", ns FROM {leader}, ", asked!(), " WHERE ns = {:ns}"),
        lock: None,
        attempt: attempt!(
            concat!(
                "SELECT {:ns}, max({now}, {:seen}+1), {:id}, {:inc}, {:label}, {now}, {now}+{:kept}, {:ttl}, 0, \
                 {now} FROM ",
                asked!(),
                " WHERE true"
            ),
            "ns, "
        ),
        take_over: take_over!(concat!(" FROM ", asked!()), "ns, "),
        seed: None,
        seed_fence: None,
        renew: renewal!(concat!(" FROM ", asked!()), "ns, "),
        resign: concat!(
            "UPDATE {leader} SET ",
            vacated!(),
            " FROM ",
            asked!(),
            " WHERE ",
            of_term!(),
            " RETURNING ns"
        ),
        // The condition tells the conflict's clause from a join's.
        register: upsert_candidate!(concat!(
            "SELECT {:ns}, {:id}, {:inc}, {:label}, {now}, {now}+{:ttl} FROM ",
            asked!(),
            " WHERE true"
        )),
        sweep: common::sweep!(concat!("{candidate}, ", asked!())),
        unregister: common::unregister!(asked!()),
        others: concat!("SELECT DISTINCT ns", common::others!(concat!("{candidate}, ", asked!()))),
        tell: None,
    },
};

pub(super) const TABLES: &[&str] = &[
    "CREATE TABLE {leader} (
  ns TEXT NOT NULL PRIMARY KEY,
  epoch INTEGER NOT NULL,
  leader_id TEXT,
  incarnation TEXT,
  label TEXT,
  elected_ms INTEGER NOT NULL,
  expires_ms INTEGER NOT NULL,
  ttl_ms INTEGER NOT NULL,
  renewals INTEGER NOT NULL DEFAULT 0,
  resign_requested_epoch INTEGER,
  updated_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID",
    "CREATE TABLE {candidate} (
  ns TEXT NOT NULL,
  candidate_id TEXT NOT NULL,
  incarnation TEXT NOT NULL,
  label TEXT,
  last_heartbeat_ms INTEGER NOT NULL,
  expires_ms INTEGER NOT NULL,
  PRIMARY KEY (ns, candidate_id, incarnation)
) STRICT, WITHOUT ROWID",
];
