//! Databases that are there and do not do what they should: every call ends in bounded time, and
//! its error names the cause and the remedy.

use crate::support::{On, OnMariaDb, OnPostgres, assert_says, command, message, url_of};
use election_driver::core::{Namespace, lease::Failure};
use election_testing::Server;
use election_tokio::StoreError;
use sqlx::{AssertSqlSafe, Connection as _, Executor as _, MySqlConnection, PgConnection};
use std::time::{Duration, Instant};
use tokio::net::TcpListener;

/// What the stores document for calls outside of an elector; and a busy machine's own time.
const BOUND: Duration = Duration::from_secs(10 + 5);

#[track_caller]
fn assert_fails<T>(what: &str, outcome: Result<T, StoreError>, kind: Failure, words: &[&str]) {
    let Err(error) = outcome else { panic!("{what}: nothing is wrong") };
    assert_eq!(error.kind, kind, "{what}: {}", message(&error));
    println!("{what}: {}", message(&error));
    assert_says(what, &message(&error), words);
}

async fn look<D: On>(url: &str) -> Result<(), StoreError> {
    let began = Instant::now();
    let looked = D::look(&mut D::store(url), &Namespace::default()).await;
    assert!(began.elapsed() < BOUND, "{:?}", began.elapsed());
    looked.map(|_| ())
}

/// The same from the command line.
async fn status(url: &str, words: &[&str]) {
    let began = Instant::now();
    let output = command(url, &["status"]).await;
    assert!(began.elapsed() < BOUND, "{:?}", began.elapsed());
    assert_eq!(output.status.code(), Some(125), "{output:?}");
    assert_says("status", &String::from_utf8_lossy(&output.stderr), words);
}

/// Servers that accept a connection and say nothing, and servers that speak another protocol.
pub(crate) async fn who_does_not_answer_is_named(server: &Server) {
    let mute = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = mute.local_addr().unwrap().port();
    let [postgres, mysql] =
        ["postgres", "mysql"].map(|scheme| format!("{scheme}://me@127.0.0.1:{port}/d"));
    let there = format!("127.0.0.1:{port}");
    let words = ["does not answer", &there, "check host, port and firewall"];
    // PostgreSQL waits for its client to speak, and MySQL's client waits for the server.
    let astray = server.url().replace("postgres:", "mysql:");
    let (first, second, third, ()) = tokio::join!(
        look::<OnPostgres>(&postgres),
        look::<OnMariaDb>(&mysql),
        look::<OnMariaDb>(&astray),
        status(&postgres, &words),
    );
    for (what, outcome) in [("PostgreSQL", first), ("MySQL", second), ("another", third)] {
        assert_fails(what, outcome, Failure::Transient, &words[..1]);
    }
    drop(mute);
    let words = ["nothing is listening there", &there];
    assert_fails("nobody", look::<OnPostgres>(&postgres).await, Failure::Transient, &words);
    assert_fails("nobody", look::<OnMariaDb>(&mysql).await, Failure::Transient, &words);
}

/// A PostgreSQL client at a server of another kind.
pub(crate) async fn who_speaks_something_else_is_told_apart(server: &Server) {
    for mode in ["prefer", "disable"] {
        let url = format!("{}?sslmode={mode}", server.url().replace("mysql:", "postgres:"));
        let words = ["speaks another protocol", "check the port"];
        assert_fails(mode, look::<OnPostgres>(&url).await, Failure::Fatal, &words);
    }
}

/// The error names the lock's holder if the database tells.
pub(crate) async fn a_lock_has_a_holder_on_postgres(server: &Server) {
    OnPostgres::create_database(server, "held");
    let url = url_of(&server.url(), "held");
    OnPostgres::store(&url).ensure_schema().await.unwrap();
    let name = Namespace::default();
    let who = crate::support::registration_in(&name);
    let mut store = OnPostgres::store(&url);
    let mut candidacy = election_driver::core::lease::Candidacy::new(who);
    store.elect(&mut candidacy).await.unwrap();
    let holder = format!(
        "{}?application_name=nightly%20backup",
        url_of(&server.url_as("postgres", ""), "held")
    );
    let mut holder = PgConnection::connect(&holder).await.unwrap();
    let process: i32 =
        sqlx::query_scalar("SELECT pg_backend_pid()").fetch_one(&mut holder).await.unwrap();
    let process = format!("process {process} of user \"postgres\", application \"nightly backup\"");
    let words = ["holds the leader row or its table", &process, "pg_terminate_backend"];
    for lock in ["LOCK TABLE election_leader", "SELECT * FROM election_leader FOR UPDATE"] {
        holder.execute(sqlx::raw_sql(AssertSqlSafe(format!("BEGIN; {lock}")))).await.unwrap();
        let began = Instant::now();
        let elected = store.elect(&mut candidacy).await;
        assert!(began.elapsed() < BOUND, "{:?}", began.elapsed());
        assert_fails(lock, elected, Failure::Conflict, &words);
        if lock.starts_with("LOCK") {
            assert_fails(lock, look::<OnPostgres>(&url).await, Failure::Conflict, &words);
            status(&url, &words).await;
        }
        holder.execute("ROLLBACK").await.unwrap();
        store.elect(&mut candidacy).await.unwrap();
    }
}

