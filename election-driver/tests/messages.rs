//! What people can read from the crates and from the command stands in `messages.txt`: errors,
//! events, help, remedies. So a change of words is seen in review, beside all the others.
#![allow(clippy::unwrap_used)]

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

const SOURCES: [&str; 5] = [
    "election-core/src",
    "election-driver/src",
    "election-tokio/src",
    "election-tokio/cli/src",
    "election-async-std/src",
];
/// Folders and files that say nothing to users: tests and what serves them, and SQL.
const SILENT: [&str; 11] = [
    "tests",
    "conformance",
    "fake",
    "tests.rs",
    "common.rs",
    "mysql.rs",
    "postgres.rs",
    "schema.rs",
    "sqlite.rs",
    "statements.rs",
    "template.rs",
];
const SQL: [&str; 16] = [
    "SELECT ",
    "SET ",
    "SHOW ",
    "DO ",
    "KILL ",
    "BEGIN ",
    "ROLLBACK ",
    "WITH ",
    "PRAGMA ",
    "CAST(",
    "INSERT ",
    "coalesce(",
    "set_config(",
    "innodb_",
    "{SETTINGS}",
    "{text}; SET ",
];

fn files(folder: &Path, all: &mut Vec<PathBuf>) {
    for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        let name = path.file_name().unwrap().to_str().unwrap();
        let is_sql = || path.components().any(|part| part.as_os_str() == "sql");
        let silent = SILENT.iter().position(|it| *it == name);
        if silent.is_some_and(|at| at < 4 || is_sql()) {
            continue;
        }
        if path.is_dir() {
            files(&path, all);
        } else if name.ends_with(".rs") {
            all.push(path);
        }
    }
}

/// The string literals of a source, each as one line, with the code before it on its line.
fn literals(code: &str) -> Vec<(&str, String)> {
    let mut found = Vec::new();
    let mut rest = code;
    while let Some(at) = rest.find(['"', '\'', '/']) {
        let (before, from) = rest.split_at(at);
        let skipped = match from.as_bytes() {
            [b'/', b'/', ..] => from.find('\n').unwrap_or(from.len()),
            // A character, perhaps a quote; anything else is a lifetime.
            [b'\'', b'\\', ..] => 3 + from[3..].find('\'').unwrap(),
            [b'\'', ..] if from.chars().nth(2) == Some('\'') => {
                2 + from.chars().nth(1).unwrap().len_utf8()
            }
            [b'"', ..] => {
                let hashes = before.len() - before.trim_end_matches('#').len();
                let end = match before[..before.len() - hashes].ends_with('r') {
                    true => 1 + from[1..].find(&format!("\"{}", "#".repeat(hashes))).unwrap(),
                    false => end_of(from),
                };
                let line = before.rsplit('\n').next().unwrap();
                found.push((line, one_line(&from[1..end])));
                end + 1
            }
            _ => 1,
        };
        rest = &from[skipped..];
    }
    found
}

/// Where the literal ends that a text begins with.
fn end_of(text: &str) -> usize {
    let mut escaped = false;
    let mut letters = text.char_indices().skip(1);
    let is_end = |(_, letter): &(usize, char)| {
        let is_end = *letter == '"' && !escaped;
        escaped = *letter == '\\' && !escaped;
        is_end
    };
    letters.find(is_end).unwrap().0
}

/// A literal as the compiler reads it, with its other line ends as escapes.
fn one_line(literal: &str) -> String {
    let mut lines = literal.lines();
    let mut text = lines.next().unwrap_or_default().to_owned();
    for line in lines {
        let slashes = text.len() - text.trim_end_matches('\\').len();
        if slashes % 2 == 1 {
            text.truncate(text.len() - 1);
            text.push_str(line.trim_start());
        } else {
            text.push_str("\\n");
            text.push_str(line);
        }
    }
    text
}

/// The descriptions of commands and options, which are comments.
fn descriptions(code: &str) -> Vec<String> {
    let mut all = vec![String::new()];
    for line in code.lines().map(str::trim) {
        match (line.strip_prefix("///"), all.last_mut().unwrap()) {
            (Some(words), text) => text.push_str(words),
            (None, text) if line.starts_with('#') && !text.is_empty() => {
                all.push(String::new());
            }
            (None, text) => text.clear(),
        }
    }
    all.into_iter().map(|text| text.trim().to_owned()).collect()
}

fn is_message(text: &str) -> bool {
    let is_word = |word: &str| word.len() > 1 && word.bytes().all(|it| it.is_ascii_lowercase());
    text.trim().contains(' ')
        && text.split([' ', ',', ';', ':']).any(is_word)
        && !SQL.iter().any(|begin| text.starts_with(begin))
}

fn messages() -> BTreeSet<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut paths = Vec::new();
    SOURCES.iter().for_each(|folder| files(&root.join(folder), &mut paths));
    let mut all = BTreeSet::new();
    for path in paths {
        let text = fs::read_to_string(&path).unwrap();
        let code = text.split("\nmod tests {").next().unwrap();
        if path.to_str().unwrap().contains("cli/src/arguments") {
            all.extend(descriptions(code).into_iter().filter(|text| is_message(text)));
        }
        for (before, literal) in literals(code) {
            if before.ends_with("event = ") {
                all.insert(format!("event {literal}"));
            } else if is_message(&literal) {
                all.insert(literal);
            }
        }
    }
    all
}

#[test]
fn every_message_is_on_the_list() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("messages.txt");
    let written = messages().into_iter().map(|line| line + "\n").collect::<String>();
    if std::env::var_os("UPDATE").is_some_and(|value| value == "1") {
        fs::write(&path, &written).unwrap();
    }
    let listed = fs::read_to_string(&path).unwrap_or_default();
    let [listed, written] = [&listed, &written].map(|it| it.lines().collect::<BTreeSet<_>>());
    let lines = |sign: &str, of: &BTreeSet<&str>, without: &BTreeSet<&str>| {
        of.difference(without).map(|line| format!("{sign} {line}\n")).collect::<String>()
    };
    let differ = lines("-", &listed, &written) + &lines("+", &written, &listed);
    assert!(
        differ.is_empty(),
        "messages differ from election-driver/messages.txt. Read them as a user would; if they are \
         meant, set UPDATE=1 and run this test again\n{differ}"
    );
}
