//! CockroachDB and YugabyteDB: PostgreSQL's protocol, spoken by many servers that are one database.
//!
//! These statements have never been run on either. They keep to what both document, and to what the
//! sources of both have tests of; the tests here run them on PostgreSQL, where they mean the same. So
//! they do without notifications, without settings of the session, without a history of the server
//! (no acknowledged write is lost with a server), and without locks that a read takes.
//!
//! A lock that a read takes may be none: in CockroachDB `FOR KEY SHARE` does nothing under
//! SERIALIZABLE, and other such locks are lost when a range moves. What holds in both, under every
//! isolation level, is that two transactions that are open at the same time do not both write one value:
//! the second waits for the end of the first, or either is refused (40001). So a fence writes, and a
//! new term writes the same. It is a row of a table of its own, because renewals write the leader row
//! and must not wait.
//!
//! * A term begins with one statement that writes both rows, the leader's and the fence's. It reports
//!   no win without the second. So whenever a term is in force, its epoch is in both.
//! * A fence adds one to a count in its row, if that row still has its epoch. If the new term was
//!   first, the row has not. If the fence was first, the new term waits until its transaction has
//!   ended, or one of the two is refused; a transaction that is refused has written nothing.
//! * Under READ COMMITTED the waiting statement is judged again by the newest row. Under stricter
//!   levels it is refused.
//!
//! YugabyteDB compares columns, not rows: of two writes to different columns of one row neither waits.
//! So whatever must not pass each other writes one column in common, with a value that is always new:
//! `fences` here, `updated_ms` between a renewal and a new term. It may also leave out a write that
//! changes nothing, and two blind writes under SERIALIZABLE do not meet there: both columns are
//! computed from what they held.
//!
//! Each server has a clock of its own: see [`Flavor::least_clock_step`](super::Flavor).

use super::{
    postgres::{self, row},
    template::{Templates, Told},
};

/// Never the value that was there before, whichever server's clock wrote that.
macro_rules! written {
    () => {
        "updated_ms = GREATEST({now}, l.updated_ms+1)"
    };
}

/// A new term, if the leader row is in this state.
macro_rules! term_if {
    ($state:literal) => {
        concat!(
            "WITH won AS (UPDATE {leader} l \
             SET epoch = GREATEST(l.epoch+1, {now}, {:seen}::bigint+1), leader_id = {:id}, \
             incarnation = {:inc}, label = {:label}, elected_ms = {now}, expires_ms = {now}+{:kept}, \
             ttl_ms = {:ttl}, renewals = 0, ",
            written!(),
            " WHERE l.ns = {:ns} AND ",
            $state,
            " RETURNING l.ns, l.epoch, l.expires_ms - {now} AS remaining), \
             fenced AS (INSERT INTO {fence} AS f (ns, epoch, fences) SELECT ns, epoch, 0 FROM won \
             ON CONFLICT (ns) DO UPDATE SET epoch = excluded.epoch, fences = f.fences+1 \
             RETURNING f.epoch) \
             SELECT won.epoch, won.remaining FROM won JOIN fenced ON fenced.epoch = won.epoch"
        )
    };
}

pub(super) const TEMPLATES: Templates = Templates {
    told: Told::no_history(postgres::TEMPLATES.told.now),
    attempt: term_if!("(l.leader_id IS NULL OR l.expires_ms <= {now})"),
    take_over: term_if!(
        "l.epoch = {:epoch} AND l.leader_id = {:holder} AND l.incarnation = {:holder_inc} \
         AND l.renewals = {:n}"
    ),
    read: concat!(row!(), " FROM {leader} WHERE ns = {:ns}"),
    renew: concat!(
        "UPDATE {leader} l SET expires_ms = {now}+{:kept}, ttl_ms = {:ttl}, renewals = {:n}, ",
        written!(),
        " WHERE l.ns = {:ns} AND l.leader_id = {:id} AND l.incarnation = {:inc} \
         AND l.epoch = {:epoch} AND l.renewals < {:n} AND l.expires_ms > {now} \
         RETURNING l.expires_ms - {now}, \
         COALESCE(l.resign_requested_epoch = l.epoch, false)::int::bigint"
    ),
    resign: concat!(
        "UPDATE {leader} l SET leader_id = NULL, incarnation = NULL, label = NULL, expires_ms = {now}, ",
        written!(),
        " WHERE l.ns = {:ns} AND l.leader_id = {:id} AND l.incarnation = {:inc} AND l.epoch = {:epoch}"
    ),
    tell: None,
    // The fence may have to wait, so it uses the clock that goes on during the statement.
    fence: "UPDATE {fence} f SET fences = f.fences+1 FROM {leader} l \
            WHERE f.ns = {:ns} AND f.epoch = {:epoch} AND l.ns = f.ns AND l.epoch = f.epoch \
            AND l.leader_id = {:id} AND l.incarnation = {:inc} AND l.expires_ms > \
            (date_part('epoch', clock_timestamp())*1000::double precision)::bigint \
            RETURNING l.expires_ms - \
            (date_part('epoch', clock_timestamp())*1000::double precision)::bigint",
    seed_server: None,
    ..postgres::TEMPLATES
};

