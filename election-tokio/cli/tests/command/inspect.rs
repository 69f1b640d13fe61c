//! The commands that look at an election, and their and `run`'s JSON.

use super::{
    control::{parsed, text},
    process::eventually,
    world::{World, block_on},
};
use election_tokio::{
    SqliteStore, Store as _,
    core::{
        Candidate, Epoch, Incarnation, Label, Namespace, NodeId,
        lease::{Query, Registration},
    },
};
use rustix::process::Signal;
use serde_json::Value;
use std::{
    process::Command,
    time::{Duration, UNIX_EPOCH},
};

/// Runs a command and reads every line it prints as JSON.
#[track_caller]
fn lines(world: &World, command: &mut Command) -> Vec<Value> {
    let output = world.output(command);
    assert!(output.status.success() && output.stderr.is_empty(), "{command:?}: {output:?}");
    parsed(&String::from_utf8(output.stdout).expect("UTF-8"))
}

#[track_caller]
fn assert_keys(line: &Value, keys: &[&str]) {
    let object = line.as_object().unwrap_or_else(|| panic!("no object: {line}"));
    let mut keys = keys.to_vec();
    keys.sort_unstable();
    let mut found: Vec<_> = object.keys().map(String::as_str).collect();
    found.sort_unstable();
    assert_eq!(found, keys, "{line}");
}

const STATUS: [&str; 13] = [
    "name",
    "place",
    "schema",
    "replica",
    "leader",
    "incarnation",
    "label",
    "epoch",
    "elected_ms",
    "remaining_ms",
    "ttl_ms",
    "renewals",
    "resign_requested",
];

#[test]
fn status_list_and_resign_as_json() {
    let world = World::new();
    lines(&world, &mut world.election("schema", &["--apply", "--json"]));
    let never = lines(&world, &mut world.election("status", &["--json"]));
    assert_keys(&never[0], &STATUS);
    assert_eq!((&never[0]["leader"], &never[0]["epoch"]), (&Value::Null, &0.into()));
    assert!(never[0]["elected_ms"].is_null(), "{never:?}");
    assert!(lines(&world, &mut world.election("list", &["--json"])).is_empty());
    let nobody = world.output(&mut world.election("resign", &["--json"]));
    assert_eq!(nobody.status.code(), Some(1), "{nobody:?}");
    let nobody = parsed(&String::from_utf8(nobody.stdout).expect("UTF-8"));
    assert_keys(&nobody[0], &["name", "leader", "epoch", "asked"]);
    assert_eq!(nobody[0]["asked"], false);

    let options = ["--ttl", "60s", "--label", "10.0.0.1:80"];
    let mut leader = world.candidate("leader", &options, "");
    let job = world.start_after(0);
    let _follower = world.candidate("follower", &["--ttl", "60s"], "");
    world.listed(2);
    let status = lines(&world, &mut world.election("status", &["--json"]));
    assert_eq!(status.len(), 1);
    assert_keys(&status[0], &STATUS);
    assert_eq!(status[0]["leader"], "leader");
    assert_eq!(status[0]["label"], "10.0.0.1:80");
    assert_eq!(status[0]["epoch"], job.epoch);
    // The first epoch of a database is the time by its clock, in milliseconds.
    assert_eq!(status[0]["elected_ms"], job.epoch);
    assert!(status[0]["remaining_ms"].as_u64() <= Some(60_000), "{status:?}");
    let list = lines(&world, &mut world.election("list", &["--json"]));
    let names: Vec<_> = list.iter().map(|each| (&each["node"], &each["leads"])).collect();
    let expected = [("follower".into(), false.into()), ("leader".into(), true.into())];
    assert_eq!(names, [(&expected[0].0, &expected[0].1), (&expected[1].0, &expected[1].1)]);
    for each in &list {
        let keys =
            ["name", "node", "incarnation", "label", "last_heartbeat_ms", "remaining_ms", "leads"];
        assert_keys(each, &keys);
    }
    let asked = lines(&world, &mut world.election("resign", &["--json"]));
    assert_eq!((&asked[0]["asked"], &asked[0]["epoch"]), (&true.into(), &job.epoch.into()));
    world.start_after(job.epoch);
    leader.send(Signal::TERM);
    leader.exit();
}

#[test]
fn the_schema_as_text_and_json() {
    let world = World::new();
    let plain = world.output(&mut world.election("schema", &[]));
    let plain = String::from_utf8(plain.stdout).expect("UTF-8");
    assert!(plain.contains("CREATE TABLE"), "{plain}");
    let json = lines(&world, &mut world.election("schema", &["--json"]));
    assert_keys(&json[0], &["version", "sql"]);
    assert_eq!(json[0]["sql"].as_str().map(str::trim), Some(plain.trim()));
    let applied = lines(&world, &mut world.election("schema", &["--apply", "--json"]));
    assert_keys(&applied[0], &["version"]);
    assert_eq!(applied[0]["version"], json[0]["version"]);
}