/// PostgreSQL counts the bound on locks anew for each lock, and a session that is not first in a
/// row's queue waits for two. The holder of the lock is not in the queue either.
pub(crate) async fn whoever_queues_for_a_row_names_its_holder(server: &Server) {
    OnPostgres::create_database(server, "queued");
    let url = url_of(&server.url(), "queued");
    OnPostgres::store(&url).ensure_schema().await.unwrap();
    let name = Namespace::default();
    let candidacy =
        || election_driver::core::lease::Candidacy::new(crate::support::registration_in(&name));
    OnPostgres::store(&url).elect(&mut candidacy()).await.unwrap();
    let backup = url_of(&server.url_as("postgres", ""), "queued");
    let mut holder = PgConnection::connect(&backup).await.unwrap();
    let free = "UPDATE election_leader SET leader_id = NULL";
    holder.execute(free).await.unwrap();
    let lock = "BEGIN; SELECT * FROM election_leader FOR UPDATE";
    holder.execute(sqlx::raw_sql(lock)).await.unwrap();
    let process: i32 =
        sqlx::query_scalar("SELECT pg_backend_pid()").fetch_one(&mut holder).await.unwrap();
    let words = ["holds the leader row or its table", &format!("process {process} ")];
    let elect = async || OnPostgres::store(&url).elect(&mut candidacy()).await;
    let (a, b, c, d) = tokio::join!(elect(), elect(), elect(), elect());
    for (place, outcome) in [a, b, c, d].into_iter().enumerate() {
        assert_fails(&format!("place {place}"), outcome, Failure::Conflict, &words);
    }
}

pub(crate) async fn a_lock_on_mariadb(server: &Server) {
    OnMariaDb::create_database(server, "held");
    let url = url_of(&server.url(), "held");
    OnMariaDb::ensure_schema(&mut OnMariaDb::store(&url)).await.unwrap();
    let mut holder = MySqlConnection::connect(&url).await.unwrap();
    holder.execute(sqlx::raw_sql("LOCK TABLES election_leader WRITE")).await.unwrap();
    // The bound on locks ends it, which comes first; not the one on statements.
    let words = ["holds the leader row or its table", "SHOW FULL PROCESSLIST", "find it in"];
    assert_fails("a table", look::<OnMariaDb>(&url).await, Failure::Conflict, &words);
    status(&url, &words).await;
    holder.close().await.unwrap();
    look::<OnMariaDb>(&url).await.unwrap();
}

/// The table of versions stands for the others; the error says so if those were dropped.
pub(crate) async fn tables_that_were_dropped_are_missed<D: On>(server: &Server) {
    D::create_database(server, "dropped");
    let url = url_of(&server.url(), "dropped");
    D::ensure_schema(&mut D::store(&url)).await.unwrap();
    server.administer("dropped", "DROP TABLE election_candidate");
    let made = D::ensure_schema(&mut D::store(&url)).await;
    assert_fails("dropped", made, Failure::Fatal, &["a table is missing", "election_schema"]);
}

/// Every statement that reads names it, and what helps is what the error says.
pub(crate) async fn a_dropped_table_of_servers_is_made_again(server: &Server) {
    OnPostgres::create_database(server, "serverless");
    let url = url_of(&server.url(), "serverless");
    let mut store = OnPostgres::store(&url);
    store.ensure_schema().await.unwrap();
    OnPostgres::administer(server, "serverless", "DROP TABLE election_server");
    let looked = OnPostgres::look(&mut store, &Namespace::default()).await;
    assert_fails("looking", looked, Failure::Fatal, &["are missing", "election schema --apply"]);
    let words = ["a table is missing", "election_server", "`election schema` prints it"];
    let made = store.ensure_schema().await;
    assert_fails("making", made, Failure::Fatal, &words);
    let script = store.schema().script();
    let statement = script.split(';').find(|sql| sql.contains("election_server")).unwrap();
    OnPostgres::administer(server, "serverless", statement);
    store.ensure_schema().await.unwrap();
    OnPostgres::look(&mut store, &Namespace::default()).await.unwrap();
}

