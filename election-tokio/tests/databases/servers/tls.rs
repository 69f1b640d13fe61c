//! Encrypted connections, as managed servers demand them.

use crate::database::LONG;
use crate::on::OnNothing;
use election_core::lease::Failure;
use election_driver::{MySqlStore, PgStore, SqlStore, Store, StoreError};
use election_testing::{Kind, Server};
use election_tokio::Election;

async fn led_over<S: Store>(store: S) {
    let builder = Election::builder("test").node("a").ttl(LONG).store(store);
    builder.build().unwrap().start().elected().await.unwrap();
}

fn refused<T>(outcome: Result<T, StoreError>) {
    let Err(error) = outcome else { panic!("a certificate that nobody vouches for was taken") };
    assert_eq!(error.kind, Failure::Fatal, "{error:?}");
    assert!(error.to_string().contains("certificate"), "{error}");
}

async fn postgres_encrypts(_: OnNothing) {
    let server = Server::start_encrypted(Kind::Postgres);
    let url = format!("{}?sslmode=verify-full", server.url());
    refused(PgStore::connect(&url).unwrap().ensure_schema().await);
    let url = format!("{url}&sslrootcert={}", server.authority().display());
    let mut store: SqlStore<_> = PgStore::connect(&url).unwrap();
    store.ensure_schema().await.unwrap();
    led_over(store).await;
    let clear = "SELECT count(*) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) \
                 WHERE application_name = 'election' AND NOT ssl";
    assert_eq!(server.administer("election", clear), "0");
}

async fn mariadb_encrypts(_: OnNothing) {
    let server = Server::start_encrypted(Kind::MariaDb);
    let require = "ALTER USER election@'127.0.0.1' REQUIRE SSL";
    server.administer("mysql", require);
    let url = format!("{}?ssl-mode=VERIFY_IDENTITY", server.url());
    refused(MySqlStore::connect(&url).unwrap().ensure_schema().await);
    let url = format!("{url}&ssl-ca={}", server.authority().display());
    let mut store: SqlStore<_> = MySqlStore::connect(&url).unwrap();
    store.ensure_schema().await.unwrap();
    led_over(store).await;
}

tests! {
    postgres_encrypts: by_itself;
    mariadb_encrypts: by_itself;
}
