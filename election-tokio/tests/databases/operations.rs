//! `gemstone_utils`' leader election, call by call.

use crate::database::{Backend, LONG, SHORT, candidacy};
use async_lock::Barrier;
use election_core::lease::{Candidacy, ConfigError, Failure::Conflict, Row};
use election_driver::conformance::tasks::{join_all, spawn};
use election_tokio::Tokio;
use std::{sync::Arc, time::Duration};

const TENTH: Duration = Duration::from_millis(100);
const HOUR: Duration = Duration::from_secs(3_600);

fn leader(row: &Row) -> (u64, String) {
    let term = row.live_term().expect("somebody leads");
    (term.epoch.get(), term.leader.to_string())
}

fn name(who: &Candidacy) -> String {
    who.registration().candidate.id.to_string()
}

async fn elect_gives_the_leader_after_the_call<B: Backend>(database: B) {
    let [a, b] = [1, 2].map(|number| candidacy(number, LONG));
    let first = database.elect(&a).await.unwrap();
    assert_eq!(leader(&first).1, name(&a));
    assert_eq!(leader(&database.elect(&b).await.unwrap()), leader(&first), "never preempts");
    let renewed = database.elect(&a).await.unwrap();
    assert_eq!(leader(&renewed), leader(&first), "a renewal keeps the term");
    assert_eq!(renewed.renewals, 1);
    assert!(database.is_leader(&a).await.unwrap());
    assert!(!database.is_leader(&b).await.unwrap());
    let listed = database.list().await.unwrap();
    let listed = listed.iter().map(|row| row.candidate.id.to_string()).collect::<Vec<_>>();
    assert_eq!(listed, [name(&a), name(&b)], "who stands for election is a candidate");
}

/// The caller needs to know neither leader nor epoch; a process that does not lead is not asked.
async fn whoever_leads_is_asked_to_resign<B: Backend>(database: B) {
    assert_eq!(database.ask_leader().await.unwrap(), None, "there is no row yet");
    let [a, b] = [1, 2].map(|number| candidacy(number, LONG));
    for who in [&a, &b] {
        let epoch = database.elect(who).await.unwrap().epoch;
        assert!(!database.row().await.unwrap().resign_requested);
        for _ in 0..2 {
            assert_eq!(database.ask_leader().await.unwrap(), Some(epoch));
            assert!(database.row().await.unwrap().resign_requested);
        }
        database.unregister(who).await.unwrap();
        assert_eq!(database.ask_leader().await.unwrap(), None, "the row is vacant");
    }
    let brief = candidacy(3, TENTH);
    database.elect(&brief).await.unwrap();
    while database.is_leader(&brief).await.unwrap() {}
    assert_eq!(database.ask_leader().await.unwrap(), None, "its lease is over");
}

async fn an_expired_lease_is_taken_and_a_late_leader_finds_out<B: Backend>(database: B) {
    let (a, b) = (candidacy(1, TENTH), candidacy(2, LONG));
    let first = database.elect(&a).await.unwrap();
    while database.is_leader(&a).await.unwrap() {}
    let second = database.elect(&b).await.unwrap();
    assert_eq!(leader(&second).1, name(&b));
    assert!(second.epoch > first.epoch);
    assert_eq!(leader(&database.elect(&a).await.unwrap()), leader(&second), "it has lost");
    // Its goodbye does not touch the new leader's lease; in gemstone_utils it did.
    database.unregister(&a).await.unwrap();
    assert!(database.is_leader(&b).await.unwrap());
}

async fn unregistering_vacates_only_ones_own_lease<B: Backend>(database: B) {
    let [a, b] = [1, 2].map(|number| candidacy(number, LONG));
    let first = database.elect(&a).await.unwrap();
    database.register(&b).await.unwrap();
    let found = database.unregister(&b).await.unwrap();
    assert_eq!(leader(&found), leader(&first), "another's lease stays");
    assert!(database.is_leader(&a).await.unwrap());
    database.unregister(&a).await.unwrap();
    assert!(database.row().await.unwrap().live_holder().is_none());
    assert!(database.list().await.unwrap().is_empty());
    let second = database.elect(&b).await.unwrap();
    assert_eq!(leader(&second).1, name(&b), "at once, without waiting for the lease to run out");
    assert!(second.epoch > first.epoch, "the token outlives the vacancy");
}

