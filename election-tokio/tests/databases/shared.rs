//! Many elections of a process on one store.

use crate::{
    database::{Backend, LONG, SHORT, Served, Tx, until},
    servers::{
        counted::{MOST, listed, sessions},
        links::says,
    },
};
use election_core::{
    Candidate, Epoch, Namespace,
    lease::{Answer, Config, Failure, Query, Registration},
};
use election_driver::conformance::tasks::timeout;
use election_testing::{Kind, Proxy};
use election_tokio::{Election, Handle, SharedStore, Store as _, Tokio};
use futures_lite::future::{or, poll_once, yield_now};
use std::{
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};
use uuid::Uuid;

const MANY: usize = 60;
/// No lease of this length ends for want of processor time.
const MIDDLE: Duration = Duration::from_secs(3);
/// For how long a session may keep rows locked whose process says nothing more: far less than it may
/// be idle.
const HUNG: Duration = Duration::from_secs(20);

fn start(store: &SharedStore, name: &str, node: &str, ttl: Duration) -> Handle {
    let election = Election::builder(name).node(node).ttl(ttl).store(store.clone());
    election.build().unwrap().start()
}

/// This process's part in as many elections.
fn all(store: &SharedStore, node: &str, ttl: Duration) -> Vec<Handle> {
    (0..MANY).map(|number| start(store, &name(number), node, ttl)).collect()
}

fn name(number: usize) -> String {
    format!("tenant-{number}")
}

async fn led(handles: &[Handle]) -> Vec<Epoch> {
    let mut epochs = Vec::new();
    for handle in handles {
        epochs.push(handle.elected().await.unwrap().epoch());
    }
    epochs
}

