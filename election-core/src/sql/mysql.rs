//! MySQL and MariaDB.
//!
//! MySQL and MariaDB share no UPDATE that returns rows, so the new epoch and the request to resign
//! travel in the OK packet's insert id, and a loser reads the row; so does whoever finds that id emptied
//! by a trigger. The clock is `UTC_TIMESTAMP(6)`,
//! which does not depend on the session's time zone. Names are VARBINARY: under a text collation
//! `billing` equals `Billing `, and one id renews another's lease. `SET` is evaluated from left to
//! right, so `epoch` comes first and `renewals` last.
//!
//! No lock here holds up a new term but not a renewal. So a fence locks a row of a table of its
//! own, whose foreign key follows the leader row's epoch. The winning attempt changes both rows in
//! its one statement and has to wait for the fence. A renewal does not touch the epoch, nor that
//! table. In a session with `foreign_key_checks` off the key has no effect: an attempt there would
//! not wait, so it does not win, and a fence there fails with an error.
//!
//! On a Galera cluster a lock holds up nobody at another server. Its servers compare, at each commit,
//! which rows two transactions have written. So a fence there writes its row, the one that every new
//! term changes: whichever of the two is committed first, the other is refused. An UPDATE that
//! changes nothing is no write; the row is removed and made anew.

use super::{
    common::{self, candidate, free, of_term, others, seed, swept, vacated},
    template::{Lock, Many, Templates, Told},
};

/// What a reader wants to know of a leader row.
macro_rules! row {
    () => {
        "SELECT epoch, leader_id, incarnation, label, expires_ms - {now}, ttl_ms, renewals, \
         CAST(resign_requested_epoch <=> epoch AS SIGNED), elected_ms"
    };
}

/// A new term in a row of these.
macro_rules! taken {
    ($rows:expr) => {
        concat!(
            "UPDATE ",
            $rows,
            " SET epoch = LAST_INSERT_ID(GREATEST(epoch+1, {now}, {:seen}+1)), \
             leader_id = {:id}, incarnation = {:inc}, label = {:label}, elected_ms = {now}, \
             expires_ms = {now}+{:kept}, ttl_ms = {:ttl}, renewals = 0, updated_ms = {now} \
             WHERE ns = {:ns}"
        )
    };
}

/// A row of this epoch that is as it was found.
macro_rules! as_found {
    () => {
        "leader_id = {:holder} AND incarnation = {:holder_inc} AND renewals = {:n}"
    };
}

/// A renewal of the rows that a table names, or of one; what is added to the ordinal is zero. A lease that
/// was found to run when its row was locked needs no other proof that it runs.
macro_rules! renewal {
    ($rows:expr, $zero:literal, $runs:literal) => {
        concat!(
            "UPDATE ",
            $rows,
            " SET expires_ms = {now}+{:kept}, ttl_ms = {:ttl}, updated_ms = {now}, \
             renewals = {:n}",
            $zero,
            " WHERE ",
            of_term!(),
            " AND renewals < {:n}",
            $runs
        )
    };
}

macro_rules! registration {
    ($values:expr) => {
        concat!(
            candidate!($values),
            " ON DUPLICATE KEY UPDATE label = VALUES(label), \
             last_heartbeat_ms = VALUES(last_heartbeat_ms), expires_ms = VALUES(expires_ms)"
        )
    };
}

/// The questions about many elections, as a table.
macro_rules! asked {
    () => {
        "JSON_TABLE(CONVERT({:asked} USING utf8mb4), '$[*]' COLUMNS (\
         q_ns VARCHAR(255) CHARACTER SET utf8mb4 PATH '$.ns', \
         q_id VARCHAR(255) CHARACTER SET utf8mb4 PATH '$.id', \
         q_inc VARCHAR(36) CHARACTER SET utf8mb4 PATH '$.inc', \
         q_label VARCHAR(255) CHARACTER SET utf8mb4 PATH '$.label', \
         q_epoch BIGINT PATH '$.epoch', q_seen BIGINT PATH '$.seen', q_n BIGINT PATH '$.n', \
         q_holder VARCHAR(255) CHARACTER SET utf8mb4 PATH '$.holder', \
         q_holder_inc VARCHAR(36) CHARACTER SET utf8mb4 PATH '$.holder_inc', \
         q_ttl BIGINT PATH '$.ttl', q_kept BIGINT PATH '$.kept')) AS asked"
    };
}