async fn candidates_are_listed_while_their_heartbeat_is_fresh<B: Backend>(database: B) {
    let (brief, long) = (candidacy(1, TENTH), candidacy(2, LONG));
    database.register(&long).await.unwrap();
    database.register(&brief).await.unwrap();
    while database.list().await.unwrap().len() > 1 {}
    let left = database.list().await.unwrap().remove(0);
    assert_eq!(left.candidate, long.registration().candidate);
    assert!(left.remaining <= LONG && left.remaining > LONG / 2);
    database.unregister(&brief).await.unwrap();
    let default = Candidacy::new(long.registration().clone());
    database.register(&default).await.unwrap();
    let listed = database.list().await.unwrap().remove(0);
    assert!(listed.remaining <= Duration::from_secs(60), "the default is a minute");
    let refused = default.clone().set_expire(Duration::ZERO);
    assert_eq!(refused, Err(ConfigError::TtlTooShort(Duration::ZERO)));
    assert!(default.set_expire(Duration::from_secs(1_000_000)).is_err());
}

/// The database's clock has stepped forward: the same to its row as if that ended earlier.
async fn steps<B: Backend>(database: &B, by: Duration) {
    let by = by.as_millis();
    database.execute(&format!("UPDATE election_leader SET expires_ms = expires_ms - {by}")).await;
}

/// It has no memory, so it waits for both.
async fn an_election_call_by_call_waits_for_the_allowance<B: Backend>(database: B) {
    let mut store = database.sql();
    let mut one = candidacy(1, SHORT).clock_step(HOUR).unwrap();
    let mut two = candidacy(2, LONG);
    let row = store.elect(&mut one).await.unwrap();
    assert!(one.leads(&row) && row.remaining <= SHORT, "{row:?}");
    let row = store.elect(&mut two).await.unwrap();
    assert!(!two.leads(&row) && one.leads(&row), "{row:?}");
    steps(&database, HOUR).await;
    let row = store.elect(&mut two).await.unwrap();
    assert!(!two.leads(&row), "the step that was allowed for: {row:?}");
    steps(&database, SHORT).await;
    let row = store.elect(&mut two).await.unwrap();
    assert!(two.leads(&row), "another one: {row:?}");
}

/// All stand at once in every round; all are told the same leader, and the next epoch is higher.
async fn sixteen_contenders_in_fifty_rounds<B: Backend>(database: B) {
    const CONTENDERS: usize = 16;
    let database = Arc::new(database);
    let barrier = Arc::new(Barrier::new(CONTENDERS));
    let contend = |number: usize| {
        let (database, barrier) = (database.clone(), barrier.clone());
        async move {
            let me = candidacy(number as u128 + 1, LONG);
            let mut told = Vec::new();
            for _ in 0..50 {
                barrier.wait().await;
                let row = loop {
                    match database.elect(&me).await {
                        Ok(row) => break row,
                        Err(error) => assert_eq!(error.kind, Conflict, "{error}"),
                    }
                };
                told.push(leader(&row));
                barrier.wait().await;
                if database.is_leader(&me).await.unwrap() {
                    while let Err(error) = database.unregister(&me).await {
                        assert_eq!(error.kind, Conflict, "{error}");
                    }
                }
            }
            told
        }
    };
    let contenders = (0..CONTENDERS).map(|number| spawn::<Tokio, _>(contend(number)));
    let all = join_all(contenders.collect()).await;
    assert!(all.windows(2).all(|pair| pair[0] == pair[1]), "one leader a round");
    assert!(all[0].windows(2).all(|pair| pair[0].0 < pair[1].0), "{:?}", all[0]);
}

tests! {
    an_election_call_by_call_waits_for_the_allowance: sqlite postgres mariadb;
    elect_gives_the_leader_after_the_call: sqlite postgres mariadb;
    an_expired_lease_is_taken_and_a_late_leader_finds_out: sqlite postgres mariadb;
    unregistering_vacates_only_ones_own_lease: sqlite postgres mariadb;
    whoever_leads_is_asked_to_resign: sqlite postgres mariadb;
    candidates_are_listed_while_their_heartbeat_is_fresh: sqlite postgres mariadb;
    sixteen_contenders_in_fifty_rounds: sqlite postgres mariadb;
}
