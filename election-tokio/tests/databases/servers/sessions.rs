//! Sessions as administrators set them up: by the server's defaults, by commands that run when an
//! ordinary user connects, by a role's own settings. An election depends on none of them. If a
//! setting would make a fence or a commit ineffective, the call is refused.

use crate::{
    database::{Backend, LONG, OnMariaDb, OnPostgres, SHORT, Served as _, candidacy, until},
    servers::counted::sessions,
};
use election_core::{
    Epoch,
    lease::{Config, Failure, Query},
};
use election_driver::{
    FenceError, MySqlStore, PgStore, Store as _, StoreError,
    conformance::{Stores as _, tasks::spawn},
};
use election_tokio::{Lease, Tokio};
use sqlx::{AssertSqlSafe, Connection as _, Executor as _, MySqlConnection};
use std::time::{Duration, Instant};

/// A setting of an administrator, and what undoes it.
const MARIADB: &[(&str, &str)] = &[
    ("autocommit = 0", "autocommit = 1"),
    ("init_connect = 'SET autocommit = 0'", "init_connect = ''"),
    ("foreign_key_checks = 0", "foreign_key_checks = 1"),
    ("init_connect = 'SET foreign_key_checks = 0'", "init_connect = ''"),
    ("completion_type = 'CHAIN'", "completion_type = 'NO_CHAIN'"),
    ("unique_checks = 0", "unique_checks = 1"),
    ("sql_safe_updates = 1", "sql_safe_updates = 0"),
    ("sql_select_limit = 0", "sql_select_limit = DEFAULT"),
    ("tx_isolation = 'READ-UNCOMMITTED'", "tx_isolation = 'REPEATABLE-READ'"),
    ("tx_isolation = 'SERIALIZABLE'", "tx_isolation = 'REPEATABLE-READ'"),
    ("time_zone = '+09:30'", "time_zone = 'SYSTEM'"),
    ("sql_mode = 'ORACLE,EMPTY_STRING_IS_NULL,SIMULTANEOUS_ASSIGNMENT'", "sql_mode = DEFAULT"),
    ("sql_mode = 'ANSI,NO_BACKSLASH_ESCAPES'", "sql_mode = DEFAULT"),
    ("sql_mode = ''", "sql_mode = DEFAULT"),
];

async fn mariadb_elects_and_commits_under_every_setting(database: OnMariaDb) {
    let set = |what: &str| database.server().administer("mysql", &format!("SET GLOBAL {what}"));
    for (number, (setting, undone)) in (1..).zip(MARIADB) {
        set(setting);
        let me = candidacy(number, LONG);
        database.register(&me).await.unwrap_or_else(|error| panic!("{setting}: {error}"));
        let won = database.elect(&me).await.unwrap_or_else(|error| panic!("{setting}: {error}"));
        assert!(me.leads(&won), "{setting}");
        // Each call has a session of its own, and sees what others have committed.
        assert!(database.is_leader(&me).await.unwrap(), "{setting}");
        assert_eq!(database.list().await.unwrap().len(), 1, "{setting}");
        set(undone);
        let look = "SELECT epoch, COALESCE(leader_id, 'nobody') FROM election_leader";
        let seen = database.server().administer("election", look);
        let id = &me.registration().candidate.id;
        assert_eq!(seen, format!("{}\t{id}", won.epoch), "{setting}");
        set(setting);
        database.unregister(&me).await.unwrap();
        assert!(database.list().await.unwrap().is_empty(), "{setting}");
        set(undone);
        let seen = database.server().administer("election", look);
        assert_eq!(seen, format!("{}\tnobody", won.epoch), "{setting}");
    }
}

