//! The guide says what there is: no column, metric, event, alert, variable or exit code that it leaves
//! out, and none that it invents. Its links lead somewhere.

use election_core::sql::{Dialect, Schema, Tables};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

const TABLES: &str = include_str!("../src/guide/tables.md");
const PRODUCTION: &str = include_str!("../src/guide/production.md");
const REFERENCE: &str = include_str!("../src/guide/reference.md");
const HELP: &str = include_str!("../../election-tokio/cli/src/arguments/help.rs");
const EXIT: &str = include_str!("../../election-tokio/cli/src/exit.rs");
const METRICS: &str = include_str!("../src/metrics.rs");
const ALERTS: &str = include_str!("../../election-core/src/alert.rs");

/// Names in backticks in the first column of the tables below this heading.
fn listed(page: &str, heading: &str) -> BTreeSet<String> {
    let below = page.split_once(&format!("\n{heading}\n")).expect("the heading is there").1;
    let section = below.split("\n# ").next().unwrap_or_default();
    first_column(section)
}

fn first_column(text: &str) -> BTreeSet<String> {
    let cells = text.lines().filter_map(|line| line.strip_prefix("| `")?.split(" | ").next());
    let names = |cell: &str| {
        let cell = format!("`{cell}");
        cell.split('`').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>()
    };
    cells.flat_map(names).collect()
}

/// The columns of one table of a dialect, as its schema creates it.
fn columns(dialect: Dialect, table: &str) -> BTreeSet<String> {
    made(&Schema::new(dialect, &Tables::default()), table)
}

fn made(schema: &Schema, table: &str) -> BTreeSet<String> {
    let script = schema.script();
    let mut statements = script.split(";\n");
    let create = statements.find(|sql| {
        let head = sql.split('(').next().unwrap_or_default();
        head.starts_with("CREATE TABLE") && head.contains(&format!("election_{table}"))
    });
    let Some((_, body)) = create.and_then(|sql| sql.split_once('(')) else {
        return BTreeSet::new();
    };
    let names = body.split([',', '\n']).filter_map(|line| line.split_whitespace().next());
    let is_column = |name: &&str| {
        name.starts_with(|first: char| first.is_ascii_lowercase()) && !name.contains([')', '('])
    };
    names.filter(is_column).map(str::to_owned).collect()
}

#[test]
fn every_column_is_documented_and_no_other() {
    for dialect in [Dialect::Sqlite, Dialect::Postgres, Dialect::MySql] {
        for table in ["leader", "candidate", "schema"] {
            let found = columns(dialect, table);
            assert!(found.len() > 1, "{dialect}: {table}");
            let heading = format!("# `election_{table}`");
            assert_eq!(listed(TABLES, &heading), found, "{dialect}: {table}");
        }
    }
    let fence = listed(TABLES, "# `election_fence` (MySQL and MariaDB only)");
    let found: BTreeSet<_> =
        columns(Dialect::MySql, "fence").into_iter().filter(|name| !name.contains('`')).collect();
    assert_eq!(fence, found);
    let server = listed(TABLES, "# `election_server` (PostgreSQL only)");
    assert_eq!(server, columns(Dialect::Postgres, "server"));
    for dialect in [Dialect::Sqlite, Dialect::MySql] {
        assert!(columns(dialect, "server").is_empty(), "{dialect}");
    }
    let version = format!("The version of this interface is {},", Schema::VERSION);
    assert!(TABLES.contains(&version), "{version}");
}

#[test]
fn every_metric_is_explained_and_no_other() {
    let told = listed(PRODUCTION, "# What each metric asks you to do");
    let constants = METRICS
        .lines()
        .filter_map(|line| line.strip_prefix("pub const ")?.split('"').nth(1).map(str::to_owned));
    assert_eq!(told, constants.collect());
}

const LIBRARY: &str = "src";
const COMMAND: &str = "../election-tokio/cli/src";

/// The sources below these folders, without their tests.
fn sources(folders: &[&str]) -> String {
    fn add(folder: &Path, all: &mut String) {
        for path in
            fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("a file").path())
        {
            let name = path.file_name().expect("a name").to_string_lossy().into_owned();
            if path.is_dir() && !["tests", "conformance"].contains(&&*name) {
                add(&path, all);
            } else if name.ends_with(".rs") && name != "tests.rs" {
                let text = fs::read_to_string(&path).expect("text");
                *all += text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
            }
        }
    }
    let mut all = String::new();
    for folder in folders {
        add(&Path::new(env!("CARGO_MANIFEST_DIR")).join(folder), &mut all);
    }
    all
}

