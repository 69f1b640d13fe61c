//! pgbouncer in transaction mode: sessions change between transactions, notifications do not work,
//! and statements that were prepared in one session are missing in the next.

use crate::support::{OnPostgres, assert_refused, take_part};
use election_driver::{
    conformance::{Pooler, Server},
    core::{Change, Loss, Namespace},
};
use election_tokio::{Election, Handle, PgStore, Status};
use sqlx::{
    ConnectOptions as _, Executor as _, PgConnection, Row as _, postgres::PgConnectOptions,
};
use std::time::Duration;
use tokio::task::JoinSet;

/// The pooler, with an application behind the same few connections, so that sessions can change at
/// any time.
struct Busy {
    pooler: Pooler,
    application: JoinSet<()>,
}

impl Busy {
    fn new(server: &Server) -> Self {
        let pooler = tokio::task::block_in_place(|| Pooler::start(server, 3, false));
        let mut application = JoinSet::new();
        for number in 0..4 {
            let options: PgConnectOptions = pooler.url().parse().unwrap();
            application.spawn(async move {
                let options = options.extra_float_digits(None);
                let mut connection = options.connect().await.unwrap();
                loop {
                    // By the simple protocol, as an application has to.
                    let pause = format!("SELECT pg_sleep(0.00{number})");
                    connection.execute(sqlx::raw_sql(sqlx::AssertSqlSafe(pause))).await.unwrap();
                    assert_eq!(left(&mut connection).await, 0, "somebody leaves things behind");
                }
            });
        }
        Self { pooler, application }
    }

    fn store(&self) -> PgStore {
        let url = format!("{}?statement-cache-capacity=0", self.pooler.url());
        PgStore::connect(&url).unwrap()
    }

    fn elector(&self, node: &str) -> Handle {
        let ttl = Duration::from_secs(3);
        Election::builder("e").node(node).ttl(ttl).store(self.store()).build().unwrap().start()
    }

    async fn assert_undisturbed(mut self) {
        let ended = self.application.try_join_next();
        assert!(ended.is_none(), "the application was disturbed: {ended:?}");
        self.application.shutdown().await;
    }
}

/// How many prepared statements and subscriptions there are in whichever session this is.
async fn left(connection: &mut PgConnection) -> i64 {
    let count = "SELECT (SELECT count(*) FROM pg_prepared_statements) \
                 + (SELECT count(*) FROM pg_listening_channels())";
    let row = connection.fetch_one(sqlx::raw_sql(count)).await.unwrap();
    row.try_get_unchecked(0).unwrap()
}

pub(crate) async fn elections_work_by_polling(server: &Server) {
    let busy = Busy::new(server);
    busy.store().ensure_schema().await.unwrap();
    let mut crowd = JoinSet::new();
    for _ in 0..4 {
        let mut store = busy.store();
        crowd.spawn(async move {
            for _ in 0..20 {
                take_part::<OnPostgres>(&mut store).await.unwrap();
            }
        });
    }
    crowd.join_all().await;

    let a = busy.elector("a");
    let first = a.elected().await.unwrap().epoch();
    let mut changes = a.changes();
    let until = a.lease().unwrap().until();
    let renewed =
        |status: &Status| status.tenure.as_ref().is_none_or(|tenure| tenure.until > until);
    assert!(a.watch().until(renewed).await.tenure.is_some(), "it renews");
    let b = busy.elector("b");
    b.watch().until(|status| status.leader.is_some()).await;
    a.resign().await.unwrap();
    let second = b.elected().await.unwrap();
    assert!(second.epoch() > first);
    drop(second);
    assert!(matches!(changes.next().await, Ok(Some(Change::Elected(_)))));
    let lost = changes.next().await;
    assert!(matches!(lost, Ok(Some(Change::Lost { reason: Loss::Resigned, .. }))));
    a.shutdown().await;
    b.shutdown().await;
    busy.assert_undisturbed().await;
}

/// Whether the pooler already refuses what sqlx asks for, or lets it in and then loses its
/// statements.
pub(crate) async fn one_that_was_not_mentioned_is_named(server: &Server) {
    for lenient in [false, true] {
        let pooler = tokio::task::block_in_place(|| Pooler::start(server, 1, lenient));
        let store = PgStore::connect(&pooler.url()).unwrap();
        let mut last = Ok(());
        for mut store in [store.clone(), store] {
            last = store.leader(&Namespace::default()).await.map(|_| ());
        }
        assert_refused("a pooler", last, &["pooler", "statement-cache-capacity=0"]);
    }
}
