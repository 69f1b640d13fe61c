//! A service that elects inside its own transactions: who leads and what the leader writes are
//! committed together, or not at all.
//!
//! ```sh
//! cargo run -p election-tokio --features sqlite --example own_transaction -- app.db alice 100
//! ```
//!
//! Start several, and kill (SIGKILL) the one that writes, at any moment. Nothing of its last
//! transaction stays behind, and another goes on when the lease has run out. There is no elector in
//! the background, and no second connection: this is for services that already have a timer.

use election_tokio::{
    SqliteStore,
    core::{
        Candidate, Incarnation, Namespace, NodeId, lease::Candidacy, lease::Registration, uuid,
    },
    sqlx::{self, SqlitePool},
};
use std::{error::Error, time::Duration};

type Failed = Box<dyn Error + Send + Sync>;

#[tokio::main]
async fn main() -> Result<(), Failed> {
    let mut arguments = std::env::args().skip(1);
    let (Some(file), Some(node)) = (arguments.next(), arguments.next()) else {
        return Err("usage: own_transaction FILE NODE [ENTRIES]".into());
    };
    let entries: u32 = arguments.next().map_or(Ok(10), |entries| entries.parse())?;
    let mut store = SqliteStore::open(&file)?;
    store.ensure_schema().await?;
    let pool = SqlitePool::connect(&format!("sqlite:{file}")).await?;
    let create = "CREATE TABLE IF NOT EXISTS ledger \
                  (entry integer PRIMARY KEY, node text NOT NULL, epoch integer NOT NULL)";
    sqlx::query(create).execute(&pool).await?;

    // An incarnation is one life: a process that comes back under its name is another candidate.
    let incarnation = Incarnation::new(uuid::Uuid::new_v4());
    let candidate = Candidate { id: NodeId::new(&node)?, incarnation };
    let registration =
        Registration { namespace: Namespace::new("ledger")?, candidate, label: None };
    let mut me = Candidacy::new(registration).set_expire(Duration::from_secs(2))?;

    let mut timer = tokio::time::interval(Duration::from_millis(20));
    let mut left = entries;
    while left > 0 {
        timer.tick().await;
        match turn(&pool, &store, &mut me).await {
            Ok(Some(entry)) => {
                println!("{node}: {entry}");
                left -= 1;
            }
            Ok(None) => {} // somebody else leads
            Err(error) => println!("{node}: nothing was entered: {error}"),
        }
    }
    // Outside of any transaction now: another need not wait for the lease to run out.
    store.unregister_candidate(&mut me).await?;
    Ok(())
}

/// Elects, and makes one entry if this process leads. Returns what was entered.
async fn turn(
    pool: &SqlitePool,
    store: &SqliteStore,
    me: &mut Candidacy,
) -> Result<Option<String>, Failed> {
    // A transaction that reads before it writes could not write any more after somebody else has.
    let mut transaction = pool.begin_with("BEGIN IMMEDIATE").await?;
    // An error drops the transaction, which rolls it back.
    let leader = store.on(&mut transaction).elect(me).await?;
    if !me.leads(leader.peek()) {
        // The commit keeps this candidate on the list.
        transaction.commit().await?;
        return Ok(None);
    }
    let epoch = leader.peek().epoch;
    let insert = "INSERT INTO ledger (node, epoch) VALUES (?, ?) RETURNING entry";
    let entry: i64 = sqlx::query_scalar(insert)
        .bind(me.registration().candidate.id.as_str())
        .bind(i64::try_from(epoch.get())?)
        .fetch_one(&mut *transaction)
        .await?;
    transaction.commit().await?;
    // Only now does this process lead, and only now may others hear of the epoch.
    Ok(Some(format!("entry {entry} under epoch {epoch}")))
}
