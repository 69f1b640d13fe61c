//! Which store a URL is for. A path that is a URL of another store would silently name a new file, and a
//! server's library would go to a server on this machine.

#[cfg(any(feature = "postgres", feature = "mysql"))]
use crate::StoreError;
#[cfg(any(feature = "postgres", feature = "mysql"))]
use election_core::lease::Failure;
use election_core::sql::Dialect;

const fn call(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Sqlite => "`SqliteStore::open` with the path alone (feature `sqlite`)",
        Dialect::Postgres => "`PgStore::connect` (feature `postgres`)",
        Dialect::MySql => "`MySqlStore::connect` (feature `mysql`)",
    }
}

/// The call for a URL, if its scheme is a store's.
fn meant(text: &str) -> Option<&'static str> {
    let scheme = text.split_once(':')?.0.to_ascii_lowercase();
    match &*scheme {
        "etcd" | "etcds" => Some("`EtcdRegister::connect` (feature `etcd`)"),
        _ => scheme.parse().ok().map(call),
    }
}

/// What is wrong with the path of a file that begins with a scheme.
#[cfg(feature = "sqlite")]
pub(super) fn in_path(text: &str) -> Option<String> {
    let own = call(Dialect::Sqlite);
    match meant(text) {
        Some(call) if call == own => {
            Some("only the command's `--store` takes `sqlite:`; write the path alone".to_owned())
        }
        Some(call) => Some(format!("this URL names no SQLite file; use {call}")),
        None if text.split_once("://").is_some_and(|(scheme, _)| !scheme.contains('/')) => {
            Some("a URL names no SQLite file; write the path of a file".to_owned())
        }
        None => None,
    }
}

/// Refuses a URL for any other store than this server's. The error repeats no part of it.
#[cfg(any(feature = "postgres", feature = "mysql"))]
pub(super) fn is_of(dialect: Dialect, url: &str) -> Result<(), StoreError> {
    let scheme = url.split_once("://").map(|(scheme, _)| scheme.to_ascii_lowercase());
    if scheme.is_some_and(|scheme| scheme.parse() == Ok(dialect)) {
        return Ok(());
    }
    let remedy = match meant(url) {
        Some(other) if other != call(dialect) => format!("it is for another store; use {other}"),
        _ => format!("write {dialect}://USER:PASSWORD@HOST:PORT/DATABASE"),
    };
    Err(StoreError::new(Failure::Fatal, format!("the URL is not valid: {remedy}")))
}

#[cfg(test)]
mod tests {
    #[cfg(feature = "sqlite")]
    #[test]
    fn a_path_that_begins_with_a_scheme_is_refused() {
        let said = |path: &str| {
            let opened = crate::SqliteStore::open(path).map(drop);
            opened.map_err(|error| error.to_string()).err().unwrap_or_default()
        };
        for (path, remedy) in [
            ("sqlite:both.db", "write the path alone"),
            ("SQLite:///both.db", "write the path alone"),
            ("postgres://x/y", "use `PgStore::connect`"),
            ("postgresql:x", "use `PgStore::connect`"),
            ("mariadb://x/y", "use `MySqlStore::connect`"),
            ("etcds://x/y", "use `EtcdRegister::connect`"),
            ("http://x/y", "write the path of a file"),
        ] {
            assert!(said(path).contains(remedy), "{path}: {:?}", said(path));
        }
        for path in ["both.db", "./sqlite:both.db", r"C:\both.db", "a:b.db", "a//b:c.db"] {
            assert_eq!(said(path), "", "{path}");
        }
    }

    #[cfg(all(feature = "mysql", feature = "postgres"))]
    #[test]
    fn a_url_for_another_store_is_refused() {
        use crate::{MySqlStore, PgStore};
        let postgres = |url: &str| PgStore::connect(url).map(drop);
        let mysql = |url: &str| MySqlStore::connect(url).map(drop);
        for (connected, remedy) in [
            (postgres("sqlite:x.db"), "use `SqliteStore::open`"),
            (postgres("mysql://me:secret@h/d"), "use `MySqlStore::connect`"),
            (postgres("postgres:me:secret@h/d"), "write postgres://"),
            (postgres("secret"), "write postgres://"),
            (mysql("etcd://h"), "use `EtcdRegister::connect`"),
            (mysql("http://me:secret@h/d"), "write mysql://"),
        ] {
            let said = connected.expect_err(remedy).to_string();
            assert!(said.contains(remedy) && !said.contains("secret"), "{said}");
        }
        assert!(postgres("PostgreSQL://localhost/d").is_ok());
        assert!(mysql("mariadb://localhost/d").is_ok());
    }
}
