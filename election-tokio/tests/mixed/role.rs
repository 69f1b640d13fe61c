//! An elector in a process of its own. It writes fenced rows while it leads, and says so.
//!
//! The test harness takes no arguments of ours, so everything comes in the environment.

use crate::{
    journal::Pen,
    runtimes::{self, Role},
};
use election_driver::{Election, Lease, Network, Runtime, Store};
use election_tokio::{MySqlStore, PgStore, SqliteStore, now};
use futures_lite::future::or;
use sqlx::{AssertSqlSafe, pool::PoolOptions};
use std::{env, time::Duration};

pub(crate) const NODE: &str = "MIXED_NODE";
/// The number of this process among those of its node.
pub(crate) const LIFE: &str = "MIXED_LIFE";
pub(crate) const JOURNAL: &str = "MIXED_JOURNAL";
pub(crate) const URL: &str = "MIXED_URL";
/// The election that all take part in.
pub(crate) const ELECTION: &str = "mixed";

/// How long nobody leads after a leader was killed.
const TTL: Duration = Duration::from_secs(2);
/// Between two acts of a leader.
const PAUSE: Duration = Duration::from_millis(5);

/// In a role, the elector; as a test, the test that nobody plays one by accident.
#[test]
fn a_role() {
    runtimes::play::<Elector>();
    assert!(env::var_os(JOURNAL).is_none(), "a journal without a runtime");
}

struct Elector;

impl Role for Elector {
    async fn play<R: Network + Default>() {
        let url = variable(URL);
        macro_rules! lead {
            ($store:expr, $pool:ty, $begin:expr) => {{
                let options = PoolOptions::new().max_connections(1);
                let pool: $pool = options.connect_lazy(&url).expect("a URL");
                lead::<R, _>($store.expect("a URL"), async |lease: &Lease<R>| {
                    let mut transaction = pool.begin_with($begin).await.ok()?;
                    lease.fence(&mut transaction).await.ok()?;
                    let insert = format!("INSERT INTO work (epoch) VALUES ({})", lease.epoch());
                    let insert = sqlx::raw_sql(AssertSqlSafe(insert));
                    insert.execute(&mut *transaction).await.ok()?;
                    transaction.commit().await.ok()
                })
                .await;
            }};
        }
        match url.split_once(':').expect("a URL") {
            ("sqlite", file) => {
                lead!(SqliteStore::open(file), sqlx::SqlitePool, "BEGIN IMMEDIATE");
            }
            ("postgres", _) => lead!(PgStore::connect(&url), sqlx::PgPool, "BEGIN"),
            _ => lead!(MySqlStore::connect(&url), sqlx::MySqlPool, "BEGIN"),
        }
    }
}

fn variable(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| panic!("{name} is not set"))
}

/// Leads whenever it is elected, until it is killed.
async fn lead<R: Runtime + Default, S: Store>(
    store: S,
    write: impl AsyncFn(&Lease<R>) -> Option<()>,
) {
    let (node, life) = (variable(NODE), variable(LIFE).parse().expect("a number"));
    let pen = Pen::new(variable(JOURNAL).as_ref(), &node, life);
    let election = Election::<R>::builder(ELECTION).node(node).ttl(TTL).store(store);
    let handle = election.build().expect("a valid election").start();
    loop {
        let lease = handle.elected().await.expect("an elector that runs");
        let epoch = lease.epoch().to_string();
        loop {
            let at = now().as_nanos();
            if !lease.is_held() {
                break;
            }
            pen.write_at(at, "acts", &epoch);
            // Nothing but the fence and the hard stop holds it back.
            let writes = async {
                if write(&lease).await.is_some() {
                    pen.write("wrote", &epoch);
                }
            };
            or(writes, lease.hard_stop()).await;
            R::default().sleep(PAUSE).await;
        }
    }
}
