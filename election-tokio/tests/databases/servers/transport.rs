//! Connections over a network are encrypted, to a server that has proven its identity, unless the
//! URL says otherwise.
//!
//! `::ffff:127.0.0.1` is this machine, but its spelling does not show that: so a test can try what
//! holds for a server far away.

use crate::on::OnNothing;
use election_core::{lease::Failure, sql::Tables};
use election_driver::{MySqlStore, PgStore, StoreError};
use election_testing::{Kind, Server};
use sqlx::{
    mysql::{MySqlConnectOptions, MySqlPoolOptions},
    postgres::{PgConnectOptions, PgPoolOptions, PgSslMode},
};
use std::{
    io::{Read as _, Write as _},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
};

/// Somebody on the way to a server, who claims in its name that it has no TLS, and listens.
struct Thief {
    port: u16,
    heard: Arc<Mutex<Vec<u8>>>,
}

const SSL_REQUEST: [u8; 8] = [0, 0, 0, 8, 4, 210, 22, 47];
/// `AuthenticationCleartextPassword`.
const PASSWORD_PLEASE: [u8; 9] = [b'R', 0, 0, 0, 8, 0, 0, 0, 3];

impl Thief {
    fn lie_in_wait(kind: Kind) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let heard = Arc::<Mutex<Vec<u8>>>::default();
        let thief = Self { port, heard: heard.clone() };
        thread::spawn(move || {
            while let Ok((client, _)) = listener.accept() {
                match kind {
                    Kind::Postgres => Self::pose_as_postgres(client, &heard),
                    Kind::MariaDb => Self::pose_as_mysql(client, &heard),
                }
            }
        });
        thief
    }

    fn pose_as_postgres(mut client: TcpStream, heard: &Mutex<Vec<u8>>) {
        let mut buffer = [0; 4096];
        while let Ok(read @ 1..) = client.read(&mut buffer) {
            let said = &buffer[..read];
            heard.lock().unwrap().extend_from_slice(said);
            let answer = match said[0] {
                b'p' => return, // a password
                _ if said == SSL_REQUEST => &b"N"[..],
                _ => &PASSWORD_PLEASE,
            };
            let _ = client.write_all(answer);
        }
    }

    fn pose_as_mysql(mut client: TcpStream, heard: &Mutex<Vec<u8>>) {
        let mut greeting = b"\x0a8.0.40\0\x01\0\0\0saltsalt\0".to_vec();
        // CLIENT_PROTOCOL_41, SECURE_CONNECTION, PLUGIN_AUTH, CONNECT_WITH_DB; and not SSL.
        greeting.extend_from_slice(b"\x08\x82\x2d\x02\0\x08\0\x15\0\0\0\0\0\0\0\0\0\0");
        greeting.extend_from_slice(b"saltsaltsalt\0mysql_native_password\0");
        let length = u8::try_from(greeting.len()).unwrap();
        let _ = client.write_all(&[&[length, 0, 0, 0], &*greeting].concat());
        let mut buffer = [0; 4096];
        if let Ok(read) = client.read(&mut buffer) {
            heard.lock().unwrap().extend_from_slice(&buffer[..read]);
        }
    }

    fn url(&self, scheme: &str, query: &str) -> String {
        format!("{scheme}://me:hunter2@[::ffff:127.0.0.1]:{}/db{query}", self.port)
    }

    fn heard(&self, what: &[u8]) -> bool {
        self.heard.lock().unwrap().windows(what.len()).any(|heard| heard == what)
    }
}

/// Refused for good, with all of these words.
#[track_caller]
fn refused<T>(outcome: Result<T, StoreError>, words: &[&str]) {
    let Err(error) = outcome else { panic!("a connection that was not protected") };
    assert_eq!(error.kind, Failure::Fatal, "{error:?}");
    for word in words {
        assert!(error.to_string().contains(word), "no {word:?} in {error}");
    }
}

async fn who_says_that_postgres_knows_no_tls_gets_no_password(_: OnNothing) {
    let thief = Thief::lie_in_wait(Kind::Postgres);
    let mut store = PgStore::connect(&thief.url("postgres", "")).unwrap();
    refused(store.ensure_schema().await, &["does not offer TLS", "sslmode=disable"]);
    assert_eq!(*thief.heard.lock().unwrap(), SSL_REQUEST);
    // A client that asks for it speaks in clear text, which shows that the thief listens.
    for query in ["?sslmode=prefer", "?ssl-mode=disable"] {
        let thief = Thief::lie_in_wait(Kind::Postgres);
        let mut store = PgStore::connect(&thief.url("postgres", query)).unwrap();
        store.ensure_schema().await.unwrap_err();
        assert!(thief.heard(b"hunter2"), "{query}");
    }
}

