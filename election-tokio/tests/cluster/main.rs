//! Conversations with CockroachDB and YugabyteDB, as their sources and their documentation have them.
//!
//! Neither can be run here. What the scripted server says is taken from public text; where it comes
//! from is said beside it. What the statements *mean* is tested on PostgreSQL: `cluster` in
//! `conformance.rs`.
#![allow(clippy::unwrap_used)]

mod scripted;

use election_core::{
    Candidate, Epoch, Namespace,
    lease::{self, Candidacy, Failure, Query, Registration},
    uuid::Uuid,
};
use election_testing::free_port;
use election_tokio::{
    Election, PgStore, Store as _, StoreError,
    sqlx::{Connection as _, PgConnection},
};
use scripted::{Cell, Reply, Script, Scripted};
use std::{collections::VecDeque, time::Duration};

/// What each of them is said to be: `pkg/build/info.go` and `pkg/sql/vars.go` in cockroachdb/cockroach;
/// "PostgreSQL 11.2-YB-…" in YugabyteDB's manual, `version()`.
const COCKROACH: &str =
    "CockroachDB CCL v23.1.11 (x86_64-pc-linux-gnu, built 2023/09/27 01:53:43, go1.19.10)";
const YUGABYTE: &str = "PostgreSQL 11.2-YB-2.18.4.0-b0 on x86_64-pc-linux-gnu, compiled by clang version 15.0.3, 64-bit";
const YUGABYTE_15: &str =
    "PostgreSQL 15.12-YB-2025.1.0.0-b1 on x86_64-pc-linux-gnu, compiled by clang 17.0.6, 64-bit";

/// `statusReportParams` in `pkg/sql/pgwire/conn.go`, the values in `pkg/sql/vars.go`.
const REPORTED: &[(&str, &str)] = &[
    ("server_version", "13.0.0"),
    ("server_encoding", "UTF8"),
    ("client_encoding", "UTF8"),
    ("application_name", "election"),
    ("DateStyle", "ISO, MDY"),
    ("IntervalStyle", "postgres"),
    ("is_superuser", "off"),
    ("TimeZone", "UTC"),
    ("integer_datetimes", "on"),
    ("standard_conforming_strings", "on"),
    ("crdb_version", COCKROACH),
    ("session_authorization", "app"),
];

/// `pkg/sql/pgwire/pgerror/flatten_test.go`, and the page "Transaction retry error reference" of the
/// documentation.
const RETRY: Reply = Reply::Error(
    "40001",
    "restart transaction: TransactionRetryWithProtoRefreshError: TransactionRetryError: retry txn \
     (RETRY_SERIALIZABLE - failed preemptive refresh)",
);
/// `pkg/sql/pgwire/pgerror/flatten_test.go`, and the page "Common errors" of the documentation.
const AMBIGUOUS: Reply =
    Reply::Error("40003", "result is ambiguous: error=rpc error: code = Unavailable [exhausted]");
/// `pkg/sql/conn_executor_exec.go`, `execStmtInOpenState`: when its time is over, or it is cancelled, these
/// take the place of whatever error the statement had, that of an ambiguous commit too.
const TIMED_OUT: Reply = Reply::Error("57014", "query execution canceled due to statement timeout");
const CANCELLED: Reply = Reply::Error("57014", "query execution canceled");
/// YugabyteDB's, in PostgreSQL's words. A write of one row is made without a transaction there, and the
/// time may be over when it was made (yugabyte/yugabyte-db#28987).
const TIMED_OUT_THERE: Reply =
    Reply::Error("57014", "canceling statement due to statement timeout");
