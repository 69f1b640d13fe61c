//! What people can read from the crates and from the command stands in `messages.txt`: errors,
//! events, help, remedies. So a change of words is seen in review, beside all the others.
#![allow(clippy::unwrap_used)]

use proc_macro2::{TokenStream, TokenTree};
use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};
use syn::Lit;

const SOURCES: [&str; 5] = [
    "election-core/src",
    "election-driver/src",
    "election-tokio/src",
    "election-tokio/cli/src",
    "election-async-std/src",
];
/// Folders and files that say nothing to users: tests, and what serves them.
const SILENT: [&str; 4] = ["tests", "conformance", "fake", "tests.rs"];
/// And of the folders of SQL.
const SILENT_SQL: [&str; 7] = [
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
        if SILENT.contains(&name) || SILENT_SQL.contains(&name) && is_sql() {
            continue;
        }
        if path.is_dir() {
            files(&path, all);
        } else if name.ends_with(".rs") {
            all.push(path);
        }
    }
}

/// What the string literals say to users, each as one line. Comments are literals of `doc`.
fn said(tokens: TokenStream, all: &mut BTreeSet<String>) {
    let mut before = [String::new(), String::new()];
    for tree in tokens {
        let word = match tree {
            TokenTree::Group(group) => {
                said(group.stream(), all);
                String::new()
            }
            TokenTree::Literal(literal) => {
                if let Lit::Str(text) = Lit::new(literal) {
                    let text = text.value().replace('\n', "\\n");
                    match &*before.concat() {
                        "doc=" => {}
                        "event=" => _ = all.insert(format!("event {text}")),
                        _ if is_message(&text) => _ = all.insert(text),
                        _ => {}
                    }
                }
                String::new()
            }
            word => word.to_string(),
        };
        let [_, last] = before;
        before = [last, word];
    }
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
        said(code.parse().unwrap(), &mut all);
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
