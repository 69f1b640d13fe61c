//! Wall clocks that lie: on a server, nobody asks a client's clock what time it is.

use super::{
    process::eventually,
    world::{World, block_on},
};
use election_testing::{Kind, Server};
use election_tokio::{PgStore, core::Namespace};
use std::{fs, path::Path};

/// kubernetes#125761: the wall clock was set ahead by an hour and the lease was gone.
/// ShedLock#231: hosts whose clocks differ.
#[test]
fn the_clients_wall_clock_moves_by_an_hour_and_nothing_happens() {
    let server = Server::start(Kind::Postgres);
    let store = || PgStore::connect(&server.url()).expect("a URL");
    block_on(store().ensure_schema()).expect("a writable database");
    let world = World::new();
    let [clock, others] = ["clock", "others"].map(|name| world.path().join(name));
    let set = |clock: &Path, seconds: &str| {
        let next = clock.with_extension("next");
        fs::write(&next, seconds).expect("a directory of our own");
        fs::rename(next, clock).expect("a directory of our own");
    };
    let run = |clock: &Path, options: &[&str]| {
        let mut command = world.bare(&["run", "--store", &server.url(), "--ttl", "3s"]);
        command.args(["--name", "test"]).args(options).args(["--", "sleep", "infinity"]);
        command.envs(Server::clock_environment(clock));
        world.start(command)
    };
    set(&clock, "+0");
    let _elector = run(&clock, &[]);
    let name = Namespace::new("test").expect("a name");
    let row = || block_on(store().leader(&name)).expect("a database that answers");
    let epoch = eventually("a leader", || row().live_term()).epoch;
    for moved in ["+3600", "-3600", "+0"] {
        set(&clock, moved);
        let renewals = row().renewals;
        eventually("three more renewals", || (row().renewals > renewals + 3).then_some(()));
        set(&others, moved);
        assert_eq!(run(&others, &["--try"]).exit(), Some(124), "{moved}");
        assert_eq!(row().live_term().expect("a leader").epoch, epoch, "{moved}");
    }
}