/// `pkg/sql/sem/tree/function_name.go`: a function that is not there.
const UNDEFINED: Reply = Reply::Error("42883", "unknown function: pg_stat_get_activity()");
/// `pkg/sql/pgwire/pgerror`, `LockNotAvailable`: `lock_timeout` is over.
const LOCKED: Reply = Reply::Error("55P03", "canceling statement due to lock timeout on row");
/// Of two that make a table at the same time, one may also find a row of the catalogue there.
const TWICE: Reply = Reply::Error("23505", "duplicate key value violates unique constraint");
/// A table that another made meanwhile: `pkg/sql/sqlerrors/errors.go`, `NewRelationAlreadyExistsError`.
const EXISTS: Reply = Reply::Error("42P07", "relation \"election_leader\" already exists");
/// What PostgreSQL 11, which YugabyteDB 2.18 is made from, says to an option of PostgreSQL 14
/// (`src/postgres/src/backend/utils/misc/guc.c` in yugabyte/yugabyte-db).
const UNRECOGNIZED: Reply =
    Reply::Error("42704", "unrecognized configuration parameter \"idle_session_timeout\"");

/// The same of an option of PostgreSQL 12.
const UNRECOGNIZED_TOO: Reply =
    Reply::Error("42704", "unrecognized configuration parameter \"tcp_user_timeout\"");

/// A server of one of them, whose only row is what its script makes of it.
struct Server {
    version: &'static str,
    /// What it says to the next attempts, and then that they have won.
    attempts: VecDeque<Reply>,
    /// What it says to the next statements that make a table.
    makings: VecDeque<Reply>,
    /// The version of the tables.
    tables: i64,
    /// Whether the candidate of [`me`] leads.
    led: bool,
    /// Whether it takes no writes (`default_transaction_read_only`).
    reads: bool,
}

impl Server {
    fn start(version: &'static str, attempts: &[Reply]) -> Scripted {
        let attempts = attempts.iter().cloned().collect();
        Scripted::start(free_port(), Self { attempts, ..Self::of(version) })
    }

    fn of(version: &'static str) -> Self {
        let (attempts, makings) = (VecDeque::new(), VecDeque::new());
        Self { version, attempts, makings, tables: 1, led: false, reads: false }
    }

    /// One without tables, of which another process makes some at the same time.
    fn empty(makings: &[Reply]) -> Scripted {
        let makings = makings.iter().cloned().collect();
        Scripted::start(free_port(), Self { makings, tables: 0, ..Self::of(COCKROACH) })
    }

    fn row(&self) -> Vec<Cell> {
        let (name, number) = (|text: &str| Cell::Text(text.to_owned()), Cell::Number);
        let me = Uuid::from_u128(7).to_string();
        let (who, left) = if self.led { (name(&me), 15_000) } else { (Cell::Null, 0) };
        let epoch = if self.led { 1_000 } else { 0 };
        let numbers = [number(left), number(15_000), number(0), number(0), number(1_000)];
        [number(epoch), who.clone(), who, Cell::Null].into_iter().chain(numbers).collect()
    }
}

