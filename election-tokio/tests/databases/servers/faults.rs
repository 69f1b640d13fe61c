//! Faults of servers, links and clocks during an election, seen by an outside observer.

use crate::{
    database::{Backend, LONG, SHORT, Served, until},
    servers::observer::Observer,
};
use election_core::{Epoch, lease::Failure};
use election_driver::{conformance::tasks::spawn, now};
use election_testing::{Proxy, Server};
use election_tokio::{Election, Tokio};
use std::{collections::BTreeMap, sync::Arc, time::Duration};

/// However a fault ends, somebody leads within this time.
const BOUND: Duration = Duration::from_secs(10);
/// A lease whose statements are not given up because a hundred clients connect.
const CALM: Duration = Duration::from_secs(5);

/// Three electors on the database, followed by an observer, and their first leader.
async fn three<B: Backend>(database: &Arc<B>) -> (Observer, Epoch) {
    let observer = Observer::new(&**database).await;
    for node in ["a", "b", "c"] {
        observer.follow(node, database.elector(node, SHORT), database);
    }
    let (epoch, _) = observer.leader_after(Epoch::NONE).await;
    observer.write_under(&**database, epoch).await;
    (observer, epoch)
}

/// The next leader, in bounded time; and it can write.
async fn recovered<B: Backend>(
    observer: &Observer,
    database: &B,
    before: Epoch,
) -> (Epoch, &'static str) {
    let healed = now();
    let (epoch, node) = observer.leader_after(before).await;
    let took = now().since(healed);
    println!("{node} leads {took:?} after the heal");
    assert!(took < BOUND, "{took:?}");
    observer.write_under(database, epoch).await;
    (epoch, node)
}

async fn a_server_is_killed_and_comes_back<B: Served>(database: B) {
    let database = Arc::new(database);
    let (observer, mut epoch) = three(&database).await;
    for _ in 0..3 {
        database.server().kill();
        observer.nobody_leads().await; // each lets go by itself
        database.server().restart();
        (epoch, _) = recovered(&observer, &*database, epoch).await;
    }
    observer.verdict(&*database).await;
}

async fn a_server_is_frozen_for_longer_than_the_lease<B: Served>(database: B) {
    let database = Arc::new(database);
    let (observer, mut epoch) = three(&database).await;
    for _ in 0..3 {
        database.server().freeze();
        observer.nobody_leads().await;
        tokio::time::sleep(SHORT).await; // how long the fault lasts
        database.server().thaw();
        (epoch, _) = recovered(&observer, &*database, epoch).await;
    }
    observer.verdict(&*database).await;
}

/// Statements sent into the cut link arrive when the link is whole again: late renewals of a term
/// that is over.
async fn a_leader_is_cut_off<B: Served>(database: B) {
    let database = Arc::new(database);
    let observer = Observer::new(&*database).await;
    let port = database.server().port();
    let mut links = Vec::new();
    for node in ["a", "b", "c"] {
        let link = Proxy::to(port);
        let store = database.store_at(link.port());
        let election = Election::builder("test").node(node).ttl(SHORT).store(store);
        observer.follow(node, election.build().unwrap().start(), &database);
        links.push((node, link));
    }
    let (mut epoch, mut leader) = observer.leader_after(Epoch::NONE).await;
    for _ in 0..3 {
        let (_, link) = links.iter().find(|(node, _)| *node == leader).unwrap();
        link.set_whole(false);
        (epoch, leader) = recovered(&observer, &*database, epoch).await;
        link.set_whole(true);
    }
    observer.verdict(&*database).await;
}

