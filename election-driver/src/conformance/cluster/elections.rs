//! Elections as they should be: first, planned, after a crash.

use super::super::{fixture::OnNothing, ports::free_port};
use super::{DOWN_AFTER, IDS, Place, first, followed, handed_over, mortals, shut_down, trio};
use crate::{Cluster, Member, Network, Status};
use election_core::{Change, Epoch, quorum::Position};
use futures_lite::future::zip;
use std::time::Duration;

/// Elect on a first start, follow, and take over from a primary that was dropped silently.
pub async fn elects_follows_and_fails_over<R: Network + Default>(_: OnNothing<R>) {
    let place = Place::new(3);
    let at = Position::default();
    let (mut others, mut runs) = mortals::<R>(&place).await;
    let won = first(&others).await.0;
    let (doomed, running) = (others.remove(won), runs.remove(won));
    let lease = doomed.handle().elected().await.expect("a node");
    let (term, until) = (lease.term().clone(), lease.until());
    assert_eq!(term.leader.as_str(), IDS[won]);
    for other in &others {
        let (leader, epoch) = followed(other.handle(), Epoch::NONE).await;
        assert_eq!((leader, epoch), (term.leader.clone(), term.epoch));
        assert!(!other.handle().is_leader());
        let known = |status: &Status| {
            let leader = status.leader.as_ref();
            leader.and_then(|leader| leader.label.as_ref()).is_some()
        };
        let status = other.handle().watch().until(known).await;
        let label = status.leader.and_then(|leader| leader.label).expect("an address");
        assert_eq!(label.as_str(), place.address(won));
    }
    let later = |status: &Status| status.tenure.as_ref().is_none_or(|own| own.until > until);
    let renewed = doomed.handle().watch().until(later).await;
    assert_eq!(renewed.tenure.expect("still leading").term, term, "echoes keep the term");

    let mut changes = doomed.handle().changes();
    running.abort();
    assert!(doomed.handle().watch().until(|status| status.closed).await.closed);
    assert!(!doomed.handle().is_leader() && lease.check().is_err());
    let (heir, epoch) = first(&others).await;
    assert!(epoch > term.epoch, "{epoch} after {}", term.epoch);
    assert_eq!(followed(others[1 - heir].handle(), term.epoch).await.1, epoch);
    let mut lost = false;
    while let Ok(Some(change)) = changes.next().await {
        lost |= matches!(change, Change::Lost { .. });
    }
    assert!(lost, "the end is told");

    // With its ballot and under its name, it is a member as before.
    drop((lease, doomed));
    let back = place.cluster::<R>(won, at).start().await.expect("its ballot is free again");
    assert_eq!(followed(back.handle(), term.epoch).await.1, epoch);
    for member in others.iter().chain([&back]) {
        member.handle().shutdown().await;
    }
}

/// A planned handover goes to the member that was named, and a shutdown to whoever comes next.
pub async fn hands_over_and_shuts_down<R: Network + Default>(_: OnNothing<R>) {
    let (_place, members) = trio::<R>([5; 3]).await;
    let (leader, epoch) = first(&members).await;
    let follower = (leader + 1) % 3;
    let handed = handed_over(&members, follower).await;
    assert!(handed > epoch);
    let rest: Vec<_> =
        (0..3).filter(|place| *place != follower).map(|it| members[it].clone()).collect();
    members[follower].handle().shutdown().await;
    let (_, last) = first(&rest).await;
    assert!(last > handed);
    shut_down(&rest).await;
}

/// Whoever shuts down is succeeded long before it would count as silent, frees its ballot, and keeps
/// nobody waiting who asks it later.
pub async fn who_leaves_says_so<R: Network + Default>(_: OnNothing<R>) {
    let (runtime, down_after, place) = (R::default(), Duration::from_secs(20), Place::new(3));
    let mut members = Vec::new();
    for nth in 0..3 {
        let cluster = place.cluster_with::<R>(nth, Position::default(), down_after);
        members.push(cluster.start().await.expect("a node"));
        if nth == 0 {
            let alone = members[0].pause(None).await;
            assert!(matches!(alone, Err(crate::PauseError::Refused(_))), "{alone:?}");
        }
    }
    let (old, epoch) = first(&members).await;
    let member = members.remove(old);
    for other in &members {
        followed(other.handle(), Epoch::NONE).await;
    }
    let began = runtime.now();
    let works = member.handle().run_while_leader(async |lease: crate::Lease<R>| {
        lease.lost().await;
        Ok::<(), String>(())
    });
    let (worked, ()) = zip(works, member.handle().shutdown()).await;
    worked.expect("a shutdown by other code is no error");
    let again = place.cluster_with::<R>(old, Position::default(), down_after);
    assert!(first(&members).await.1 > epoch);
    let took = runtime.now().since(began);
    assert!(took < down_after / 2, "nobody was elected for {took:?}");
    assert!(member.pause(None).await.is_err(), "it has ended");
    let again = again.start().await.expect("its ballot is free");
    for member in members.iter().chain([&again]) {
        member.handle().shutdown().await;
    }
}

/// Members by name, by number, and over IPv6.
pub async fn names_and_both_families<R: Network + Default>(_: OnNothing<R>) {
    let place = Place::new(2);
    let six = format!("[::1]:{}", free_port());
    let port = place.address(0).rsplit_once(':').expect("a port").1;
    let addresses = [format!("localhost:{port}"), place.address(1).to_owned(), six];
    let mut members = Vec::new();
    for (nth, own) in IDS.iter().enumerate() {
        let listed = IDS.iter().zip(&addresses);
        let builder = Cluster::<R>::builder("families").node(*own).ballot(place.ballot(nth));
        let builder = listed.fold(builder, |builder, (id, address)| builder.member(*id, address));
        let cluster = builder.down_after(DOWN_AFTER).without_data().build();
        members.push(cluster.expect("a valid cluster").start().await.expect("a node"));
    }
    let (leader, epoch) = first(&members).await;
    for (nth, member) in members.iter().enumerate().filter(|(nth, _)| *nth != leader) {
        assert_eq!(followed(member.handle(), Epoch::NONE).await.1, epoch, "{}", IDS[nth]);
    }
    let all = |member: &Member<R>| member.peers().iter().all(|peer| peer.connected);
    let mut watch = members[0].handle().watch();
    while !members.iter().all(all) {
        watch.get();
        R::default().sleep(Duration::from_millis(5)).await;
    }
    shut_down(&members).await;
}