impl Script for Server {
    fn parameters(&self) -> &'static [(&'static str, &'static str)] {
        match self.version {
            COCKROACH => REPORTED,
            YUGABYTE_15 => &[("server_version", "15.12-YB-2025.1.0.0-b1"), ("TimeZone", "UTC")],
            _ => &REPORTED[..10],
        }
    }

    fn refuses(&mut self, options: &str) -> Option<Reply> {
        let old = self.version == YUGABYTE && options.contains("idle_session_timeout");
        let older = self.version == YUGABYTE && options.contains("tcp_user_timeout");
        if older { Some(UNRECOGNIZED_TOO) } else { old.then_some(UNRECOGNIZED) }
    }

    fn answers(&mut self, sql: &str) -> Reply {
        let one = |cell| Reply::Rows(Some(vec![cell]));
        match sql {
            "SELECT version()" => one(Cell::Text(self.version.to_owned())),
            _ if sql.contains("pg_stat_get_activity") && self.version == COCKROACH => UNDEFINED,
            _ if sql.starts_with("SELECT false, ") => {
                Reply::Rows(Some(vec![Cell::Is(false), Cell::Is(self.reads), Cell::Is(false)]))
            }
            _ if sql.starts_with("SELECT n.nspname") => Reply::Rows(None),
            _ if sql.starts_with("SELECT epoch") => Reply::Rows(Some(self.row())),
            _ if sql.starts_with("SELECT candidate_id") => Reply::Rows(None),
            _ if sql.starts_with("SELECT COALESCE") => one(Cell::Number(self.tables)),
            _ if sql.starts_with("CREATE") => self.makings.pop_front().unwrap_or(Reply::Changed(0)),
            _ if sql.contains("election_schema") => {
                self.tables += 1;
                Reply::Changed(1)
            }
            _ if sql.starts_with("SELECT") => one(Cell::Number(1)),
            _ if sql.starts_with("WITH won") && self.led => Reply::Rows(None),
            _ if sql.starts_with("WITH won") => {
                let won = || Reply::Rows(Some(vec![Cell::Number(1_000), Cell::Number(15_500)]));
                let reply = self.attempts.pop_front().unwrap_or_else(won);
                // What is ambiguous was done.
                self.led = !matches!(reply, Reply::Error("40001" | "55P03", _));
                reply
            }
            _ if sql.contains("RETURNING") => {
                Reply::Rows(Some(vec![Cell::Number(15_500), Cell::Number(0)]))
            }
            _ => Reply::Changed(1),
        }
    }
}

fn me() -> Candidacy {
    let candidate = Candidate::from(Uuid::from_u128(7));
    let registration = Registration { namespace: Namespace::default(), candidate, label: None };
    Candidacy::new(registration)
}

fn allowing() -> Candidacy {
    me().clock_step(Duration::from_secs(3600)).unwrap()
}

fn declared(server: &Scripted) -> PgStore {
    declared_as("cockroachdb", server)
}

fn declared_as(what: &str, server: &Scripted) -> PgStore {
    PgStore::connect(&server.url(&format!("&server={what}"))).unwrap()
}

/// Whatever these databases do not know, in a login or in a statement.
const FORBIDDEN: [&str; 16] = [
    "LISTEN",
    "pg_notify",
    "pg_advisory",
    "set_config",
    "FOR KEY SHARE",
    "pg_stat_get_activity",
    "pg_terminate_backend",
    "pg_control_system",
    "pg_walfile_name",
    "pg_locks",
    "tcp_",
    "client_connection_check_interval",
    "synchronous_commit",
    "BEGIN",
    "COMMIT",
    "pg_is_in_recovery",
];

fn assert_plain(server: &Scripted) {
    for text in server.heard() {
        for word in FORBIDDEN {
            assert!(!text.contains(word), "{word}: {text}");
        }
    }
}

#[tokio::test]
async fn a_conflict_is_tried_again_and_nothing_unknown_is_sent() {
    let server = Server::start(COCKROACH, &[RETRY]);
    let mut store = declared(&server);
    let conflict = store.elect(&mut allowing()).await.unwrap_err();
    assert_eq!(conflict.kind, Failure::Conflict, "{conflict}");
    let row = store.elect(&mut allowing()).await.unwrap();
    assert_eq!(row.epoch, Epoch::new(1_000));
    assert_eq!(server.count("WITH won"), 2);
    assert_eq!(server.count("login"), 1, "the connection is in order");
    assert_plain(&server);
}

#[tokio::test]
async fn an_elector_gets_over_a_conflict_and_does_not_listen() {
    let server = Server::start(COCKROACH, &[RETRY, RETRY]);
    let builder = Election::builder("scripted").store(declared(&server));
    let handle = builder.clock_step(Duration::from_secs(3600)).build().unwrap().start();
    let lease = handle.elected().await.unwrap();
    assert_eq!(lease.epoch(), Epoch::new(1_000));
    assert!(!handle.status().listening);
    drop(lease);
    handle.shutdown().await;
    assert_eq!(server.count("WITH won"), 3);
    assert_eq!(server.count("login"), 1, "no second connection");
    assert!(server.heard()[0].contains("idle_session_timeout="), "{:?}", server.heard()[0]);
    assert_plain(&server);
}

