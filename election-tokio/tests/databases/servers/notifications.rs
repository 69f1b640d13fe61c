//! LISTEN/NOTIFY on PostgreSQL: what is heard, what is not believed, and that no flood of words
//! costs anything.

use crate::{
    database::{Backend, LONG, OnPostgres, SHORT, Served as _, candidacy, namespace, until},
    servers::counted::Counting,
};
use election_core::{Epoch, Loss, lease::Registration};
use election_driver::{
    Notice, Notifications, Pause, PgStore, Store as _,
    conformance::{Stores as _, tasks::spawn},
    now,
};
use election_tokio::{Election, Handle, Tokio};
use futures_lite::StreamExt as _;
use sqlx::{Connection as _, Executor as _, PgConnection};
use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

/// How long a listener waits before it connects again.
const RECONNECT: Duration = Duration::from_secs(1);

/// The notices of one candidate, once the server has confirmed that it listens.
async fn notices(store: &mut PgStore, registration: &Registration) -> Notifications {
    let pause: Pause = Arc::new(|time| Box::pin(tokio::time::sleep(time)));
    let mut notices = store.notifications(registration, pause);
    assert_eq!(notices.next().await, Some(Notice::Listening));
    assert_eq!(notices.next().await, Some(Notice::Wake), "what came before is made up for");
    notices
}

async fn notify(database: &OnPostgres, payload: &str) {
    database.execute(&format!("SELECT pg_notify('public.election_leader', '{payload}')")).await;
}