/// Waits until each has been renewed so often.
async fn renewed<B: Backend>(database: &B, times: u64) {
    let mut store = database.sql();
    for number in 0..MANY {
        let namespace = Namespace::new(&name(number)).unwrap();
        while store.leader(&namespace).await.unwrap().renewals < times {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

async fn shut_down(handles: Vec<Handle>) {
    handles.iter().for_each(Handle::withdraw); // together, so that they are asked together
    for handle in handles {
        handle.shutdown().await;
    }
}

async fn each_election_has_a_leader_that_stays<B: Backend>(database: B) {
    let store = Election::share(database.sql());
    let leaders = all(&store, "a", MIDDLE);
    let epochs = led(&leaders).await;
    renewed(&database, 3).await;
    assert_eq!(led(&leaders).await, epochs);
    let status = store.status();
    assert_eq!(status.elections, MANY);
    assert!(status.questions >= 4 * MANY as u64 && status.batches > 0, "{status:?}");
    shut_down(leaders).await;
    assert_eq!((store.status().elections, store.status().waiting), (0, 0));
}

/// Nothing of one election shows in another.
async fn a_resignation_hands_over_one_election<B: Backend>(database: B) {
    let (ours, theirs) = (Election::share(database.sql()), Election::share(database.sql()));
    let leaders = all(&ours, "a", LONG);
    let epochs = led(&leaders).await;
    let followers = all(&theirs, "b", LONG);
    for follower in &followers {
        until(follower, |status| status.leader.is_some()).await;
    }
    // Who finds nobody else on the list stands again itself.
    let mut store = database.sql();
    let seventh = Namespace::new(&name(7)).unwrap();
    while store.list_candidates(&seventh).await.unwrap().len() < 2 {}
    leaders[7].resign().await.unwrap();
    let next = followers[7].elected().await.unwrap().epoch();
    assert!(next > epochs[7]);
    for (at, leader) in leaders.iter().enumerate().filter(|(at, _)| *at != 7) {
        assert_eq!(leader.lease().map(|lease| lease.epoch()), Some(epochs[at]));
    }
    shut_down(leaders).await;
    led(&followers).await; // each is told, although many have resigned at once
    shut_down(followers).await;
}

/// Whoever goes in the middle of a question takes nothing with it.
async fn an_election_that_is_dropped_ends_no_other<B: Backend>(database: B) {
    let store = Election::share(database.sql());
    let leaders = all(&store, "a", MIDDLE);
    for round in 0..50 {
        let (handle, driver) = Election::builder(format!("gone-{round}"))
            .node("a")
            .ttl(MIDDLE)
            .store(store.clone())
            .build()
            .unwrap()
            .into_parts();
        let given_up = async {
            for _ in 0..round {
                tokio::task::yield_now().await;
            }
        };
        or(driver, given_up).await;
        drop(handle);
    }
    let epochs = led(&leaders).await;
    renewed(&database, 3).await;
    assert_eq!(led(&leaders).await, epochs);
    shut_down(leaders).await;
}

/// Somebody's lock on one row costs that election its leader, and no other.
async fn a_locked_row_costs_no_other_its_lease<B: Backend>(database: B) {
    let store = Election::share(database.sql());
    let leaders = all(&store, "a", MIDDLE);
    let epochs = led(&leaders).await;
    let mut locked: Tx<B> = database.begin(B::ISOLATIONS[0]).await;
    let lock = "UPDATE election_leader SET updated_ms = updated_ms WHERE ns = 'tenant-7'";
    B::run(&mut locked, lock).await.unwrap();
    until(&leaders[7], |status| status.tenure.is_none()).await;
    let held: Vec<_> = leaders.iter().map(|leader| leader.lease().map(|it| it.epoch())).collect();
    let mut expected: Vec<_> = epochs.iter().map(|epoch| Some(*epoch)).collect();
    expected[7] = None;
    assert_eq!(held, expected);
    locked.rollback().await.unwrap();
    assert!(leaders[7].elected().await.unwrap().epoch() > epochs[7]);
    shut_down(leaders).await;
}

/// A statement with that row fails as a whole.
async fn a_row_that_a_trigger_refuses_fails_no_other<B: Backend>(database: B) {
    let mut store = Election::share(database.sql());
    let mut terms = Vec::new();
    for number in 0..10 {
        terms.push(won(&mut store, number).await);
    }
    for statement in B::REFUSE {
        database.execute(statement).await;
    }
    let ask = |(who, epoch): (Registration, Epoch)| {
        let mut store = store.clone();
        tokio::spawn(async move { store.answer(&who, &renewal(epoch)).await })
    };
    let renewals: Vec<_> = terms.into_iter().map(ask).collect();
    for (number, renewed) in renewals.into_iter().enumerate() {
        let answer = renewed.await.unwrap();
        assert_eq!(answer.is_err(), number == 7, "{number}: {answer:?}");
    }
}

fn registration(number: usize) -> Registration {
    let namespace = Namespace::new(&name(number)).unwrap();
    Registration { namespace, candidate: Candidate::from(Uuid::nil()), label: None }
}

async fn won(store: &mut SharedStore, number: usize) -> (Registration, Epoch) {
    let who = registration(number);
    let attempt = Query::Attempt { seen: Epoch::NONE, ttl: LONG, clock_step: Duration::ZERO };
    match store.answer(&who, &attempt).await.unwrap() {
        Answer::Won { epoch, .. } => (who, epoch),
        other => panic!("{other:?}"),
    }
}

fn renewal(epoch: Epoch) -> Query {
    Query::Renew { epoch, ordinal: 1, ttl: LONG, clock_step: Duration::ZERO, leads: true }
}

/// A statement for a few rows of a small table must not touch the others.
async fn a_locked_row_of_a_small_table_costs_no_other_its_lease<B: Backend>(database: B) {
    let store = Election::share(database.sql());
    let [a, b, c] = [0, 1, 2].map(|number| start(&store, &name(number), "a", MIDDLE));
    let epochs = led(&[a.clone(), b.clone(), c.clone()]).await;
    let mut locked: Tx<B> = database.begin(B::ISOLATIONS[0]).await;
    let lock = "UPDATE election_leader SET updated_ms = updated_ms WHERE ns = 'tenant-2'";
    B::run(&mut locked, lock).await.unwrap();
    until(&c, |status| status.tenure.is_none()).await;
    let held = [&a, &b].map(|leader| leader.lease().map(|lease| lease.epoch()));
    assert_eq!(held, [Some(epochs[0]), Some(epochs[1])]);
    locked.rollback().await.unwrap();
    shut_down(vec![a, b, c]).await;
}

async fn every_election_hears_of_changes<B: Backend>(database: B) {
    let store = Election::share(database.sql());
    let leaders = all(&store, "a", LONG);
    for leader in &leaders {
        until(leader, |status| status.listening).await;
    }
    let late = start(&store, "late", "a", LONG);
    until(&late, |status| status.listening).await;
    late.shutdown().await;
    shut_down(leaders).await;
}

/// Otherwise it would be dropped, as too late.
async fn who_waits_behind_a_locked_row_has_an_answer_in_time<B: Backend>(database: B) {
    let mut store = Election::share(database.sql());
    let config = Config::builder().ttl(LONG).attempt_timeout(Duration::from_millis(1_300));
    store.prepare(&config.build().unwrap());
    let (locked, epoch) = won(&mut store, 7).await;
    let (other, _) = won(&mut store, 8).await;
    let mut lock: Tx<B> = database.begin(B::ISOLATIONS[0]).await;
    let update = "UPDATE election_leader SET updated_ms = updated_ms WHERE ns = 'tenant-7'";
    B::run(&mut lock, update).await.unwrap();
    let renew = renewal(epoch);
    let mut behind = store.clone();
    let (waits, answered) =
        tokio::join!(store.answer(&locked, &renew), behind.answer(&other, &Query::Observe));
    assert_eq!(waits.unwrap_err().kind, Failure::Conflict);
    assert!(answered.is_ok(), "{answered:?}");
    lock.rollback().await.unwrap();
}

/// Three rows that somebody has locked do not keep other elections from being asked about.
async fn locked_rows_do_not_starve_the_others<B: Backend>(database: B) {
    let store = Election::share(database.sql());
    let leaders = all(&store, "a", MIDDLE);
    led(&leaders).await;
    let mut locked: Tx<B> = database.begin(B::ISOLATIONS[0]).await;
    let lock = "UPDATE election_leader SET updated_ms = updated_ms \
                WHERE ns IN ('tenant-7', 'tenant-8', 'tenant-9')";
    B::run(&mut locked, lock).await.unwrap();
    for lost in &leaders[7..10] {
        until(lost, |status| status.tenure.is_none()).await;
    }
    for round in 0..5 {
        let newcomer = start(&store, &format!("new-{round}"), "a", MIDDLE);
        newcomer.elected().await.unwrap();
        let follower = start(&store, &name(0), "b", MIDDLE);
        until(&follower, |status| status.leader.is_some()).await;
        follower.shutdown().await;
        newcomer.shutdown().await;
    }
    locked.rollback().await.unwrap();
    led(&leaders).await;
    shut_down(leaders).await;
}

/// A runtime where the tasks of a store run only while somebody waits.
fn one_thread() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

/// What comes of this work on a runtime that ends with it.
fn elsewhere<T: Send + 'static, F: Future<Output = T>>(
    work: impl FnOnce() -> F + Send + 'static,
) -> T {
    std::thread::spawn(move || one_thread().block_on(work())).join().unwrap()
}

async fn a_store_whose_runtime_has_ended_says_so<B: Backend>(database: B) {
    let sql = database.sql();
    let store = elsewhere(async || {
        let store = Election::share(sql);
        led(&[start(&store, "here", "a", SHORT)]).await;
        store
    });
    let late = start(&store, "there", "b", SHORT);
    let told = until(&late, |status| status.error.is_some()).await.error.unwrap().to_string();
    assert!(told.contains("share it anew"), "{told}");
    late.shutdown().await;
    drop(store); // outside of the runtime that it was used on
}

/// It waits in the store when the runtime ends.
async fn a_question_ends_with_the_runtime_of_its_store<B: Backend>(database: B) {
    let runtime = one_thread();
    let mut store = {
        let _inside = runtime.enter();
        Election::share(database.sql())
    };
    let who = registration(0);
    let mut answer = pin!(store.answer(&who, &Query::Observe));
    assert!(poll_once(answer.as_mut()).await.is_none());
    runtime.shutdown_background();
    let told = timeout::<Tokio, _>(LONG, answer).await.expect("an answer").unwrap_err().to_string();
    assert!(told.contains("share it anew"), "{told}");
}

/// The last that waits is given up, so that nothing is left to ask.
async fn an_idle_store_says_that_nothing_waits<B: Backend>(database: B) {
    let sql = database.sql();
    elsewhere(async || {
        let store = Election::share(sql);
        let (mut asking, mut leaving) = (store.clone(), store.clone());
        let (who, other) = (registration(0), registration(1));
        let mut answer = pin!(asking.answer(&who, &Query::Observe));
        assert!(poll_once(answer.as_mut()).await.is_none());
        let mut given_up = Box::pin(leaving.answer(&other, &Query::Others));
        assert!(poll_once(given_up.as_mut()).await.is_none());
        drop(given_up);
        answer.await.unwrap();
        let idle = async {
            while store.status().waiting > 0 {
                yield_now().await;
            }
        };
        timeout::<Tokio, _>(SHORT, idle).await.expect("nothing waits");
        assert_eq!((store.status().batches, store.status().questions), (1, 1));
    });
}

/// What keeps all from an answer is not asked for each.
async fn a_missing_table_fails_a_batch_as_a_whole<B: Backend>(database: B) {
    database.execute("ALTER TABLE election_leader RENAME TO elsewhere").await;
    let store = Election::share(database.sql());
    let leaders = all(&store, "a", LONG);
    for leader in &leaders {
        until(leader, |status| status.error.is_some()).await;
    }
    assert!(store.status().batches < MANY as u64 / 4, "{:?}", store.status());
    database.execute("ALTER TABLE elsewhere RENAME TO election_leader").await;
    led(&leaders).await;
    shut_down(leaders).await;
}

/// One that asks, and on PostgreSQL one that listens, however many elections there are.
async fn many_elections_have_the_sessions_of_one<B: Served>(database: B) {
    let store = Election::share(database.sql());
    let leaders = all(&store, "a", SHORT);
    led(&leaders).await;
    for leader in &leaders {
        until(leader, |status| status.listening || B::KIND == Kind::MariaDb).await;
    }
    let expected = if B::KIND == Kind::Postgres { 2 } else { 1 };
    assert_eq!(sessions(&database), expected, "{}", listed(&database));
    shut_down(leaders).await;
    drop(store);
    while sessions(&database) > 0 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

async fn all_lead_again_once_the_server_is_back<B: Served>(database: B) {
    let store = Election::share(database.sql());
    let leaders = all(&store, "a", SHORT);
    let epochs = led(&leaders).await;
    database.server().kill();
    for leader in &leaders {
        until(leader, |status| status.tenure.is_none()).await;
    }
    database.server().restart();
    for (again, before) in led(&leaders).await.iter().zip(&epochs) {
        assert!(again > before);
    }
    renewed(&database, 3).await;
    assert!(sessions(&database) <= MOST, "{}", listed(&database));
    shut_down(leaders).await;
}

/// It has locked rows for attempts and says nothing more, nor does the server hear of its end.
async fn locks_of_a_hung_process_are_released<B: Served>(database: B) {
    let link = Proxy::to(database.server().port());
    link.set_keeping(true);
    let locks = Arc::<AtomicBool>::default();
    let seen = locks.clone();
    link.deafen_whenever(move |said| {
        let prepared = b"FOR UPDATE SKIP LOCKED"; // and executed with what follows
        let now = says(said, prepared) && !said.ends_with(prepared);
        seen.fetch_or(now, Ordering::Relaxed);
        now
    });
    let hangs = all(&Election::share(database.store_at(link.port())), "a", MIDDLE);
    while !locks.load(Ordering::Relaxed) {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    link.set_refusing(true); // or it would end its session itself
    let locking = "SELECT count(*) FROM information_schema.innodb_trx WHERE trx_rows_locked > 0";
    while database.server().administer("election", locking) == "0" {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    drop(hangs);
    let leaders = all(&Election::share(database.sql()), "b", MIDDLE);
    timeout::<Tokio, _>(HUNG, led(&leaders)).await.expect("rows that nobody locks");
    shut_down(leaders).await;
}

tests! {
    locks_of_a_hung_process_are_released: mariadb;
    a_row_that_a_trigger_refuses_fails_no_other: sqlite postgres mariadb;
    a_locked_row_of_a_small_table_costs_no_other_its_lease: postgres mariadb;
    every_election_hears_of_changes: sqlite postgres;
    locked_rows_do_not_starve_the_others: postgres mariadb;
    who_waits_behind_a_locked_row_has_an_answer_in_time: postgres mariadb;
    a_missing_table_fails_a_batch_as_a_whole: sqlite postgres mariadb;
    a_store_whose_runtime_has_ended_says_so: sqlite postgres mariadb;
    a_question_ends_with_the_runtime_of_its_store: sqlite;
    an_idle_store_says_that_nothing_waits: sqlite;
    many_elections_have_the_sessions_of_one: postgres mariadb;
    all_lead_again_once_the_server_is_back: postgres mariadb;
    each_election_has_a_leader_that_stays: sqlite postgres mariadb;
    a_resignation_hands_over_one_election: sqlite postgres;
    an_election_that_is_dropped_ends_no_other: sqlite postgres mariadb;
    a_locked_row_costs_no_other_its_lease: postgres mariadb;
}
