//! What etcd refuses, and what is refused of it.

use crate::{
    on::OnNothing,
    places::{OnEtcd, register, store},
};
use election_core::lease::Failure;
use election_driver::{Register as _, Runtime as _};
use election_testing::Etcd;
use election_tokio::{Election, EtcdRegister, Notice, Pause, StoreError, StoreErrorCode, Tokio};
use futures_lite::StreamExt as _;
use std::{sync::Arc, time::Duration};

#[track_caller]
fn is_fatal<T>(result: Result<T, StoreError>, words: &[&str]) -> StoreError {
    let error = result.err().expect("a refusal");
    let said = error.to_string();
    assert_eq!(error.kind, Failure::Fatal, "{said}");
    for word in words {
        assert!(said.contains(word), "no {word:?} in {said}");
    }
    assert!(said.contains("; "), "no remedy in {said}");
    error
}

fn of(cluster: &Etcd, login: &str, prefix: &str) -> EtcdRegister {
    register(&format!("etcd://{login}{}/{prefix}", cluster.hosts_from(0)))
}

async fn endpoints_of_two_clusters_are_refused(_: OnNothing) {
    let (one, other) = (Etcd::start_single(&[]), Etcd::start_single(&[]));
    let url = format!("{},{}", one.url(), other.hosts_from(0));
    let port = other.port(0).to_string();
    let words = [&*port, "belongs to the etcd cluster", "one cluster only"];
    is_fatal(register(&url).write("key", "value", None).await, &words[1..]);

    is_fatal(register(&url).read("key").await, &words[1..]);
    assert_eq!(other.run(&["get", "key"]), "", "it was written where it must not be");
}

/// As a member is that was wiped, while the others are silent.
async fn a_cluster_of_its_own_is_not_believed_alone(_: OnNothing) {
    let clusters = [Etcd::start_single(&[]), Etcd::start_single(&[]), Etcd::start_single(&[])];
    let hosts = clusters.each_ref().map(|cluster| cluster.hosts_from(0));
    clusters[1..].iter().for_each(|cluster| cluster.freeze(0));
    let mut register = register(&format!("etcd://{}", hosts.join(",")));
    register = register.timeout(Duration::from_secs(3));
    for _ in 0..3 {
        let error = register.write("key", "value", None).await.unwrap_err();
        assert_eq!(error.kind, Failure::Transient, "{error}");
        let said = error.to_string();
        assert!(hosts[1..].iter().all(|host| said.contains(host)), "{said}");
    }
    clusters[1..].iter().for_each(|cluster| cluster.thaw(0));
    is_fatal(register.write("key", "value", None).await, &["belongs to the etcd cluster"]);
    assert!(clusters.iter().all(|cluster| cluster.run(&["get", "key"]).is_empty()));
}

/// A member that is silent takes its share of a call, however many calls there were.
async fn a_silent_member_takes_no_whole_call(place: OnEtcd) {
    let mut register = register(&place.cluster().url()).timeout(Duration::from_secs(3));
    for _ in 0..5 {
        register.read("key").await.unwrap();
    }
    place.cluster().freeze(0);
    while let Err(error) = register.read("key").await {
        let said = error.to_string(); // etcd may have to elect another
        assert!(said.matches("etcd at").count() > 1, "it took the whole call: {said}");
    }
}

async fn logins_go_to_the_next_member(_: OnNothing) {
    let mut cluster = Etcd::start();
    cluster.enable_auth();
    cluster.kill(0);
    cluster.wait_until_led();
    let mut register = of(&cluster, "election:secret@", "mine");
    assert!(register.write("key", "value", None).await.unwrap().is_some());
}

/// Its name is the same, as after a restore.
async fn a_cluster_that_has_lost_writes_is_refused(_: OnNothing) {
    let mut cluster = Etcd::start_single(&[]);
    let mut register = register(&cluster.url());
    let version = register.write("key", "value", None).await.unwrap();
    register.write("key", "value", version.as_ref()).await.unwrap().unwrap();
    cluster.kill(0);
    cluster.wipe(0);
    cluster.restart(0);
    cluster.wait_until_led();
    is_fatal(register.write("key", "value", None).await, &["it has lost writes", "restored"]);
    assert_eq!(cluster.run(&["get", "key"]), "");
}

