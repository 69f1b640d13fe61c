//! Sessions in which the cluster would not learn what an election writes, or that may not write it.

use crate::support::{Node, candidacy, namespace, run};
use election_driver::core::{Epoch, lease::Failure};
use election_testing::{Galera, Kind, Proxy, Server};
use election_tokio::MySqlStore;
use sqlx::Connection as _;

/// The rights of a single server are not enough for a fence here.
pub(crate) async fn who_may_not_write_the_fence_is_told(cluster: &Galera, nodes: &mut [Node; 3]) {
    let server = cluster.node(0);
    server.administer("election", "CREATE USER app@'127.0.0.1' IDENTIFIED BY 'app'");
    let grants = server.kind().grants().replace("app", "app@'127.0.0.1'");
    server.administer("election", &grants);
    let url = server.url_as("app", "app");
    let mut store = MySqlStore::connect(&url).unwrap();
    let mut one = candidacy(1);
    let row = store.elect(&mut one).await.unwrap();
    assert!(one.leads(&row), "{row:?}");
    for may in [false, true] {
        if may {
            let grant = "GRANT DELETE ON election_fence TO app@'127.0.0.1'";
            server.administer("election", grant);
        }
        let mut connection = sqlx::MySqlConnection::connect(&url).await.unwrap();
        let mut transaction = connection.begin().await.unwrap();
        match store.fence(&mut transaction, &one, row.epoch).await {
            Ok(()) => assert!(may),
            Err(error) => {
                assert!(!may && error.to_string().contains("DELETE too"), "{error}");
            }
        }
    }
    nodes[0].vacates(&mut one, row.epoch).await;
}

pub(crate) async fn what_would_stay_on_one_server_is_refused(cluster: &Galera) {
    let root = cluster.node(0).url_as("root", "").replace("root:@", "root@");
    let mut connection = sqlx::MySqlConnection::connect(&root).await.unwrap();
    let store = MySqlStore::connect(&root).unwrap();
    run(&mut connection, "SET SESSION wsrep_on = 0").await.unwrap();
    let mut one = candidacy(1);
    let error = store.on(&mut connection).elect(&mut one).await.unwrap_err();
    assert_eq!(error.kind, Failure::Fatal, "{error}");
    assert!(error.to_string().contains("run SET SESSION wsrep_on = 1"), "{error}");
    let mut transaction = connection.begin().await.unwrap();
    let error = store.fence(&mut transaction, &one, Epoch::new(7)).await.unwrap_err();
    assert!(error.to_string().contains("run SET SESSION wsrep_on = 1"), "{error}");
    transaction.rollback().await.unwrap();
    run(&mut connection, "SET SESSION wsrep_on = 1").await.unwrap();
    let row = store.on(&mut connection).elect(&mut one).await.unwrap().committed();
    assert!(one.leads(&row), "{row:?}");
}

/// It was listed by mistake, and would elect a leader of its own.
pub(crate) async fn a_server_of_no_cluster_is_refused_beside_one(cluster: &Galera) {
    let (link, other) = (Proxy::to(cluster.node(0).port()), Server::start(Kind::MariaDb));
    let hosts = [link.port(), other.port()].map(|port| format!("127.0.0.1:{port}"));
    let url = format!("mysql://election:election@{}/election", hosts.join(","));
    let mut store = MySqlStore::connect(&url).unwrap();
    store.leader(&namespace()).await.unwrap();
    link.set_refusing(true);
    link.cut();
    store.leader(&namespace()).await.unwrap_err(); // the broken connection
    let said = store.leader(&namespace()).await.unwrap_err().to_string();
    assert!(
        said.contains(&format!("{}: this host does not reveal its cluster", hosts[1])),
        "{said}"
    );
}
