//! What an answer promises has happened when it is given.

use super::*;
use election_tokio::Cluster;

/// A member that leads, as the only one of its cluster.
async fn alone(place: &Path) -> Member {
    let member = started(place).await;
    member.handle().elected().await.expect("a leader");
    member
}

async fn started(place: &Path) -> Member {
    // An address of this process's own, at a port that the system gives out for nobody's use.
    let [_, high, middle, low] = std::process::id().to_be_bytes();
    let address = format!("127.{}.{middle}.{low}:7400", 1 + high % 250);
    let cluster = Cluster::builder("billing").node("n1").member("n1", address).without_data();
    let cluster = cluster.down_after(Duration::from_secs(2)).ballot(place.join("ballot"));
    cluster.build().expect("a cluster").start().await.expect("a member")
}

/// The test has one thread, and so sees what held when the answer was ready.
#[tokio::test(flavor = "current_thread")]
async fn resign_answers_after_the_work_was_told_to_end() {
    let place = tempfile::tempdir().expect("a directory");
    let member = alone(place.path()).await;
    let lease = member.handle().lease().expect("it leads");
    let knowledge = Knowledge::new(member.clone());
    let answer = knowledge.answer(Request::Resign { to: None, within_ms: 60_000 }).await;
    assert!(!lease.is_held() && !member.handle().is_leader(), "answered before");
    let epoch = lease.epoch().get();
    assert!(matches!(answer, Answer::Resigning { epoch: told } if told == epoch), "{answer:?}");
    // Not after the work has ended: that may take as long as the grace.
    let again = knowledge.answer(Request::Resign { to: None, within_ms: 60_000 }).await;
    assert!(
        matches!(&again, Answer::Refused(why) if why.contains("is not the leader")),
        "{again:?}"
    );
    drop(lease);
    member.handle().shutdown().await;
}

#[tokio::test(flavor = "current_thread")]
async fn a_member_that_has_just_started_says_when_it_takes_orders() {
    let place = tempfile::tempdir().expect("a directory");
    alone(place.path()).await.handle().shutdown().await;
    let member = started(place.path()).await; // it stays out as long as others may rely on its votes
    let knowledge = Knowledge::new(member.clone());
    let answer = knowledge.answer(Request::Pause { for_ms: None, within_ms: 60_000 }).await;
    let says = |why: &str| why.contains("just started") && why.contains("ms: repeat");
    assert!(matches!(&answer, Answer::Refused(why) if says(why)), "{answer:?}");
    member.handle().shutdown().await;
}

/// It would cost an outage and change nothing.
#[tokio::test(flavor = "current_thread")]
async fn nobody_resigns_while_only_the_same_member_can_be_elected() {
    let place = tempfile::tempdir().expect("a directory");
    let member = alone(place.path()).await;
    let knowledge = Knowledge::new(member.clone());
    let resign = || knowledge.answer(Request::Resign { to: None, within_ms: 60_000 });
    let answer = knowledge.answer(Request::Pause { for_ms: None, within_ms: 60_000 }).await;
    assert!(matches!(answer, Answer::Maintained { changed: true, .. }), "{answer:?}");
    let answer = resign().await;
    let says = |why: &str| why.contains("only n1") && why.contains("--to");
    assert!(matches!(&answer, Answer::Refused(why) if says(why)), "{answer:?}");
    assert!(member.handle().is_leader());
    let answer = knowledge.answer(Request::Resume { within_ms: 60_000 }).await;
    assert!(matches!(answer, Answer::Maintained { changed: true, .. }), "{answer:?}");
    assert!(matches!(resign().await, Answer::Resigning { .. }));
    member.handle().shutdown().await;
}
