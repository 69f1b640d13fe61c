//! Servers that die, stand still or hear nobody, each with an elector that knows no other server.

use crate::support::{Node, election, elector, knows, namespace, run, until};
use election_driver::core::{Epoch, lease::Failure};
use election_testing::{Galera, free_port};
use election_tokio::{Handle, MySqlStore, Status};
use std::time::Duration;

const TTL: Duration = Duration::from_secs(4);

fn stands(cluster: &Galera, at: usize) -> Handle {
    elector(cluster.node(at), ["a", "b", "c"][at], TTL, Duration::ZERO)
}

/// A leader at one server, and an heir at another that has heard of it. On a busy machine servers may
/// lose each other for a moment, and the leader its lease: then once more.
async fn lead(cluster: &Galera, leader: usize, heir: usize) -> (Handle, Handle) {
    loop {
        let leader = stands(cluster, leader);
        let epoch = leader.elected().await.unwrap().epoch();
        let heir = stands(cluster, heir);
        knows(&heir, epoch).await;
        if leader.is_leader() {
            return (leader, heir);
        }
        leader.shutdown().await;
        heir.shutdown().await;
    }
}

/// The heir leads, and the leader before it has known in time. Tells under which epoch.
async fn succeeds(heir: &Handle, leader: &Handle) -> Epoch {
    let lease = heir.elected().await.unwrap();
    assert!(!leader.is_leader(), "two lead");
    lease.epoch()
}

pub(crate) async fn the_leaders_server_is_killed_and_rejoins(cluster: &mut Galera) {
    let (a, b) = lead(cluster, 0, 1).await;
    cluster.kill(0);
    let epoch = succeeds(&b, &a).await;
    cluster.rejoin(0);
    knows(&a, epoch).await;
    a.shutdown().await;
    b.shutdown().await;
}

/// The leader knows them all: it goes on at another, or stands there. The first server loses its disk, too, and
/// takes a copy of another's data.
pub(crate) async fn a_list_outlives_the_first_server(cluster: &mut Galera, nodes: &mut [Node; 3]) {
    let leader = election(&every(cluster), "list", TTL, Duration::ZERO).start();
    nodes[1].knows(leader.elected().await.unwrap().epoch()).await;
    cluster.kill(0);
    goes_on(&mut nodes[1]).await;
    std::fs::remove_dir_all(cluster.node(0).data()).unwrap();
    std::fs::create_dir(cluster.node(0).data()).unwrap();
    cluster.rejoin(0);
    leader.shutdown().await;
}

/// Its first server is taken out of use while the leader is there.
pub(crate) async fn a_list_passes_over_a_server_that_refuses(
    cluster: &Galera,
    nodes: &mut [Node; 3],
) {
    let leader = election(&every(cluster), "list", TTL, Duration::ZERO).start();
    nodes[1].knows(leader.elected().await.unwrap().epoch()).await;
    let refuse = |what: &str| {
        let order = format!("SET GLOBAL wsrep_reject_queries = {what}");
        cluster.node(0).administer("mysql", &order);
    };
    refuse("ALL");
    goes_on(&mut nodes[1]).await;
    let mut newcomer = MySqlStore::connect(&every(cluster)).unwrap();
    newcomer.leader(&namespace()).await.unwrap();
    let hosts = format!("127.0.0.1:{},127.0.0.1:{}", cluster.node(0).port(), free_port());
    let mut others = MySqlStore::connect(&listed(&hosts)).unwrap();
    let said = others.leader(&namespace()).await.unwrap_err().to_string();
    assert!(said.contains("wsrep_reject_queries"), "{said}");
    refuse("NONE");
    leader.shutdown().await;
}

/// The URL of a list of all servers.
fn every(cluster: &Galera) -> String {
    let hosts = [0, 1, 2].map(|at| format!("127.0.0.1:{}", cluster.node(at).port()));
    listed(&hosts.join(","))
}

fn listed(hosts: &str) -> String {
    format!("mysql://election:election@{hosts}/election")
}

/// Waits until somebody renews or is elected at the others. One renewal may be under way already.
async fn goes_on(node: &mut Node) {
    let mut seen = None;
    loop {
        let Ok(row) = node.store.leader(&namespace()).await else { continue };
        let (epoch, renewals) = *seen.get_or_insert((row.epoch, row.renewals));
        if row.epoch > epoch || row.renewals > renewals + 1 {
            return;
        }
    }
}

/// A transaction that was fenced before its server stood still writes nothing after a new term.
pub(crate) async fn a_server_is_frozen(cluster: &Galera, nodes: &mut [Node; 3]) {
    let (b, a) = lead(cluster, 1, 0).await;
    let lease = b.lease().unwrap();
    let mut transaction = nodes[1].begin().await;
    lease.fence(&mut transaction).await.unwrap();
    run(&mut transaction, "INSERT INTO work VALUES (-100, 0)").await.unwrap();
    cluster.freeze(1);
    drop(lease);
    let epoch = succeeds(&a, &b).await;
    cluster.node(1).thaw();
    let refused = transaction.commit().await.expect_err("a term has begun at another server");
    println!("frozen: the commit was answered with {refused}");
    cluster.wait_until_in(1);
    knows(&b, epoch).await;
    for node in nodes {
        let left = node.number("SELECT count(*) FROM work WHERE round = -100").await;
        assert_eq!(left, 0, "{refused}");
    }
    a.shutdown().await;
    b.shutdown().await;
}

pub(crate) async fn a_server_is_cut_off_from_the_others(cluster: &Galera, nodes: &mut [Node; 3]) {
    let (c, a) = lead(cluster, 2, 0).await;
    let lease = c.lease().unwrap();
    let mut transaction = nodes[2].begin().await;
    lease.fence(&mut transaction).await.unwrap();
    run(&mut transaction, "INSERT INTO work VALUES (-200, 0)").await.unwrap();
    drop(lease);
    cluster.isolate(2);
    let epoch = succeeds(&a, &c).await;
    let refused = transaction.commit().await.expect_err("a term has begun at another server");
    println!("cut off: the commit was answered with {refused}");
    cluster.wait_until_out(2);
    let told = |status: &Status| {
        let words = "cut off from the majority";
        status.error.as_ref().is_some_and(|error| {
            error.kind == Failure::Transient && error.to_string().contains(words)
        })
    };
    until(&c, told).await;
    cluster.reconnect(2);
    knows(&c, epoch).await;
    for node in nodes {
        let left = node.number("SELECT count(*) FROM work WHERE round = -200").await;
        assert_eq!(left, 0, "{refused}");
    }
    a.shutdown().await;
    c.shutdown().await;
}