/// With foreign keys off in every session except those that switch them on, a fence holds up the
/// next term all the same; a caller's session without them gets an error.
async fn a_fence_on_mariadb_needs_foreign_keys_and_says_so(database: OnMariaDb) {
    let off = "SET GLOBAL foreign_key_checks = 0";
    database.server().administer("mysql", off);
    let (leader, driver) = database.election("leader", SHORT).into_parts();
    let driver = spawn::<Tokio, _>(driver);
    let lease = leader.elected().await.unwrap();
    let mut unfit = database.begin("READ COMMITTED").await;
    refused(lease.fence(&mut unfit).await, &["foreign_key_checks", "SET SESSION"]);
    drop(unfit);
    let url = database.server().url();
    let mut connection = MySqlConnection::connect(&url).await.unwrap();
    connection.execute("SET SESSION foreign_key_checks = 1").await.unwrap();
    let mut fit = connection.begin().await.unwrap();
    fence(&lease, &mut fit).await;
    driver.abort(); // a crash: nobody renews and nobody releases
    let heir = database.elector("heir", SHORT);
    let locked = |error: &StoreError| error.kind == Failure::Conflict;
    until(&heir, |status| status.error.as_ref().is_some_and(|error| locked(error))).await;
    assert_eq!(database.row().await.unwrap().epoch, lease.epoch(), "no new term yet");
    fit.commit().await.unwrap();
    assert!(heir.elected().await.unwrap().epoch() > lease.epoch());
}

async fn fence(lease: &Lease, transaction: &mut sqlx::Transaction<'_, sqlx::MySql>) {
    lease.fence(transaction).await.unwrap();
}

fn refused(outcome: Result<(), FenceError>, words: &[&str]) {
    let Err(FenceError::Store(error)) = outcome else { panic!("{outcome:?}") };
    assert_eq!(error.kind, Failure::Fatal);
    for word in words {
        assert!(error.to_string().contains(word), "{error}");
    }
}

/// No session without foreign keys wins anything past a fence: the statement itself prevents it.
async fn an_attempt_without_foreign_keys_wins_nothing(database: OnMariaDb) {
    let [a, mut b] = [1, 2].map(|number| candidacy(number, LONG));
    let first = database.elect(&a).await.unwrap();
    database.unregister(&a).await.unwrap();
    let url = database.server().url();
    let mut connection = MySqlConnection::connect(&url).await.unwrap();
    connection.execute("SET SESSION foreign_key_checks = 0").await.unwrap();
    let store = MySqlStore::connect(&url).unwrap();
    let error = store.on(&mut connection).elect(&mut b).await.unwrap_err();
    assert!(error.to_string().contains("foreign_key_checks"), "{error}");
    let attempt = Query::Attempt { seen: Epoch::NONE, ttl: LONG, clock_step: Duration::ZERO };
    let statements = store.statements().unwrap();
    let text = statements.begin(b.registration(), &attempt).call().sql.to_owned();
    let mut attempt = sqlx::query(AssertSqlSafe(text.clone()));
    for parameter in ["0", "b", "b", "b", "900000", "900000", "test"] {
        attempt = attempt.bind(parameter);
    }
    let done = attempt.execute(&mut connection).await.unwrap_or_else(|e| panic!("{e}: {text}"));
    assert_eq!(done.rows_affected(), 0);
    assert_eq!(database.row().await.unwrap().epoch, first.epoch);
}

/// Outside a transaction nothing would ever be committed; inside, the caller's commit counts.
async fn a_call_that_nobody_would_commit_is_refused(database: OnMariaDb) {
    let url = database.server().url();
    let store = MySqlStore::connect(&url).unwrap();
    let mut me = candidacy(1, LONG);
    for (setting, word) in [
        ("autocommit = 0", "autocommit is off"),
        ("completion_type = 'CHAIN'", "completion_type is not NO_CHAIN"),
    ] {
        let mut connection = MySqlConnection::connect(&url).await.unwrap();
        let set = format!("SET SESSION {setting}");
        connection.execute(AssertSqlSafe(set)).await.unwrap();
        let refusals = [
            store.on(&mut connection).elect(&mut me).await.map(|_| ()),
            store.on(&mut connection).is_leader(&me).await.map(|_| ()),
            store.on(&mut connection).register_candidate(&me).await,
        ];
        for refusal in refusals {
            let error = refusal.unwrap_err();
            assert_eq!(error.kind, Failure::Fatal);
            assert!(error.to_string().contains(word), "{setting}: {error}");
        }
        let mut transaction = connection.begin().await.unwrap();
        let won = store.on(&mut transaction).elect(&mut me).await.unwrap();
        transaction.commit().await.unwrap();
        assert!(me.leads(&won.committed()), "{setting}");
        assert!(database.is_leader(&me).await.unwrap(), "{setting}");
        database.unregister(&me).await.unwrap();
    }
}