#[test]
fn observe_prints_changes_in_order_until_interrupted() {
    let world = World::new();
    lines(&world, &mut world.election("schema", &["--apply", "--json"]));
    let mut json = world.start(world.election("observe", &["--json"]));
    let mut plain = world.start(world.election("observe", &[]));
    let count = |what: &str, count: usize| {
        for observer in [&json, &plain] {
            eventually(what, || (observer.printed().lines().count() >= count).then_some(()));
        }
    };
    count("the state at the beginning", 1);
    assert!(lines(&world, &mut world.election("list", &["--json"])).is_empty(), "they only look");
    let mut epochs = Vec::new();
    for (round, node) in ["one", "two", "three"].into_iter().enumerate() {
        let mut leader = world.candidate(node, &["--ttl", "60s", "--label", node], "");
        epochs.push(world.start_after(epochs.last().copied().unwrap_or(0)).epoch);
        count("a leader", 2 * round + 2);
        leader.send(Signal::TERM);
        assert_eq!(leader.exit(), Some(0));
        count("no leader", 2 * round + 3);
    }
    for observer in [&mut json, &mut plain] {
        observer.send(Signal::INT);
        assert_eq!(observer.exit(), Some(0));
    }
    let changes = parsed(&json.printed());
    assert_eq!(changes.len(), 7, "{changes:?}");
    for (at, change) in changes.iter().enumerate() {
        assert_keys(change, &["timestamp", "name", "leader", "epoch", "label", "elected_ms"]);
        let expected = if at % 2 == 1 { Some(epochs[at / 2]) } else { None };
        assert_eq!(change["epoch"].as_u64(), expected, "{changes:?}");
        // The first epochs are the time by the database's clock.
        assert_eq!(change["elected_ms"], change["epoch"], "{changes:?}");
    }
    assert_eq!((&changes[3]["leader"], &changes[3]["label"]), (&"two".into(), &"two".into()));
    let text = plain.printed();
    let spoken = changes.iter().map(|change| change["timestamp"].as_str().expect("a time"));
    let written = text.lines().map(|line| line.split_once(" default: ").expect("a time").0);
    let mut times: Vec<_> = [spoken.collect::<Vec<_>>(), written.collect()].concat();
    assert!(times.iter().all(|time| humantime::parse_rfc3339(time).is_ok()), "{times:?}");
    assert!(times[..7].is_sorted() && times[7..].is_sorted(), "{times:?}");
    times.dedup();
    assert_eq!(times.len(), 14, "each its own");
    let words: Vec<_> = text.lines().map(|line| line.contains("nobody")).collect();
    assert_eq!(words, [true, false, true, false, true, false, true], "{text}");
    assert!(text.contains(&format!("epoch {}", epochs[1])) && text.contains("three"), "{text}");
}

/// Since when somebody leads, as it is said in words. The first epoch of a database is the time by
/// its clock.
fn since(epoch: u64) -> String {
    let elected = UNIX_EPOCH + Duration::from_millis(epoch);
    format!(" since {}", humantime::format_rfc3339_seconds(elected))
}

#[test]
fn who_leads_and_since_when_and_where_is_said_in_words() {
    let world = World::new();
    let options = ["--ttl", "60s", "--label", "10.0.0.1:80"];
    let _one = world.candidate("one", &options, "");
    let epoch = world.start_after(0).epoch;
    let since = since(epoch);
    let status = text(&world.output(&mut world.election("status", &[])));
    assert!(status.contains(&since), "{since} in {status}");
    let mut mistyped = world.election("status", &["--name", "defualt"]);
    let status = text(&world.output(&mut mistyped));
    assert!(
        status.starts_with("defualt: nobody has ever led; existing elections: default; in "),
        "{status}"
    );
    let list = text(&world.output(&mut world.election("list", &[])));
    assert!(list.lines().next().is_some_and(|line| line.ends_with("LISTING LEFT")), "{list}");
    let row: Vec<_> = list.lines().nth(1).expect("a row").split_whitespace().collect();
    assert_eq!(row[..3], ["*", "one", "10.0.0.1:80"], "{list}");
    let observer = world.start(world.election("observe", &[]));
    observer.prints(&format!("default: one (epoch {epoch}) leads at 10.0.0.1:80{since}\n"));
}

