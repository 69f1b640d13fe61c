//! A connection on which a call failed, other than by a refusal, is not used again.

use crate::database::{LONG, Served, candidacy};
use election_core::lease::{Answer, Failure, Query};
use election_driver::{Store as _, StoreError};
use election_testing::Kind;
use futures_lite::future::yield_now;

async fn look<B: Served>(store: &mut B::Store) -> Result<Answer, StoreError> {
    store.answer(candidacy(1, LONG).registration(), &Query::Observe).await
}

fn administer<B: Served>(database: &B, script: &str) -> String {
    let place = if B::KIND == Kind::Postgres { "postgres" } else { "mysql" };
    database.server().administer(place, script)
}

/// The store's session on the server; waits until those of earlier stores have ended.
async fn session<B: Served>(database: &B) -> Option<u64> {
    let sessions = match B::KIND {
        Kind::Postgres => {
            "SELECT pid FROM pg_stat_activity \
             WHERE usename = 'election' AND application_name LIKE 'election%'"
        }
        Kind::MariaDb => "SELECT id FROM information_schema.processlist WHERE user = 'election'",
    };
    loop {
        let sessions = administer(database, sessions);
        let mut ids = sessions.lines().map(|id| id.trim().parse().unwrap());
        match (ids.next(), ids.next()) {
            (only, None) => return only,
            _ => yield_now().await,
        }
    }
}

async fn the_call_after_a_broken_connection_has_another<B: Served>(database: B) {
    let mut store = database.store();
    let mut before = None;
    for _ in 0..3 {
        look::<B>(&mut store).await.unwrap();
        let broken = session(&database).await.unwrap();
        assert_ne!(before, Some(broken));
        before = Some(broken);
        look::<B>(&mut store).await.unwrap();
        assert_eq!(session(&database).await, before, "one that is in order is used again");
        administer(
            &database,
            &match B::KIND {
                Kind::Postgres => format!("SELECT pg_terminate_backend({broken})"),
                Kind::MariaDb => format!("KILL {broken}"),
            },
        );
        while session(&database).await.is_some() {}
        let error = look::<B>(&mut store).await.unwrap_err();
        println!("{error}");
        assert_ne!(error.kind, Failure::Conflict, "{error}");
    }
    look::<B>(&mut store).await.unwrap();
}

/// The session lives on, but whoever sees an error of another kind than a refusal does not know in
/// what order it is.
async fn the_call_after_an_error_has_another_connection<B: Served>(database: B) {
    let mut store = database.store();
    look::<B>(&mut store).await.unwrap();
    let before = session(&database).await.unwrap();
    database.execute("ALTER TABLE election_leader RENAME TO elsewhere").await;
    let error = look::<B>(&mut store).await.unwrap_err();
    assert_eq!(error.kind, Failure::Fatal, "{error}");
    database.execute("ALTER TABLE elsewhere RENAME TO election_leader").await;
    while look::<B>(&mut store).await.is_err() {}
    assert_ne!(session(&database).await.unwrap(), before);
}

tests! {
    the_call_after_a_broken_connection_has_another: postgres mariadb;
    the_call_after_an_error_has_another_connection: postgres mariadb;
}
