//! TOML files: the durations in them, and the place of an error.

use super::{error::ClusterFileError, time::duration};
use crate::quorum::reading;
use serde::{
    Deserialize,
    de::{self, DeserializeOwned},
};
use std::{fmt, path::Path, time::Duration};

/// A duration as people write it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Time(pub(super) Duration);

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(Words)
    }
}

/// Reads a duration.
struct Words;

impl de::Visitor<'_> for Words {
    type Value = Time;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a time with its unit in double quotes, like \"15s\" or \"500ms\"")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Time, E> {
        duration(text, "\"15s\" or \"500ms\"").map(Time).map_err(E::custom)
    }
}

/// A file that was read, for errors that are found later.
#[derive(Clone)]
pub struct Document {
    /// What to call the file: its path, and perhaps the option that has named it.
    pub what: String,
    /// What is in it.
    pub text: String,
}

impl Document {
    /// What it says.
    ///
    /// # Errors
    /// If it says something else; the error names the place.
    pub(super) fn parsed<T: DeserializeOwned>(&self) -> Result<T, ClusterFileError> {
        toml::from_str(&self.text).map_err(|error| self.refused(&error))
    }

    /// Reads the text of a file that is called `what`.
    ///
    /// # Errors
    /// If it cannot be read or is no text.
    pub fn open(what: &str, path: &Path) -> Result<Self, ClusterFileError> {
        let bytes = reading::whole(path, "the settings")
            .map_err(|error| ClusterFileError(format!("{what}: {error}")))?;
        let what = what.to_owned();
        String::from_utf8(bytes).map(|text| Self { what: what.clone(), text }).map_err(|error| {
            let at = error.utf8_error().valid_up_to();
            let text = String::from_utf8_lossy(&error.as_bytes()[..at]).into_owned();
            Self { what, text }.wrong(at, "this is not UTF-8; save the file as UTF-8")
        })
    }

    /// What the parser has found.
    #[must_use]
    pub fn refused(&self, error: &toml::de::Error) -> ClusterFileError {
        let at = error.span().map_or(0, |span| span.start);
        let why = self.in_its_place(at).map(str::to_owned);
        let why = why.unwrap_or_else(|| plain(error.message(), self.is_value(at)));
        self.wrong(at, &why)
    }

    /// The error at a place, without the line itself: that may contain a password.
    #[must_use]
    pub fn wrong(&self, at: usize, why: &str) -> ClusterFileError {
        let (number, column, line) = self.place(at);
        let bare = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        let key = line.split_once('=').map(|(key, _)| key.trim());
        let key = key.filter(|key| key.chars().all(bare));
        let key = key.map(|key| format!(" (`{key}`)")).unwrap_or_default();
        let column = if column == 1 { String::new() } else { format!(", column {column}") };
        ClusterFileError(format!("{}, line {number}{key}{column}: {why}", self.what))
    }

    /// The line of a place, its column, and the text of the line; both count from one.
    fn place(&self, at: usize) -> (usize, usize, &str) {
        let before = self.text.get(..at).unwrap_or_default();
        let begins = before.rfind('\n').map_or(0, |end| end + 1);
        let column = before[begins..].chars().count() + 1;
        let line = self.text[begins..].lines().next().unwrap_or_default();
        (before.matches('\n').count() + 1, column, line)
    }

    /// Whether a place is behind the `=` of a key.
    fn is_value(&self, at: usize) -> bool {
        let (_, column, line) = self.place(at);
        line.split_once('=').is_some_and(|(key, _)| column > key.chars().count())
    }

    /// What to write where no value stands, or a bare word does.
    fn in_its_place(&self, at: usize) -> Option<&'static str> {
        let (_, column, line) = self.place(at);
        let (key, value) = line.split_once('=')?;
        let value = value.split('#').next().unwrap_or_default();
        let word = value.split_whitespace().next().unwrap_or_default();
        let is_bare = word.starts_with(|c: char| c.is_ascii_alphabetic());
        match word {
            _ if column <= key.chars().count() => None,
            "" => Some("the value is missing; write one after the ="),
            "true" | "false" | "nan" | "inf" => None,
            "yes" | "no" | "on" | "off" | "True" | "False" | "TRUE" | "FALSE" => {
                Some("write true or false, or a string in double quotes")
            }
            _ => is_bare.then_some("a string needs double quotes; add them"),
        }
    }
}

