//! Several hosts in one URL: the one that takes writes is found, and followed when it moves.

use crate::database::{Backend, OnMariaDb, OnPostgres, Served, candidacy, namespace, until};
use crate::on::OnNothing;
use election_core::lease::Failure;
use election_driver::{
    MySqlStore, PgStore, SqlStore, Store, StoreError,
    conformance::{inside::Client, tasks::timeout},
};
use election_testing::{Kind, Lines, Proxy, Server};
use election_tokio::{Election, Handle, Lease, Tokio};
use std::{
    net::TcpListener,
    time::{Duration, Instant},
};

/// The attempts of an elector have 0.8 s each, and a host of two half of that.
const TTL: Duration = Duration::from_secs(6);
/// Somebody leads within this time.
const BOUND: Duration = Duration::from_secs(20);

fn elector(store: impl Store) -> Handle {
    Election::builder("test").node("a").ttl(TTL).store(store).build().unwrap().start()
}

async fn elected(elector: &Handle) -> Lease {
    timeout::<Tokio, _>(BOUND, elector.elected()).await.expect("nobody leads").unwrap()
}

/// The lease is renewed this often, and never lost.
async fn kept(elector: &Handle, lease: &Lease, renewals: u32) {
    for _ in 0..renewals {
        let known = lease.until();
        until(elector, |status| status.tenure.as_ref().is_none_or(|own| own.until > known)).await;
        lease.check().expect("the lease was lost");
    }
}

/// Nothing listens there.
fn nowhere() -> u16 {
    TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port()
}

/// It takes connections, and says nothing.
async fn a_first_host_that_is_frozen_costs_its_share_of_the_time<B: Served>(database: B) {
    let port = database.server().port();
    let link = Proxy::to(port);
    link.set_whole(false);
    let elector = elector(database.store_at_each(&[link.port(), port]));
    let began = Instant::now();
    let lease = elected(&elector).await;
    assert!(began.elapsed() < TTL, "it has cost {:?}", began.elapsed());
    assert!(link.made() > 0, "it was not asked");
    kept(&elector, &lease, 3).await;
}

/// Two ways to one database, as two nodes of a cluster are: none of this costs the lease.
async fn a_leader_moves_on_with_its_lease<B: Served>(database: B) {
    let port = database.server().port();
    let (one, two) = (Proxy::to(port), Proxy::to(port));
    let elector = elector(database.store_at_each(&[one.port(), two.port()]));
    let lease = elected(&elector).await;
    let dies = |link: &Proxy| {
        link.set_refusing(true);
        link.cut();
    };
    assert_eq!(two.made(), 0, "the first is in order");
    dies(&one);
    kept(&elector, &lease, 3).await;
    assert!(two.connections() > 0);

    one.set_refusing(false); // it is back
    dies(&two);
    kept(&elector, &lease, 3).await;
    two.set_refusing(false);

    one.set_whole(false); // it takes connections, and says nothing
    kept(&elector, &lease, 3).await;
    assert!(two.connections() > 0);
}

/// A store on these servers of PostgreSQL.
fn postgres_at(servers: &[u16], query: &str) -> PgStore {
    let hosts: Vec<_> = servers.iter().map(|port| format!("127.0.0.1:{port}")).collect();
    PgStore::connect(&format!("postgres://election:election@{}/election{query}", hosts.join(",")))
        .unwrap()
}

async fn the_primary_is_found_and_followed(database: OnPostgres) {
    let standby = database.server().standby();
    let primary = database.server().port();
    let elector = elector(postgres_at(&[standby.port(), primary], ""));
    let before = elected(&elector).await.epoch();
    until(&elector, |status| status.listening).await;
    database.server().kill();
    until(&elector, |status| status.tenure.is_none()).await;
    standby.promote();
    while elected(&elector).await.epoch() <= before {}
    is_listened_on(&standby);
    elector.shutdown().await;
}

fn is_listened_on(server: &Server) {
    let listener = "SELECT count(*) FROM pg_stat_activity \
                    WHERE application_name = 'election listener'";
    let began = Instant::now();
    while server.administer("election", listener) != "1" {
        assert!(began.elapsed() < BOUND, "nobody listens on the new primary");
    }
}

