//! Elections that go on while members fail, or end in time.

use crate::places::{OnEtcd, store};
use election_testing::Etcd;
use election_tokio::{Election, Handle, Status};
use std::time::{Duration, Instant};

const TTL: Duration = Duration::from_secs(12);

/// An elector that asks this member first.
fn elector(place: &OnEtcd, node: &str, first: usize) -> Handle {
    let url = format!("etcd://{}", place.cluster().hosts_from(first));
    Election::builder("test").node(node).ttl(TTL).store(store(&url)).build().unwrap().start()
}

/// A leader that asks etcd's own leader first, a follower, and which member that is.
async fn led(place: &OnEtcd) -> (Handle, Handle, usize) {
    let at = place.cluster().wait_until_led();
    let leader = elector(place, "a", at);
    leader.elected().await.unwrap();
    let follower = elector(place, "b", at);
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
async fn goes_on(place: OnEtcd, fault: fn(&mut Etcd, usize), mend: fn(&mut Etcd, usize)) {
    let (leader, follower, at) = led(&place).await;
    fault(&mut place.cluster(), at);
    renews(&leader).await;
    assert!(!follower.is_leader());
    mend(&mut place.cluster(), at);
    renews(&leader).await;
    leader.shutdown().await;
    follower.elected().await.unwrap();
}

async fn goes_on_while_etcds_leader_is_killed(place: OnEtcd) {
    goes_on(place, Etcd::kill, Etcd::restart).await;
}

/// Its connections stay open, and nothing comes from it.
async fn goes_on_while_etcds_leader_is_stopped(place: OnEtcd) {
    goes_on(place, |etcd, at| etcd.freeze(at), |etcd, at| etcd.thaw(at)).await;
}

async fn ends_in_time_without_a_majority_and_recovers(place: OnEtcd) {
    let (leader, follower, at) = led(&place).await;
    let down = [at, (at + 1) % 3];
    down.iter().for_each(|at| place.cluster().kill(*at));
    let killed = Instant::now();
    leader.watch().until(|status| status.tenure.is_none()).await;
    println!("nobody leads {:?} after the kill", killed.elapsed());
    assert!(killed.elapsed() < TTL, "nobody renewed");
    assert!(!leader.is_leader() && !follower.is_leader());

    let up = Instant::now();
    down.iter().for_each(|at| place.cluster().restart(*at));
    let next = futures_lite::future::or(leader.elected(), follower.elected()).await;
    let silence = TTL.mul_f64(1.09);
    println!("epoch {} leads {:?} after the start of etcd", next.unwrap().epoch(), up.elapsed());
    assert!(up.elapsed() < silence + Duration::from_secs(2), "{:?}", up.elapsed());
    assert!(!(leader.is_leader() && follower.is_leader()), "two lead");
}

tests! {
    goes_on_while_etcds_leader_is_killed: etcd;
    goes_on_while_etcds_leader_is_stopped: etcd;
    ends_in_time_without_a_majority_and_recovers: etcd;
}
