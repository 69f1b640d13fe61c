//! Work that a timer starts on every machine, and that one of them does: once in each period, also
//! if their clocks differ and the work ends at once.
//!
//! ```sh
//! cargo run -p election-tokio --features sqlite --example periodic -- app.db alice 60000
//! ```
//!
//! Start several. Whoever comes first in a period does the work, and the lease then lasts for nine
//! tenths of the period by the database's clock: longer than clocks differ, and shorter than the
//! time to the next turn. Whoever comes later finds it taken and waits for its next turn.

use election_tokio::{Election, Lease, SqliteStore};
use std::{error::Error, time::Duration};
use tokio::{select, time};

type Failed = Box<dyn Error + Send + Sync>;

#[tokio::main]
async fn main() -> Result<(), Failed> {
    let mut arguments = std::env::args().skip(1);
    let (Some(file), Some(node), Some(period)) =
        (arguments.next(), arguments.next(), arguments.next())
    else {
        return Err("usage: periodic FILE NODE MILLISECONDS [TURNS]".into());
    };
    let period = Duration::from_millis(period.parse()?);
    let turns: u32 = arguments.next().map_or(Ok(u32::MAX), |turns| turns.parse())?;
    let mut store = SqliteStore::open(&file)?;
    store.ensure_schema().await?;

    let mut timer = time::interval(period);
    for _ in 0..turns {
        timer.tick().await;
        // A database that does not answer costs this turn and no other.
        if let Ok(done) = time::timeout(period / 2, turn(&file, &node, period)).await {
            done?;
        }
    }
    Ok(())
}

/// Does the work of one period, unless somebody does it, or has done it.
async fn turn(file: &str, node: &str, period: Duration) -> Result<(), Failed> {
    let election = Election::builder("report")
        .node(node)
        .ttl(Duration::from_secs(1))
        .at_least_for(period * 9 / 10)
        .store(SqliteStore::open(file)?)
        .build()?
        .start();
    let mut watch = election.watch();
    select! {
        lease = election.elected() => report(node, &lease?),
        _ = watch.until(|status| status.leader.as_ref().is_some_and(|leader| !leader.own)) => {}
    }
    // Work has ended. The lease lasts all the same.
    election.shutdown().await;
    Ok(())
}

fn report(node: &str, lease: &Lease) {
    println!("{node}: the report of this period, under epoch {}", lease.epoch());
}