/// Their rows. A small table would be scanned, and other elections' rows locked with it.
macro_rules! rows {
    ($table:literal) => {
        concat!(asked!(), " STRAIGHT_JOIN ", $table, " FORCE INDEX (PRIMARY)")
    };
}

/// Locks the rows that can be taken, and those of the fence, which change with them.
macro_rules! locked {
    ($which:expr) => {
        concat!(
            "SELECT l.ns FROM ",
            rows!("{leader} l"),
            " STRAIGHT_JOIN {fence} f FORCE INDEX (PRIMARY) \
             WHERE l.ns = {:ns} AND f.ns = {:ns} AND f.epoch = l.epoch AND ",
            $which,
            " AND @@foreign_key_checks = 1 FOR UPDATE SKIP LOCKED"
        )
    };
}

pub(super) const TEMPLATES: Templates = Templates {
    told: Told::no_history("(TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) DIV 1000)"),
    attempt: concat!(taken!("{leader}"), " AND ", free!(), " AND @@foreign_key_checks = 1"),
    take_over: concat!(
        taken!("{leader}"),
        " AND epoch = {:epoch} AND ",
        as_found!(),
        " AND @@foreign_key_checks = 1"
    ),
    read: concat!(row!(), " FROM {leader} WHERE ns = {:ns}"),
    elections: concat!(row!(), ", ns FROM {leader} ORDER BY ns"),
    election: concat!(row!(), ", ns FROM {leader} WHERE ns = {:ns}"),
    seed: Some(seed!("INSERT IGNORE", "VALUES ({:ns}, 0, {now}, {now}, 0, {now})")),
    renew: renewal!(
        "{leader}",
        " + 0*LAST_INSERT_ID(IF(resign_requested_epoch <=> epoch, 1, 2))",
        " AND expires_ms > {now}"
    ),
    resign: common::VACATE,
    register: registration!("VALUES ({:ns}, {:id}, {:inc}, {:label}, {now}, {now}+{:ttl})"),
    sweep: "DELETE FROM {candidate} WHERE ns = {:ns} AND expires_ms < {now} - 86400000 LIMIT {swept}",
    unregister: common::UNREGISTER,
    others: common::OTHERS,
    list: common::LIST,
    request_resign: common::REQUEST_RESIGN,
    ask_leader: "UPDATE {leader} SET resign_requested_epoch = LAST_INSERT_ID(epoch), \
                 updated_ms = {now} \
                 WHERE ns = {:ns} AND leader_id IS NOT NULL AND expires_ms > {now}",
    tell: None,
    // The locking read does not reach into the subquery: the leader row itself stays free.
    fence: "SELECT (SELECT l.expires_ms - {now} FROM {leader} l WHERE l.ns = {:ns} \
            AND l.epoch = {:epoch} AND l.leader_id = {:id} AND l.incarnation = {:inc} \
            AND l.expires_ms > {now}), @@foreign_key_checks FROM {fence} f \
            WHERE f.ns = {:ns} AND f.epoch = {:epoch} LOCK IN SHARE MODE",
    seed_fence: Some(
        "INSERT IGNORE INTO {fence} (ns, epoch) SELECT ns, epoch FROM {leader} WHERE ns = {:ns}",
    ),
    // No SELECT: it would lock the leader row, and renewals would wait.
    rewrite_fence: Some([
        "DELETE FROM {fence} WHERE ns = {:ns} AND epoch = {:epoch}",
        "INSERT INTO {fence} (ns, epoch) VALUES ({:ns}, {:epoch})",
    ]),
    seed_server: None,
    many: Many {
        read: concat!(row!(), ", ns FROM ", rows!("{leader}"), " WHERE ns = {:ns}"),
        lock: Some(Lock {
            attempt: locked!(free!()),
            take_over: locked!(concat!("l.epoch = {:epoch} AND ", as_found!())),
            renew: concat!(
                "SELECT ns, {:kept}, CAST(resign_requested_epoch <=> epoch AS SIGNED) FROM ",
                rows!("{leader}"),
                " WHERE ",
                of_term!(),
                " AND renewals < {:n} AND expires_ms > {now} FOR UPDATE SKIP LOCKED"
            ),
        }),
        attempt: taken!(rows!("{leader}")),
        take_over: taken!(rows!("{leader}")),
        seed: Some(seed!(
            "INSERT IGNORE",
            concat!("SELECT {:ns}, 0, {now}, {now}, 0, {now} FROM ", asked!())
        )),
        seed_fence: Some(concat!(
            "INSERT IGNORE INTO {fence} (ns, epoch) SELECT ns, epoch FROM ",
            rows!("{leader}"),
            " WHERE ns = {:ns}"
        )),
        renew: renewal!(rows!("{leader}"), "", ""),
        resign: concat!("UPDATE ", rows!("{leader}"), " SET ", vacated!(), " WHERE ", of_term!()),
        register: registration!(concat!(
            "SELECT {:ns}, {:id}, {:inc}, {:label}, {now}, {now}+{:ttl} FROM ",
            asked!()
        )),
        sweep: concat!(
            "DELETE c FROM (",
            swept!(rows!("{candidate}")),
            ") AS old STRAIGHT_JOIN {candidate} c FORCE INDEX (PRIMARY) ON c.ns = old.ns \
             AND c.candidate_id = old.candidate_id AND c.incarnation = old.incarnation"
        ),
        unregister: concat!(
            "DELETE c FROM ",
            rows!("{candidate} c"),
            " WHERE c.ns = {:ns} AND candidate_id = {:id} AND incarnation = {:inc}"
        ),
        others: concat!("SELECT DISTINCT ns", others!(rows!("{candidate}"))),
        tell: None,
    },
};