async fn replicas_alone_are_named_with_the_reason(database: OnPostgres) {
    let standby = database.server().standby();
    let (replica, dead) = (standby.port(), nowhere());
    for query in ["", "?target_session_attrs=primary", "?target_session_attrs=read-write"] {
        let mut store = postgres_at(&[replica, dead], query);
        let error = store.leader(&namespace()).await.unwrap_err();
        assert_eq!(error.kind, Failure::Transient, "one may be promoted");
        let said = error.to_string();
        for words in [
            &format!("127.0.0.1:{replica}: it is a replica") as &str,
            &format!("127.0.0.1:{dead}: nothing is listening there"),
            "target_session_attrs=any",
        ] {
            assert!(said.contains(words), "{query}: no {words:?} in {said}");
        }
    }
    let mut reader = postgres_at(&[replica, dead], "?target_session_attrs=any");
    reader.leader(&namespace()).await.unwrap();
    let mut alone = postgres_at(&[replica], "?target_session_attrs=primary");
    let said = alone.leader(&namespace()).await.unwrap_err().to_string();
    assert!(said.contains("it is a replica"), "{said}");
    postgres_at(&[replica], "").leader(&namespace()).await.unwrap();
}

/// As after a switchover without a restart, with a promoted copy that takes the writes.
async fn a_primary_that_only_reads_is_left(database: OnPostgres) {
    let copy = database.server().standby();
    copy.promote();
    let servers = [database.server().port(), copy.port()];
    let elector = elector(postgres_at(&servers, ""));
    elected(&elector).await;
    until(&elector, |status| status.listening).await;
    let (mut store, mut caller) = (postgres_at(&servers, ""), candidacy(1, TTL));
    store.elect(&mut caller).await.unwrap();
    let demote = |words: &str| database.server().administer("postgres", words);
    demote("ALTER SYSTEM SET default_transaction_read_only = on");
    demote("SELECT pg_reload_conf()");
    while demote("SHOW default_transaction_read_only") != "on" {}
    is_of_a_host_that_only_reads_now(&store.elect(&mut caller).await.unwrap_err());
    let mut there = PgStore::connect(&copy.url()).unwrap();
    let began = Instant::now();
    while there.leader(&namespace()).await.unwrap().holder.is_none() {
        assert!(began.elapsed() < BOUND, "nobody leads there");
    }
    elected(&elector).await;
    is_listened_on(&copy);
    elector.shutdown().await;
}

fn is_of_a_host_that_only_reads_now(error: &StoreError) {
    assert_eq!(error.kind, Failure::Transient, "{error}");
    assert!(error.to_string().contains("the next call looks for one"), "{error}");
}

async fn hosts_of_two_clusters_are_refused(database: OnPostgres) {
    let other = Server::start_of_its_own(Kind::Postgres);
    PgStore::connect(&other.url()).unwrap().ensure_schema().await.unwrap();
    let mut store = postgres_at(&[database.server().port(), other.port()], "");
    store.leader(&namespace()).await.unwrap();
    database.server().kill();
    let refused = async |store: &mut PgStore, words: &str| {
        store.leader(&namespace()).await.unwrap_err(); // the broken connection
        let error = store.leader(&namespace()).await.unwrap_err();
        let said = error.to_string();
        assert!(said.contains(&format!("127.0.0.1:{}: {words}", other.port())), "{said}");
    };
    refused(&mut store, "this host belongs to a different cluster").await;
    other.administer(
        "election",
        "REVOKE EXECUTE ON FUNCTION pg_catalog.pg_control_system() FROM PUBLIC",
    );
    refused(&mut store, "this host does not reveal its cluster").await;
    database.server().restart();
    store.leader(&namespace()).await.unwrap();
}

/// It is said once, and not with each connection.
async fn hosts_that_do_not_tell_their_cluster_are_worth_one_warning(database: OnPostgres) {
    database.server().administer(
        "election",
        "REVOKE EXECUTE ON FUNCTION pg_catalog.pg_control_system() FROM PUBLIC",
    );
    let port = database.server().port();
    let warned = async |mut store: PgStore| {
        let lines = Lines::default();
        lines.during(store.leader(&namespace())).await.unwrap();
        lines.said().contains("grant this user EXECUTE on pg_control_system()")
    };
    let alone = postgres_at(&[port], "?history=none&target_session_attrs=primary");
    assert!(!warned(alone).await, "no other host is listed");
    let several = postgres_at(&[nowhere(), port], "?history=none");
    assert!(warned(several.clone()).await);
    assert!(!warned(several).await, "it was said");
}

