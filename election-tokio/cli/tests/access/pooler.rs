//! pgbouncer in transaction mode: sessions change between transactions, notifications do not work,
//! and statements that were prepared in one session are missing in the next. And in both modes, told
//! to drop what a session is to begin with.

use crate::support::{
    On, OnPostgres, assert_refused, assert_says, elector, message, registration_in, take_part,
};
use election_driver::core::{
    Namespace,
    lease::{Candidacy, Failure},
};
use election_testing::{Pooler, Server};
use election_tokio::{PgStore, Status, StoreError};
use sqlx::{
    ConnectOptions as _, Connection as _, Executor as _, PgConnection, Row as _,
    postgres::{PgConnectOptions, PgSslMode},
};
use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

const LISTENING: &str = "SELECT count(*) FROM pg_listening_channels()";
const ANYTHING: &str = "SELECT (SELECT count(*) FROM pg_prepared_statements) \
                        + (SELECT count(*) FROM pg_listening_channels())";

/// How many prepared statements and subscriptions there are in whichever session this is.
async fn left(connection: &mut PgConnection, count: &'static str) -> i64 {
    let row = connection.fetch_one(sqlx::raw_sql(count)).await.unwrap();
    row.try_get_unchecked(0).unwrap()
}

pub(crate) async fn elections_work_by_polling(server: &Server) {
    OnPostgres::ensure_schema(&mut OnPostgres::store(&server.url())).await.unwrap();
    // So few connections that sessions can change at any time.
    let pooler = tokio::task::block_in_place(|| Pooler::start(server, 3, "transaction", ""));
    let url = format!("{}?statement-cache-capacity=0", pooler.url());
    let strangers = Strangers::begin(&pooler, ANYTHING);
    let mut crowd = JoinSet::new();
    for _ in 0..4 {
        let mut store = OnPostgres::store(&url);
        crowd.spawn(async move {
            for _ in 0..20 {
                take_part::<OnPostgres>(&mut store).await.unwrap();
            }
        });
    }
    crowd.join_all().await;
    leaders_come_and_go(&url).await;
    assert_eq!(strangers.end().await, 0, "transactions of others");
}

/// Whether the pooler already refuses what sqlx asks for, or lets it in and then loses its
/// statements.
pub(crate) async fn one_that_was_not_mentioned_is_named(server: &Server) {
    for ignored in ["", "extra_float_digits"] {
        let pooler =
            tokio::task::block_in_place(|| Pooler::start(server, 1, "transaction", ignored));
        let store = PgStore::connect(&pooler.url()).unwrap();
        let mut last = Ok(());
        for mut store in [store.clone(), store] {
            last = store.leader(&Namespace::default()).await.map(|_| ());
        }
        assert_refused("a pooler", last, &["pooler", "statement-cache-capacity=0"]);
    }
}

/// Transactions of others behind the same pooler, as the same user.
struct Strangers {
    stop: CancellationToken,
    done: Arc<AtomicU64>,
    /// Each tells how many of its transactions somebody has ended.
    at_work: JoinSet<u64>,
}

impl Strangers {
    /// None of their sessions may ever have what this counts.
    fn begin(pooler: &Pooler, nothing: &'static str) -> Self {
        let (stop, done, mut at_work) =
            (CancellationToken::new(), Arc::<AtomicU64>::default(), JoinSet::new());
        for _ in 0..3 {
            let options: PgConnectOptions = pooler.url().parse().unwrap();
            let options = options.extra_float_digits(None).ssl_mode(PgSslMode::Disable);
            let (stop, done) = (stop.clone(), done.clone());
            at_work.spawn(async move {
                let mut ended = 0;
                while !stop.is_cancelled() {
                    // In session mode a session goes on to whoever connects next.
                    let mut connection = options.connect().await.unwrap();
                    for _ in 0..4 {
                        let transaction = sqlx::raw_sql("BEGIN; SELECT pg_sleep(0.005); COMMIT");
                        match connection.execute(transaction).await {
                            Ok(_) => drop(done.fetch_add(1, Ordering::Relaxed)),
                            Err(error) => {
                                eprintln!("a stranger: {error}");
                                ended += 1;
                                break;
                            }
                        }
                        assert_eq!(left(&mut connection, nothing).await, 0, "{nothing}");
                    }
                    let _ = connection.close().await;
                }
                ended
            });
        }
        Self { stop, done, at_work }
    }

    fn done(&self) -> u64 {
        self.done.load(Ordering::Relaxed)
    }

    /// How many of their transactions somebody has ended.
    async fn end(self) -> u64 {
        self.stop.cancel();
        self.at_work.join_all().await.into_iter().sum()
    }
}

/// Whoever believes that the pool's session is its own ends a stranger's.
pub(crate) async fn one_that_drops_options_has_no_sessions_of_ours(
    server: &Server,
    mode: &str,
    parameter: &str,
) {
    OnPostgres::ensure_schema(&mut OnPostgres::store(&server.url())).await.unwrap();
    let start = || Pooler::start(server, 10, mode, "extra_float_digits,options");
    let pooler = tokio::task::block_in_place(start);
    let url = format!("{}{parameter}", pooler.url());
    let strangers = Strangers::begin(&pooler, LISTENING);
    while strangers.done() < 50 {
        failing_calls(server, &url).await;
    }
    if mode == "session" || !parameter.is_empty() {
        leaders_come_and_go(&url).await;
    } else {
        // Where statements were prepared decides which of them work.
        let handle = elector::<OnPostgres>(OnPostgres::store(&url), "undeclared");
        let fatal = |error: &Arc<StoreError>| error.kind == Failure::Fatal;
        let status = handle.watch().until(|status| status.error.as_ref().is_some_and(fatal)).await;
        let words = &["pooler", "statement-cache-capacity=0"];
        assert_says("undeclared", &message(status.error.unwrap().as_ref()), words);
        handle.shutdown().await;
    }
    let done = strangers.done();
    let ended = strangers.end().await;
    assert_eq!(ended, 0, "of some {done} transactions");
}

/// After each of these calls the store leaves its connection, and has the next one end its session.
async fn failing_calls(server: &Server, url: &str) {
    OnPostgres::refuse_registrations(server, "election");
    let who = Candidacy::new(registration_in(&Namespace::default()));
    let mut store = OnPostgres::store(url);
    for _ in 0..40 {
        store.register_candidate(&who).await.expect_err("registrations are refused");
    }
    let restore = "DROP TRIGGER refuse ON election_candidate; DROP FUNCTION refuse()";
    OnPostgres::administer(server, "election", restore);
}

/// Nobody loses a lease but by giving it up, whoever else comes and goes.
async fn leaders_come_and_go(url: &str) {
    let start = |node| elector::<OnPostgres>(OnPostgres::store(url), node);
    let a = start("a");
    a.elected().await.unwrap();
    let b = start("b");
    for (leader, follower) in [(&a, &b), (&b, &a)] {
        let lease = leader.elected().await.unwrap();
        for _ in 0..3 {
            let known = lease.until();
            let renewed =
                |status: &Status| status.tenure.as_ref().is_none_or(|own| own.until > known);
            leader.watch().until(renewed).await;
            lease.check().unwrap();
        }
        drop(lease);
        follower.watch().until(|status| status.leader.is_some()).await;
        leader.resign().await.unwrap();
    }
    a.shutdown().await;
    b.shutdown().await;
}
