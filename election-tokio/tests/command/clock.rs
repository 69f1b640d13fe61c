//! Wall clocks that lie: the client's clock is never asked.

use super::{
    process::eventually,
    world::{World, block_on},
};
use election_driver::conformance::{Kind, Server};
use election_tokio::{PgStore, core::Namespace};
use std::fs;

/// kubernetes#125761: the wall clock was set ahead by an hour and the lease was gone.
/// ShedLock#231: hosts whose clocks differ.
#[test]
fn the_clients_wall_clock_moves_by_an_hour_and_nothing_happens() {
    let server = Server::start(Kind::Postgres);
    let store = || PgStore::connect(&server.url()).expect("a URL");
    block_on(store().ensure_schema()).expect("a writable database");
    let world = World::new();
    let clock = world.path().join("clock");
    let set = |seconds: &str| {
        let next = world.path().join("clock.next");
        fs::write(&next, seconds).expect("a directory of our own");
        fs::rename(next, &clock).expect("a directory of our own");
    };
    set("+0");
    let mut command = world.bare(&["run", "--store", &server.url(), "--ttl", "1s"]);
    command.args(["--name", "test", "--", "sleep", "infinity"]);
    for (name, value) in Server::clock_environment(&clock) {
        command.env(name, value);
    }
    let _elector = world.start(command);
    let name = Namespace::new("test").expect("a name");
    let row = || block_on(store().leader(&name)).expect("a database that answers");
    let epoch = eventually("a leader", || row().live_term()).epoch;
    for moved in ["+3600", "-3600", "+0"] {
        set(moved);
        let renewals = row().renewals;
        eventually("three more renewals", || (row().renewals > renewals + 3).then_some(()));
        assert_eq!(row().live_term().expect("a leader").epoch, epoch, "{moved}");
    }
}