async fn what_a_notification_says(database: OnPostgres) {
    let me = candidacy(7, LONG).registration().clone();
    let id = &me.candidate.id;
    let mut notices = notices(&mut database.store(), &me).await;
    let own =
        format!(r#"{{"ns":"test","action":"resigned","leader_id":"{id}","incarnation":"{id}"}}"#);
    // Such payloads name neither namespace nor term.
    let namesake = format!(r#"{{"action":"resigned","leader_id":"{id}"}}"#);
    let asked = format!(r#"{{"action":"request_resign","leader_id":"{id}"}}"#);
    let term = format!(r#"{{"ns":"test","action":"request_resign","leader_id":"{id}","epoch":5}}"#);
    let ignored = [
        own.as_str(),
        r#"{"ns":"another","action":"resigned","leader_id":"x","epoch":1}"#,
        r#"{"ns":"test","action":"request_resign","leader_id":"x","epoch":1}"#,
    ];
    let resigned = Notice::Resigned(Epoch::new(1));
    let heard = [
        (r#"{"ns":"test","action":"resigned","leader_id":"x","epoch":1}"#, resigned),
        (r#"{"ns":"test","action":"resigned","leader_id":"x"}"#, Notice::Wake),
        ("neither JSON nor ours", Notice::Wake),
        (&namesake, Notice::Wake),
        (&asked, Notice::Wake),
        (&term, Notice::Wake),
    ];
    for (payload, notice) in heard {
        for silent in ignored {
            notify(&database, silent).await;
        }
        notify(&database, payload).await;
        assert_eq!(notices.next().await, Some(notice), "{payload}");
    }
}

/// A user that may connect, and has no right to any table.
async fn stranger(database: &OnPostgres) -> PgConnection {
    let server = database.server().url_as("stranger", "stranger");
    let create = "CREATE ROLE stranger LOGIN PASSWORD 'stranger'";
    database.server().administer("election", create);
    let mut stranger = PgConnection::connect(&server).await.unwrap();
    let looked = stranger.execute("SELECT * FROM public.election_leader").await;
    looked.expect_err("it has no right to look");
    stranger
}

async fn tell(stranger: &mut PgConnection, payload: &str) {
    let notify = sqlx::query("SELECT pg_notify('public.election_leader', $1)").bind(payload);
    notify.execute(stranger).await.unwrap();
}

/// An elector whose questions are counted.
fn counted(database: &OnPostgres, node: &str, ttl: Duration) -> (Handle, Arc<AtomicUsize>) {
    let asked = Arc::new(AtomicUsize::new(0));
    let store = Counting(database.store(), asked.clone());
    let election = Election::builder("test").node(node).ttl(ttl).store(store).build().unwrap();
    (election.start(), asked)
}

/// Any user who can connect can notify. That makes a leader look, and nothing more; a request
/// counts only if it is in the row.
/// What a transaction says is heard with its commit, and never if it is rolled back.
async fn what_is_rolled_back_is_not_said(database: OnPostgres) {
    let me = candidacy(7, LONG);
    database.elect(&me).await.unwrap();
    let mut notices = notices(&mut database.store(), me.registration()).await;
    let store = database.store();
    let another = r#"{"ns":"test","action":"resigned","leader_id":"x","epoch":1}"#;
    for commits in [false, true] {
        let mut transaction = database.begin("READ COMMITTED").await;
        let asked = store.on(&mut transaction).request_resign_of_leader(&namespace()).await;
        let asked = asked.unwrap();
        assert!(asked.peek().is_some());
        notify(&database, another).await;
        assert_eq!(notices.next().await, Some(Notice::Resigned(Epoch::new(1))), "not before");
        if commits {
            transaction.commit().await.unwrap();
            assert_eq!(notices.next().await, Some(Notice::Wake));
            assert!(asked.committed().is_some());
        } else {
            transaction.rollback().await.unwrap();
        }
    }
}

async fn a_word_alone_deposes_nobody(database: OnPostgres) {
    let mut stranger = stranger(&database).await;
    let (leader, asked) = counted(&database, "a", LONG);
    let lease = leader.elected().await.unwrap();
    let epoch = lease.epoch();
    let forged = [
        r#"{"action":"request_resign","leader_id":"a"}"#.to_owned(),
        format!(r#"{{"ns":"test","action":"request_resign","leader_id":"a","epoch":{epoch}}}"#),
        format!(r#"{{"ns":"test","action":"resigned","leader_id":"a","epoch":{epoch}}}"#),
        format!(r#"{{"ns":"test","action":"resigned","leader_id":"b","epoch":{}}}"#, u64::MAX),
    ];
    for forged in forged {
        // Each makes it look, once it listens.
        let before = asked.load(Ordering::Relaxed);
        while asked.load(Ordering::Relaxed) == before {
            tell(&mut stranger, &forged).await;
            lease.check().unwrap_or_else(|lost| panic!("{forged}: {lost}"));
        }
    }
    assert_eq!(database.row().await.unwrap().live_term().as_ref(), Some(lease.term()));
    // River's own payload, which names the leader and not the term, where the row agrees.
    let mark = "UPDATE election_leader SET resign_requested_epoch = epoch";
    database.execute(mark).await;
    tell(&mut stranger, r#"{"action":"request_resign","leader_id":"a"}"#).await;
    assert_eq!(lease.lost().await.reason, Loss::ResignRequested);
}

/// More notifications than anybody can act on: the leader renews all the same, and asks the
/// database no oftener than wake-ups are spaced.
async fn a_flood_of_words_starves_nobody(database: OnPostgres) {
    let mut stranger = stranger(&database).await;
    let (leader, asked) = counted(&database, "a", SHORT * 2);
    let lease = leader.elected().await.unwrap();
    let flood = spawn::<Tokio, ()>(async move {
        for round in 0..=u64::MAX {
            let flood = format!(
                r#"SELECT pg_notify('public.election_leader', json_build_object('ns',
                       CASE i % 2 WHEN 0 THEN 'test' ELSE 'another' END, 'leader_id', 'b',
                       'action', 'resigned', 'epoch', i + {round} * 1000)::text)
                   FROM generate_series(1, 1000) AS i"#
            );
            stranger.execute(sqlx::AssertSqlSafe(flood)).await.unwrap();
        }
    });
    let (before, began) = (asked.load(Ordering::Relaxed), now());
    for _ in 0..8 {
        let known = lease.until();
        until(&leader, |status| status.tenure.as_ref().is_none_or(|own| own.until > known)).await;
        lease.check().unwrap();
    }
    assert!(!flood.is_finished());
    flood.abort();
    let spent = now().since(began);
    let asked = asked.load(Ordering::Relaxed) - before;
    // Looks, a tenth of a second apart; eight renewals and registrations, some of them repeated.
    let most = spent.as_millis() / 100 + 40;
    assert!(asked as u128 <= most, "{asked} statements in {spent:?}");
}

/// river#286: the node that resigned heard of its own resignation, and won again.
async fn who_resigned_does_not_hear_of_it(database: OnPostgres) {
    let mut a = candidacy(1, LONG);
    let mut notices = notices(&mut database.store(), a.registration()).await;
    for round in 0..3 {
        assert!(a.leads(&database.elect(&a).await.unwrap()), "round {round}");
        database.unregister(&a).await.unwrap();
    }
    a = candidacy(2, LONG);
    let epoch = database.elect(&a).await.unwrap().epoch;
    database.unregister(&a).await.unwrap();
    assert_eq!(notices.next().await, Some(Notice::Resigned(epoch)));
    assert!(futures_lite::future::poll_once(notices.next()).await.is_none(), "one, not four");
}

/// The listening connection is lost; a look makes up for the notices missed meanwhile.
async fn a_lost_listener_comes_back(database: OnPostgres) {
    let me = candidacy(7, LONG);
    let mut store = database.store();
    let mut notices = notices(&mut store, me.registration()).await;
    for _ in 0..3 {
        let kill = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
                    WHERE application_name = 'election listener'";
        database.server().administer("election", kill);
        assert!(matches!(notices.next().await, Some(Notice::NotListening(_))));
        let lost = now();
        // The elector's own connection sees that the previous listener is gone.
        store.leader(&namespace()).await.unwrap();
        assert_eq!(notices.next().await, Some(Notice::Listening), "it listens again");
        assert!(now().since(lost) >= RECONNECT, "one that is closed at once must not spin");
        assert_eq!(notices.next().await, Some(Notice::Wake));
        notify(&database, "hello").await;
        assert_eq!(notices.next().await, Some(Notice::Wake));
    }
}

tests! {
    what_a_notification_says: postgres;
    what_is_rolled_back_is_not_said: postgres;
    a_word_alone_deposes_nobody: postgres;
    a_flood_of_words_starves_nobody: postgres;
    who_resigned_does_not_hear_of_it: postgres;
    a_lost_listener_comes_back: postgres;
}