#[tokio::test]
async fn an_ambiguous_write_is_neither_won_nor_lost() {
    for (version, what, said) in [
        (COCKROACH, "cockroachdb", AMBIGUOUS),
        (COCKROACH, "cockroachdb", TIMED_OUT),
        (COCKROACH, "cockroachdb", CANCELLED),
        (YUGABYTE, "yugabytedb", TIMED_OUT_THERE),
    ] {
        let server = Server::start(version, &[said]);
        let mut store = declared_as(what, &server);
        let mut me = allowing();
        let unknown = store.elect(&mut me).await.unwrap_err();
        assert_eq!(unknown.kind, Failure::Ambiguous, "{unknown}");
        let row = store.elect(&mut me).await.unwrap();
        assert!(me.leads(&row), "it finds its own win, and renews it");
        assert_eq!(row.epoch, Epoch::new(1_000));
        assert_eq!((server.count("WITH won"), server.count("SELECT epoch")), (2, 1));
        assert_eq!(server.count("UPDATE \"public\".election_leader l SET expires_ms"), 1);
    }
}

/// Also on a connection of the caller's, where each statement may be a transaction of its own.
#[tokio::test]
async fn a_statement_given_up_on_a_callers_connection_is_ambiguous() {
    let server = Server::start(COCKROACH, &[TIMED_OUT]);
    let store = declared(&server);
    let mut connection = PgConnection::connect(&server.url("")).await.unwrap();
    let mut me = allowing();
    let unknown = store.on(&mut connection).elect(&mut me).await.unwrap_err();
    assert_eq!(unknown.kind, Failure::Ambiguous, "{unknown}");
    store.on(&mut connection).leader(&Namespace::default()).await.unwrap().peek();
    assert_plain(&server);
}

/// Nobody can say who holds it.
#[tokio::test]
async fn a_lock_that_cannot_be_had_is_a_conflict() {
    let server = Server::start(COCKROACH, &[LOCKED]);
    let mut store = declared(&server);
    let held = store.elect(&mut allowing()).await.unwrap_err();
    assert_eq!(held.kind, Failure::Conflict, "{held}");
    store.elect(&mut allowing()).await.unwrap();
    assert_eq!(server.count("login"), 1, "the connection is in order");
    assert_plain(&server);
}

/// They hold for as long as the session does, also where the server could be told later.
#[tokio::test]
async fn a_session_begins_with_its_bounds() {
    for (version, what) in [(COCKROACH, "cockroachdb"), (YUGABYTE_15, "yugabytedb")] {
        let server = Server::start(version, &[]);
        declared_as(what, &server).leader(&Namespace::default()).await.unwrap();
        let login = server.heard().swap_remove(0);
        for option in [
            "search_path=pg_catalog,pg_temp",
            "lock_timeout=",
            " statement_timeout=",
            "idle_in_transaction_session_timeout=",
        ] {
            assert!(login.contains(option), "{what}: no {option} in {login}");
        }
        assert_plain(&server);
    }
}

#[tokio::test]
async fn of_several_servers_one_that_takes_writes_is_used() {
    let reads = Server { reads: true, ..Server::of(COCKROACH) };
    let reads = Scripted::start(free_port(), reads);
    let writes = Server::start(COCKROACH, &[]);
    let url = Scripted::url_of(&[&reads, &writes], "&server=cockroachdb");
    let row = PgStore::connect(&url).unwrap().elect(&mut allowing()).await.unwrap();
    assert_eq!(row.epoch, Epoch::new(1_000));
    assert_eq!((reads.count("WITH won"), writes.count("WITH won")), (0, 1));
    assert_plain(&reads);
    assert_plain(&writes);
}

