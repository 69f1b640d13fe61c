//! Passwords stay where the user has put them: no message contains one, and no job inherits one.
//!
//! There are limits: a process cannot take back its own command line, which everybody on the
//! machine can read, nor the environment it was started with, which its own user can read. A file
//! avoids both.

use election_tokio::core::sql::Dialect;
use std::{borrow::Cow, ffi::OsStr, fmt, path::Path, process::Command, str::FromStr as _};
use url::Url;

/// The environment variable of `--store`.
pub(crate) const STORE: &str = "ELECTION_STORE";
/// The environment variable of `--store-file`.
pub(crate) const STORE_FILE: &str = "ELECTION_STORE_FILE";

/// The address of a database, perhaps with its password.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Address(String);

impl Address {
    pub(crate) fn new(url: &str) -> Self {
        Self(url.to_owned())
    }

    /// The URL with its password; do not show it.
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }

    /// The path in a URL of SQLite, which holds no password.
    pub(crate) fn path(&self) -> Option<&Path> {
        Some(Path::new(self.file()?.0))
    }

    fn file(&self) -> Option<(&str, &str)> {
        let rest = self.0.strip_prefix("sqlite:")?;
        Some(file_and_parameters(rest.strip_prefix("//").unwrap_or(rest)))
    }

    /// The same database of SQLite, by another path to it.
    pub(crate) fn moved(&self, to: &Path) -> Option<String> {
        Some(format!("sqlite:{}{}", to.to_str()?, self.file()?.1))
    }

    /// The same database, if its path is one of this directory.
    pub(crate) fn beside(self, directory: &Path) -> Self {
        // `:memory:` is no file; the store refuses it.
        let is_file =
            |path: &&Path| path.to_str().is_some_and(|it| !it.is_empty() && !it.starts_with(':'));
        let named = self.path().filter(is_file);
        match named.and_then(|path| self.moved(&directory.join(path))) {
            Some(url) => Self(url),
            None => self,
        }
    }

    /// The URL without its password; none if it is invalid.
    pub(crate) fn without_password(&self) -> Option<String> {
        without_password(&self.0)
    }

    /// Whether the address contains a password.
    pub(crate) fn is_secret(&self) -> bool {
        without_password(&self.0).as_deref() != Some(&*self.0)
    }
}

/// The path in what follows `sqlite:`, and its parameters with their question mark.
pub(crate) fn file_and_parameters(named: &str) -> (&str, &str) {
    named.split_at(named.find('?').unwrap_or(named.len()))
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("…")
    }
}

impl From<&str> for Address {
    fn from(url: &str) -> Self {
        Self::new(url)
    }
}

/// Keeps this program's passwords from a process that it starts. It leaves alone those that the
/// user has given to the database's own clients (`PGPASSWORD`, `MYSQL_PWD`, `PGPASSFILE`).
pub(crate) fn keep_from(command: &mut Command) {
    let Some(url) = std::env::var_os(STORE) else { return };
    match url.to_str().and_then(without_password) {
        Some(url) => command.env(STORE, url),
        None => command.env_remove(STORE),
    };
}

/// Whether a URL with this scheme leads to etcd.
pub(crate) fn is_etcd(scheme: &str) -> bool {
    matches!(scheme, "etcd" | "etcds")
}

/// The same URL without the password; none if it is invalid.
fn without_password(text: &str) -> Option<String> {
    let (scheme, _) = text.split_once(':')?;
    if !is_etcd(scheme) && Dialect::from_str(scheme).ok()? == Dialect::Sqlite {
        return Some(text.to_owned());
    }
    let listed = Listed::of(text);
    let first = match &listed {
        Some(listed) => listed.with_each()?,
        None => Url::parse(text).ok()?,
    };
    let mut url = Some(first).filter(|url| !url.cannot_be_a_base())?;
    let secret = |key: &str| key.to_ascii_lowercase().contains("password");
    let kept: Vec<_> = url.query_pairs().into_owned().filter(|(key, _)| !secret(key)).collect();
    let said = url.query_pairs().count() > kept.len();
    if url.password().is_none() && !said {
        return Some(text.to_owned());
    }
    // Both fail only for URLs that cannot have one.
    let _ = url.set_password(None);
    if kept.is_empty() {
        url.set_query(None);
    } else if said {
        url.query_pairs_mut().clear().extend_pairs(kept);
    }
    match listed {
        Some(listed) => listed.restored(url.as_str()),
        None => Some(url.into()),
    }
}

