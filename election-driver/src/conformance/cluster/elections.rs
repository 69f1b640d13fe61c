//! Elections as they should be: first, planned, after a crash, while failover is paused.

use super::super::{fixture::OnNothing, ports::free_port};
use super::{DOWN_AFTER, IDS, Place, first, followed, handed_over, mortals, shut_down, trio};
use crate::{Cluster, Member, Network, Status};
use election_core::{Change, Epoch, Loss, quorum::Position};
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

/// The member with the newest data is elected, whatever its id; a report counts at once.
pub async fn the_newest_data_win<R: Network + Default>(_: OnNothing<R>) {
    let (_place, members) = trio::<R>([5, 6, 9]).await;
    let (leader, epoch) = first(&members).await;
    assert_eq!(leader, 2, "the newest data");
    members[1].set_position(Position { history: 1, offset: 10 });
    followed(members[1].handle(), Epoch::NONE).await;
    let knows = |offset: u64| {
        let of_second = |report: &crate::PeerReport| report.id.as_str() == "n2";
        let reports = members[2].peers();
        let second = reports.iter().find(|report| of_second(report)).expect("a member");
        second.status.heard.is_some_and(|heard| heard.position.offset >= offset)
    };
    let mut watch = members[2].handle().watch();
    while !knows(10) {
        watch.changed().await;
        R::default().sleep(Duration::from_millis(5)).await;
    }
    members[2].handle().shutdown().await;
    let (heir, later) = first(&members[..2]).await;
    assert_eq!(IDS[heir], "n2");
    assert!(later > epoch);
    shut_down(&members[..2]).await;
}

/// While failover is paused nobody is elected in place of a primary that has resigned for good;
/// once it is resumed, somebody is.
pub async fn pauses_and_resumes<R: Network + Default>(_: OnNothing<R>) {
    let (_place, members) = trio::<R>([5; 3]).await;
    let (leader, epoch) = first(&members).await;
    let other = members[(leader + 1) % 3].clone();
    followed(other.handle(), Epoch::NONE).await;
    other.pause(Some(Duration::from_secs(3600))).await.expect("a majority agrees");
    let known = other.maintenance().expect("a record");
    assert!(known.is_paused && known.recorded >= 2);
    let lease = members[leader].handle().lease().expect("it leads on");
    // Orders that overtake each other are both obeyed, and neither is called refused.
    let both = zip(other.pause(None), other.pause(None)).await;
    assert_eq!(both, (Ok(()), Ok(())));
    other.resume().await.expect("a majority agrees");
    other.resume().await.expect("nothing to do");
    assert!(!other.maintenance().expect("a record").is_paused);
    lease.check().expect("a pause costs no leadership");
    drop(lease);
    let mut changes = members[leader].handle().changes();
    members[leader].handle().resign().await.expect("a node");
    let mut reason = None;
    while reason.is_none() {
        if let Some(Change::Lost { reason: why, .. }) = changes.next().await.expect("in time") {
            reason = Some(why);
        }
    }
    assert_eq!(reason, Some(Loss::Resigned));
    assert!(followed(other.handle(), epoch).await.1 > epoch, "others are elected again");
    shut_down(&members).await;
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

/// A primary that is not fit to lead steps down, and may lead again once it is.
pub async fn an_unfit_member_steps_down_and_comes_back<R: Network + Default>(_: OnNothing<R>) {
    let (_place, members) = trio::<R>([5; 3]).await;
    let (old, epoch) = first(&members).await;
    members[old].handle().set_healthy(false);
    let rest: Vec<_> = (0..3).filter(|place| *place != old).collect();
    let others = rest.iter().map(|place| members[*place].clone()).collect::<Vec<_>>();
    let (_, later) = first(&others).await;
    assert!(later > epoch && !members[old].handle().is_leader());
    members[old].handle().set_healthy(true);
    others.iter().for_each(|other| other.handle().set_healthy(false));
    let lease = members[old].handle().elected().await.expect("a node");
    assert!(lease.epoch() > later);
    drop(lease);
    shut_down(&members).await;
}