/// What the parser says, in words for those who write TOML and no Rust. `is_value` if it says it of what
/// stands behind a `=`.
fn plain(message: &str, is_value: bool) -> String {
    if let Some(rest) = message.strip_prefix("unknown field `") {
        let listed = |(key, rest): (&str, &str)| {
            unknown(key, &rest.split('`').skip(1).step_by(2).collect::<Vec<_>>())
        };
        return rest.split_once('`').map_or_else(|| message.to_owned(), listed);
    }
    if message.starts_with("invalid key-value pair") {
        return "this is not TOML; write KEY = VALUE, with strings in double quotes".to_owned();
    }
    if let Some(key) = message.strip_prefix("duplicate field ") {
        return format!("{key} is set twice, perhaps in two spellings; remove one");
    }
    if message.starts_with("duplicate key") {
        return "this appears twice; remove one or, if several are allowed, write its name in \
                double brackets, as in [[member]]"
            .to_owned();
    }
    let found =
        ["invalid type: ", "invalid value: "].iter().find_map(|it| message.strip_prefix(it));
    let Some((found, wanted)) = found.and_then(|found| found.split_once(", expected ")) else {
        return message.to_owned();
    };
    let wanted = match wanted {
        "a string" => "a string in double quotes",
        "a boolean" => "true or false",
        "a sequence" if is_value => "a list in square brackets, like [\"…\", \"…\"]",
        "a sequence" => "a list, whose entries start with a line like [[member]]",
        "u16" => "a whole number from 0 to 65535",
        "u64" => "a whole number from 0 to 9223372036854775807",
        other => other,
    };
    let found = match found {
        "sequence" => "a list",
        "map" => "a table or a date",
        found => found.trim_end_matches(" as i128"),
    };
    format!("this is {found}; write {wanted}")
}

/// What to say of a key that there is not.
#[must_use]
pub fn unknown(key: &str, listed: &[&str]) -> String {
    // An older spelling is understood, and nobody has to learn it.
    let is_old = |known: &&str| known.contains('_') && listed.contains(&&*known.replace('_', "-"));
    let known: Vec<_> = listed.iter().copied().filter(|known| !is_old(known)).collect();
    let near = near(key, &known).map(|near| format!(" (did you mean `{near}`?)"));
    let near = near.unwrap_or_default();
    format!("unknown key `{key}`{near}; the known keys are {}", known.join(", "))
}

/// What to say of a choice that there is not.
#[must_use]
pub fn no_choice(word: &str, known: &[&str]) -> String {
    let near = near(word, known).map(|near| format!(" (did you mean \"{near}\"?)"));
    let choices: Vec<_> = known.iter().map(|choice| format!("\"{choice}\"")).collect();
    let near = near.unwrap_or_default();
    format!("unknown choice {word:?}{near}; use {}", choices.join(" or "))
}