/// The texts in quotes that stand directly behind this.
fn quoted_behind<'a>(text: &'a str, before: &str) -> Vec<(usize, &'a str)> {
    let places = text.match_indices(before).map(|(at, _)| at);
    let quoted = |at: usize| text[at + before.len()..].strip_prefix('"')?.split('"').next();
    places.filter_map(|at| Some((at, quoted(at)?))).collect()
}

/// Each event of the code, with its level where that is in the same macro.
fn events_of_code() -> BTreeSet<(String, Option<String>)> {
    let code = sources(&[LIBRARY, COMMAND]);
    let level = |at: usize| {
        let head = code[..at].rsplit_once("!(")?.0;
        head.rsplit(|c: char| !c.is_alphanumeric()).next().map(str::to_owned)
    };
    let logged = quoted_behind(&code, "event = ").into_iter();
    let logged = logged.map(|(at, name)| (name.to_owned(), level(at)));
    let written = quoted_behind(&code, "\"event\", ").into_iter();
    let chosen = code.lines().filter(|line| line.contains("let event = if"));
    let chosen = chosen.flat_map(|line| line.split('"').skip(1).step_by(2));
    let others = written.map(|(_, name)| name).chain(chosen).map(|name| (name.to_owned(), None));
    logged.chain(others).collect()
}

const EVENTS: &str = "# Events of the log";

#[test]
fn every_event_is_listed_with_its_level_and_no_other() {
    let section = REFERENCE.split_once(EVENTS).expect("the heading is there").1;
    let mut levels = BTreeMap::<String, String>::new();
    for row in section.lines().filter(|line| line.starts_with("| `")) {
        for name in first_column(row) {
            *levels.entry(name).or_default() += row.split(" | ").nth(1).expect("a level");
        }
    }
    let events = events_of_code();
    let told = |name: &str, level: &str| levels.get(name).is_some_and(|told| told.contains(level));
    let is_told = |(name, level): &&(String, Option<String>)| {
        level.as_ref().is_none_or(|level| told(name, level))
    };
    assert_eq!(events.iter().find(|event| !is_told(event)), None, "with its level");
    assert!(events.len() > 60, "{events:?}");
    assert_eq!(
        levels.into_keys().collect::<BTreeSet<_>>(),
        events.into_iter().map(|(name, _)| name).collect()
    );
}

#[test]
fn the_help_names_every_event_that_the_command_has() {
    let named = HELP.split_once("The events: ").expect("the list").1.split('.').next();
    let named = named.unwrap_or_default().split(|c: char| !c.is_ascii_lowercase() && c != '_');
    let named: BTreeSet<_> = named.map(str::to_owned).collect();
    for event in listed(REFERENCE, EVENTS) {
        let of_programs =
            event.starts_with("work_") || ["still_held", "overload"].contains(&&*event);
        assert_ne!(named.contains(&event), of_programs, "`{event}`");
    }
}

#[test]
fn every_event_is_explained_and_no_other() {
    let told = listed(PRODUCTION, "# What each event in the log asks you to do");
    let electors = REFERENCE.split("\nThe command also logs").next().unwrap_or_default();
    let events = listed(electors, EVENTS);
    assert!(events.len() > 30, "{events:?}");
    assert_eq!(told, events);
}

fn is_variable(name: &str) -> bool {
    let capital = |c: char| c.is_ascii_uppercase() || c == '_';
    name.chars().all(capital)
        && name.contains('_')
        && !name.ends_with('_')
        && !name.starts_with("CARGO_")
}

#[test]
fn every_variable_is_listed_and_no_other() {
    let command = sources(&[COMMAND]);
    let mut read: BTreeSet<_> =
        command.split('"').filter(|text| is_variable(text)).map(str::to_owned).collect();
    let code = sources(&[LIBRARY, COMMAND]);
    for call in ["var(", "var_os(", "directory("] {
        read.extend(quoted_behind(&code, call).into_iter().map(|(_, name)| name.to_owned()));
    }
    let of_hooks = ["ELECTION_EVENT".to_owned(), "ELECTION_LEADER".to_owned()];
    read.retain(|name| !of_hooks.contains(name));
    assert_eq!(listed(REFERENCE, "# Environment variables"), read);
    for row in REFERENCE.lines().filter(|line| line.contains(" | `--")) {
        let cell = row.split(" | ").nth(1).unwrap_or_default();
        let option =
            cell.trim_matches('`').trim_start_matches("--").to_uppercase().replace('-', "_");
        assert!(row.starts_with(&format!("| `ELECTION_{option}` ")), "{row}");
    }
}