/// A clock that was stopped in the future would take a lease that has not run out.
async fn a_session_whose_clock_stands_still_is_refused(database: OnMariaDb) {
    let url = database.server().url();
    let store = MySqlStore::connect(&url).unwrap();
    let [leader, mut me] = [1, 2].map(|number| candidacy(number, LONG));
    let led = database.elect(&leader).await.unwrap();
    let mut connection = MySqlConnection::connect(&url).await.unwrap();
    let mut transaction = connection.begin().await.unwrap();
    let stop = "SET SESSION timestamp = UNIX_TIMESTAMP() + 100000";
    transaction.execute(stop).await.unwrap();
    let error = store.on(&mut transaction).elect(&mut me).await.expect_err("the lease is live");
    assert_eq!(error.kind, Failure::Fatal, "{error}");
    assert!(error.to_string().contains("SET SESSION timestamp = DEFAULT"), "{error}");
    transaction.execute("SET SESSION timestamp = DEFAULT").await.unwrap();
    let seen = store.on(&mut transaction).elect(&mut me).await.unwrap();
    transaction.commit().await.unwrap();
    assert_eq!(seen.committed().epoch, led.epoch);
}

/// Settings of a role on PostgreSQL.
const POSTGRES: &[&str] = &[
    "default_transaction_isolation = 'repeatable read'",
    "default_transaction_isolation = 'serializable'",
    "session_replication_role = 'replica'",
    "search_path = 'nowhere'",
    "row_security = off",
    "synchronous_commit = off",
    "standard_conforming_strings = off",
    "TimeZone = 'Asia/Kathmandu'",
    "DateStyle = 'German'",
    "IntervalStyle = 'sql_standard'",
    "transform_null_equals = on",
    "lock_timeout = '7s'",
    "idle_in_transaction_session_timeout = '1min'",
];

async fn postgres_elects_and_fences_under_every_setting(database: OnPostgres) {
    for (number, setting) in (1..).zip(POSTGRES) {
        let set = |what: &str| {
            database.server().administer("election", &format!("ALTER ROLE election {what}"));
        };
        set(&format!("SET {setting}"));
        let [me, other] = [number, 1000 + number].map(|number| candidacy(number, SHORT));
        database.register(&me).await.unwrap_or_else(|error| panic!("{setting}: {error}"));
        let won = database.elect(&me).await.unwrap_or_else(|error| panic!("{setting}: {error}"));
        assert!(me.leads(&won), "{setting}");
        database.unregister(&me).await.unwrap();
        let leader = database.elector("leader", LONG);
        let lease = leader.elected().await.unwrap();
        let mut fenced = database.begin("READ COMMITTED").await;
        lease.fence(&mut fenced).await.unwrap_or_else(|error| panic!("{setting}: {error}"));
        let expire = "UPDATE public.election_leader SET expires_ms = 1000";
        let mut by_hand = database.begin("READ COMMITTED").await;
        OnPostgres::run(&mut by_hand, expire).await.unwrap();
        by_hand.commit().await.unwrap();
        // Expired or not: the next term waits for the fenced transaction.
        match database.elect(&other).await {
            Err(error) => assert_eq!(error.kind, Failure::Conflict, "{setting}: {error}"),
            Ok(row) => panic!("{setting}: nobody was held up: {row:?}"),
        }
        fenced.rollback().await.unwrap();
        drop(lease);
        leader.shutdown().await;
        set("RESET ALL");
    }
}

