//! A TOML file with options: its keys are the flags' names, with hyphens or underscores, and its values
//! are read as those of the flags.

use super::{Arguments, given::Filed};
use crate::{exit::Failed, secret::Address};
use clap::{
    Arg, CommandFactory as _,
    builder::Resettable,
    error::{ContextKind, ContextValue},
};
use election_driver::file::{Document, duration, no_choice, unknown};
use std::{
    any::TypeId, error::Error as _, ffi::OsString, path::Path, path::PathBuf, time::Duration,
};
use toml::de::{DeTable, DeValue};

/// The options without a key: those that are about one start or one question.
const WITHOUT_KEY: [&str; 11] = [
    "config",      // it names the file
    "new-peers",   // a later start must not forget the peers again
    "accept-loss", // a later start must not lose data again
    "with-parent", // it is between this program and the one that starts it
    "epoch",       // it is the asker's own, which its environment has
    "elections",   // it is another question
    "anybody",     // it is another question
    "exit-code",   // it is what one question is for
    "apply",       // it is an order
    "to",          // it is part of an order
    "for",         // it is part of an order
];

/// Reads the file of `--config`, once: it may be a pipe.
///
/// # Errors
/// If it cannot be read, or says something else; the error names the place.
pub(super) fn read(path: &Path) -> Result<Filed, Failed> {
    let document = Document::open(&format!("--config {}", path.display()), path)?;
    // Its relative paths are those of its own directory, as in a cluster's file, wherever this process
    // was started. A pipe lies nowhere.
    let directory = path.parent().filter(|_| path.is_file());
    let values = values(&document, directory)?;
    Ok(Filed { what: document.what, values })
}

/// The options that have a key: of every command that reads such a file, each once.
fn options() -> Vec<Arg> {
    let command = Arguments::command();
    let names = |option: &Arg, name: &str| option.get_long() == Some(name);
    let mut options: Vec<Arg> = Vec::new();
    for command in command.get_subcommands() {
        if !command.get_arguments().any(|option| names(option, "config")) {
            continue;
        }
        let own = command.get_arguments().filter(|option| {
            option.get_long().is_some_and(|name| {
                !WITHOUT_KEY.contains(&name) && !options.iter().any(|other| names(other, name))
            })
        });
        let own: Vec<_> = own.cloned().collect();
        options.extend(own);
    }
    options
}

fn values(
    document: &Document,
    directory: Option<&Path>,
) -> Result<Vec<(String, OsString)>, Failed> {
    let options = options();
    let table = DeTable::parse(&document.text).map_err(|error| document.refused(&error))?;
    let mut entries: Vec<_> = table.get_ref().iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    let mut values: Vec<(String, OsString)> = Vec::new();
    for (key, value) in entries {
        let wrong_key = |why: &str| document.wrong(key.span().start, why);
        let name = key.get_ref().replace('_', "-");
        let Some(option) = options.iter().find(|option| option.get_long() == Some(&name)) else {
            let known: Vec<_> = options.iter().filter_map(Arg::get_long).collect();
            return Err(wrong_key(&unknown(key.get_ref(), &known)).into());
        };
        let id = option.get_id().as_str();
        if values.iter().any(|(other, _)| other == id) {
            let why = format!("`{name}` is set twice, in two spellings; remove one");
            return Err(wrong_key(&why).into());
        }
        let read = Kind::of(option).read(option, value.get_ref());
        if let Some(text) = read.map_err(|why| document.wrong(value.span().start, &why))? {
            values.push((id.to_owned(), Kind::of(option).beside(directory, text)));
        }
    }
    Ok(values)
}

/// How the value of an option is written in TOML.
#[derive(Clone, Copy)]
enum Kind {
    Flag,
    Number,
    Time,
    Path,
    Address,
    Text,
}

impl Kind {
    fn of(option: &Arg) -> Self {
        let kind = option.get_value_parser().type_id();
        match kind {
            _ if !option.get_action().takes_values() => Self::Flag,
            kind if kind == TypeId::of::<u64>() || kind == TypeId::of::<u8>() => Self::Number,
            kind if kind == TypeId::of::<Duration>() => Self::Time,
            kind if kind == TypeId::of::<PathBuf>() => Self::Path,
            kind if kind == TypeId::of::<Address>() => Self::Address,
            _ => Self::Text,
        }
    }

    /// The value as it would stand behind the flag; none if it says what is so without it.
    fn read(self, option: &Arg, value: &DeValue<'_>) -> Result<Option<String>, String> {
        let text = match (self, value) {
            (Self::Flag, DeValue::Boolean(is)) => return Ok(is.then(|| "true".to_owned())),
            (Self::Number, DeValue::Integer(number)) => {
                let digits = number.as_str();
                let number = u64::from_str_radix(digits, number.radix());
                number.map_or_else(|_| digits.to_owned(), |number| number.to_string())
            }
            (Self::Time, DeValue::String(text)) => {
                duration(text, "\"15s\" or \"500ms\"")?;
                text.to_string()
            }
            (Self::Path | Self::Address | Self::Text, DeValue::String(text)) => text.to_string(),
            (wanted, found) => {
                let wanted = match wanted {
                    Self::Flag => "true or false",
                    Self::Number => "a whole number",
                    Self::Time => {
                        "a time with its unit in double quotes, like \"15s\" or \"500ms\""
                    }
                    Self::Path | Self::Address | Self::Text => "a string in double quotes",
                };
                return Err(format!("found {}; write {wanted}", found.type_str()));
            }
        };
        understood(option, &text).map(|()| Some(text))
    }

