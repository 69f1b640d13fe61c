//! Which of the servers that speak PostgreSQL's protocol it is: what the user says in the URL
//! (`?server=cockroachdb`, `?history=none`), and what the server says (`version()`).
//!
//! The two have to agree. The statements for clusters hold up a new term by other means than those for
//! PostgreSQL, so two processes that use one server's tables have to use the same ones.

use crate::StoreError;
use election_core::{lease::Failure, sql::Flavor};

const HISTORY: &str = "history";
const SERVER: &str = "server";

/// The URL without these words, and what they say.
pub(super) fn taken_from(url: &str) -> Result<(String, Flavor), StoreError> {
    let Some((place, query)) = url.split_once('?') else {
        return Ok((url.to_owned(), Flavor::default()));
    };
    let (mut flavor, mut tells, mut rest) = (Flavor::default(), true, Vec::new());
    for pair in query.split('&') {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        match (name, value) {
            (HISTORY, "none") => tells = false,
            (SERVER, "postgresql") => flavor = Flavor::PostgreSql,
            (SERVER, "cockroachdb") => flavor = Flavor::CockroachDb,
            (SERVER, "yugabytedb") => flavor = Flavor::YugabyteDb,
            (HISTORY, _) => {
                return Err(refused(format!(
                    "the URL says `{HISTORY}={value}`; leave it out where the server tells whether it was \
                     promoted (PostgreSQL), or say `{HISTORY}=none` where it cannot"
                )));
            }
            (SERVER, _) => {
                return Err(refused(format!(
                    "the URL says `{SERVER}={value}`; say `{SERVER}=cockroachdb` or \
                     `{SERVER}=yugabytedb`, or leave it out for PostgreSQL"
                )));
            }
            _ => rest.push(pair),
        }
    }
    let query = rest.join("&");
    let url = if query.is_empty() { place.to_owned() } else { format!("{place}?{query}") };
    // A cluster has no history that could matter.
    let without = !tells && flavor == Flavor::PostgreSql;
    Ok((url, if without { Flavor::WithoutHistory } else { flavor }))
}

/// Refuses a server that is not what the user says.
pub(super) fn agree(said: Flavor, version: &str) -> Result<(), StoreError> {
    let found = cluster(version);
    let (remedy, place) = match (found, said.is_cluster()) {
        (Some(found), _) if found == said => return Ok(()),
        (None, false) => return Ok(()),
        (Some(Flavor::CockroachDb), _) => ("say so: add `?server=cockroachdb` to the URL", GUIDE),
        (Some(_), _) => ("say so: add `?server=yugabytedb` to the URL", GUIDE),
        (None, true) => ("leave out `server=` in the URL", ""),
    };
    Err(refused(format!(
        "this server is not {}, as the URL or `PgStore::with_flavor` has it, but says that it is \
         {version:?}; {remedy}{place}",
        said.as_str()
    )))
}

const GUIDE: &str = ", and read in the guide's page `choosing` what holds there (it was never tested on a real one)";

/// The cluster that a server belongs to, by its own words.
fn cluster(version: &str) -> Option<Flavor> {
    if version.starts_with("CockroachDB ") {
        return Some(Flavor::CockroachDb);
    }
    // PostgreSQL 11.2-YB-2.18.4.0-b0 on x86_64-pc-linux-gnu, …
    let number = version.strip_prefix("PostgreSQL ")?.split(' ').next()?;
    number.contains("-YB-").then_some(Flavor::YugabyteDb)
}

fn refused(context: String) -> StoreError {
    StoreError::new(Failure::Fatal, context)
}

#[cfg(test)]
mod tests {
    use super::*;
    use Flavor::{CockroachDb, PostgreSql, WithoutHistory, YugabyteDb};

    #[test]
    fn only_its_own_words_are_taken() {
        for (url, expected, flavor) in [
            ("postgres://h/d", "postgres://h/d", PostgreSql),
            ("postgres://h/d?history=none", "postgres://h/d", WithoutHistory),
            ("postgres://h/d?a=b&history=none&c=d", "postgres://h/d?a=b&c=d", WithoutHistory),
            ("postgres://h/d?sslmode=disable", "postgres://h/d?sslmode=disable", PostgreSql),
            ("postgres://h/history=none", "postgres://h/history=none", PostgreSql),
            ("postgres://h/d?server=cockroachdb&a=b", "postgres://h/d?a=b", CockroachDb),
            ("postgres://h/d?server=yugabytedb", "postgres://h/d", YugabyteDb),
            ("postgres://h/d?history=none&server=yugabytedb", "postgres://h/d", YugabyteDb),
            ("postgres://h/d?server=postgresql", "postgres://h/d", PostgreSql),
        ] {
            assert_eq!(taken_from(url).unwrap(), (expected.to_owned(), flavor), "{url}");
        }
    }

    #[test]
    fn another_value_is_refused_with_the_remedy() {
        for (url, remedy) in [
            ("postgres://h/d?history=off", "history=none"),
            ("postgres://h/d?history", "history=none"),
            ("postgres://h/d?server=cockroach", "server=cockroachdb"),
            ("postgres://h/d?server", "server=yugabytedb"),
        ] {
            let error = taken_from(url).unwrap_err().to_string();
            assert!(error.contains(remedy), "{error}");
        }
    }

    /// The forms are those of `pkg/build/info.go` in cockroachdb/cockroach and of the manual of
    /// YugabyteDB; the last two are of the servers that the tests start, and of Aurora.
    const VERSIONS: [(&str, Option<Flavor>); 5] = [
        (
            "CockroachDB CCL v23.1.11 (x86_64-pc-linux-gnu, built 2023/09/27 01:53:43, go1.19.10)",
            Some(CockroachDb),
        ),
        (
            "PostgreSQL 11.2-YB-2.18.4.0-b0 on x86_64-pc-linux-gnu, compiled by clang version 15.0.3, 64-bit",
            Some(YugabyteDb),
        ),
        (
            "PostgreSQL 15.12-YB-2025.2.3.0-b1 on x86_64-pc-linux-gnu, compiled by clang 17.0.6, 64-bit",
            Some(YugabyteDb),
        ),
        ("PostgreSQL 16.4 (Debian 16.4-1-YB-1) on x86_64-pc-linux-gnu, compiled by gcc", None),
        ("PostgreSQL 15.4 on x86_64-pc-linux-gnu, compiled by x86_64-pc-linux-gnu-gcc", None),
    ];

    #[test]
    fn a_server_has_to_be_what_is_said() {
        for (version, found) in VERSIONS {
            for said in [PostgreSql, WithoutHistory, CockroachDb, YugabyteDb] {
                let agreed = agree(said, version);
                let fits = found.map_or(!said.is_cluster(), |found| found == said);
                assert_eq!(agreed.is_ok(), fits, "{said:?} {version}");
                let Err(error) = agreed else { continue };
                let remedy = match found {
                    Some(CockroachDb) => "server=cockroachdb",
                    Some(_) => "server=yugabytedb",
                    None => "leave out",
                };
                assert!(error.to_string().contains(remedy), "{error}");
            }
        }
    }
}