/// A user who may create functions in a schema on the path must not replace the clock.
async fn postgres_takes_the_clock_from_nobody_else(database: OnPostgres) {
    const PLANTED: &str = "CREATE FUNCTION public.mul(double precision, integer) \
         RETURNS double precision LANGUAGE sql AS 'SELECT $1*$2::double precision*1000'; \
         CREATE OPERATOR public.* (function = public.mul, leftarg = double precision, \
         rightarg = integer); \
         CREATE FUNCTION public.statement_timestamp() RETURNS timestamptz LANGUAGE sql AS \
         $$ SELECT timestamptz '2500-01-01' $$; \
         CREATE FUNCTION public.json_build_object(text, text, text, text, text, text, text, text, \
         text, bigint) RETURNS json LANGUAGE sql AS $$ SELECT '{}'::json $$";
    let administer = |what: &str| database.server().administer("election", what);
    administer(PLANTED);
    let now = std::time::UNIX_EPOCH.elapsed().unwrap().as_millis();
    for (number, path) in (1..).zip(["\"$user\", public", "public, pg_catalog"]) {
        administer(&format!("ALTER ROLE election SET search_path = {path}"));
        let me = candidacy(number, LONG);
        let won = database.elect(&me).await.unwrap();
        let ahead = u128::from(won.epoch.get()).saturating_sub(now);
        assert!(ahead < 600_000, "{path}: the clock is {ahead} ms ahead");
        assert!(database.is_leader(&me).await.unwrap(), "{path}");
        database.unregister(&me).await.unwrap();
    }
}

/// Commands that run when an ordinary user connects can stop the clock, and lead elsewhere.
async fn mariadb_keeps_clock_and_database_despite_init_connect(database: OnMariaDb) {
    let administer = |what: &str| database.server().administer("mysql", what);
    administer("CREATE DATABASE elsewhere");
    administer("GRANT ALL ON elsewhere.* TO election@'127.0.0.1'");
    let now = std::time::UNIX_EPOCH.elapsed().unwrap().as_millis();
    for (number, what) in (1..).zip(["SET timestamp = 1000", "USE elsewhere"]) {
        administer(&format!("SET GLOBAL init_connect = '{what}'"));
        let me = candidacy(number, LONG);
        let won = database.elect(&me).await.unwrap_or_else(|error| panic!("{what}: {error}"));
        assert!(u128::from(won.epoch.get()) + 600_000 > now, "{what}: the clock stands still");
        database.unregister(&me).await.unwrap();
        administer("SET GLOBAL init_connect = ''");
    }
}

/// An operator who ends idle sessions in the URL has them ended, an elector's included.
async fn postgres_ends_idle_sessions_as_soon_as_their_user_says(database: OnPostgres) {
    let url = format!("{}?options=-c%20idle_session_timeout%3D2s", database.server().url());
    let mut store = PgStore::connect(&url).unwrap();
    store.prepare(&Config::builder().ttl(Duration::from_secs(30)).build().unwrap());
    let me = candidacy(1, LONG);
    store.answer(me.registration(), &Query::Observe).await.unwrap();
    let began = Instant::now();
    while sessions(&database) > 0 {
        assert!(began.elapsed() < Duration::from_secs(20), "the server keeps the session");
    }
    assert!(began.elapsed() >= Duration::from_secs(1), "{:?}", began.elapsed());
    while store.answer(me.registration(), &Query::Observe).await.is_err() {}
}

tests! {
    mariadb_elects_and_commits_under_every_setting: mariadb;
    a_fence_on_mariadb_needs_foreign_keys_and_says_so: mariadb;
    an_attempt_without_foreign_keys_wins_nothing: mariadb;
    a_call_that_nobody_would_commit_is_refused: mariadb;
    a_session_whose_clock_stands_still_is_refused: mariadb;
    postgres_elects_and_fences_under_every_setting: postgres;
    postgres_takes_the_clock_from_nobody_else: postgres;
    mariadb_keeps_clock_and_database_despite_init_connect: mariadb;
    postgres_ends_idle_sessions_as_soon_as_their_user_says: postgres;
}