async fn who_says_that_mysql_knows_no_tls_learns_nothing(_: OnNothing) {
    for scheme in ["mysql", "mariadb"] {
        let thief = Thief::lie_in_wait(Kind::MariaDb);
        let mut store = MySqlStore::connect(&thief.url(scheme, "")).unwrap();
        refused(store.ensure_schema().await, &["does not offer TLS", "ssl-mode=DISABLED"]);
        assert!(thief.heard.lock().unwrap().is_empty());
        let thief = Thief::lie_in_wait(Kind::MariaDb);
        let mut store = MySqlStore::connect(&thief.url(scheme, "?ssl-mode=preferred")).unwrap();
        store.ensure_schema().await.unwrap_err();
        assert!(thief.heard(b"me\0"), "no login");
    }
}

async fn postgres_over_a_network_is_verified(_: OnNothing) {
    let server = Server::start_encrypted(Kind::Postgres);
    let url = server.distant_url();
    let words = ["certificate", "sslrootcert"];
    refused(PgStore::connect(&url).unwrap().ensure_schema().await, &words);
    let url = format!("{url}?sslrootcert={}", server.authority().display());
    let mut store = PgStore::connect(&url).unwrap();
    let port = server.port();
    let described = format!("PostgreSQL at [::ffff:7f00:1]:{port}, TLS verified");
    assert_eq!(store.transport().to_string(), described);
    store.ensure_schema().await.unwrap();
    let encrypted = "SELECT count(*) > 0 AND bool_and(ssl) FROM pg_stat_ssl \
                     JOIN pg_stat_activity USING (pid) WHERE application_name = 'election'";
    assert_eq!(server.administer("election", encrypted), "t");

    // A caller's own options and pools are used as they are.
    let options = PgConnectOptions::new_without_pgpass().host("::ffff:127.0.0.1");
    let options = options.port(port).username("election").password("election");
    let options = options.database("election").ssl_mode(PgSslMode::Disable);
    let mut store = PgStore::with_options(options.clone(), &Tables::default());
    assert!(store.transport().to_string().ends_with(", in plain text"));
    store.ensure_schema().await.unwrap();
    assert_eq!(server.administer("election", encrypted), "f");
    let pool = PgPoolOptions::new().connect_lazy_with(options);
    PgStore::from_pool(&pool).ensure_schema().await.unwrap();
}

async fn mariadb_over_a_network_is_verified(_: OnNothing) {
    let server = Server::start_encrypted(Kind::MariaDb);
    let url = server.distant_url();
    let words = ["certificate", "ssl-ca"];
    refused(MySqlStore::connect(&url).unwrap().ensure_schema().await, &words);
    server.administer("mysql", "ALTER USER election@'127.0.0.1' REQUIRE SSL");
    let url = format!("{url}?ssl-ca={}", server.authority().display());
    let mut store = MySqlStore::connect(&url).unwrap();
    let port = server.port();
    let described = format!("MySQL at [::ffff:7f00:1]:{port}, TLS verified");
    assert_eq!(store.transport().to_string(), described);
    store.ensure_schema().await.unwrap();

    server.administer("mysql", "ALTER USER election@'127.0.0.1' REQUIRE NONE");
    let options = MySqlConnectOptions::new().host("::ffff:127.0.0.1").port(port);
    let options = options.username("election").password("election").database("election");
    let mut store = MySqlStore::with_options(options.clone(), &Tables::default());
    store.ensure_schema().await.unwrap();
    let pool = MySqlPoolOptions::new().connect_lazy_with(options);
    MySqlStore::from_pool(&pool).ensure_schema().await.unwrap();
}

/// A client that names an authority wants to know its server, on this machine too: at the other end
/// of a tunnel, for instance.
async fn an_authority_that_is_named_is_asked(_: OnNothing) {
    let server = Server::start_encrypted(Kind::Postgres);
    let stranger = Server::start_encrypted(Kind::Postgres);
    let url = |server: &Server, authority: &Server| {
        format!("{}?sslrootcert={}", server.url(), authority.authority().display())
    };
    let mut store = PgStore::connect(&url(&server, &server)).unwrap();
    assert!(store.transport().to_string().ends_with("TLS verified (loopback)"));
    store.ensure_schema().await.unwrap();
    let mut store = PgStore::connect(&url(&server, &stranger)).unwrap();
    refused(store.ensure_schema().await, &["certificate"]);
}

tests! {
    who_says_that_postgres_knows_no_tls_gets_no_password: by_itself;
    who_says_that_mysql_knows_no_tls_learns_nothing: by_itself;
    postgres_over_a_network_is_verified: by_itself;
    mariadb_over_a_network_is_verified: by_itself;
    an_authority_that_is_named_is_asked: by_itself;
}
