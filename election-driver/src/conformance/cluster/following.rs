//! Whom to copy from, and until when.

use super::{OnNothing, Place, first, shut_down};
use crate::{Member, Network};
use election_core::Epoch;
use futures_lite::future::zip;
use std::future::pending;

/// Nodes that announce a service of their own, at another port than the election's.
async fn announced<R: Network + Default>(place: &Place) -> Vec<Member<R>> {
    let mut members = Vec::new();
    for nth in 0..3 {
        let cluster = place.builder::<R>(nth).without_data().announce(service(nth)).build();
        members.push(cluster.expect("a valid cluster").start().await.expect("a node"));
    }
    members
}

fn service(place: usize) -> String {
    format!("127.0.0.{}:80", place + 1)
}

/// A follower is told where its primary is, and when that is over.
pub async fn a_follower_is_told_of_its_primary<R: Network + Default>(_: OnNothing<R>) {
    let place = Place::new(3);
    let members = announced::<R>(&place).await;
    let old = first(&members).await.0;
    let [one, other] = [(old + 1) % 3, (old + 2) % 3];
    let primary = members[one].followed().await.expect("a primary");
    let epoch = primary.term.epoch;
    assert_eq!(primary.term.leader.as_str(), format!("n{}", old + 1));
    assert_eq!(primary.address.as_str(), service(old), "what it announces");
    assert_eq!(members[one].primary(), Some(primary.clone()));
    assert!(members[one].follows(epoch) && !members[one].follows(Epoch::new(epoch.get() + 1)));
    let refused = members[one].handle().require().expect_err("it follows");
    assert_eq!(refused.label.as_ref(), Some(&primary.address));
    assert_eq!(
        refused.to_string(),
        format!(
            "this process is not the leader; the leader is {}, at {}",
            primary.term, primary.address
        )
    );
    // The one that leads copies from nobody.
    assert_eq!((members[old].primary(), members[old].follows(epoch)), (None, false));
    let nothing = members[old].while_following(epoch, pending::<()>()).await;
    assert_eq!(nothing, None);
    // Work that ends is heard; work that does not ends with the leadership.
    members[other].followed().await.expect("a primary");
    assert_eq!(members[other].while_following(epoch, async { 7 }).await, Some(7));
    let copying = members[one].while_following(epoch, pending::<()>());
    // It does not stand again. On a busy machine one that only resigns can be elected once more.
    let unfit = async { members[old].handle().set_healthy(false) };
    assert_eq!(zip(copying, unfit).await, (None, ()));
    assert!(!members[one].follows(epoch));
    let next = members[old].followed().await.expect("a primary");
    assert!(next.term.epoch > epoch);
    assert_ne!(next.address, primary.address);
    // A node that has ended follows nobody.
    let nobody = members[old].while_following(next.term.epoch, pending::<()>());
    let ((), copied) = zip(members[old].handle().shutdown(), nobody).await;
    assert_eq!(copied, None);
    assert_eq!(members[old].primary(), None);
    members[old].followed().await.expect_err("it has ended");
    shut_down(&members).await;
}