/// Version 1. Names compare byte by byte on both unless a database was made otherwise. `IF NOT
/// EXISTS`: nothing keeps programs apart that make the tables at the same time.
pub(super) const TABLES: &[&str] = &[
    "CREATE TABLE IF NOT EXISTS {leader} (
  ns text NOT NULL PRIMARY KEY,
  epoch bigint NOT NULL,
  leader_id text,
  incarnation text,
  label text,
  elected_ms bigint NOT NULL,
  expires_ms bigint NOT NULL,
  ttl_ms bigint NOT NULL,
  renewals bigint NOT NULL DEFAULT 0,
  resign_requested_epoch bigint,
  updated_ms bigint NOT NULL
)",
    "CREATE TABLE IF NOT EXISTS {fence} (
  ns text NOT NULL PRIMARY KEY,
  epoch bigint NOT NULL,
  fences bigint NOT NULL
)",
    "CREATE TABLE IF NOT EXISTS {candidate} (
  ns text NOT NULL,
  candidate_id text NOT NULL,
  incarnation text NOT NULL,
  label text,
  last_heartbeat_ms bigint NOT NULL,
  expires_ms bigint NOT NULL,
  PRIMARY KEY (ns, candidate_id, incarnation)
)",
];

#[cfg(test)]
mod tests {
    use crate::sql::{Flavor, Schema, Statements, Tables};
    use alloc::{format, string::String};

    /// What these databases lack, or take for something else.
    const FORBIDDEN: [&str; 17] = [
        "pg_notify",
        "json_build_object",
        "set_config",
        "current_setting",
        "FOR KEY SHARE",
        "FOR UPDATE",
        "FOR SHARE",
        "LOCK IN",
        "pg_walfile_name",
        "pg_current_wal_lsn",
        "pg_advisory",
        "COLLATE",
        "bit(32)",
        "MATERIALIZED",
        "REFERENCES",
        "election_server",
        "pg_catalog",
    ];

    fn all_of(flavor: Flavor) -> [String; 2] {
        let tables = Tables::default();
        let statements = format!("{:?}", Statements::of_flavor(flavor, &tables));
        [statements, Schema::of_flavor(flavor, &tables).script()]
    }

    #[test]
    fn clusters_get_nothing_that_they_lack() {
        for flavor in [Flavor::CockroachDb, Flavor::YugabyteDb] {
            for text in all_of(flavor) {
                for word in FORBIDDEN {
                    assert!(!text.contains(word), "{flavor:?}: {word} in {text}");
                }
                for hole in ["{leader", "{candidate", "{fence", "{history", "{now", "{:"] {
                    assert!(!text.contains(hole), "{flavor:?}: {hole} in {text}");
                }
            }
        }
    }

    #[test]
    fn only_postgresql_itself_is_asked_for_its_history() {
        let asks = |flavor| all_of(flavor)[0].contains("pg_walfile_name");
        assert!(asks(Flavor::PostgreSql));
        assert!(!asks(Flavor::WithoutHistory));
        assert_eq!(all_of(Flavor::PostgreSql)[1], all_of(Flavor::WithoutHistory)[1]);
    }

    /// CockroachDB refuses a CTE that returns no columns.
    #[test]
    fn every_part_of_a_new_term_returns_something() {
        let statements = Statements::of_flavor(Flavor::CockroachDb, &Tables::default());
        for rendered in [&statements.attempt, &statements.take_over] {
            assert_eq!(rendered.text.matches("RETURNING").count(), 2, "{}", rendered.text);
        }
    }

    /// What must not pass each other writes one column in common, always with a new value.
    #[test]
    fn whatever_must_not_pass_each_other_writes_the_same_column() {
        let statements = Statements::of_flavor(Flavor::YugabyteDb, &Tables::default());
        let [attempt, take_over] = [&statements.attempt, &statements.take_over];
        for rendered in [attempt, take_over, &statements.renew, &statements.resign] {
            let (text, written) = (&rendered.text, ", l.updated_ms+1)");
            assert!(text.contains("updated_ms = GREATEST(") && text.contains(written), "{text}");
        }
        for rendered in [&statements.attempt, &statements.take_over, &statements.fence] {
            assert!(rendered.text.contains("fences = f.fences+1"), "{}", rendered.text);
        }
    }
}
