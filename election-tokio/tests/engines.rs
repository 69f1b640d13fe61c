//! Registers of other engines, which are examples: NATS on its real server, and `object_store` in memory.
#![allow(clippy::unwrap_used)]

#[path = "../examples/nats.rs"]
mod nats;
#[path = "../examples/object_store.rs"]
mod object_store;
#[allow(dead_code, unused_macros)]
#[path = "support/on.rs"]
mod on;

use election_driver::conformance::{Fixture, Stores, register::keeps_its_promises};
use election_testing::{free_port, process::eventually};
use election_tokio::{Election, RegisterStore, Tokio};
use nats::NatsRegister;
use on::{block_on, run};
use std::{
    net::TcpStream,
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex},
    time::Duration,
};
use tempfile::TempDir;

/// A throw-away server, which dies with the test.
struct OnNats {
    port: u16,
    data: TempDir,
    server: Mutex<Child>,
    register: NatsRegister,
}

fn launch(port: u16, data: &TempDir) -> Child {
    let mut server = Command::new("setpriv");
    server.args(["--pdeathsig", "KILL", "nats-server", "--jetstream", "--addr", "127.0.0.1"]);
    server.args(["--port", &port.to_string(), "--store_dir"]).arg(data.path());
    server.stdout(Stdio::null()).stderr(Stdio::null());
    let server = server.spawn().expect("nats-server; on Debian: apt-get install nats-server");
    eventually("a server", || TcpStream::connect(("127.0.0.1", port)).ok());
    server
}

/// A server may accept connections before it has read what it stores.
async fn register(port: u16) -> NatsRegister {
    let url = format!("nats://127.0.0.1:{port}");
    loop {
        if let Ok(register) = NatsRegister::connect(&url, "elections").await {
            return register;
        }
    }
}

impl OnNats {
    fn kill(&self) {
        let mut server = self.server.lock().unwrap();
        server.kill().unwrap();
        server.wait().unwrap();
    }
}

impl Fixture for OnNats {
    type Runtime = Tokio;

    async fn start() -> Self {
        let (port, data) = (free_port(), tempfile::tempdir().unwrap());
        let server = Mutex::new(launch(port, &data));
        Self { port, data, server, register: register(port).await }
    }
}

impl Stores for OnNats {
    type Store = RegisterStore<NatsRegister>;

    fn store(&self) -> Self::Store {
        RegisterStore::new(self.register.clone())
    }
}

impl Drop for OnNats {
    fn drop(&mut self) {
        self.kill();
    }
}

mod suite {
    use super::{OnNats, block_on};

    election_driver::conformance_of_store!(OnNats, block_on);
}

#[test]
fn nats_keeps_the_promises_of_a_register() {
    run(|place: OnNats| async move {
        keeps_its_promises::<Tokio, _>(place.register.clone(), "promises/").await;
    });
}

/// A lease so long that only the watch can tell in time.
#[test]
fn a_watch_of_nats_survives_its_server() {
    run(|place: OnNats| async move {
        let elector = |node: &str| {
            let builder = Election::builder("test").node(node).ttl(Duration::from_secs(900));
            builder.store(place.store()).build().unwrap().start()
        };
        let a = elector("a");
        let first = a.elected().await.unwrap().epoch();
        let b = elector("b");
        b.watch().until(|status| status.leader.is_some()).await;
        let (mut store, name) = (place.store(), "test".parse().unwrap());
        while store.list_candidates(&name).await.unwrap().len() < 2 {}
        place.kill();
        *place.server.lock().unwrap() = launch(place.port, &place.data);
        let again = register(place.port).await;
        let row = RegisterStore::new(again).leader(&name).await.unwrap();
        assert_eq!(row.epoch, first);
        a.resign().await.unwrap();
        assert!(b.elected().await.unwrap().epoch() > first);
    });
}

#[test]
fn object_store_keeps_the_promises_of_a_register() {
    block_on(async {
        let objects = Arc::new(::object_store::memory::InMemory::new());
        let register = object_store::ObjectRegister(objects);
        keeps_its_promises::<Tokio, _>(register, "promises/").await;
    });
}
