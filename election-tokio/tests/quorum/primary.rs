//! Whom to copy from, and until when: three nodes in one process.

use crate::cluster::free_ports;
use election_tokio::{Cluster, Member, core::Epoch};
use std::{future::pending, path::Path, time::Duration};

/// Nodes that announce a service of their own, at another port than the election's.
async fn three(place: &Path) -> Vec<Member> {
    let addresses: Vec<_> = free_ports(3).iter().map(|port| format!("127.0.0.1:{port}")).collect();
    let mut members = Vec::new();
    for node in 1..=3 {
        let mut cluster = Cluster::builder("copied").node(format!("n{node}")).without_data();
        for (nth, address) in addresses.iter().enumerate() {
            cluster = cluster.member(format!("n{}", nth + 1), address);
        }
        let cluster = cluster.announce(service(node)).down_after(Duration::from_secs(2));
        let cluster = cluster.ballot(place.join(format!("n{node}"))).build().expect("a cluster");
        members.push(cluster.start().await.expect("a member"));
    }
    members
}

fn service(node: usize) -> String {
    format!("127.0.0.{node}:80")
}

/// Who leads, by its place.
async fn leader(members: &[Member]) -> usize {
    let elected = |place: usize| {
        let handle = members[place].handle().clone();
        async move {
            handle.elected().await.expect("it runs");
            place
        }
    };
    tokio::select! {
        place = elected(0) => place,
        place = elected(1) => place,
        place = elected(2) => place,
    }
}

#[tokio::test]
async fn a_follower_is_told_where_its_primary_is_and_when_that_is_over() {
    let directory = tempfile::tempdir().expect("a directory");
    let members = three(directory.path()).await;
    let old = leader(&members).await;
    let [one, other] = [(old + 1) % 3, (old + 2) % 3];
    let primary = members[one].followed().await.expect("a primary");
    let epoch = primary.term.epoch;
    assert_eq!(primary.term.leader.as_str(), format!("n{}", old + 1));
    assert_eq!(primary.address.as_str(), service(old + 1), "what it announces");
    assert_eq!(members[one].primary(), Some(primary.clone()));
    assert!(members[one].follows(epoch) && !members[one].follows(Epoch::new(epoch.get() + 1)));
    let refused = members[one].handle().require().expect_err("it follows");
    assert_eq!(refused.label.as_ref(), Some(&primary.address));
    assert_eq!(
        refused.to_string(),
        format!("this process does not lead; {} does, at {}", primary.term, primary.address)
    );
    // The one that leads copies from nobody.
    assert_eq!((members[old].primary(), members[old].follows(epoch)), (None, false));
    let nothing = members[old].while_following(epoch, pending::<()>()).await;
    assert_eq!(nothing, None);
    // Work that ends is heard; work that does not ends with the leadership.
    members[other].followed().await.expect("a primary");
    assert_eq!(members[other].while_following(epoch, async { 7 }).await, Some(7));
    let copying = members[one].while_following(epoch, pending::<()>());
    let resigning = members[old].handle().resign();
    let (copied, resigned) = tokio::join!(copying, resigning);
    resigned.expect("it runs");
    assert_eq!(copied, None);
    assert!(!members[one].follows(epoch));
    let next = members[old].followed().await.expect("a primary");
    assert!(next.term.epoch > epoch);
    assert_ne!(next.address, primary.address);
    // A node that has ended follows nobody.
    let nobody = members[old].while_following(next.term.epoch, pending::<()>());
    let ((), copied) = tokio::join!(members[old].handle().shutdown(), nobody);
    assert_eq!(copied, None);
    assert_eq!(members[old].primary(), None);
    members[old].followed().await.expect_err("it has ended");
}
