//! PostgreSQL.
//!
//! The clock is `statement_timestamp()`. `now()` stands still for the length of a transaction, and
//! two processes could hold a lease.
//!
//! Every operator finds its exact types in `pg_catalog`, and every function with arguments of any
//! number or type is qualified: otherwise anybody who may create functions in `public` could
//! replace it. Every write bounds its wait for locks, unless the session already does, and asks for
//! a synchronous commit, because a crash would otherwise take back an acknowledged renewal. Both
//! settings end with the statement's transaction, so that they work behind a pooler that assigns
//! connections per transaction. They are made in the WHERE clause: PostgreSQL asks for a row's lock
//! only after it has found the whole clause true, and a CTE costs a tenth more.
//!
//! `UNIQUE (ns, epoch)` makes the epoch part of the row's key. So a fence that takes `FOR KEY
//! SHARE` holds up a takeover but not a renewal.
//!
//! A notification is a statement of its own, behind the change that it tells of. It may fail, even at
//! its commit (nobody empties the server's queue), and takes with it whatever it shares a transaction
//! with.
//!
//! A promoted replica continues another timeline than the server before it. The number is in the name
//! of the segment that is being written: the control file lags behind until the next checkpoint. On a
//! replica that was not promoted this is an error, and the row there is not the newest. Timelines begin
//! again with 1 in a new cluster (`pg_upgrade`), so a record also names the cluster, by the identifier
//! that a primary shares with its replicas only. See [`Server`](crate::lease::Server) for what follows
//! from it.

use super::{
    common::{self, free, of_term, seed, upsert_candidate, vacated},
    template::{Many, Templates, Told},
};

/// The last condition of a write's WHERE clause, and always true.
macro_rules! bounded {
    () => {
        "(current_setting('lock_timeout') <> '0' \
         OR set_config('lock_timeout', greatest({:ttl}::bigint/8, 1)::text, true) IS NOT NULL) \
         AND (current_setting('synchronous_commit') IN ('on', 'remote_apply') \
         OR set_config('synchronous_commit', 'on', true) IS NOT NULL)"
    };
}

/// Since when the server's history is known, if that is recorded and not in the future.
macro_rules! since {
    () => {
        "(SELECT s.since_ms FROM {server} s WHERE s.system = {system} AND s.history = {history} \
         AND s.since_ms <= {now})"
    };
}

/// What a reader wants to know of the server's history. The first follows none: nothing is asked of it.
macro_rules! server {
    () => {
        concat!(
            "{history}, CASE WHEN {history} > 1 THEN ",
            since!(),
            " END, CASE WHEN {history} > 1 THEN {now} - ",
            since!(),
            " END"
        )
    };
}

/// Every lease that an earlier history has granted must have ended: the one in the row, and one as long
/// as this statement asks for.
macro_rules! outlasted {
    () => {
        concat!(
            "({history} <= 1 OR {now} - ",
            since!(),
            " >= GREATEST(l.ttl_ms + {:kept}::bigint - {:ttl}::bigint, {:kept}::bigint))"
        )
    };
}

/// The epoch of a new term. Behind each promotion a range of 2^42 ms (139 years) begins, because the
/// newest epochs of before are not known there. The promotions of clusters that this one was made from
/// count, too, also while this one knows of none: the last of them may have lost epochs that nobody has
/// exceeded yet.
macro_rules! next_epoch {
    () => {
        "GREATEST(l.epoch+1, {now} + LEAST({history} - 1 \
         + COALESCE((SELECT sum(h.promotions) FROM (SELECT max(s.history) - 1 AS promotions \
         FROM {server} s WHERE s.system <> {system} GROUP BY s.system) h), 0)::bigint, 1048575) \
         * 4398046511104, {:seen}::bigint+1)"
    };
}

/// A new term in a row of these.
macro_rules! taken {
    ($from:expr) => {
        concat!(
            "UPDATE {leader} l SET epoch = ",
            next_epoch!(),
            ", leader_id = {:id}, incarnation = {:inc}, label = {:label}, elected_ms = {now}, \
             expires_ms = {now}+{:kept}, ttl_ms = {:ttl}, renewals = 0, updated_ms = {now}",
            $from,
            " WHERE l.ns = {:ns}"
        )
    };
}

/// The same, if nobody holds the row.
macro_rules! attempt {
    ($from:expr) => {
        concat!(taken!($from), " AND ", free!(), " AND ", outlasted!(), " AND ", bounded!())
    };
}

/// The row, and what is known of the server's history, are as they were found.
macro_rules! as_found {
    () => {
        concat!(
            "l.epoch = {:epoch} AND l.renewals = {:n} AND {history} = {:history}::bigint \
             AND ({:holder}::text IS NULL AND {history} > 1 AND l.leader_id IS NULL \
             OR {:holder}::text IS NOT NULL AND l.leader_id = {:holder} \
             AND l.incarnation = {:holder_inc}) AND ({history} <= 1 OR ",
            since!(),
            " = {:since}::bigint)"
        )
    };
}

/// The next term in such a row.
macro_rules! take_over {
    ($from:expr) => {
        concat!(taken!($from), " AND ", as_found!(), " AND ", bounded!())
    };
}

