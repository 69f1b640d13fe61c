//! Servers whose clocks are an hour apart.

use crate::support::{Node, candidacy, election, elector, knows};
use election_testing::Galera;
use std::time::Duration;

const TTL: Duration = Duration::from_secs(4);
const HOUR: Duration = Duration::from_secs(3_600);

/// A lease that ends by one clock ends at once by another.
pub(crate) async fn two_lead_who_do_not_allow_for_them(nodes: &mut [Node; 3]) {
    let [mut one, mut two] = [1, 2].map(candidacy);
    let epoch = nodes[2].wins(&mut one).await;
    let row = nodes[2].row().await;
    assert!(one.leads(&row) && row.remaining > HOUR / 6, "{row:?}");
    nodes[1].knows(epoch).await;
    let next = nodes[1].wins(&mut two).await;
    nodes[1].vacates(&mut two, next).await;
    nodes[2].knows(next).await;
}

/// The leader's server is the one that is behind.
pub(crate) async fn one_leads_who_allows_for_them(cluster: &Galera, nodes: &mut [Node; 3]) {
    let (leader, driver) = election(&cluster.node(2).url(), "leader", TTL, HOUR).into_parts();
    let driver = tokio::spawn(driver);
    let lease = leader.elected().await.unwrap();
    let heir = elector(cluster.node(1), "heir", TTL, HOUR);
    knows(&heir, lease.epoch()).await;
    let mut two = candidacy(2);
    let before = nodes[1].row().await.renewals;
    while nodes[1].row().await.renewals < before + 4 {
        let row = nodes[1].store.elect(&mut two).await.unwrap();
        assert!(!two.leads(&row) && !heir.is_leader(), "{row:?}");
        assert!(lease.is_held());
        tokio::time::sleep(TTL / 20).await;
    }
    drop(lease);
    driver.abort(); // a crash: nobody renews and nobody releases
    heir.elected().await.unwrap();
    assert!(!leader.is_leader(), "two lead");
    heir.shutdown().await;
}
