//! Elections that go on while members fail, or end in time.

use crate::{
    on::{OnNothing, block_on},
    places::store,
};
use election_testing::{
    Etcd,
    router::{Router, moved},
};
use election_tokio::{Election, Handle, Status};
use std::time::{Duration, Instant};

const TTL: Duration = Duration::from_secs(12);

/// An elector that asks this member first.
fn elector(cluster: &Etcd, node: &str, first: usize) -> Handle {
    let url = format!("etcd://{}", cluster.hosts_from(first));
    Election::builder("test").node(node).ttl(TTL).store(store(&url)).build().unwrap().start()
}

/// A leader that asks etcd's own leader first, a follower, and which member that is.
async fn led(cluster: &Etcd) -> (Handle, Handle, usize) {
    let at = cluster.wait_until_led();
    let leader = elector(cluster, "a", at);
    leader.elected().await.unwrap();
    let follower = elector(cluster, "b", at);
    follower.watch().until(|status| status.leader.is_some()).await;
    (leader, follower, at)
}

/// The leader renews under the same term: so many questions later.
async fn renews(leader: &Handle) {
    let first = leader.lease().expect("a leader");
    for _ in 0..2 {
        let until = leader.lease().expect("still a leader").until();
        let mut watch = leader.watch();
        let later = |status: &Status| status.tenure.as_ref().is_none_or(|own| own.until > until);
        let status = watch.until(later).await;
        let tenure = status.tenure.expect("still leading");
        assert_eq!(tenure.term, *first.term(), "the same term");
    }
}

/// The leader renews while this befalls etcd's own leader, and once it is mended.
async fn goes_on(
    mut cluster: Etcd,
    fault: impl FnOnce(&mut Etcd, usize),
    mend: impl FnOnce(&mut Etcd, usize),
) {
    let (leader, follower, at) = led(&cluster).await;
    fault(&mut cluster, at);
    renews(&leader).await;
    assert!(!follower.is_leader());
    mend(&mut cluster, at);
    renews(&leader).await;
    leader.shutdown().await;
    follower.elected().await.unwrap();
}

/// It is killed, and has lost its disk: a new member at its address catches up.
async fn goes_on_while_etcds_leader_is_replaced(_: OnNothing) {
    goes_on(Etcd::start(), Etcd::replace, |_, _| {}).await;
}

/// It serves clients, and hears nothing of the others.
#[test]
fn goes_on_while_etcds_leader_is_cut_off() {
    if !moved("elections::goes_on_while_etcds_leader_is_cut_off") {
        return;
    }
    let router = Router::new(3);
    let others = |at: usize| [(at + 1) % 3, (at + 2) % 3];
    let cut = |_: &mut Etcd, at| others(at).iter().for_each(|other| router.cut(at, *other));
    let heal = |_: &mut Etcd, at| others(at).iter().for_each(|other| router.heal(at, *other));
    block_on(goes_on(Etcd::start_on(&router), cut, heal));
}

/// Its connections stay open, and nothing comes from it.
async fn goes_on_while_etcds_leader_is_stopped(_: OnNothing) {
    goes_on(Etcd::start(), |etcd, at| etcd.freeze(at), |etcd, at| etcd.thaw(at)).await;
}

async fn ends_in_time_without_a_majority_and_recovers(_: OnNothing) {
    let mut cluster = Etcd::start();
    let (leader, follower, at) = led(&cluster).await;
    let down = [at, (at + 1) % 3];
    down.iter().for_each(|at| cluster.kill(*at));
    let killed = Instant::now();
    leader.watch().until(|status| status.tenure.is_none()).await;
    println!("nobody leads {:?} after the kill", killed.elapsed());
    assert!(killed.elapsed() < TTL, "nobody renewed");
    assert!(!leader.is_leader() && !follower.is_leader());

    let up = Instant::now();
    down.iter().for_each(|at| cluster.restart(*at));
    let next = futures_lite::future::or(leader.elected(), follower.elected()).await;
    let silence = TTL.mul_f64(1.09);
    println!("epoch {} leads {:?} after the start of etcd", next.unwrap().epoch(), up.elapsed());
    assert!(up.elapsed() < silence + Duration::from_secs(2), "{:?}", up.elapsed());
    assert!(!(leader.is_leader() && follower.is_leader()), "two lead");
}

tests! {
    goes_on_while_etcds_leader_is_stopped: by_itself;
    goes_on_while_etcds_leader_is_replaced: by_itself;
    ends_in_time_without_a_majority_and_recovers: by_itself;
}