/// What a reader wants to know of a leader row.
macro_rules! row {
    () => {
        "SELECT epoch, leader_id, incarnation, label, expires_ms - {now}, ttl_ms, renewals, \
         COALESCE(resign_requested_epoch = epoch, false)::int::bigint, elected_ms"
    };
}

/// A renewal: what comes before it, after the assignments, and first of what it returns.
macro_rules! renewal {
    ($before:expr, $from:expr, $first:literal) => {
        concat!(
            $before,
            "UPDATE {leader} l SET expires_ms = {now}+{:kept}, ttl_ms = {:ttl}, renewals = {:n}, \
             updated_ms = {now}",
            $from,
            " WHERE ",
            of_term!(),
            " AND l.renewals < {:n} \
             AND (l.expires_ms > {now} OR ({:leads}::bigint = 1 AND {history} > 1 AND NOT \
             COALESCE({now} - ",
            since!(),
            " >= l.ttl_ms, false))) AND ({:leads}::bigint = 1 OR ",
            outlasted!(),
            ") AND ",
            bounded!(),
            " RETURNING ",
            $first,
            "l.expires_ms - {now}, COALESCE(l.resign_requested_epoch = l.epoch, false)::int::bigint"
        )
    };
}

/// Tells of a row that was vacated, or whose holder is asked to resign.
macro_rules! notice {
    ($from:expr) => {
        concat!(
            "SELECT pg_catalog.pg_notify({channel}, pg_catalog.json_strip_nulls(\
             pg_catalog.json_build_object('ns', ns, 'action', \
             CASE WHEN leader_id IS NULL THEN 'resigned' ELSE 'request_resign' END, \
             'leader_id', COALESCE(leader_id, {:id}::text), 'incarnation', {:inc}::text, \
             'epoch', epoch))::text) FROM {leader}",
            $from,
            " WHERE ns = {:ns} AND (leader_id IS NULL) = ({:id}::text IS NOT NULL) \
             AND (leader_id IS NULL OR resign_requested_epoch = epoch)"
        )
    };
}

/// Locks these rows, in one order, but for those that somebody else has locked: one must not hold up the
/// rest.
macro_rules! locked {
    ($which:expr, $how:literal) => {
        concat!(
            "WITH asked AS MATERIALIZED (SELECT * FROM ",
            asked!(),
            "), locked AS MATERIALIZED (SELECT ns AS locked_ns FROM {leader} l, asked WHERE ",
            $which,
            " ORDER BY ns FOR ",
            $how,
            " OF l SKIP LOCKED) "
        )
    };
}

/// The rows that were locked.
macro_rules! from_locked {
    () => {
        " FROM asked JOIN locked ON locked_ns = q_ns"
    };
}

/// The questions about many elections, as a table.
macro_rules! asked {
    () => {
        "(SELECT ns AS q_ns, id AS q_id, inc AS q_inc, label AS q_label, epoch AS q_epoch, \
         seen AS q_seen, n AS q_n, holder AS q_holder, holder_inc AS q_holder_inc, history AS q_history, \
         since AS q_since, ttl AS q_ttl, kept AS q_kept, leads AS q_leads \
         FROM pg_catalog.json_to_recordset({:asked}::json) AS j(ns text, id text, inc text, label text, \
         epoch bigint, seen bigint, n bigint, holder text, holder_inc text, history bigint, since bigint, \
         ttl bigint, kept bigint, leads bigint)) asked"
    };
}