/// One process at a time creates tables; one that waits in vain is told for whom.
pub(crate) async fn a_maker_that_does_not_end_on_postgres(server: &Server) {
    OnPostgres::create_database(server, "making");
    let url = url_of(&server.url(), "making");
    let mut holder = PgConnection::connect(&url).await.unwrap();
    holder.execute("SELECT pg_advisory_lock(7308332248371554861)").await.unwrap();
    let process: i32 =
        sqlx::query_scalar("SELECT pg_backend_pid()").fetch_one(&mut holder).await.unwrap();
    let made = OnPostgres::store(&url).ensure_schema().await;
    let process = format!("process {process} of user \"election\"");
    let words = ["another session is creating tables", &process, "pg_terminate_backend"];
    assert_fails("making", made, Failure::Conflict, &words);
    holder.close().await.unwrap();
    OnPostgres::store(&url).ensure_schema().await.unwrap();
}

pub(crate) async fn a_maker_that_does_not_end_on_mariadb(server: &Server) {
    OnMariaDb::create_database(server, "making");
    let url = url_of(&server.url(), "making");
    let mut holder = MySqlConnection::connect(&url).await.unwrap();
    holder.execute("DO GET_LOCK('election_schema', 0)").await.unwrap();
    let number: u64 =
        sqlx::query_scalar("SELECT CONNECTION_ID()").fetch_one(&mut holder).await.unwrap();
    let made = OnMariaDb::store(&url).ensure_schema().await;
    let who = format!("connection {number} does");
    let words = ["another session is creating tables", &who, &format!("KILL {number}")];
    assert_fails("making", made, Failure::Conflict, &words);
    holder.close().await.unwrap();
    OnMariaDb::store(&url).ensure_schema().await.unwrap();
}

/// The error names the resource that the server lacks.
pub(crate) async fn what_is_short_on_postgres(server: &Server) {
    OnPostgres::create_database(server, "short");
    let url = url_of(&server.url(), "short");
    let mut store = OnPostgres::store(&url);
    store.ensure_schema().await.unwrap();
    let name = Namespace::default();
    let mut who =
        election_driver::core::lease::Candidacy::new(crate::support::registration_in(&name));

    let mut greedy = PgConnection::connect(&url).await.unwrap();
    let all = "SELECT pg_advisory_lock(i) FROM generate_series(1, 1000000) AS i";
    greedy.execute(all).await.expect_err("more locks than there is room for");
    let words = ["lock table is full", "max_locks_per_transaction"];
    assert_fails("locks", store.elect(&mut who).await, Failure::Transient, &words);
    greedy.close().await.unwrap();
    while look::<OnPostgres>(&url).await.is_err() {} // its session ends in its own time

    server.administer("postgres", "ALTER DATABASE short CONNECTION LIMIT 0");
    let words = ["no free connection", "CONNECTION LIMIT"];
    assert_fails("connections", look::<OnPostgres>(&url).await, Failure::Transient, &words);
    server.administer("postgres", "ALTER DATABASE short CONNECTION LIMIT -1");

    server.administer(
        "short",
        "ALTER ROLE election IN DATABASE short SET default_transaction_read_only = on",
    );
    let words = ["read-only", "default_transaction_read_only"];
    let mut store = OnPostgres::store(&url);
    look::<OnPostgres>(&url).await.unwrap();
    assert_fails("read only", store.elect(&mut who).await, Failure::Fatal, &words);
    server.administer("short", "ALTER ROLE election IN DATABASE short RESET ALL");

    OnPostgres::create_user(server, "visitor");
    server.administer("short", "REVOKE CONNECT ON DATABASE short FROM public");
    let visitor = url_of(&server.url_as("visitor", "visitor"), "short");
    let words = ["may not connect", "grant it CONNECT"];
    assert_fails("connecting", look::<OnPostgres>(&visitor).await, Failure::Fatal, &words);
}

pub(crate) async fn what_is_short_on_mariadb(server: &Server) {
    OnMariaDb::create_database(server, "short");
    let url = url_of(&server.url(), "short");
    server.administer("mysql", "ALTER USER election@'127.0.0.1' WITH MAX_USER_CONNECTIONS 1");
    let one = MySqlConnection::connect(&url).await.unwrap();
    let words = ["no free connection for this user", "MAX_USER_CONNECTIONS"];
    assert_fails("connections", look::<OnMariaDb>(&url).await, Failure::Transient, &words);
    server.administer("mysql", "ALTER USER election@'127.0.0.1' WITH MAX_USER_CONNECTIONS 0");
    drop(one);
}