async fn user_and_password_are_demanded_and_given(_: OnNothing) {
    let mut cluster = Etcd::start_single(&[]);
    let mut early = of(&cluster, "election:secret@", "mine");
    assert!(early.read("key").await.unwrap().is_none(), "a user is given before one is demanded");
    cluster.enable_auth();
    let version = early.write("key", "value", None).await.unwrap();
    let (value, read) = early.read("key").await.unwrap().unwrap();
    assert_eq!((&*value, Some(read)), ("value", version));

    let code = Some(StoreErrorCode::Login);
    let mut nobody = of(&cluster, "", "mine");
    let error =
        is_fatal(nobody.read("key").await, &["user name is empty", "etcd://USER:PASSWORD@"]);
    assert_eq!(error.code(), code);
    for login in ["election:wrong@", "nobody:secret@"] {
        let refused = of(&cluster, login, "mine").write("key", "x", None).await;
        let error = is_fatal(refused, &["authentication failed", "etcdctl user add"]);
        assert_eq!(error.code(), code);
        assert!(!error.to_string().contains("secret"), "{error}");
    }
    let mut without_rights = of(&cluster, "election:secret@", "other");
    let words = ["\"other/key\"", "permission denied", "etcdctl role grant-permission"];
    is_fatal(without_rights.read("key").await, &words);
    is_fatal(without_rights.write("key", "x", None).await, &words);

    // The member forgets all tokens.
    cluster.kill(0);
    cluster.restart(0);
    let mut answers = early.read("key").await;
    while answers.as_ref().is_err_and(|error| error.kind == Failure::Transient) {
        answers = early.read("key").await;
    }
    assert!(answers.unwrap().is_some(), "with a new token");
    assert!(early.write("key", "again", version.as_ref()).await.unwrap().is_some());
}

/// A lease so long that only the watch can tell.
async fn elections_are_held_with_a_password(_: OnNothing) {
    let cluster = Etcd::start_single(&[]);
    cluster.enable_auth();
    let url = format!("etcd://election:secret@{}/mine", cluster.hosts_from(0));
    let store = store(&url);
    let elector = |node: &str| {
        let builder = Election::builder("test").node(node).ttl(Duration::from_secs(900));
        builder.store(store.clone()).build().unwrap().start()
    };
    let a = elector("a");
    a.elected().await.unwrap();
    let b = elector("b");
    b.watch().until(|status| status.leader.is_some()).await;
    a.resign().await.unwrap();
    b.elected().await.unwrap();
}

/// Each login takes longer than a call of these electors may.
async fn a_slow_login_is_waited_for_across_calls(_: OnNothing) {
    let cluster = Etcd::start_single(&["--bcrypt-cost", "13"]);
    cluster.enable_auth();
    let url = format!("etcd://election:secret@{}/mine", cluster.hosts_from(0));
    let elector = |node: usize| {
        let builder =
            Election::builder("test").node(format!("n{node}")).ttl(Duration::from_secs(3));
        builder.store(store(&url)).build().unwrap().start()
    };
    let electors: Vec<_> = (0..5).map(elector).collect();
    for elector in &electors {
        elector.watch().until(|status| status.leader.is_some()).await;
    }
}

/// It is asked first, and only then somebody who has answers.
async fn a_learner_is_passed_over(place: OnEtcd) {
    let learner = place.cluster().add_learner();
    let hosts = place.cluster().hosts_from(learner);
    let (only, _) = hosts.split_once(',').unwrap();
    let mut alone = register(&format!("etcd://{only}"));
    let refused = loop {
        let error = alone.write("key", "value", None).await.unwrap_err();
        assert_eq!(error.kind, Failure::Transient, "{error}");
        if !error.to_string().contains("Connection refused") {
            break error; // it listens by now
        }
    };
    assert!(refused.to_string().contains("not supported for learner"), "{refused}");
    let mut all = register(&format!("etcd://{hosts}"));
    assert!(all.write("key", "value", None).await.unwrap().is_some());
    let pause: Pause = Arc::new(|time| Box::pin(Tokio.sleep(time)));
    let mut notices = all.watch("key", pause);
    while notices.next().await != Some(Notice::Listening) {}
}

tests! {
    a_learner_is_passed_over: etcd;
    endpoints_of_two_clusters_are_refused: by_itself;
    a_cluster_that_has_lost_writes_is_refused: by_itself;
    user_and_password_are_demanded_and_given: by_itself;
    elections_are_held_with_a_password: by_itself;
    a_slow_login_is_waited_for_across_calls: by_itself;
    logins_go_to_the_next_member: by_itself;
    a_cluster_of_its_own_is_not_believed_alone: by_itself;
    a_silent_member_takes_no_whole_call: etcd;
}
