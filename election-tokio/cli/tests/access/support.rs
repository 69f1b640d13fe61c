//! The two servers behind one trait, and what an elector's user does all day.

use election_driver::core::{
    Candidate, Epoch, Incarnation, Label, Namespace, NodeId,
    lease::{self, Answer, Failure, Query, Registration},
    sql::Tables,
};
use election_testing::Server;
use election_tokio::{
    Election, FenceError, Handle, Lease, MySqlStore, PgStore, Status, Store, StoreError,
};
use std::{future::Future, process::Output, time::Duration};
use tokio::process::Command;

/// No lease of this length ends in a test.
pub(crate) const LONG: Duration = Duration::from_secs(300);

/// Runs a check to its end; one that hangs fails and says which it is.
pub(crate) async fn patiently<F: Future>(what: &str, check: F) -> F::Output {
    let patience = Duration::from_secs(60);
    let done = tokio::time::timeout(patience, check).await;
    done.unwrap_or_else(|_| panic!("{what}: what is waited for did not come in a minute"))
}

/// Waits until it holds.
pub(crate) async fn comes_true(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let wait = async {
        while !holds().await {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    patiently(what, wait).await;
}

/// A kind of database.
pub(crate) trait On {
    type Store: Store + Clone;
    fn store(url: &str) -> Self::Store;

    /// Makes an empty database that the user `election` owns.
    fn create_database(server: &Server, name: &str);
    /// Makes a user of the name `app` or `maker` without any right.
    fn create_user(server: &Server, name: &str);

    /// Makes a schema (on MariaDB a database) of any name that the user `election` owns.
    fn create_schema(server: &Server, database: &str, name: &str);
    /// Has the server answer every registration of a candidate with a syntax error.
    fn refuse_registrations(server: &Server, database: &str);

    /// Runs a script in a database as the user `election`.
    fn administer(server: &Server, database: &str, script: &str);

    fn with_tables(store: Self::Store, tables: &Tables) -> Self::Store;
    /// Begins a transaction of the application's, and fences it.
    async fn fence(url: &str, lease: &Lease) -> Result<(), FenceError>;
    async fn ensure_schema(store: &mut Self::Store) -> Result<(), StoreError>;
    async fn look(store: &mut Self::Store, name: &Namespace) -> Result<Epoch, StoreError>;
    async fn list(store: &mut Self::Store, name: &Namespace) -> Result<usize, StoreError>;
    async fn ask(store: &mut Self::Store, who: &Registration, e: Epoch)
    -> Result<bool, StoreError>;
}

pub(crate) struct OnPostgres;
pub(crate) struct OnMariaDb;

macro_rules! store {
    ($store:ty, $pool:ty) => {
        type Store = $store;

        fn store(url: &str) -> $store {
            <$store>::connect(url).unwrap()
        }

        fn with_tables(store: $store, tables: &Tables) -> $store {
            store.with_tables(tables).unwrap()
        }

        async fn fence(url: &str, lease: &Lease) -> Result<(), FenceError> {
            let pool = <$pool>::connect(url).await.unwrap();
            let mut transaction = pool.begin().await.unwrap();
            lease.fence(&mut transaction).await?;
            transaction.commit().await.unwrap();
            Ok(())
        }

        async fn ensure_schema(store: &mut $store) -> Result<(), StoreError> {
            store.ensure_schema().await.map(|_| ())
        }

        async fn look(store: &mut $store, name: &Namespace) -> Result<Epoch, StoreError> {
            store.leader(name).await.map(|row| row.epoch)
        }

        async fn list(store: &mut $store, name: &Namespace) -> Result<usize, StoreError> {
            store.list_candidates(name).await.map(|candidates| candidates.len())
        }

        async fn ask(
            store: &mut $store,
            who: &Registration,
            epoch: Epoch,
        ) -> Result<bool, StoreError> {
            store.request_resign(&who.namespace, epoch).await
        }
    };
}

impl On for OnPostgres {
    store!(PgStore, sqlx::PgPool);

    fn create_database(server: &Server, name: &str) {
        server.administer("postgres", &format!("CREATE DATABASE {name} OWNER election"));
    }

    fn create_user(server: &Server, name: &str) {
        server.administer("postgres", &format!("CREATE ROLE {name} LOGIN PASSWORD '{name}'"));
    }

    fn create_schema(server: &Server, database: &str, name: &str) {
        let name = name.replace('"', "\"\"");
        server.administer(database, &format!("CREATE SCHEMA \"{name}\" AUTHORIZATION election"));
    }

    fn refuse_registrations(server: &Server, database: &str) {
        let refuse = "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS \
                      $$ BEGIN RAISE syntax_error; END $$; \
                      CREATE TRIGGER refuse BEFORE INSERT ON election_candidate \
                      FOR EACH ROW EXECUTE FUNCTION refuse()";
        server.administer(database, refuse);
    }

    fn administer(server: &Server, database: &str, script: &str) {
        server.administer(database, &format!("SET ROLE election; {script}"));
    }
}

impl On for OnMariaDb {
    store!(MySqlStore, sqlx::MySqlPool);

    fn create_database(server: &Server, name: &str) {
        let grant = format!("GRANT ALL ON {name}.* TO election@'127.0.0.1'");
        server.administer("mysql", &format!("CREATE DATABASE {name}; {grant}"));
    }

    fn create_user(server: &Server, name: &str) {
        server.administer("mysql", &format!("CREATE USER {name} IDENTIFIED BY '{name}'"));
    }

    fn create_schema(server: &Server, _: &str, name: &str) {
        let name = name.replace('`', "``");
        let grant = format!("GRANT ALL ON `{name}`.* TO election@'127.0.0.1'");
        server.administer("mysql", &format!("CREATE DATABASE `{name}`; {grant}"));
    }

    fn refuse_registrations(server: &Server, database: &str) {
        let refuse = "CREATE TRIGGER refuse BEFORE INSERT ON election_candidate FOR EACH ROW \
                      SIGNAL SQLSTATE '42000'";
        server.administer(database, refuse);
    }

    fn administer(server: &Server, database: &str, script: &str) {
        server.administer(database, script);
    }
}

/// The same URL for another database.
pub(crate) fn url_of(url: &str, database: &str) -> String {
    let (server, _) = url.rsplit_once('/').unwrap();
    format!("{server}/{database}")
}

/// Everything that a participating user ever does, in an election of its own.
pub(crate) async fn take_part<D: On>(store: &mut D::Store) -> Result<(), StoreError> {
    D::ensure_schema(store).await?;
    let who = registration();
    for _ in 0..2 {
        store.answer(&who, &Query::Register { ttl: LONG, sweep: true }).await?;
    }
    assert_eq!(D::list(store, &who.namespace).await?, 1);
    let Answer::Won { epoch, .. } = store
        .answer(&who, &Query::Attempt { seen: Epoch::NONE, ttl: LONG, clock_step: Duration::ZERO })
        .await?
    else {
        panic!("a new election is free")
    };
    assert_eq!(D::look(store, &who.namespace).await?, epoch);
    assert!(D::ask(store, &who, epoch).await?);
    let renewed = store
        .answer(
            &who,
            &Query::Renew { epoch, ordinal: 1, ttl: LONG, clock_step: Duration::ZERO, leads: true },
        )
        .await?;
    assert!(matches!(renewed, Answer::Renewed { resign_requested: true, .. }), "{renewed:?}");
    let take_over = Query::TakeOver {
        seen: epoch,
        ttl: LONG,
        epoch,
        holder: Some(who.candidate.clone()),
        renewals: 1,
        server: lease::Server::FIRST,
        clock_step: Duration::ZERO,
    };
    let Answer::Won { epoch, .. } = store.answer(&who, &take_over).await? else {
        panic!("the row is as described")
    };
    store.answer(&who, &Query::Resign { epoch }).await?;
    store.answer(&who, &Query::Unregister).await?;
    assert_eq!(D::list(store, &who.namespace).await?, 0);
    Ok(())
}

fn registration() -> Registration {
    registration_in(&Namespace::new(&uuid::Uuid::new_v4().to_string()).unwrap())
}

pub(crate) fn registration_in(namespace: &Namespace) -> Registration {
    let life = uuid::Uuid::new_v4();
    Registration {
        namespace: namespace.clone(),
        candidate: Candidate {
            id: NodeId::new("app").unwrap(),
            incarnation: Incarnation::new(life),
        },
        label: Some(Label::new("somewhere").unwrap()),
    }
}

/// An elector on this store; its lease is short, so that it soon tries again.
pub(crate) fn elector<D: On>(store: D::Store, node: &str) -> Handle {
    let builder = Election::builder("e").node(node).ttl(Duration::from_secs(1));
    builder.store(store).build().unwrap().start()
}

/// Waits until an elector has met a permanent error, and returns the text that a user reads.
pub(crate) async fn complaint(handle: &Handle) -> String {
    let fatal =
        |status: &Status| status.error.as_ref().is_some_and(|error| error.kind == Failure::Fatal);
    let status = handle.watch().until(fatal).await;
    assert!(!handle.is_leader());
    message(status.error.unwrap().as_ref())
}

pub(crate) fn message(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |error| error.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}

/// Fails for good, in these words.
#[track_caller]
pub(crate) fn assert_refused<T>(what: &str, outcome: Result<T, StoreError>, words: &[&str]) {
    let Err(error) = outcome else { panic!("{what}: was let in") };
    assert_eq!(error.kind, Failure::Fatal, "{what}: {}", message(&error));
    assert_says(what, &message(&error), words);
}

#[track_caller]
pub(crate) fn assert_says(what: &str, text: &str, words: &[&str]) {
    for word in words {
        assert!(text.contains(word), "{what}: no {word:?} in {text:?}");
    }
    assert!(!text.contains("hunter2"), "{what}: the password is told: {text}");
    // Neither the server's source code nor ours helps anybody.
    assert!(!text.contains(" at line "), "{what}: {text}");
}

/// `election COMMAND --store URL …` in the default election, to its end.
pub(crate) async fn command(url: &str, arguments: &[&str]) -> Output {
    command_in(&[], url, arguments).await
}

/// The same with these variables besides.
pub(crate) async fn command_in(
    variables: &[(&str, &str)],
    url: &str,
    arguments: &[&str],
) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_election"));
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("ELECTION_") {
            command.env_remove(name);
        }
    }
    command.env("ELECTION_NAME", "default").envs(variables.iter().copied());
    let (name, rest) = arguments.split_first().unwrap();
    command.args([name, "--store", url]).args(rest).kill_on_drop(true).output().await.unwrap()
}