#[tokio::test]
async fn tables_are_made_one_by_one_and_without_a_lock() {
    let server = Server::empty(&[Reply::Changed(0), EXISTS, TWICE, Reply::Changed(0), RETRY]);
    let version = declared(&server).ensure_schema().await.unwrap();
    assert_eq!(version, 2);
    assert_eq!(server.count("CREATE TABLE IF NOT EXISTS"), 4 + 3, "two of them again");
    assert_eq!(server.count("INSERT INTO \"public\".election_schema"), 2);
    assert_plain(&server);
}

async fn refused(server: &Scripted, query: &str) -> String {
    let mut store = PgStore::connect(&server.url(query)).unwrap();
    let error: StoreError = store.leader(&Namespace::default()).await.unwrap_err();
    assert_eq!(error.kind, Failure::Fatal, "{error}");
    error.to_string()
}

#[tokio::test]
async fn an_undeclared_cluster_is_refused_with_the_remedy() {
    let cockroach = Server::start(COCKROACH, &[]);
    for query in ["", "&history=none", "&statement-cache-capacity=0", "&server=yugabytedb"] {
        let error = refused(&cockroach, query).await;
        assert!(error.contains("`?server=cockroachdb`"), "{query}: {error}");
    }
    let yugabyte = Server::start(YUGABYTE, &[]);
    for query in ["", "&statement-cache-capacity=0"] {
        let error = refused(&yugabyte, query).await;
        assert!(error.contains("`?server=yugabytedb`"), "{query}: {error}");
    }
}

#[tokio::test]
async fn a_declared_cluster_behind_a_pooler_is_refused() {
    let server = Server::start(COCKROACH, &[]);
    let error = refused(&server, "&server=cockroachdb&statement-cache-capacity=0").await;
    assert!(error.contains("connect directly"), "{error}");
}

#[tokio::test]
async fn a_server_that_is_none_of_them_is_refused_when_declared() {
    let server = Server::start("PostgreSQL 16.4 on x86_64-pc-linux-gnu, compiled by gcc", &[]);
    let error = refused(&server, "&server=cockroachdb").await;
    assert!(error.contains("leave out `server=`"), "{error}");
}

#[tokio::test]
async fn a_clock_step_is_asked_for_before_anything_is_written() {
    let server = Server::start(COCKROACH, &[]);
    let error = declared(&server).elect(&mut me()).await.unwrap_err();
    assert_eq!(error.kind, Failure::Fatal);
    assert!(error.to_string().contains("--clock-step 1h"), "{error}");
    assert_eq!(server.count("WITH won"), 0);
    let (epoch, holder, renewals) = (Epoch::new(1), None, 0);
    let (ttl, clock_step, seen) = (Duration::from_secs(15), Duration::ZERO, Epoch::NONE);
    for unsafe_too in [
        Query::TakeOver {
            seen,
            ttl,
            clock_step,
            epoch,
            holder,
            renewals,
            server: lease::Server::FIRST,
        },
        Query::Renew { epoch, ordinal: 1, ttl, clock_step, leads: true },
    ] {
        let error = declared(&server).answer(me().registration(), &unsafe_too).await.unwrap_err();
        assert_eq!(error.kind, Failure::Fatal, "{error}");
    }
    let mut least = me().clock_step(Duration::from_millis(500)).unwrap();
    declared(&server).elect(&mut least).await.unwrap();
}

#[tokio::test]
async fn a_server_that_does_not_know_an_option_is_asked_without_it() {
    let server = Server::start(YUGABYTE, &[]);
    let builder = Election::builder("scripted").store(declared_as("yugabytedb", &server));
    let handle = builder.clock_step(Duration::from_secs(3600)).build().unwrap().start();
    let lease = handle.elected().await.unwrap();
    drop(lease);
    handle.shutdown().await;
    let logins: Vec<_> =
        server.heard().into_iter().filter(|text| text.starts_with("login")).collect();
    let [first, second] = &logins[..] else { panic!("{logins:#?}") };
    assert!(first.contains("idle_session_timeout"), "{first}");
    assert!(!second.contains("idle_session_timeout") && second.contains("statement_timeout"));
    assert_plain(&server);
}
