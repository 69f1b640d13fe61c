//! What speaks PostgreSQL's protocol and is not PostgreSQL: what the user says of it in the URL
//! (`?history=none`), and who is refused, by its own words (`version()`).
//!
//! CockroachDB and YugabyteDB are refused. Where PostgreSQL locks a row that it reads, they may lock none,
//! so a fence would hold nothing up; and each of their servers has a clock of its own.

use crate::StoreError;
use election_core::lease::Failure;

/// The URL without this word, and whether the server tells which history it continues.
pub(super) fn taken_from(url: &str) -> Result<(String, bool), StoreError> {
    let Some((place, query)) = url.split_once('?') else { return Ok((url.to_owned(), true)) };
    let (mut tells, mut rest) = (true, Vec::new());
    for pair in query.split('&') {
        match pair.split_once('=').unwrap_or((pair, "")) {
            ("history", "none") => tells = false,
            ("history", value) => {
                let context = format!(
                    "the URL says `history={value}`; remove it where the server can tell whether \
                     it was promoted (PostgreSQL), or use `history=none` where it cannot"
                );
                return Err(StoreError::new(Failure::Fatal, context));
            }
            _ => rest.push(pair),
        }
    }
    let query = rest.join("&");
    let url = if query.is_empty() { place.to_owned() } else { format!("{place}?{query}") };
    Ok((url, tells))
}

/// Refuses a server on whose answers no election can rest.
pub(super) fn refused(version: &str) -> Result<(), StoreError> {
    // PostgreSQL 11.2-YB-2.18.4.0-b0 on x86_64-pc-linux-gnu, …
    let number = version.strip_prefix("PostgreSQL ").and_then(|rest| rest.split(' ').next());
    let name = if version.starts_with("CockroachDB ") {
        "CockroachDB"
    } else if number.is_some_and(|number| number.contains("-YB-")) {
        "YugabyteDB"
    } else {
        return Ok(());
    };
    let context = format!(
        "this server is {name} ({version:?}), which elections do not support: its locks and clocks \
         differ from PostgreSQL's; use PostgreSQL, MariaDB, MySQL or SQLite, or an election by \
         votes"
    );
    Err(StoreError::new(Failure::Fatal, context))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_its_own_word_is_taken() {
        for (url, expected, tells) in [
            ("postgres://h/d", "postgres://h/d", true),
            ("postgres://h/d?history=none", "postgres://h/d", false),
            ("postgres://h/d?a=b&history=none&c=d", "postgres://h/d?a=b&c=d", false),
            ("postgres://h/d?sslmode=disable", "postgres://h/d?sslmode=disable", true),
            ("postgres://h/history=none", "postgres://h/history=none", true),
        ] {
            assert_eq!(taken_from(url).unwrap(), (expected.to_owned(), tells), "{url}");
        }
    }

    #[test]
    fn another_value_is_refused_with_the_remedy() {
        for url in ["postgres://h/d?history=off", "postgres://h/d?history"] {
            let error = taken_from(url).unwrap_err().to_string();
            assert!(error.contains("history=none"), "{error}");
        }
    }

    /// The forms are those of `pkg/build/info.go` in cockroachdb/cockroach and of the manual of
    /// YugabyteDB; the last two are of the servers that the tests start, and of Aurora.
    #[test]
    fn who_is_not_supported_is_refused_by_name() {
        for (version, name) in [
            ("CockroachDB CCL v23.1.11 (x86_64-pc-linux-gnu, go1.19.10)", Some("CockroachDB")),
            ("PostgreSQL 11.2-YB-2.18.4.0-b0 on x86_64-pc-linux-gnu, 64-bit", Some("YugabyteDB")),
            ("PostgreSQL 15.12-YB-2025.2.3.0-b1 on x86_64-pc-linux-gnu", Some("YugabyteDB")),
            ("PostgreSQL 16.4 (Debian 16.4-1-YB-1) on x86_64-pc-linux-gnu", None),
            ("PostgreSQL 15.4 on x86_64-pc-linux-gnu, compiled by x86_64-pc-linux-gnu-gcc", None),
        ] {
            let said = refused(version).err().map(|error| error.to_string());
            assert_eq!(said.is_some(), name.is_some(), "{said:?}");
            assert!(said.is_none_or(|said| said.contains(name.unwrap())), "{version}");
        }
    }
}
