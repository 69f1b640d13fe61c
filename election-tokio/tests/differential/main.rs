//! The same random operations on the model and on a real database give the same answers and leave
//! the same rows, wherever the database's clock jumps.
//!
//! The simulator runs on the model, so every property shown there rests on this: the SQL of each
//! dialect means what [`election_sim::table`] says. Then bugs are planted, one at a time, in the
//! text of the statements, and each must be found.
//!
//! Every run draws other sequences, but always the same to find the planted bugs by, since how many that
//! takes is luck. A sequence that fails is shrunk and printed with its seed;
//! `PROPTEST_RNG_SEED` plays it again, `PROPTEST_CASES` sets how many are played.
#![allow(clippy::unwrap_used)]

mod plants;
mod play;
mod sequence;
mod steered;

use election_testing::{Kind, Server};
use election_tokio::{MySqlStore, PgStore, SqliteStore};
use plants::{BUGS, Bug, PROMOTED};
use play::{Trouble, play};
use proptest::{
    prelude::*,
    strategy::ValueTree as _,
    test_runner::{RngSeed, TestCaseError, TestRunner},
};
use sequence::sequences;
use sqlx::{ConnectOptions as _, Connection as _, mysql, postgres, sqlite};
use std::{
    cell::RefCell,
    hash::{BuildHasher as _, RandomState},
    str::FromStr as _,
};
use steered::{Steered, clock, steered};
use tokio::runtime::Runtime;

/// Statements about one election, and those about many.
macro_rules! tests {
    ($($database:ident: $one:ident $many:ident;)+) => {$(
        #[test]
        fn $one() {
            $database(false);
        }

        #[test]
        fn $many() {
            $database(true);
        }
    )+};
}

tests! {
    sqlite: sqlite_means_what_the_model_says sqlite_means_it_of_many_elections;
    postgres: postgres_means_what_the_model_says postgres_means_it_of_many_elections;
    promoted: promoted_postgres_means_what_the_model_says promoted_postgres_means_it_of_many;
    mariadb: mariadb_means_what_the_model_says mariadb_means_it_of_many_elections;
}

fn sqlite(merges: bool) {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("e.db");
    let mut store = SqliteStore::open(&file).unwrap();
    let (runtime, connection) = connected(async {
        store.ensure_schema().await.unwrap();
        let options = sqlite::SqliteConnectOptions::new().filename(&file);
        // Nothing here has to survive a power failure.
        options.synchronous(sqlite::SqliteSynchronous::Off).connect().await
    });
    compare(&runtime, steered(&store, connection, merges));
}

fn postgres(merges: bool) {
    let server = Server::start(Kind::Postgres);
    server.administer("election", clock::SCHEMA);
    let mut store = PgStore::connect(&server.url()).unwrap();
    let (runtime, connection) = connected(async {
        store.ensure_schema().await.unwrap();
        let options = postgres::PgConnectOptions::from_str(&server.url()).unwrap();
        options.options([("search_path", clock::SEARCH_PATH)]).connect().await
    });
    compare(&runtime, steered(&store, connection, merges));
}

/// The same after a failover: whoever attempts has to wait.
fn promoted(merges: bool) {
    let mut primary = Server::start(Kind::Postgres);
    primary.administer("election", clock::SCHEMA);
    let mut store = PgStore::connect(&primary.url()).unwrap();
    let (runtime, ()) = connected(async { store.ensure_schema().await.map(|_| ()) });
    let server = primary.standby();
    primary.kill();
    server.promote();
    let options = postgres::PgConnectOptions::from_str(&server.url()).unwrap();
    let options = options.options([("search_path", clock::SEARCH_PATH)]);
    let connection = runtime.block_on(options.connect()).unwrap();
    compare_with(&runtime, steered(&store, connection, merges), PROMOTED, true);
}

fn mariadb(merges: bool) {
    let server = Server::start(Kind::MariaDb);
    server.administer("mysql", "SET GLOBAL innodb_flush_log_at_trx_commit = 0");
    let mut store = MySqlStore::connect(&server.url()).unwrap();
    let (runtime, connection) = connected(async {
        store.ensure_schema().await.unwrap();
        mysql::MySqlConnection::connect(&server.url()).await
    });
    compare(&runtime, steered(&store, connection, merges));
}

fn connected<C, E: std::fmt::Debug>(connect: impl Future<Output = Result<C, E>>) -> (Runtime, C) {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let runtime = builder.enable_all().build().unwrap();
    let connection = runtime.block_on(connect).unwrap();
    (runtime, connection)
}

/// How many sequences are played unless the environment says otherwise.
const CASES: u32 = 400;

fn compare<D: Steered>(runtime: &Runtime, database: D) {
    compare_with(runtime, database, BUGS, false);
}

fn compare_with<D: Steered>(runtime: &Runtime, mut database: D, bugs: &[Bug], promoted: bool) {
    let (seed, finding) = match ProptestConfig::default().rng_seed {
        RngSeed::Fixed(seed) => (seed, seed),
        RngSeed::Random => (RandomState::new().hash_one(CASES), FINDING),
    };
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok());
    let runner = |seed| {
        TestRunner::new(ProptestConfig {
            cases: cases.unwrap_or(CASES),
            rng_seed: RngSeed::Fixed(seed),
            failure_persistence: None,
            ..ProptestConfig::default()
        })
    };
    let agreed = {
        let database = RefCell::new(&mut database);
        runner(seed).run(&sequences(promoted), |sequence| {
            let played = runtime.block_on(play(*database.borrow_mut(), &sequence));
            played.map_err(|trouble| TestCaseError::fail(trouble.to_string()))
        })
    };
    if let Err(found) = agreed {
        panic!("PROPTEST_RNG_SEED={seed}: {found}");
    }
    let (dialect, merges) = (database.dialect(), database.merges());
    let planted = bugs.iter().filter(|bug| bug.dialects.contains(&dialect));
    let planted = planted.filter(|bug| !merges || bug.merges());
    let missed: Vec<_> = planted
        .filter_map(|bug| {
            let found = find(runtime, &mut runner(finding), &mut database, bug, promoted);
            found.err().map(|how| format!("{}: {how}", bug.name))
        })
        .collect();
    assert!(missed.is_empty(), "PROPTEST_RNG_SEED={finding}: not found: {missed:#?}");
}

/// The seed of the sequences by which planted bugs are found.
const FINDING: u64 = 2;

/// How many sequences may pass before a planted bug is found.
const PATIENCE: usize = 2_000;

/// Plays sequences until a planted bug shows.
fn find<D: Steered>(
    runtime: &Runtime,
    runner: &mut TestRunner,
    database: &mut D,
    bug: &Bug,
    promoted: bool,
) -> Result<(), String> {
    database.plant(Some(bug.plant.clone()));
    for number in 1..=PATIENCE {
        let sequence = sequences(promoted).new_tree(runner).unwrap().current();
        match runtime.block_on(play(database, &sequence)) {
            Ok(()) => {}
            Err(Trouble::Differs(_)) => {
                println!("{}: found by sequence {number}", bug.name);
                return Ok(());
            }
            Err(trouble @ Trouble::Fails(_)) => return Err(trouble.to_string()),
        }
    }
    Err(format!("{} statements were changed", database.planted()))
}
