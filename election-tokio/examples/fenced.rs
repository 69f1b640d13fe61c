//! Writes that a leader cannot make once it has been succeeded, however long it was stopped.
//!
//! A check before a write does not help: between the two, a process can be stopped (a swapped-out
//! process, a paused virtual machine) for as long as another needs to take over. So every
//! transaction that must not come late is fenced: the database itself lets no new leadership begin
//! before the transaction has ended, and refuses the fence of a leadership that is over.
//!
//! ```sh
//! cargo run -p election-tokio --features postgres --example fenced -- \
//!     postgres://app:…@localhost/app alice 100
//! ```
//!
//! Start several, and stop (SIGSTOP) the one that writes for longer than five seconds. Another goes
//! on, and the stopped one's open transaction is refused when it wakes up.

use election_tokio::{
    Election, Lease, PgStore,
    sqlx::{self, PgPool, Postgres, Transaction},
};
use std::{
    error::Error,
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

type Failed = Box<dyn Error + Send + Sync>;

#[tokio::main]
async fn main() -> Result<(), Failed> {
    let mut arguments = std::env::args().skip(1);
    let (Some(url), Some(node)) = (arguments.next(), arguments.next()) else {
        return Err("usage: fenced postgres://… NODE [ENTRIES]".into());
    };
    let entries: u32 = arguments.next().map_or(Ok(10), |entries| entries.parse())?;
    let pool = PgPool::connect(&url).await?;
    let mut store = PgStore::from_pool(&pool);
    store.ensure_schema().await?;

    let left = AtomicU32::new(entries);
    Election::builder("ledger")
        .node(node.clone())
        .ttl(Duration::from_secs(5))
        .store(store)
        .build()?
        .run_while_leader(async move |lease| {
            make_ledger(&pool, &lease).await?;
            let mut pace = tokio::time::interval(Duration::from_millis(20));
            while left.load(Ordering::Relaxed) > 0 {
                if lease.until_lost(pace.tick()).await.is_err() {
                    break; // the next leadership calls this again
                }
                match enter(&pool, &lease, &node).await {
                    Ok(entry) => {
                        println!("{node}: entry {entry} under epoch {}", lease.epoch());
                        left.fetch_sub(1, Ordering::Relaxed);
                    }
                    Err(error) => println!("{node}: nothing was entered: {error}"),
                }
            }
            Ok::<(), Failed>(())
        })
        .await?;
    Ok(())
}

/// A transaction that commits only while this process leads.
async fn fenced(pool: &PgPool, lease: &Lease) -> Result<Transaction<'static, Postgres>, Failed> {
    let mut transaction = pool.begin().await?;
    // Before the writes. An error drops the transaction, which rolls it back.
    lease.fence(&mut transaction).await?;
    Ok(transaction)
}

async fn make_ledger(pool: &PgPool, lease: &Lease) -> Result<(), Failed> {
    let mut transaction = fenced(pool, lease).await?;
    let create = "CREATE TABLE IF NOT EXISTS ledger \
                  (entry bigserial PRIMARY KEY, node text NOT NULL, epoch bigint NOT NULL)";
    sqlx::query(create).execute(&mut *transaction).await?;
    Ok(transaction.commit().await?)
}

async fn enter(pool: &PgPool, lease: &Lease, node: &str) -> Result<i64, Failed> {
    let mut transaction = fenced(pool, lease).await?;
    let insert = "INSERT INTO ledger (node, epoch) VALUES ($1, $2) RETURNING entry";
    let entry = sqlx::query_scalar(insert)
        .bind(node)
        .bind(i64::try_from(lease.epoch().get())?)
        .fetch_one(&mut *transaction)
        .await?;
    transaction.commit().await?;
    Ok(entry)
}
