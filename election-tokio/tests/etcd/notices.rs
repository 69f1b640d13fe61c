//! What a watch tells. Where a lease lasts fifteen minutes and a poll comes after five, only a watch can
//! make something happen within the time that a test waits.

use crate::places::{OnEtcd, register};
use election_driver::{Notice, Register as _, Runtime as _, conformance::Stores};
use election_tokio::{Notifications, Pause, Tokio};
use futures_lite::StreamExt as _;
use std::{
    sync::Arc,
    time::{Duration, Instant},
};

const LONG: Duration = Duration::from_secs(900);

async fn a_resignation_wakes_the_follower(place: OnEtcd) {
    let leader = place.elector("a", LONG);
    leader.elected().await.unwrap();
    let follower = place.elector("b", LONG);
    follower.watch().until(|status| status.leader.is_some()).await;
    let told = Instant::now();
    leader.resign().await.unwrap();
    follower.elected().await.unwrap();
    println!("the next leads {:?} after the call to resign", told.elapsed());
    assert!(told.elapsed() < Duration::from_secs(10), "{:?}", told.elapsed());
}

fn notices(place: &OnEtcd, first: usize) -> Notifications {
    watched(place, first, Arc::new(|time| Box::pin(Tokio.sleep(time))))
}

fn watched(place: &OnEtcd, first: usize, pause: Pause) -> Notifications {
    register(&format!("etcd://{}", place.cluster().hosts_from(first))).watch("key", pause)
}

async fn changes_and_gaps_are_told(place: OnEtcd) {
    let mut notices = notices(&place, 2);
    let mut next = async || notices.next().await.unwrap();
    assert_eq!(next().await, Notice::Listening);
    assert_eq!(next().await, Notice::Wake, "it may have changed before");
    place.cluster().run(&["put", "key", "a"]);
    assert_eq!(next().await, Notice::Wake);
    place.cluster().run(&["del", "key"]);
    assert_eq!(next().await, Notice::Wake);
    place.cluster().kill(2);
    let Notice::NotListening(why) = next().await else { panic!("it was killed") };
    let port = place.cluster().port(2).to_string();
    assert!(why.contains(&port), "{why}");
    assert_eq!(next().await, Notice::Listening, "at another member");
    assert_eq!(next().await, Notice::Wake, "it may have changed meanwhile");
}

/// The member that is left knows of no leader, and says so instead of telling nothing for ever.
async fn a_member_without_the_others_tells_nothing(place: OnEtcd) {
    let mut notices = notices(&place, 0);
    assert_eq!(notices.next().await, Some(Notice::Listening));
    assert_eq!(notices.next().await, Some(Notice::Wake));
    place.cluster().kill(1);
    place.cluster().kill(2);
    let Some(Notice::NotListening(why)) = notices.next().await else { panic!("nobody leads") };
    assert!(why.contains("etcdserver: no leader"), "{why}");
    place.cluster().restart(1);
    assert_eq!(notices.next().await, Some(Notice::Listening));
    assert_eq!(notices.next().await, Some(Notice::Wake));
}

/// Silence is not believed for ever: the watch begins anew, and a member that stands still is left.
async fn a_silent_member_is_asked_again_and_left(place: OnEtcd) {
    let (is_over, over) = async_channel::unbounded();
    let pause: Pause = Arc::new(move |time| {
        let over = over.clone();
        Box::pin(async move {
            match time < Duration::from_secs(10) {
                true => Tokio.sleep(time).await,
                false => over.recv().await.unwrap(),
            }
        })
    });
    let mut notices = watched(&place, 0, pause);
    let mut next = async || notices.next().await.unwrap();
    assert_eq!((next().await, next().await), (Notice::Listening, Notice::Wake));
    is_over.try_send(()).unwrap();
    assert_eq!(next().await, Notice::Wake, "it has listened all the while, or nearly so");
    place.cluster().freeze(0);
    is_over.try_send(()).unwrap();
    let Notice::NotListening(why) = next().await else { panic!("it stands still") };
    assert!(why.contains("no answer in 2500 ms"), "{why}");
    assert_eq!((next().await, next().await), (Notice::Listening, Notice::Wake));
}

tests! {
    a_silent_member_is_asked_again_and_left: etcd;
    a_resignation_wakes_the_follower: etcd;
    changes_and_gaps_are_told: etcd;
    a_member_without_the_others_tells_nothing: etcd;
}