    /// The value with its path, if it is one, in this directory.
    fn beside(self, directory: Option<&Path>, text: String) -> OsString {
        match (self, directory) {
            (Self::Path, Some(directory)) => directory.join(text).into(),
            (Self::Address, Some(directory)) => {
                Address::new(&text).beside(directory).reveal().into()
            }
            _ => text.into(),
        }
    }
}

/// Whether the option's own parser understands a value, also if this command has no such option.
fn understood(option: &Arg, text: &str) -> Result<(), String> {
    let flag = format!("--{}={text}", option.get_long().unwrap_or_default());
    let alone = clap::Command::new("file").no_binary_name(true);
    let read = alone.arg(option.clone().env(Resettable::Reset)).try_get_matches_from([flag]);
    read.map(drop).map_err(|error| match error.get(ContextKind::ValidValue) {
        Some(ContextValue::Strings(choices)) if !choices.is_empty() => {
            no_choice(text, &choices.iter().map(|choice| &**choice).collect::<Vec<_>>())
        }
        _ => error.source().map_or("this is empty; write a value".to_owned(), ToString::to_string),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filed(text: &str) -> Result<Filed, String> {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("election.toml");
        std::fs::write(&path, text).unwrap();
        read(&path).map_err(|failed| failed.to_string())
    }

    fn refused(text: &str) -> String {
        filed(text).err().unwrap_or_else(|| panic!("{text}"))
    }

    #[test]
    fn a_relative_path_is_that_of_the_files_directory() {
        for key in ["store-file", "cluster", "ballot", "socket"] {
            let place = tempfile::tempdir().unwrap();
            let path = place.path().join("election.toml");
            let lies = |text: &str| {
                std::fs::write(&path, text).unwrap();
                read(&path).unwrap().values[0].1.clone()
            };
            let beside = place.path().join("beside");
            assert_eq!(lies(&format!("{key} = \"beside\"")), beside, "{key}");
            assert_eq!(lies(&format!("{key} = \"/srv/it\"")), "/srv/it", "{key}");
            let url = format!("sqlite:{}", beside.display());
            assert_eq!(lies("store = \"sqlite:beside\""), *url);
            assert_eq!(lies("store = \"sqlite:/srv/it\""), "sqlite:/srv/it");
        }
    }

    #[test]
    fn options_without_a_key_exist_and_are_refused() {
        let all = Arguments::command();
        for name in WITHOUT_KEY {
            let mut arguments = all.get_subcommands().flat_map(clap::Command::get_arguments);
            assert!(
                arguments.any(|option| option.get_long() == Some(name)),
                "there is no --{name}"
            );
            let said = refused(&format!("{name} = \"x\""));
            assert!(said.contains(&format!("unknown key `{name}`")), "{said}");
        }
    }

    #[test]
    fn an_unknown_key_is_told_with_the_nearest_known_one() {
        let said = refused("\nttll = \"5s\"\n");
        assert!(
            said.contains(", line 2 (`ttll`): unknown key `ttll` (did you mean `ttl`?)"),
            "{said}"
        );
        assert!(said.contains("; the known keys are store, store-file, "), "{said}");
    }

    #[test]
    fn a_key_that_stands_twice_is_told_by_its_line() {
        let said = refused("at-least-for = \"5s\"\nttl = \"5s\"\nat_least_for = \"6s\"\n");
        assert!(said.contains(", line 3 (`at_least_for`): `at-least-for` is set twice"), "{said}");
        let said = refused("ttl = \"5s\"\nttl = \"5s\"\n");
        assert!(said.contains(", line 2 (`ttl`): this appears twice"), "{said}");
    }

    #[test]
    fn a_wrong_value_is_told_by_line_and_column() {
        for (text, words) in [
            ("ttl = 15", "line 1 (`ttl`), column 7: found integer; write a time with its unit"),
            ("ttl = \"soon\"", "; write it like \"15s\" or \"500ms\""),
            ("ttl = 2024-01-01", "found datetime; write a time"),
            ("name = 5", "found integer; write a string in double quotes"),
            ("quiet = \"yes\"", "found string; write true or false"),
            ("min-epoch = \"5\"", "found string; write a whole number"),
            ("min-epoch = -5", "an epoch is a whole number from 0"),
            ("min-epoch = 18446744073709551616", "it is too large for an epoch"),
            ("conflict-exit-code = 256", "an exit code is a whole number from 0 to 255"),
            ("on-lost = \"rsetart\"", "(did you mean \"restart\"?); use \"stop\" or \"restart\""),
            ("socket = \"\"", "column 10: this is empty; write a value"),
            ("timeout = \"0s\"", "it is zero; write a longer time"),
            ("[name]\nx = 1", "found table; write a string"),
        ] {
            let said = refused(text);
            assert!(said.contains(words), "{text}: {said}");
        }
    }

    #[test]
    fn a_number_may_be_written_as_toml_permits() {
        for number in ["255", "0xff", "2_55", "+255"] {
            let filed = filed(&format!("min_epoch = {number}")).unwrap();
            assert_eq!(filed.value("min_epoch").unwrap(), "255", "{number}");
        }
    }
}