#[test]
fn every_variable_of_a_job_is_listed_and_no_other() {
    let cli = Path::new(env!("CARGO_MANIFEST_DIR")).join(COMMAND);
    let mut given = BTreeSet::new();
    for file in ["location", "secret", "run/elector", "run/hooks/runner", "run/hooks/hook_events"] {
        let text = fs::read_to_string(cli.join(file).with_extension("rs")).expect(file);
        let names = text.split('"').filter(|name| is_variable(name));
        given.extend(names.map(str::to_owned));
    }
    assert_eq!(listed(REFERENCE, "# What a job gets"), given);
}

#[test]
fn every_exit_code_is_listed_and_no_other() {
    let codes =
        EXIT.lines().filter_map(|line| line.split_once("Self = Self(")?.1.split(')').next());
    let signals = EXIT.contains("Self(128 + number)").then_some("128+N");
    assert_eq!(
        listed(REFERENCE, "# Exit codes"),
        codes.chain(signals).map(str::to_owned).collect()
    );
}

#[test]
fn every_alert_is_explained_and_no_other() {
    let told = listed(PRODUCTION, "# What each alert asks you to do");
    let names = ALERTS
        .lines()
        .skip_while(|line| !line.contains("fn as_str"))
        .take_while(|line| !line.contains("impl fmt::Display"))
        .filter_map(|line| line.split('"').nth(1).map(str::to_owned));
    assert_eq!(told, names.collect());
}

/// The links that a page defines at its end, and their targets.
fn definitions(page: &str) -> BTreeMap<String, String> {
    let pairs = page.lines().filter_map(|line| line.strip_prefix('[')?.split_once("]: "));
    let whole = pairs.filter(|(name, _)| !name.contains(']'));
    whole.map(|(name, target)| (name.to_owned(), target.to_owned())).collect()
}

/// The anchors that a forge and rustdoc give to the headings of a page.
fn anchors(page: &str) -> BTreeSet<String> {
    let headings = page.lines().filter_map(|line| line.strip_prefix("# "));
    let kept = |c: &char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_');
    headings
        .map(|text| text.chars().filter(kept).collect::<String>().to_lowercase().replace(' ', "-"))
        .collect()
}

#[test]
fn every_link_leads_to_a_file_here_and_to_an_item_in_rustdoc() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/guide");
    let read = |file: &str| fs::read_to_string(folder.join(file)).expect(file);
    // Rustdoc itself says whether these are items.
    let mut items: BTreeSet<_> = definitions(&read("rustdoc-links.md")).into_keys().collect();
    let pictures = fs::read_dir(folder.join("../../pictures")).expect("a folder");
    for picture in pictures.map(|entry| entry.expect("a file").path()) {
        if picture.extension().is_some_and(|extension| extension == "md") {
            items.extend(definitions(&fs::read_to_string(picture).expect("text")).into_keys());
        }
    }
    let mut defined = BTreeSet::new();
    let files = fs::read_dir(&folder).expect("a folder").map(|entry| entry.expect("a file"));
    for page in files.map(|file| file.file_name().into_string().expect("text")) {
        if page == "rustdoc-links.md" {
            continue;
        }
        let text = read(&page);
        assert!(!text.contains("](crate::") && !text.contains("](election_core"), "{page}");
        let links = definitions(&text);
        for target in links.values() {
            let (file, heading) = target.split_once('#').unwrap_or((target, ""));
            assert!(folder.join(file).is_file(), "{page}: {target}");
            assert!(
                heading.is_empty() || anchors(&read(file)).contains(heading),
                "{page}: {target}"
            );
        }
        let names = text.split("[`").skip(1).filter_map(|rest| rest.split_once("`]"));
        for (name, _) in names.filter(|(_, after)| !after.starts_with(['(', '[', ':'])) {
            assert!(links.contains_key(&format!("`{name}`")), "{page}: {name}");
        }
        defined.extend(links.into_keys());
    }
    assert_eq!(defined, items);
}
