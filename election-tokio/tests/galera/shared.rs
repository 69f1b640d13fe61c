//! Many elections of a process on one store, each process at a server of its own.

use crate::support::{knows, until};
use election_driver::core::Epoch;
use election_testing::{Galera, process::PATIENCE};
use election_tokio::{Election, Handle, MySqlStore};
use std::{future::Future, time::Duration};

const MANY: usize = 60;
const TTL: Duration = Duration::from_secs(6);

/// They stand for all at once, so that batches of attempts meet at the certification. Whoever is at a
/// server that dies leads nothing more, and the other leads all.
pub(crate) async fn one_process_leads_each_of_many(cluster: &mut Galera) {
    let (ours, theirs) = (all(cluster, 0), all(cluster, 1));
    for (one, other) in ours.iter().zip(&theirs) {
        for handle in [one, other] {
            soon("knows a leader", handle, until(handle, |status| status.leader.is_some())).await;
        }
    }
    cluster.kill(0);
    let mut epochs = Vec::new();
    for (one, other) in ours.iter().zip(&theirs) {
        epochs.push(soon("leads", other, elected(other)).await);
        assert!(!one.is_leader(), "two lead");
    }
    cluster.rejoin(0);
    for (one, epoch) in ours.iter().zip(epochs) {
        soon("knows who leads", one, knows(one, epoch)).await;
    }
    for handle in ours.iter().chain(&theirs) {
        handle.withdraw();
    }
    for handle in ours.iter().chain(&theirs) {
        soon("has left", handle, handle.shutdown()).await;
    }
}

async fn elected(handle: &Handle) -> Epoch {
    handle.elected().await.unwrap().epoch()
}

/// Waits, and says which of the many has waited in vain, and what it knows.
async fn soon<T>(what: &str, handle: &Handle, wait: impl Future<Output = T>) -> T {
    let done = tokio::time::timeout(PATIENCE, wait).await;
    let name = &handle.registration().namespace;
    done.unwrap_or_else(|_| panic!("{name} never {what}: {:?}", handle.status()))
}

fn all(cluster: &Galera, at: usize) -> Vec<Handle> {
    let store = Election::share(MySqlStore::connect(&cluster.node(at).url()).unwrap());
    let start = |number| {
        let election = Election::builder(format!("tenant-{number}")).node(["a", "b"][at]).ttl(TTL);
        election.store(store.clone()).build().unwrap().start()
    };
    (0..MANY).map(start).collect()
}
