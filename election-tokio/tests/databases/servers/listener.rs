//! The second connection, on which PostgreSQL's notifications arrive: it must never cost the
//! elector its own.

use crate::database::{
    Backend as _, LONG, OnPostgres, SHORT, Served as _, candidacy, namespace, until,
};
use election_driver::{
    Notice, Pause, PgStore, Store as _,
    conformance::tasks::{News, timeout},
};
use election_testing::Proxy;
use election_tokio::{Election, Handle, Lease, Tokio};
use futures_lite::{
    StreamExt as _,
    future::{or, yield_now},
};
use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

/// Long for an election whose lease lasts a second.
const CALM: Duration = Duration::from_secs(20);

/// A user `few` that may take part, on no more than this many connections at a time.
fn limited(database: &OnPostgres, limit: u32) {
    let few =
        format!("CREATE ROLE few LOGIN PASSWORD 'few' CONNECTION LIMIT {limit} IN ROLE election");
    database.server().administer("election", &few);
}

fn elector_of_few(database: &OnPostgres, node: &str) -> Handle {
    let store = PgStore::connect(&database.server().url_as("few", "few")).unwrap();
    Election::builder("test").node(node).ttl(SHORT).store(store).build().unwrap().start()
}

/// Otherwise the first to come would have the connection, and that may be the listener.
async fn the_only_connection_is_the_electors(database: OnPostgres) {
    limited(&database, 1);
    for start in 0..8 {
        let elector = elector_of_few(&database, "a");
        let elected = timeout::<Tokio, _>(CALM, elector.elected()).await;
        elected.unwrap_or_else(|| panic!("start {start}: never elected")).unwrap();
        assert!(!elector.status().listening);
        elector.shutdown().await;
    }
}

/// As many connections as electors: an elector that loses its own finds that nobody listens on it.
async fn a_listener_takes_no_elector_its_connection(database: OnPostgres) {
    limited(&database, 3);
    let electors = ["a", "b", "c"].map(|node| elector_of_few(&database, node));
    for elector in &electors {
        until(elector, |status| status.reached && status.leader.is_some()).await;
    }
    let own = "SELECT count(*) FROM pg_stat_activity \
               WHERE usename = 'few' AND application_name = 'election'";
    for _ in 0..2 {
        let kill = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'few'";
        database.server().administer("election", kill);
        let began = std::time::Instant::now();
        while database.server().administer("election", own) != "3" {
            assert!(began.elapsed() < CALM, "somebody's connection is had by somebody else");
        }
    }
}

/// Where there is room for one connection, the elector has it.
async fn a_listener_gives_way_to_its_elector(database: OnPostgres) {
    limited(&database, 3);
    let elector = elector_of_few(&database, "a");
    let first = elector.elected().await.unwrap().epoch();
    // Only the administrator sees what others ask.
    let listens = || {
        let count = "SELECT count(*) FROM pg_stat_activity \
                     WHERE usename = 'few' AND application_name = 'election listener'";
        database.server().administer("election", count) == "1"
    };
    until(&elector, |status| status.listening).await;
    assert!(listens());
    // The elector loses its connection, and the listener holds the only one available.
    let narrow = "ALTER ROLE few CONNECTION LIMIT 1";
    database.server().administer("election", narrow);
    let kill = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
                WHERE usename = 'few' AND application_name = 'election'";
    database.server().administer("election", kill);
    while listens() {}
    until(&elector, |status| !status.listening).await;
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
    let wide = "ALTER ROLE few CONNECTION LIMIT 5";
    database.server().administer("election", wide);
    let again = until(&elector, |status| status.listening);
    timeout::<Tokio, _>(2 * CALM, again).await.expect("there is room again");
}

/// Pauses of at least this length are over at once, the others take their time.
fn pause(least: Arc<News<Duration>>, ended: Arc<AtomicUsize>) -> Pause {
    Arc::new(move |time| {
        let (least, ended) = (least.clone(), ended.clone());
        Box::pin(async move {
            let hurried = async {
                yield_now().await;
                least.until(|least| (time >= *least).then_some(())).await;
                ended.fetch_add(1, Ordering::Relaxed);
            };
            or(hurried, tokio::time::sleep(time)).await;
        })
    })
}

/// After this much silence the connection is tried.
const SILENCE: Duration = Duration::from_secs(5);

/// Nothing, once so many pauses more have ended.
async fn pauses(ended: &AtomicUsize, more: usize) -> Option<Notice> {
    let before = ended.load(Ordering::Relaxed);
    while ended.load(Ordering::Relaxed) < before + more {
        yield_now().await;
    }
    None
}

