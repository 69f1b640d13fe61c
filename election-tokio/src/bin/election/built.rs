//! Which databases this build has, in the words of the help and of errors. A build for one database
//! alone is smaller; it has to say so where somebody names another.

use election_tokio::core::sql::Dialect;

/// The databases that this build has.
pub(crate) const BUILT: &[Dialect] = &[
    #[cfg(feature = "sqlite")]
    Dialect::Sqlite,
    #[cfg(feature = "postgres")]
    Dialect::Postgres,
    #[cfg(feature = "mysql")]
    Dialect::MySql,
];

const ALL: [Dialect; 3] = [Dialect::Sqlite, Dialect::Postgres, Dialect::MySql];

/// How URLs are written, with this path if they name a file: `sqlite:PATH, postgres://… or mysql://…`.
pub(crate) fn urls(path: &str) -> String {
    written(BUILT, path)
}

/// The URLs of all but the usual database, as in [`urls`]; none in a build for one alone.
pub(crate) fn other_urls() -> Option<String> {
    BUILT.get(1..).filter(|others| !others.is_empty()).map(|others| written(others, "PATH"))
}

/// The help of `--store`.
pub(crate) fn help() -> String {
    described(BUILT)
}

/// The message for a database that was left out, which `what` names.
#[cfg(any(test, not(all(feature = "sqlite", feature = "postgres", feature = "mysql"))))]
pub(crate) fn lacking(what: &str, dialect: Dialect) -> String {
    format!(
        "{what}: this `election` was built without {dialect}; build it with the feature \
         `cli-{dialect}`, or with `cli`, which has every database"
    )
}

/// The message for a command that was left out, if that is what is wrong.
#[cfg(not(feature = "cli"))]
pub(crate) fn missing(error: &clap::Error) -> Option<String> {
    use clap::error::{ContextKind, ContextValue};
    let Some(ContextValue::String(named)) = error.get(ContextKind::InvalidSubcommand) else {
        return None;
    };
    ["cluster", "completions", "man"].contains(&&**named).then(|| {
        format!(
            "this `election` was built without `election {named}`; build it with the feature `cli`"
        )
    })
}

fn written(built: &[Dialect], path: &str) -> String {
    let url = |dialect: &Dialect| match dialect {
        Dialect::Sqlite => format!("sqlite:{path}"),
        Dialect::Postgres | Dialect::MySql => format!("{dialect}://…"),
    };
    either(built.iter().map(url).collect())
}

fn described(built: &[Dialect]) -> String {
    let mut account = "USER:PASSWORD@HOST/DATABASE";
    let url = |dialect: &Dialect| match dialect {
        Dialect::Sqlite => "sqlite:PATH".to_owned(),
        // Only the first is written out.
        other => format!("{other}://{}", std::mem::replace(&mut account, "...")),
    };
    let urls = either(built.iter().map(url).collect());
    let lacking = |dialect: &Dialect| !built.contains(dialect);
    let features = |dialect: Dialect| format!("{dialect} (feature `cli-{dialect}`)");
    let lacking: Vec<_> = ALL.into_iter().filter(lacking).map(features).collect();
    let lacking = match lacking.is_empty() {
        true => String::new(),
        false => format!(". This build has no {}", lacking.join(" and no ")),
    };
    let end = if urls.ends_with('.') { "" } else { "." };
    format!(
        "The database: {urls}{end} Shows in `ps`, with its password [env: ELECTION_STORE]{lacking}"
    )
}

fn either(mut words: Vec<String>) -> String {
    match words.pop() {
        Some(last) if words.is_empty() => last,
        Some(last) => format!("{} or {last}", words.join(", ")),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_for_one_database_names_it_and_what_it_lacks() {
        let help = described(&[Dialect::MySql]);
        assert!(help.contains("database: mysql://USER:PASSWORD@HOST/DATABASE. "), "{help}");
        let lacks = "no sqlite (feature `cli-sqlite`) and no postgres (feature `cli-postgres`)";
        assert!(help.ends_with(lacks), "{help}");
        assert_eq!(written(&[Dialect::Sqlite], "e.db"), "sqlite:e.db");
        let said = lacking("--store (mariadb:…)", Dialect::MySql);
        for word in ["(mariadb:…)", "built without mysql", "`cli-mysql`", "`cli`"] {
            assert!(said.contains(word), "no {word}: {said}");
        }
    }

    #[test]
    fn a_build_for_all_lacks_nothing() {
        let help = described(&ALL);
        let urls = "sqlite:PATH, postgres://USER:PASSWORD@HOST/DATABASE or mysql://... ";
        assert!(help.contains(urls) && help.ends_with(']'), "{help}");
        assert_eq!(written(&ALL, "PATH"), "sqlite:PATH, postgres://… or mysql://…");
    }
}