/// The known word that this one may be a misspelling of.
fn near<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    let like = |known: &str| strsim::jaro_winkler(word, known);
    let near = known.iter().copied().max_by(|one, other| like(one).total_cmp(&like(other)))?;
    // The first measure is kind to what only begins alike; letters that changed places are one slip.
    let is_near = like(near) > 0.8
        && (near.starts_with(word) || strsim::normalized_damerau_levenshtein(word, near) > 0.5);
    is_near.then_some(near)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_end_is_refused() {
        let failed = Document::open("cluster.toml", Path::new("/dev/zero"));
        let said = failed.map(drop).expect_err("an error").to_string();
        assert_eq!(said, "cluster.toml: it is larger than 1 MiB; name the file with the settings");
    }

    fn refused(text: &str) -> String {
        #[derive(Debug, Deserialize)]
        #[serde(deny_unknown_fields)]
        #[allow(dead_code)] // only for its types
        struct Contents {
            down_after: Option<Time>,
            insecure: Option<bool>,
            shards: Option<u16>,
            members: Option<Vec<String>>,
        }
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        let read = Document::open("cluster.toml", file.path());
        let read = read.and_then(|read| read.parsed::<Contents>());
        read.map(drop).expect_err("an error").to_string()
    }

    #[test]
    fn another_encoding_is_told_by_its_place() {
        let refused = |bytes: &[u8]| {
            let file = tempfile::NamedTempFile::new().unwrap();
            std::fs::write(file.path(), bytes).unwrap();
            let read = Document::open("cluster.toml", file.path());
            let read = read.and_then(|read| read.parsed::<toml::Table>());
            read.map(drop).expect_err("an error").to_string()
        };
        let said = refused(b"shards = 1\n# \xe4\n");
        assert!(said.contains(", line 2, column 3: this is not UTF-8; save the file"), "{said}");
        let said = refused(b"\xff\xfes\0");
        assert!(said.contains(", line 1: this is not UTF-8; save the file"), "{said}");
    }

    #[test]
    fn an_unknown_key_is_told_with_the_nearest_known_one() {
        for (key, near) in [
            ("down-after", "down_after"),
            ("downafter", "down_after"),
            ("shard", "shards"),
            ("Insecure", "insecure"),
            ("member", "members"),
            ("shrads", "shards"),
        ] {
            let said = refused(&format!("\n{key} = 1\n"));
            let words = format!(
                "unknown key `{key}` (did you mean `{near}`?); the known keys are down_after"
            );
            assert!(said.contains(&words), "{said}");
        }
        // What is far away is no help.
        for key in ["zebra", "config", "conduct", "show"] {
            let said = refused(&format!("{key} = 1\n"));
            let words = format!("unknown key `{key}`; the known keys are down_after, ");
            assert!(said.contains(&words), "{said}");
        }
    }

    #[test]
    fn a_wrong_value_is_told_by_line_and_column_in_plain_words() {
        for (text, words) in [
            (
                "shards = 70000",
                "line 1 (`shards`), column 10: this is integer `70000`; write a whole",
            ),
            (
                "\n  shards = \"2\"",
                "line 2 (`shards`), column 12: this is string \"2\"; write a whole",
            ),
            (
                "down_after = 5",
                "this is integer `5`; write a time with its unit in double quotes, like \"15s\"",
            ),
            ("down_after = \"5\"", "write it like \"15s\" or \"500ms\""),
            ("shards = 99999999999999999999", "integer `99999999999999999999`; write a whole"),
            ("down_after = 2024-01-01", "this is a table or a date; write a time"),
            ("insecure = \"yes\"", "write true or false"),
            ("members = 1", "this is integer `1`; write a list in square brackets, like [\"…\""),
            ("members = [[1]]", "this is a list; write a string in double quotes"),
            ("[members]\nx = 1", "write a list, whose entries start with a line like [[member]]"),
            ("down_after = 5s", "line 1 (`down_after`), column "),
            ("down_after = soon", "column 14: a string needs double quotes; add them"),
            (
                "# ä\ndown_after = ab",
                "line 2 (`down_after`), column 14: a string needs double quotes",
            ),
            ("insecure = yes", "line 1 (`insecure`), column 12: write true or false"),
            ("insecure = True # ?", "write true or false"),
            ("[members]\n[members]", "line 2, column 2: this appears twice"),
            ("down_after =", "line 1 (`down_after`), column 13: the value is missing; write one"),
            ("down_after = \nshards = 2", "line 1 (`down_after`), column 14: the value is missing"),
            ("down_after = # soon", "the value is missing"),
        ] {
            let said = refused(text);
            assert!(said.contains(words), "{text:?}: {said}");
        }
    }
}
