//! Many elections of a process on one store, each process at a server of its own.

use crate::support::{knows, until};
use election_testing::Galera;
use election_tokio::{Election, Handle, MySqlStore};
use std::time::Duration;

const MANY: usize = 60;
const TTL: Duration = Duration::from_secs(6);

/// They stand for all at once, so that batches of attempts meet at the certification. Whoever is at a
/// server that dies leads nothing more, and the other leads all.
pub(crate) async fn one_process_leads_each_of_many(cluster: &mut Galera) {
    let (ours, theirs) = (all(cluster, 0), all(cluster, 1));
    for (one, other) in ours.iter().zip(&theirs) {
        until(one, |status| status.leader.is_some()).await;
        until(other, |status| status.leader.is_some()).await;
    }
    cluster.kill(0);
    let mut epochs = Vec::new();
    for (one, other) in ours.iter().zip(&theirs) {
        epochs.push(other.elected().await.unwrap().epoch());
        assert!(!one.is_leader(), "two lead");
    }
    cluster.rejoin(0);
    for (one, epoch) in ours.iter().zip(epochs) {
        knows(one, epoch).await;
    }
    for handle in ours.iter().chain(&theirs) {
        handle.withdraw();
    }
    for handle in ours.into_iter().chain(theirs) {
        handle.shutdown().await;
    }
}

fn all(cluster: &Galera, at: usize) -> Vec<Handle> {
    let store = Election::share(MySqlStore::connect(&cluster.node(at).url()).unwrap());
    let start = |number| {
        let election = Election::builder(format!("tenant-{number}")).node(["a", "b"][at]).ttl(TTL);
        election.store(store.clone()).build().unwrap().start()
    };
    (0..MANY).map(start).collect()
}
