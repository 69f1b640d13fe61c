//! Clocks that a daemon slews as fast as chrony's defaults allow (`maxslewrate` 83,333 ppm), on
//! either side.

use crate::database::Served;
use election_core::{Timestamp, lease::ConfigBuilder};
use election_driver::{Election, Runtime, now};
use election_testing::{Kind, Proxy, Server};
use election_tokio::Tokio;
use futures_lite::future::yield_now;
use std::{future::Future, time::Duration};

const TTL: Duration = Duration::from_secs(6);

/// The same runtime on a machine whose clock is slewed.
#[derive(Clone, Copy)]
struct Slewed(f64, Tokio);

impl Runtime for Slewed {
    type Sleep = <Tokio as Runtime>::Sleep;

    fn now(&self) -> Timestamp {
        Timestamp::ZERO + now().since(Timestamp::ZERO).mul_f64(self.0)
    }

    fn sleep(&self, duration: Duration) -> Self::Sleep {
        self.1.sleep(duration)
    }

    fn spawn<F: Future<Output = ()> + Send + 'static>(&self, future: F) {
        self.1.spawn(future);
    }
}

/// How far the work of a leader that is cut off, and uses all its time, reaches into the next
/// leadership; nothing if it ends before.
async fn overlap<B: Served>(database: &B, rate: f64) -> Duration {
    let port = database.server().port();
    let link = Proxy::to(port);
    let clock = Slewed(rate, Tokio);
    let elected = Election::builder_on(clock, "test").node("a").ttl(TTL);
    // All of its trust is belief.
    let elected = elected.grace(Duration::ZERO);
    let a = elected.store(database.store_at(link.port())).build().unwrap().start();
    let lease = a.elected().await.unwrap();
    link.set_whole(false);
    // Sees the end of the lease as soon as it is there.
    let eager = |config: ConfigBuilder| {
        config.interval(Duration::from_millis(4)).jitter(Duration::ZERO).wake_jitter(Duration::ZERO)
    };
    let heir = Election::<Tokio>::builder("test").node("b").ttl(TTL).config(eager);
    let b = heir.store(database.store()).build().unwrap().start();
    b.elected().await.unwrap();
    let overlap = lease.stop_by().since(clock.now());
    assert_eq!(lease.is_held(), !overlap.is_zero());
    drop(lease);
    b.shutdown().await;
    a.withdraw();
    overlap
}

/// What the server's wall clock reads, in seconds.
fn wall_clock<B: Served>(database: &B) -> f64 {
    let (place, script) = match B::KIND {
        Kind::Postgres => ("postgres", "SELECT date_part('epoch', clock_timestamp())"),
        Kind::MariaDb => ("mysql", "SELECT UNIX_TIMESTAMP(NOW(6))"),
    };
    database.server().administer(place, script).trim().parse().unwrap()
}

/// Waits until the server's clock has certainly gained two per cent.
async fn until_slewed<B: Served>(database: &B) {
    let begun = now();
    let first = wall_clock(database);
    // It was read after the beginning, and each other reading is over before the end.
    while wall_clock(database) - first < now().since(begun).as_secs_f64() * 1.02 {
        yield_now().await;
    }
}

async fn the_servers_clock_is_slewed<B: Served>(_: B) {
    let server = Server::start_with_clock(B::KIND);
    server.slew_clock("1.083333");
    let database = B::on(server).await;
    until_slewed(&database).await;
    assert_eq!(overlap(&database, 1.0).await, Duration::ZERO);
}

/// This library's clock does not run slow when the machine's is slewed; the clock of another
/// runtime may.
async fn the_leaders_clock_is_slewed<B: Served>(database: B) {
    assert_eq!(overlap(&database, 0.916_667).await, Duration::ZERO);
}

tests! {
    the_servers_clock_is_slewed: postgres mariadb;
    the_leaders_clock_is_slewed: postgres;
}