pub(super) const TABLES: &[&str] = &[
    "CREATE TABLE IF NOT EXISTS {leader} (
  ns VARBINARY(255) NOT NULL PRIMARY KEY,
  epoch BIGINT NOT NULL,
  leader_id VARBINARY(255),
  incarnation VARBINARY(36),
  label VARBINARY(255),
  elected_ms BIGINT NOT NULL,
  expires_ms BIGINT NOT NULL,
  ttl_ms BIGINT NOT NULL,
  renewals BIGINT NOT NULL DEFAULT 0,
  resign_requested_epoch BIGINT,
  updated_ms BIGINT NOT NULL,
  UNIQUE KEY (ns, epoch)
) ENGINE=InnoDB",
    "CREATE TABLE IF NOT EXISTS {fence} (
  ns VARBINARY(255) NOT NULL PRIMARY KEY,
  epoch BIGINT NOT NULL,
  FOREIGN KEY (ns, epoch) REFERENCES {leader} (ns, epoch) ON UPDATE CASCADE
) ENGINE=InnoDB",
    "CREATE TABLE IF NOT EXISTS {candidate} (
  ns VARBINARY(255) NOT NULL,
  candidate_id VARBINARY(255) NOT NULL,
  incarnation VARBINARY(36) NOT NULL,
  label VARBINARY(255),
  last_heartbeat_ms BIGINT NOT NULL,
  expires_ms BIGINT NOT NULL,
  PRIMARY KEY (ns, candidate_id, incarnation)
) ENGINE=InnoDB",
];