/// An elector has its own connection, so an application cannot cost it the lease by using the rest
/// (river#695, #1077). An elector without a connection is told why.
async fn connections_run_out<B: Served>(database: B) {
    let leader = database.elector("leader", CALM);
    let lease = leader.elected().await.unwrap();
    let follower = database.elector("follower", CALM);
    until(&follower, |status| status.leader.is_some()).await;
    let mut hoard = Vec::new();
    while let Ok(connection) = database.pool().begin().await {
        hoard.push(connection);
    }
    let late = database.elector("late", CALM);
    let status = until(&late, |status| status.error.is_some()).await;
    let error = status.error.unwrap();
    assert_eq!(error.kind, Failure::Transient, "{error}");
    assert!(error.to_string().contains("no free connection"), "{error}");
    for _ in 0..3 {
        let known = lease.until();
        until(&leader, |status| status.tenure.as_ref().is_none_or(|own| own.until > known)).await;
        lease.check().unwrap();
    }
    drop((lease, late)); // or the late one could lead on the leader's connection
    leader.shutdown().await;
    follower.elected().await.unwrap();
}

/// If the clock jumps an hour ahead, the lease is over at once and the leader is told. If it jumps
/// an hour back, the lease seems to last for an hour: a leader that is silent for longer than a
/// lease is taken over from all the same.
async fn the_servers_clock_jumps<B: Served>(_: B) {
    let server = Server::start_with_clock(B::KIND);
    let database = Arc::new(B::on(server).await);
    let observer = Observer::new(&*database).await;
    let mut drivers = BTreeMap::new();
    for node in ["a", "b", "c"] {
        let (handle, driver) = database.election(node, SHORT).into_parts();
        observer.follow(node, handle, &database);
        drivers.insert(node, spawn::<Tokio, _>(driver));
    }
    let (mut epoch, mut leader) = observer.leader_after(Epoch::NONE).await;
    for _ in 0..2 {
        database.server().set_clock(3600);
        (epoch, leader) = recovered(&observer, &*database, epoch).await;
        let seen = database.row().await.unwrap();
        assert!(seen.remaining <= SHORT, "a lease by the new clock: {seen:?}");

        drivers[leader].abort(); // a crash, and the clock goes back with it
        database.server().set_clock(0);
        let seen = database.row().await.unwrap();
        assert!(seen.remaining > LONG, "it seems to last: {seen:?}");
        (epoch, leader) = recovered(&observer, &*database, epoch).await;
    }
    println!("{leader} leads at last");
    // For a moment two may believe: no local clock can foresee that one. The fence holds.
    observer.fenced(&*database).await;
}

/// The same, with leases that allow for an hour and more: it costs nobody the lease, and no two ever
/// believe.
async fn the_servers_clock_jumps_and_the_leases_allow_for_it<B: Served>(_: B) {
    let server = Server::start_with_clock(B::KIND);
    let database = Arc::new(B::on(server).await);
    let observer = Observer::new(&*database).await;
    let mut drivers = BTreeMap::new();
    for node in ["a", "b", "c"] {
        let election = Election::builder("test").node(node).ttl(SHORT);
        let election = election.clock_step(Duration::from_secs(2 * 3600));
        let (handle, driver) = election.store(database.store()).build().unwrap().into_parts();
        observer.follow(node, handle, &database);
        drivers.insert(node, spawn::<Tokio, _>(driver));
    }
    let (mut epoch, mut leader) = observer.leader_after(Epoch::NONE).await;
    for ahead in [3600, 0] {
        database.server().set_clock(ahead);
        let before = database.row().await.unwrap();
        assert_eq!(before.epoch, epoch);
        while database.row().await.unwrap().renewals < before.renewals + 3 {
            tokio::time::sleep(SHORT / 10).await;
        }
        assert_eq!(database.row().await.unwrap().epoch, epoch, "the same term");
        drivers[leader].abort();
        (epoch, leader) = recovered(&observer, &*database, epoch).await;
    }
    println!("{leader} leads at last");
    observer.verdict(&*database).await;
}

tests! {
    a_server_is_killed_and_comes_back: postgres mariadb;
    a_server_is_frozen_for_longer_than_the_lease: postgres mariadb;
    a_leader_is_cut_off: postgres mariadb;
    connections_run_out: postgres mariadb;
    the_servers_clock_jumps: postgres mariadb;
    the_servers_clock_jumps_and_the_leases_allow_for_it: postgres mariadb;
}