/// A URL with several hosts, which is several URLs to everybody else.
struct Listed<'a> {
    before: &'a str,
    hosts: &'a str,
    after: &'a str,
}

impl<'a> Listed<'a> {
    fn of(text: &'a str) -> Option<Self> {
        let start = text.find("://")? + 3;
        let end = text[start..].find(['/', '?', '#']).map_or(text.len(), |at| start + at);
        let start = text[start..end].rfind('@').map_or(start, |at| start + at + 1);
        let (before, rest) = text.split_at(start);
        let (hosts, after) = rest.split_at(end - start);
        hosts.contains(',').then_some(Self { before, hosts, after })
    }

    /// The URL of the first host; none if that of any host is invalid.
    fn with_each(&self) -> Option<Url> {
        let with = |host| Url::parse(&format!("{}{host}{}", self.before, self.after)).ok();
        let each: Option<Vec<_>> = self.hosts.split(',').map(with).collect();
        // What the list leaves open may be a part of a password: whoever wrote this meant another.
        let astray = self.after.contains('@') || self.before.matches('@').count() > 1;
        each?.into_iter().next().filter(|_| !astray)
    }

    /// The whole list in place of its first host.
    fn restored(&self, url: &str) -> Option<String> {
        let (before, rest) = url.split_once("://")?;
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, after) = rest.split_at(end);
        let (who, at) = authority.rsplit_once('@').map_or(("", ""), |(who, _)| (who, "@"));
        Some(format!("{before}://{who}{at}{}{after}", self.hosts))
    }
}

/// A message without what looks like a password in it. No message is meant to contain one; this is
/// for the messages of other libraries.
pub(crate) fn redacted(text: &str) -> Cow<'_, str> {
    if !text.contains("://") && !text.to_ascii_lowercase().contains("password=") {
        return text.into();
    }
    let lines = text.split_inclusive('\n');
    lines.map(|line| without_parameters(&without_credentials(line))).collect::<String>().into()
}

/// An error about a command line does not repeat the arguments that may hold a password.
pub(crate) fn redacted_arguments(text: String) -> String {
    let suspicious = |word: &str| {
        let word = word.to_ascii_lowercase();
        word.contains('@') || word.contains("://") || word.contains("password")
    };
    let arguments = std::env::args_os().skip(1);
    let arguments = arguments.map(|argument| OsStr::to_string_lossy(&argument).into_owned());
    arguments.filter(|argument| suspicious(argument)).fold(text, |text, argument| {
        let value = match argument.split_once('=') {
            Some((flag, value)) if flag.starts_with("--") => value.to_owned(),
            _ => argument,
        };
        if suspicious(&value) { text.replace(&value, "…") } else { text }
    })
}

/// From the user's name to the last `@` before a quote: a password may contain any character.
fn without_credentials(line: &str) -> String {
    let mut shown = String::new();
    let mut rest = line;
    while let Some((before, after)) = rest.split_once("://") {
        shown.push_str(before);
        shown.push_str("://");
        let end = after.find('"').unwrap_or(after.len());
        rest = match after[..end].rfind('@').map(|at| after.split_at(at)) {
            Some((credentials, host)) => {
                let (user, password) = credentials.split_once(':').unwrap_or((credentials, ""));
                shown.push_str(user);
                shown.push_str(if password.is_empty() { "" } else { ":…" });
                host
            }
            None => after,
        };
    }
    shown + rest
}