/// Names in the database that would forge lines or act on the terminal.
#[test]
fn what_others_have_written_is_shown_without_effect() {
    let world = World::new();
    lines(&world, &mut world.election("schema", &["--apply", "--json"]));
    let forged = "a\n* admin\u{1b}]0;pwned\u{7}\u{9b}2J\u{202e}";
    let shown = r"a\n* admin\u{1b}]0;pwned\u{7}\u{9b}2J\u{202e}";
    let registration = Registration {
        namespace: Namespace::default(),
        candidate: Candidate {
            id: NodeId::recorded(forged).expect("a name"),
            incarnation: Incarnation::new(uuid::Uuid::new_v4()),
        },
        label: Some(Label::recorded(forged).expect("a label")),
    };
    let ttl = Duration::from_secs(600);
    block_on(async {
        let mut store = SqliteStore::open(world.database()).expect("a database");
        let queries = [
            Query::Register { ttl, sweep: false },
            Query::Attempt { seen: Epoch::NONE, ttl, clock_step: Duration::ZERO },
        ];
        for query in queries {
            store.answer(&registration, &query).await.expect("an answer");
        }
    });
    let plain =
        |said: &str| !said.contains(|c: char| c != '\n' && (c.is_control() || c == '\u{202e}'));
    for (command, count) in [("status", 1), ("list", 2), ("resign", 1)] {
        let output = world.output(&mut world.election(command, &[]));
        let said = String::from_utf8(output.stdout).expect("UTF-8");
        assert!(said.contains(shown) && plain(&said), "{command}: {said:?}");
        assert_eq!(said.lines().count(), count, "{command}: {said}");
    }
    let status = lines(&world, &mut world.election("status", &["--json"]));
    assert_eq!((&status[0]["leader"], &status[0]["label"]), (&forged.into(), &forged.into()));
    let mut observer = world.start(world.election("observe", &[]));
    assert!(plain(&observer.prints(shown)), "{:?}", observer.printed());
    observer.send(Signal::INT);
    assert_eq!(observer.exit(), Some(0));
    let mut follower = world.candidate("follower", &["--try"], "");
    assert_eq!(follower.exit(), Some(124));
    let said = follower.messages();
    assert!(said.contains(shown) && plain(&said), "{said:?}");
}

/// Of two processes with one name one leads; and an expired lease has no time left.
#[test]
fn a_name_that_two_have_leads_once_and_what_is_over_has_no_time() {
    let world = World::new();
    lines(&world, &mut world.election("schema", &["--apply", "--json"]));
    let registration = |number| Registration {
        namespace: Namespace::default(),
        candidate: Candidate {
            id: NodeId::new("same").expect("a name"),
            incarnation: Incarnation::new(uuid::Uuid::from_u128(number)),
        },
        label: None,
    };
    let (ttl, long) = (Duration::from_secs(2), Duration::from_secs(600));
    block_on(async {
        let mut store = SqliteStore::open(world.database()).expect("a database");
        for number in [1, 2] {
            let listed = Query::Register { ttl: long, sweep: false };
            store.answer(&registration(number), &listed).await.expect("an answer");
        }
        let attempt = Query::Attempt { seen: Epoch::NONE, ttl, clock_step: Duration::ZERO };
        store.answer(&registration(1), &attempt).await.expect("an answer");
    });
    let list = lines(&world, &mut world.election("list", &["--json"]));
    let leading: Vec<_> = list.iter().map(|each| each["leads"] == true).collect();
    assert_eq!(leading, [true, false], "{list:?}");
    let status = eventually("its end", || {
        let status = lines(&world, &mut world.election("status", &["--json"]));
        status[0]["leader"].is_null().then_some(status)
    });
    for key in ["remaining_ms", "ttl_ms", "incarnation", "label"] {
        assert_eq!(status[0][key], Value::Null, "{key}: {status:?}");
    }
}

/// Whoever mistypes a name would see a heading over nothing.
#[test]
fn an_empty_list_is_told_in_words() {
    let world = World::new();
    world.output(&mut world.election("schema", &["--apply"]));
    let list = |options: &[&str]| text(&world.output(&mut world.election("list", options)));
    let said = list(&[]);
    assert!(said.starts_with("default: nobody stands for election, and nobody has ever"), "{said}");
    assert_eq!(list(&["--json"]), "");
    assert!(world.output(&mut world.election("run", &["--", "true"])).status.success());
    assert_eq!(list(&[]).trim_end(), "default: nobody stands for election");
    // It has left, and its lease is kept.
    let kept = ["--node", "one", "--at-least-for", "10m", "--", "true"];
    assert!(world.output(&mut world.election("run", &kept)).status.success());
    let said = list(&[]);
    assert!(said.contains("no candidate is listed, but one leads"), "{said}");
}

/// A script of another database's would fail half-way.
#[test]
fn a_script_says_which_database_it_is_for() {
    let world = World::new();
    let first = |options: &[&str]| {
        let arguments = [&["schema"], options].concat();
        let said = text(&world.output(&mut world.bare(&arguments)));
        said.lines().next().expect("a line").to_owned()
    };
    let other = "-- For sqlite; for another database: --store postgres://... or mysql://...";
    assert_eq!(first(&[]), other);
    assert_eq!(first(&["--store", "sqlite:e.db"]), "-- For sqlite");
    assert_eq!(first(&["--store", "postgres://h/d?sslmode=disable"]), "-- For postgres");
    assert_eq!(first(&["--store", "mysql://h/d?ssl-mode=DISABLED"]), "-- For mysql");
}
