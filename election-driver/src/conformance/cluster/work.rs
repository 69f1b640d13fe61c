//! Leader work on members, and what ends it.

use super::{
    super::{
        sqlite::{Journal, next_loss},
        tasks::{End, spawn},
    },
    OnNothing, Place, first, leads_on, shut_down, trio,
};
use crate::{Lease, Network, Node};
use election_core::{Loss, quorum::Position};
use futures_lite::future::{or, zip};
use std::{future::pending, panic::resume_unwind, time::Duration};

/// Nobody else has to find out first: the drop itself ends leadership.
pub async fn dropping_a_node_ends_leadership_at_once<R: Network + Default>(_: OnNothing<R>) {
    let (place, mut members) = (Place::new(3), Vec::new());
    // In this task, so that nobody polls them between the drop and the look.
    let mut nodes: Vec<Node> = Vec::new();
    for nth in 0..3 {
        let long = Duration::from_secs(60);
        let cluster = place.cluster_with::<R>(nth, Position::default(), long);
        let (member, node) = cluster.open().await.expect("a node");
        members.push(member);
        nodes.push(node);
    }
    let [one, two, three] = &mut nodes[..] else { unreachable!("three were opened") };
    let driven = async {
        zip(zip(one, two), three).await;
        pending().await
    };
    let leads = or(driven, first(&members)).await.0;
    let leader = members[leads].handle();
    let lease = leader.lease().expect("it leads");
    let mut changes = leader.changes();
    drop(nodes.swap_remove(leads));
    assert!(lease.check().is_err() && !lease.is_held() && !leader.is_leader());
    assert!(leader.status().closed && leader.lease().is_none());
    assert_eq!(next_loss(&mut changes).await, Loss::Withdrawn);
    assert_eq!(lease.lost().await.reason, Loss::Withdrawn);
    leader.elected().await.expect_err("it has ended");
}

/// Work whose future is dropped is dropped with it; the member leads on.
pub async fn cancelled_work_leaves_the_member_leading<R: Network + Default>(_: OnNothing<R>) {
    let (_place, members) = trio::<R>([5; 3]).await;
    let (leads, epoch) = first(&members).await;
    let journal = Journal::default();
    {
        let works = members[leads].handle().run_while_leader(async |lease: Lease<R>| {
            let _working = journal.begin(lease.epoch());
            pending::<Result<(), String>>().await
        });
        let started = async { drop(journal.until(|entries| entries.len() == 1).await) };
        or(started, async { drop(works.await) }).await;
    }
    let entry = journal.entries()[0].clone();
    assert!(entry.to.is_some(), "the work is dropped with its future");
    assert_eq!(entry.epoch, epoch);
    leads_on(&members[leads], epoch, Duration::from_secs(1)).await;
    shut_down(&members).await;
}

/// Work that panics gives leadership up, or its member would lead on and do nothing.
pub async fn work_that_panics_gives_leadership_up<R: Network + Default>(_: OnNothing<R>) {
    let (_place, members) = trio::<R>([5; 3]).await;
    let (leads, epoch) = first(&members).await;
    let mut changes = members[leads].handle().changes();
    // A panic without a backtrace, which takes a busy machine longer to print than trust lasts.
    let panics =
        async |_| -> Result<(), String> { resume_unwind(Box::new("a bug in leader work")) };
    let works = spawn::<R, _>(members[leads].handle().run_while_leader(panics));
    let Err(End::Panicked(panic)) = works.outcome().await else { panic!("the panic was caught") };
    assert_eq!(panic.downcast_ref(), Some(&"a bug in leader work"));
    assert_eq!(next_loss(&mut changes).await, Loss::Resigned);
    let others: Vec<_> = (0..3).filter(|nth| *nth != leads).map(|it| members[it].clone()).collect();
    assert!(first(&others).await.1 > epoch, "another can lead");
    shut_down(&members).await;
}
