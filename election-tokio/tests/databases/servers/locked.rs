//! A database in which somebody has locked the tables. Statements given up meanwhile must not stay
//! behind on the server, where they would use up the connections of every other application.

use crate::{
    database::{OnMariaDb, OnPostgres, Served, until},
    servers::counted::{ELECTORS, counted, led, sessions, watched},
};
use sqlx::{Connection as _, Executor as _, MySqlConnection, PgConnection};

/// Three electors while somebody holds this lock, and after it.
async fn behind<B: Served, L>(database: &B, lock: impl AsyncFnOnce() -> L) {
    let electors = ELECTORS.map(|node| counted(database.store(), node));
    let before = led(&electors).await;
    let held = lock().await;
    let most = watched(&electors, || sessions(database));
    println!("{most} sessions at most");
    for each in &electors {
        // In the database's own words, not only that time has run out.
        let conflict = until(&each.handle, |status| status.error.is_some()).await.error.unwrap();
        println!("{conflict}");
    }
    drop(held);
    while led(&electors).await <= before {}
}

async fn nothing_piles_up_behind_a_lock_on_postgresql(database: OnPostgres) {
    let url = database.server().url_as("postgres", "");
    behind(&database, async || {
        let mut connection = PgConnection::connect(&url).await.unwrap();
        let lock = "BEGIN; LOCK TABLE election_leader IN ACCESS EXCLUSIVE MODE";
        connection.execute(sqlx::raw_sql(lock)).await.unwrap();
        connection
    })
    .await;
}

async fn nothing_piles_up_behind_a_lock_on_mariadb(database: OnMariaDb) {
    let url = database.server().url_as("root", "");
    for lock in [
        "LOCK TABLES election_leader WRITE, election_candidate WRITE",
        "FLUSH TABLES WITH READ LOCK",
        // Where nothing else waits, a metadata lock makes others wait for the one that waits for
        // it.
        "BEGIN; SELECT * FROM election_leader FOR UPDATE",
    ] {
        println!("{lock}");
        behind(&database, async || {
            let mut connection = MySqlConnection::connect(&url).await.unwrap();
            connection.execute(sqlx::raw_sql(lock)).await.unwrap();
            connection
        })
        .await;
    }
}

tests! {
    nothing_piles_up_behind_a_lock_on_postgresql: postgres;
    nothing_piles_up_behind_a_lock_on_mariadb: mariadb;
}
