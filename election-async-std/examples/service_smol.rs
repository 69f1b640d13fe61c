//! A service of several replicas of which one does the job, on smol; it ends gracefully on SIGTERM
//! and on Ctrl-C. The same service on tokio (`election-tokio/examples/service.rs`) and on async-std
//! differs in the first `use`, and in what the runtime has its own words for, at the end.
//!
//! ```sh
//! cargo run -p election-async-std --features smol --example service_smol -- job.db a
//! cargo run -p election-async-std --features smol --example service_smol -- job.db b
//! ```

use election_async_std::smol::{Election, Lease, SqliteStore};

use futures_lite::future::try_zip;
use std::{convert::Infallible, error::Error, future::Future, time::Duration};

/// Does the job whenever this replica leads, until it is told to stop.
async fn service(
    file: &str,
    node: &str,
    stop: impl Future<Output = ()>,
) -> Result<(), Box<dyn Error>> {
    let mut store = SqliteStore::open(file)?;
    store.ensure_schema().await?;
    let election = Election::builder("job").node(node).ttl(Duration::from_secs(5));
    let elector = election.store(store).build()?.start();
    println!("{node} is ready");
    // Losing leadership is not the end: the job starts again with the next one. A shutdown is.
    let works = async { elector.run_while_leader(job).await.map_err(Into::into) };
    let stops = async {
        stop.await;
        // Waits until the job has ended, and releases the lease: another replica leads at once.
        elector.shutdown().await;
        println!("{node} has left");
        Ok::<_, Box<dyn Error>>(())
    };
    try_zip(works, stops).await?;
    Ok(())
}

/// The job of the leader: it ends by itself when leadership does. If it did not, it would be
/// dropped at its next `await`, before another replica can lead.
async fn job(lease: Lease) -> Result<(), Infallible> {
    println!("the job begins under epoch {}", lease.epoch());
    let mut pieces = 0;
    while lease.is_held() {
        // What blocks a thread must not block one of the executor's: the elector needs them.
        pieces += blocking(|| std::hint::black_box(1)).await;
        // Another chance to be stopped in time: nothing is waited for beyond the end.
        let _ = lease.until_lost(pause(Duration::from_millis(100))).await;
    }
    println!("the job ends after {pieces} pieces");
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(file), Some(node)) = (arguments.next(), arguments.next()) else {
        return Err("usage: service FILE NODE".into());
    };
    smol::block_on(async { service(&file, &node, told_to_stop()?).await })
}

// What the runtime has its own words for.

async fn pause(time: Duration) {
    smol::Timer::after(time).await;
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    smol::unblock(work).await
}

fn told_to_stop() -> std::io::Result<impl Future<Output = ()>> {
    use async_signal::{Signal, Signals};
    use futures_lite::StreamExt as _;
    let mut signals = Signals::new([Signal::Term, Signal::Int])?;
    Ok(async move { drop(signals.next().await) })
}