fn without_parameters(line: &str) -> String {
    const KEY: &str = "password=";
    let mut shown = String::new();
    let mut rest = line;
    // Of the same length, byte for byte.
    while let Some(at) = rest.to_ascii_lowercase().find(KEY) {
        let (before, value) = rest.split_at(at + KEY.len());
        shown.push_str(before);
        shown.push('…');
        let quoted = value.strip_prefix('\'').and_then(|value| value.split_once('\''));
        let end = |c: char| matches!(c, '&' | '"' | '\'') || c.is_whitespace();
        rest = match quoted {
            Some((_, after)) => after,
            None => &value[value.find(end).unwrap_or(value.len())..],
        };
    }
    shown + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_loses_its_password_and_nothing_else() {
        for (url, without) in [
            ("sqlite:e.db", "sqlite:e.db"),
            ("sqlite:/data/a b:c@d.db", "sqlite:/data/a b:c@d.db"),
            ("etcd://a:1,b/x", "etcd://a:1,b/x"),
            ("etcds://me:hunter2@a:1,b/x?ca=f", "etcds://me@a:1,b/x?ca=f"),
            ("postgres://h/d", "postgres://h/d"),
            ("postgres://me@h:5432/d?sslmode=require", "postgres://me@h:5432/d?sslmode=require"),
            ("postgres://me:hunter2@h/d", "postgres://me@h/d"),
            ("postgres://me:hunter%32%2F@h/d?sslmode=require", "postgres://me@h/d?sslmode=require"),
            ("postgres://h/d?user=me&password=hunter2", "postgres://h/d?user=me"),
            ("postgres://h/d?password=hunter2", "postgres://h/d"),
            ("postgres://me:a@h/d?PassWord=hunter2", "postgres://me@h/d"),
            ("mysql://:hunter2@h/d", "mysql://h/d"),
            ("postgres:///d?host=/run/pg&password=hunter2", "postgres:///d?host=%2Frun%2Fpg"),
            ("postgres://a:1,b/d", "postgres://a:1,b/d"),
            ("postgres://me:hunter2@a:1,[::1]:2,b/d?x=y", "postgres://me@a:1,[::1]:2,b/d?x=y"),
            ("mysql://me:hunter2@a,b", "mysql://me@a,b"),
            ("postgres://a,b/d?user=me&password=hunter2", "postgres://a,b/d?user=me"),
            ("postgres://me:hun,ter2@h/d", "postgres://me@h/d"),
        ] {
            assert_eq!(without_password(url).as_deref(), Some(without), "{url}");
            assert_eq!(Address::new(url).is_secret(), url != without, "{url}");
        }
        for odd in [
            "hunter2",
            "me:hunter2@h/d",
            "postgres:me:hunter2@h/d",
            "postgres://me:hunter2@h:no/d",
            "postgres://me:hunter2@h:1,g:no/d",
            "postgres://me:hunter2,h:1",
            "postgres://me:1,hunter2/x@h:1/d",
            "postgress://me:hunter2@h/d",
        ] {
            assert_eq!(without_password(odd), None, "{odd}");
        }
        assert!(Address::new("hunter2").is_secret());
        assert_eq!(format!("{:?}", Address::new("postgres://me:hunter2@h/d")), "…");
    }

    #[test]
    fn messages_lose_what_looks_like_a_password() {
        for (message, shown) in [
            ("plain: me@home at 12:30", "plain: me@home at 12:30"),
            ("no postgres://h:5432/d here", "no postgres://h:5432/d here"),
            ("at postgres://me@h/d: gone", "at postgres://me@h/d: gone"),
            ("'postgres://me:hunter2@h/d' found", "'postgres://me:…@h/d' found"),
            (
                "{\"a\":\"x://me:hu'n ter@2@h\",\"b\":\"c@d\"}",
                "{\"a\":\"x://me:…@h\",\"b\":\"c@d\"}",
            ),
            ("a://b:hunter2@c\nd://e:hunter2@f\n", "a://b:…@c\nd://e:…@f\n"),
            ("host=h password=hunter2 user=me", "host=h password=… user=me"),
            ("password='hunter 2' user=me", "password=… user=me"),
            ("h?sslPassword=hunter2&PASSWORD=hunter2", "h?sslPassword=…&PASSWORD=…"),
        ] {
            assert_eq!(redacted(message), shown);
        }
    }
}