/// A network that forgets a connection tells neither end.
async fn a_silent_listener_is_noticed(database: OnPostgres) {
    let port = database.server().port();
    let proxy = Proxy::to(port);
    let least = Arc::new(News::new(Duration::MAX));
    let ended = Arc::new(AtomicUsize::new(0));
    let me = candidacy(7, LONG);
    let pause = pause(least.clone(), ended.clone());
    let mut store = database.store_at(proxy.port());
    let mut notices = store.notifications(me.registration(), pause);
    assert_eq!(notices.next().await, Some(Notice::Listening));
    assert_eq!(notices.next().await, Some(Notice::Wake));
    let notify = "SELECT pg_notify('public.election_leader', 'hello')";

    // A connection that is only quiet is asked, answers, and stays.
    least.change(|least| *least = SILENCE);
    assert_eq!(or(notices.next(), pauses(&ended, 20)).await, None);
    database.execute(notify).await;
    assert_eq!(notices.next().await, Some(Notice::Wake));

    proxy.set_whole(false);
    least.change(|least| *least = Duration::ZERO);
    let deaf = or(notices.next(), pauses(&ended, 20)).await;
    assert!(matches!(deaf, Some(Notice::NotListening(_))), "{deaf:?}");
    least.change(|least| *least = Duration::MAX);
    proxy.set_whole(true);
    let again = or(notices.next(), asking(&mut store)).await;
    assert_eq!(again, Some(Notice::Listening), "it listens again");
    assert_eq!(notices.next().await, Some(Notice::Wake));
    database.execute(notify).await;
    assert_eq!(notices.next().await, Some(Notice::Wake));
}

/// Goes on asking, as an elector does.
async fn asking<T>(store: &mut PgStore) -> T {
    let name = namespace();
    loop {
        let _ = store.leader(&name).await; // not before it has a connection again
    }
}

/// Each of the limits counts: here the database's. That nobody listens is said once.
async fn the_last_connection_of_a_database_is_not_listened_on(database: OnPostgres) {
    limited(&database, 5);
    let administer = |what: &str| database.server().administer("postgres", what);
    administer("ALTER DATABASE election CONNECTION LIMIT 2");
    administer("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'election'");
    let mut store = PgStore::connect(&database.server().url_as("few", "few")).unwrap();
    store.leader(&namespace()).await.unwrap();
    // Only what it waits for before another try is over at once.
    let tries = Arc::new(AtomicUsize::new(0));
    let counted = tries.clone();
    let pause: Pause = Arc::new(move |time| {
        let (counted, backs_off) = (counted.clone(), time.as_secs().is_power_of_two());
        Box::pin(async move {
            if backs_off {
                counted.fetch_add(1, Ordering::Relaxed);
            } else {
                tokio::time::sleep(time).await;
            }
        })
    });
    let mut notices = store.notifications(candidacy(7, LONG).registration(), pause);
    let deaf = notices.next().await;
    assert!(matches!(deaf, Some(Notice::NotListening(_))), "{deaf:?}");
    let tried = pauses(&tries, 4);
    assert_eq!(or(or(notices.next(), tried), asking(&mut store)).await, None, "said once");
}

/// The abandoned session may be what takes up the room.
async fn a_call_that_was_given_up_does_not_take_the_room_for_the_next(database: OnPostgres) {
    use sqlx::{Connection as _, Executor as _};
    limited(&database, 1);
    let mut store = PgStore::connect(&database.server().url_as("few", "few")).unwrap();
    let name = namespace();
    store.leader(&name).await.unwrap();
    let url = database.server().url_as("postgres", "");
    let mut holder = sqlx::PgConnection::connect(&url).await.unwrap();
    holder.execute(sqlx::raw_sql("BEGIN; LOCK TABLE election_leader")).await.unwrap();
    let given_up = timeout::<Tokio, _>(Duration::from_millis(300), store.leader(&name)).await;
    assert!(given_up.is_none(), "{given_up:?}");
    drop(holder);
    let served = async { while store.leader(&name).await.is_err() {} };
    timeout::<Tokio, _>(CALM, served).await.expect("its own connection is in its way");
}

/// A session that the network has forgotten would stay on the server for as long as that believes
/// in it. Nobody can close it from here, but the elector can end it there.
async fn a_forgotten_listener_is_ended_before_there_is_another(database: OnPostgres) {
    let link = Proxy::to(database.server().port());
    let store = database.store_at(link.port());
    let election = Election::builder("test").node("a").ttl(CALM).store(store).build();
    let elector = election.unwrap().start();
    let lease = elector.elected().await.unwrap();
    let count =
        "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'election listener'";
    until(&elector, |status| status.listening).await;
    let of_a_listener = |said: &[u8]| said.windows(17).any(|word| word == b"election listener");
    assert_eq!(link.forget(of_a_listener), 1, "one listener on this link, and no other");
    until(&elector, |status| !status.listening).await;
    until(&elector, |status| status.listening).await;
    assert_eq!(database.server().administer("election", count), "1");
    assert!(lease.is_held(), "the elector has a connection of its own");
}

tests! {
    the_only_connection_is_the_electors: postgres;
    a_listener_takes_no_elector_its_connection: postgres;
    a_listener_gives_way_to_its_elector: postgres;
    a_silent_listener_is_noticed: postgres;
    the_last_connection_of_a_database_is_not_listened_on: postgres;
    a_call_that_was_given_up_does_not_take_the_room_for_the_next: postgres;
    a_forgotten_listener_is_ended_before_there_is_another: postgres;
}
