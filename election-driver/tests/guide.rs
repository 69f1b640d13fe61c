//! The guide says what there is: no column, metric, event or alert that it leaves out, and none that
//! it invents. Its links lead somewhere.

use election_core::sql::{Dialect, Schema, Tables};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

const TABLES: &str = include_str!("../src/guide/tables.md");
const PRODUCTION: &str = include_str!("../src/guide/production.md");
const LOG: &str = include_str!("../src/log.rs");
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

#[test]
fn every_event_is_explained_and_no_other() {
    let told = listed(PRODUCTION, "# What each event in the log asks you to do");
    let head: String = LOG
        .lines()
        .take_while(|line| line.starts_with("//!"))
        .map(|line| format!("{}\n", line.trim_start_matches("//!").trim_start()))
        .collect();
    let events: BTreeSet<_> =
        first_column(&head).into_iter().filter(|name| name != "event").collect();
    assert!(events.len() > 30, "{events:?}");
    assert_eq!(told, events);
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