/// A store on these servers of MariaDB.
fn mariadb_at(servers: &[u16]) -> MySqlStore {
    let hosts: Vec<_> = servers.iter().map(|port| format!("127.0.0.1:{port}")).collect();
    MySqlStore::connect(&format!("mysql://election:election@{}/election", hosts.join(","))).unwrap()
}

async fn a_server_that_only_reads_is_left(database: OnMariaDb) {
    let other = OnMariaDb::on(Server::start(Kind::MariaDb)).await;
    let ports = [database.server().port(), other.server().port()];
    let reads = |server: &OnMariaDb, on: u8| {
        server.server().administer("mysql", &format!("SET GLOBAL read_only = {on}"));
    };
    reads(&database, 1);
    let elector = elector(mariadb_at(&ports));
    elected(&elector).await;
    assert!(other.row().await.unwrap().holder.is_some(), "the first only reads");

    reads(&database, 0);
    reads(&other, 1);
    let began = Instant::now();
    while database.row().await.unwrap().holder.is_none() {
        assert!(began.elapsed() < BOUND, "nobody leads on the first");
    }
    elected(&elector).await;

    let (mut store, mut caller) = (mariadb_at(&ports), candidacy(1, TTL));
    store.elect(&mut caller).await.unwrap();
    reads(&database, 1);
    let error = store.elect(&mut caller).await.unwrap_err();
    is_of_a_host_that_only_reads_now(&error);
    let mut store = mariadb_at(&ports);
    let error = store.leader(&namespace()).await.unwrap_err();
    assert_eq!(error.kind, Failure::Transient, "one may take writes again");
    let said = error.to_string();
    for port in ports {
        assert!(said.contains(&format!("127.0.0.1:{port}: it accepts no writes")), "{said}");
    }
}

/// What hosts are named is not a matter of which of them answers.
async fn all_hosts_are_named(_: OnNothing) {
    fn told<C: Client>(store: &SqlStore<C>) -> String {
        store.place()
    }
    let store = PgStore::connect("postgres://me:pw@a:1,b,[::1]:3/d").unwrap();
    assert_eq!(told(&store), "PostgreSQL at a:1, b:5432, [::1]:3, database d, schema public");
    assert_eq!(store.transport().to_string(), "PostgreSQL at a:1, b:5432, [::1]:3, TLS verified");
    let store = PgStore::connect("postgres://me:pw@localhost,b/d?sslmode=prefer").unwrap();
    assert!(store.transport().is_exposed(), "one of them is: {}", store.transport());
    let store = MySqlStore::connect("mysql://me:pw@a,b:2/d").unwrap();
    assert_eq!(told(&store), "MySQL at a:3306, b:2, database d");
    assert_eq!(store.transport().to_string(), "MySQL at a:3306, b:2, TLS verified");
}

/// The hosts of a list have it from one URL.
async fn an_unknown_parameter_is_worth_one_warning(_: OnNothing) {
    let lines = Lines::default();
    lines.of(|| drop(PgStore::connect("postgres://a,b,c/d?keepalives=1").unwrap()));
    assert_eq!(lines.said().matches("unknown parameter").count(), 1, "{}", lines.said());
    lines.of(|| drop(MySqlStore::connect("mysql://a,b,c/d?keepalives=1").unwrap()));
    assert_eq!(lines.said().matches("unknown parameter").count(), 2, "{}", lines.said());
}

tests! {
    a_first_host_that_is_frozen_costs_its_share_of_the_time: postgres mariadb;
    a_leader_moves_on_with_its_lease: postgres mariadb;
    the_primary_is_found_and_followed: postgres;
    replicas_alone_are_named_with_the_reason: postgres;
    a_primary_that_only_reads_is_left: postgres;
    hosts_of_two_clusters_are_refused: postgres;
    hosts_that_do_not_tell_their_cluster_are_worth_one_warning: postgres;
    a_server_that_only_reads_is_left: mariadb;
    all_hosts_are_named: by_itself;
    an_unknown_parameter_is_worth_one_warning: by_itself;
}
