//! The second connection, on which PostgreSQL is listened to: what becomes of it must never cost the
//! elector its own.

use crate::{
    proxy::Proxy,
    support::{Backend as _, LONG, OnPostgres, SHORT, Served as _, candidacy, until},
};
use election_driver::{Notice, Pause, Store as _};
use election_tokio::{Election, Lease, PgStore};
use futures_lite::{StreamExt as _, future::or};
use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};
use tokio::sync::watch;

/// Where there is room for one connection, the elector has it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_listener_gives_way_to_its_elector() {
    let database = OnPostgres::start().await;
    let few = "CREATE ROLE few LOGIN PASSWORD 'few' CONNECTION LIMIT 2 IN ROLE election";
    database.server().administer("election", few);
    let store = PgStore::connect(&database.server().url_as("few", "few")).unwrap();
    let election = Election::builder("test").node("a").ttl(SHORT).store(store).build().unwrap();
    let elector = election.start();
    let first = elector.elected().await.unwrap().epoch();
    // Only the administrator sees what others ask.
    let listens = || {
        let count = "SELECT count(*) FROM pg_stat_activity \
                     WHERE usename = 'few' AND query LIKE 'LISTEN%'";
        database.server().administer("election", count) == "1"
    };
    while !listens() {}
    // The elector loses its connection, and the listener holds the only one that is to be had.
    let narrow = "ALTER ROLE few CONNECTION LIMIT 1";
    database.server().administer("election", narrow);
    let kill = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
                WHERE usename = 'few' AND query NOT LIKE 'LISTEN%'";
    database.server().administer("election", kill);
    while listens() {}
    // A lease of a second may run out meanwhile on a busy machine; then it is elected again.
    let renewed = |lease: &Lease| {
        let known = lease.until();
        until(&elector, move |status| status.tenure.as_ref().is_none_or(|own| own.until > known))
    };
    let mut renewals = 0;
    while renewals < 3 {
        let lease = elector.elected().await.unwrap();
        assert!(lease.epoch() >= first);
        renewals = 0;
        while renewals < 3 && renewed(&lease).await.tenure.is_some() {
            renewals += 1;
        }
    }
}

/// Pauses of at least this length are over at once, the others take their time.
fn pause(least: watch::Receiver<Duration>, ended: Arc<AtomicUsize>) -> Pause {
    Arc::new(move |time| {
        let (mut least, ended) = (least.clone(), ended.clone());
        Box::pin(async move {
            let hurried = async {
                tokio::task::yield_now().await;
                let _ = least.wait_for(|least| time >= *least).await;
                ended.fetch_add(1, Ordering::Relaxed);
            };
            or(hurried, tokio::time::sleep(time)).await;
        })
    })
}

/// A network that forgets a connection tells neither end.
#[tokio::test]
async fn a_silent_listener_is_noticed() {
    let database = OnPostgres::start().await;
    let port = database.server().port();
    let proxy = Proxy::to(port).await;
    let (hurry, least) = watch::channel(Duration::MAX);
    let ended = Arc::new(AtomicUsize::new(0));
    let me = candidacy(7, LONG);
    let pause = pause(least, ended.clone());
    let mut notices = database.store_at(proxy.port()).notifications(me.registration(), pause);
    assert_eq!(notices.next().await, Some(Notice::Wake));
    let notify = "SELECT pg_notify('public.election_leader', 'hello')";

    // A connection that is only quiet is asked, answers, and stays.
    hurry.send_replace(Duration::from_secs(20));
    let asked = async {
        while ended.load(Ordering::Relaxed) < 20 {
            tokio::task::yield_now().await;
        }
        None
    };
    assert_eq!(or(notices.next(), asked).await, None);
    database.execute(notify).await;
    assert_eq!(notices.next().await, Some(Notice::Wake));

    proxy.set_whole(false);
    hurry.send_replace(Duration::ZERO);
    let ended_before = ended.load(Ordering::Relaxed);
    let given_up = async {
        while ended.load(Ordering::Relaxed) < ended_before + 20 {
            tokio::task::yield_now().await;
        }
        None
    };
    assert_eq!(or(notices.next(), given_up).await, None);
    hurry.send_replace(Duration::from_secs(20));
    proxy.set_whole(true);
    assert_eq!(notices.next().await, Some(Notice::Wake), "it listens again");
    database.execute(notify).await;
    assert_eq!(notices.next().await, Some(Notice::Wake));
}