pub(super) const TEMPLATES: Templates = Templates {
    told: Told {
        // A double is cheaper than numeric, and exact to the microsecond until the year 2242.
        now: "(date_part('epoch', statement_timestamp())*1000::double precision)::bigint",
        system: "(SELECT c.system_identifier FROM pg_catalog.pg_control_system() c)",
        history: "('x'::text || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::bigint",
    },
    attempt: concat!(
        "WITH won AS (",
        attempt!(""),
        " RETURNING l.epoch, l.leader_id, l.incarnation, l.label, l.expires_ms - {now}, \
         l.ttl_ms, l.renewals, 0::bigint, l.elected_ms, 1::bigint, \
         NULL::bigint, NULL::bigint, NULL::bigint) \
         SELECT * FROM won UNION ALL ",
        row!(),
        ", 0::bigint, ",
        server!(),
        " FROM {leader} WHERE ns = {:ns} AND NOT EXISTS (SELECT 1 FROM won)"
    ),
    take_over: concat!(take_over!(""), " RETURNING l.epoch, l.expires_ms - {now}"),
    read: concat!(row!(), ", 0::bigint, ", server!(), " FROM {leader} WHERE ns = {:ns}"),
    elections: concat!(row!(), ", ns FROM {leader} ORDER BY ns"),
    election: concat!(row!(), ", ns FROM {leader} WHERE ns = {:ns}"),
    seed: Some(concat!(
        seed!("INSERT", "VALUES ({:ns}, 0, {now}, {now}, 0, {now})"),
        " ON CONFLICT DO NOTHING"
    )),
    renew: renewal!("", "", ""),
    resign: common::VACATE,
    register: common::UPSERT_CANDIDATE,
    sweep: common::SWEEP,
    unregister: common::UNREGISTER,
    others: common::OTHERS,
    list: common::LIST,
    request_resign: common::REQUEST_RESIGN,
    ask_leader: common::ASK_LEADER,
    tell: Some(notice!("")),
    // The fence may have to wait for the lock, so it uses the clock that goes on during the
    // statement. Its settings end with the transaction. A tighter bound of the caller stays. After
    // a step back of the clock, no bound is longer than a lease, let alone than PostgreSQL can
    // count.
    fence: "WITH held AS MATERIALIZED (SELECT expires_ms - \
            (date_part('epoch', clock_timestamp())*1000::double precision)::bigint AS remaining, ttl_ms \
            FROM {leader} WHERE ns = {:ns} AND epoch = {:epoch} \
            AND leader_id = {:id} AND incarnation = {:inc} \
            AND expires_ms > (date_part('epoch', clock_timestamp())*1000::double precision)::bigint \
            FOR KEY SHARE) \
            SELECT remaining, \
            set_config('idle_in_transaction_session_timeout', \
            LEAST(remaining, ttl_ms, NULLIF((extract(epoch from \
            current_setting('idle_in_transaction_session_timeout')::interval) \
            ::double precision*1000::double precision)::bigint, 0))::text, true), \
            set_config('statement_timeout', LEAST(remaining, ttl_ms, NULLIF((extract(epoch from \
            current_setting('statement_timeout')::interval)::double precision \
            *1000::double precision)::bigint, 0))::text, true) \
            FROM held",
    seed_fence: None,
    rewrite_fence: None,
    // If the clock has gone back behind the record, it is known since now.
    seed_server: Some(
        "INSERT INTO {server} AS s (system, history, since_ms) \
         VALUES ({system}, {history}, {now}) ON CONFLICT (system, history) DO UPDATE SET since_ms = EXCLUDED.since_ms \
         WHERE s.since_ms > EXCLUDED.since_ms",
    ),
    many: Many {
        read: concat!(
            row!(),
            ", ns, ",
            server!(),
            " FROM {leader}, ",
            asked!(),
            " WHERE ns = {:ns}"
        ),
        lock: None,
        attempt: concat!(
            locked!(concat!("ns = {:ns} AND ", free!()), "UPDATE"),
            attempt!(from_locked!()),
            " RETURNING l.ns, l.epoch, l.expires_ms - {now}"
        ),
        take_over: concat!(
            locked!(concat!("ns = {:ns} AND ", as_found!()), "UPDATE"),
            take_over!(from_locked!()),
            " RETURNING l.ns, l.epoch, l.expires_ms - {now}"
        ),
        seed: Some(concat!(
            seed!("INSERT", "SELECT {:ns}, 0, {now}, {now}, 0, {now} FROM "),
            asked!(),
            " ORDER BY {:ns} ON CONFLICT DO NOTHING"
        )),
        seed_fence: None,
        renew: renewal!(locked!(of_term!(), "NO KEY UPDATE"), from_locked!(), "l.ns, "),
        resign: concat!(
            locked!(of_term!(), "NO KEY UPDATE"),
            "UPDATE {leader} l SET ",
            vacated!(),
            from_locked!(),
            " WHERE ",
            of_term!(),
            " RETURNING l.ns"
        ),
        register: upsert_candidate!(concat!(
            "SELECT {:ns}, {:id}, {:inc}, {:label}, {now}, {now}+{:ttl} FROM ",
            asked!()
        )),
        sweep: common::sweep!(concat!("{candidate}, ", asked!())),
        unregister: common::unregister!(asked!()),
        others: concat!("SELECT DISTINCT ns", common::others!(concat!("{candidate}, ", asked!()))),
        tell: Some(notice!(concat!(", ", asked!()))),
    },
};

/// Names compare byte by byte whatever the database's collation.
pub(super) const TABLES: &[&str] = &[
    "CREATE TABLE {leader} (
  ns text COLLATE \"C\" NOT NULL PRIMARY KEY,
  epoch bigint NOT NULL,
  leader_id text COLLATE \"C\",
  incarnation text COLLATE \"C\",
  label text,
  elected_ms bigint NOT NULL,
  expires_ms bigint NOT NULL,
  ttl_ms bigint NOT NULL,
  renewals bigint NOT NULL DEFAULT 0,
  resign_requested_epoch bigint,
  updated_ms bigint NOT NULL,
  UNIQUE (ns, epoch)
)",
    "CREATE TABLE {candidate} (
  ns text COLLATE \"C\" NOT NULL,
  candidate_id text COLLATE \"C\" NOT NULL,
  incarnation text COLLATE \"C\" NOT NULL,
  label text,
  last_heartbeat_ms bigint NOT NULL,
  expires_ms bigint NOT NULL,
  PRIMARY KEY (ns, candidate_id, incarnation)
)",
    "CREATE TABLE {server} (
  system bigint NOT NULL,
  history bigint NOT NULL,
  since_ms bigint NOT NULL,
  PRIMARY KEY (system, history)
)",
];
