//! Input that cannot work: an exit code, a message that names the remedy, and never a panic.

use super::{members, world::World};
use std::{fs, process::Command};

#[track_caller]
fn refused(world: &World, command: &mut Command, words: &[&str]) {
    members::refused(&world.output(command), 125, words);
}

const COMMANDS: [&[&str]; 6] =
    [&["run"], &["status"], &["list"], &["observe"], &["resign"], &["schema", "--apply"]];

/// A command on this URL, in the default election, with a job where one is needed.
fn on(world: &World, command: &[&str], url: &str) -> Command {
    let mut process = world.bare(command);
    process.args(["--store", url]).env("ELECTION_NAME", "default");
    if command == ["run"] {
        process.args(["--", "true"]);
    }
    process
}

#[test]
fn urls_that_name_no_database() {
    let world = World::new();
    let directory = format!("sqlite:{}", world.path().display());
    for command in COMMANDS {
        for (url, words) in [
            ("", &["--store", "is empty", "sqlite:"][..]),
            ("e.db", &["no scheme", "sqlite:e.db"]),
            ("oracle:e.db", &["oracle", "sqlite"]),
            // As `docker --env-file` leaves it.
            ("\"postgres://me:secret@h/x\"", &["is in quotes", "write it without them"]),
            ("sqlite::memory:", &["in-memory", "file"]),
            ("sqlite:", &["no database file", "sqlite:PATH"]),
            ("sqlite:e.db?mode=ro", &["one parameter, filesystem=trusted", "sqlite:PATH"]),
            (&directory, &["is a directory"]),
            ("sqlite://tmp/e.db", &["no directory tmp here", "write sqlite:/tmp/e.db"]),
        ] {
            refused(&world, &mut on(&world, command, url), words);
        }
        let mut nothing = world.bare(command);
        if command == ["run"] {
            nothing.args(["--", "true"]);
        }
        let words = ["--store sqlite:PATH", "--store-file", "ELECTION_STORE", "--config"];
        refused(&world, &mut nothing, &words);
    }
}

/// A user who forgets to set a variable must not take part in another election.
#[test]
fn an_election_has_to_be_named() {
    let world = World::new();
    let url = world.url();
    for command in &COMMANDS[..5] {
        let mut unnamed = on(&world, command, &url);
        unnamed.env_remove("ELECTION_NAME");
        refused(&world, &mut unnamed, &["--name NAME", "ELECTION_NAME", "default"]);
        let mut empty = on(&world, command, &url);
        refused(&world, empty.env("ELECTION_NAME", ""), &["ELECTION_NAME", "empty"]);
        let mut empty = world.bare(command);
        empty.args(["--store", &url, "--name", ""]);
        if *command == ["run"] {
            empty.args(["--", "true"]);
        }
        refused(&world, &mut empty, &["--name", "empty"]);
    }
    let applied = world.output(&mut world.bare(&["schema", "--apply", "--store", &url]));
    assert!(applied.status.success(), "{applied:?}");
}

#[test]
fn an_empty_variable_is_no_value() {
    let world = World::new();
    for variable in [
        "ELECTION_STORE",
        "ELECTION_STORE_FILE",
        "ELECTION_CONFIG",
        "ELECTION_NODE",
        "ELECTION_LABEL",
        "ELECTION_TTL",
        "ELECTION_GRACE",
        "ELECTION_WAIT",
        "ELECTION_ON_LOST",
        "ELECTION_NO_SCHEMA",
    ] {
        let mut run = world.election("run", &["--", "true"]);
        refused(&world, run.env(variable, ""), &[variable, "empty", "unset it"]);
        // Help works even if something else is wrong.
        let help = world.output(world.bare(&["run", "--help"]).env(variable, ""));
        assert!(help.status.success(), "{help:?}");
    }
    // A variable that a command does not read does not concern it.
    let mut apply = world.election("schema", &["--apply"]);
    let applied = world.output(apply.env("ELECTION_TTL", "").env("ELECTION_NAME", ""));
    assert!(applied.status.success(), "{applied:?}");
}

#[test]
fn files_that_are_no_database() {
    let world = World::new();
    let at = |name: &str| format!("sqlite:{}", world.path().join(name).display());
    fs::write(world.path().join("text"), "no database at all, but a text of some length")
        .expect("a file of our own");
    for command in COMMANDS {
        let mut missing = on(&world, command, &at("no/such/directory/e.db"));
        refused(&world, &mut missing, &["no/such/directory", "its directory does not exist"]);
        let mut text = on(&world, command, &at("text"));
        refused(&world, &mut text, &["not a SQLite database"]);
        let mut no_file = on(&world, command, "sqlite:/proc/x.db");
        let words = ["/proc/x.db is on a virtual file system", "another, writable directory"];
        refused(&world, &mut no_file, &words);
    }
    for command in &COMMANDS[1..5] {
        let mut missing = on(&world, command, &at("missing.db"));
        refused(&world, &mut missing, &["missing.db", "election schema --apply"]);
    }
    assert!(!world.path().join("missing.db").exists(), "looking has made a database");
}

#[test]
fn tables_that_are_missing_or_not_ours() {
    let world = World::new();
    world.url();
    let empty = format!("sqlite:{}", world.database().display());
    fs::write(world.database(), "").expect("a file of our own");
    for command in &COMMANDS[1..5] {
        let mut command = on(&world, command, &empty);
        refused(&world, &mut command, &["the tables are missing", "election schema --apply"]);
    }
    let mut run = world.election("run", &["--no-schema", "--", "true"]);
    refused(&world, &mut run, &["the tables are missing", "election schema --apply"]);
    let mut run = world.election("run", &["--", "true"]);
    run.env("ELECTION_NO_SCHEMA", "true");
    refused(&world, &mut run, &["the tables are missing", "election schema --apply"]);
    let applied = world.output(&mut world.election("schema", &["--apply"]));
    assert!(applied.status.success(), "{applied:?}");
    let run = world.output(&mut world.election("run", &["--no-schema", "--", "true"]));
    assert!(run.status.success(), "{run:?}");
}

/// A line feed would forge a line in other people's output, an escape sequence act on their
/// terminal.
#[test]
fn names_that_act_on_a_terminal_are_refused() {
    let world = World::new();
    for (odd, code) in [
        ("a\nb", "U+000A"),
        ("a\u{1b}[2J", "U+001B"),
        ("\u{9b}2J", "U+009B"),
        ("\u{202e}", "U+202E"),
    ] {
        for command in &COMMANDS[..5] {
            let mut command = on(&world, command, &world.url());
            command.env("ELECTION_NAME", odd);
            refused(&world, &mut command, &["--name", code]);
        }
        for flag in ["--node", "--label"] {
            let mut run = world.election("run", &[flag, odd, "--", "true"]);
            refused(&world, &mut run, &[flag, code]);
        }
        // Nor do other values come back as they are.
        let output = world.output(&mut world.election("run", &["--ttl", odd, "--", "true"]));
        let said = String::from_utf8_lossy(&output.stderr).replace('\n', "");
        assert!(said.contains("--ttl") && !said.contains(char::is_control), "{said:?}");
    }
}

/// Names are data, whatever they look like.
#[test]
fn names_that_are_odd_work() {
    let world = World::new();
    for name in [
        "robert'); DROP TABLE election_leader;--",
        "🦀 \"quoted\"",
        " padded ",
        "--leading-dashes",
        "%s\\n",
    ] {
        let flag = format!("--name={name}");
        let node = format!("--node={name}");
        let label = format!("--label={name}");
        let job = ["--", "sh", "-c", "test \"$ELECTION_NAME\" = \"$1\"", "sh", name];
        let arguments = [&[flag.as_str(), &node, &label][..], &job].concat();
        let run = world.output(&mut world.election("run", &arguments));
        assert_eq!(run.status.code(), Some(0), "{name:?}: {run:?}");
        let status = world.output(&mut world.election("status", &["--json", &flag]));
        let status: serde_json::Value =
            serde_json::from_slice(&status.stdout).expect("a line of JSON");
        assert_eq!(status["name"], name);
        assert!(status["epoch"].as_u64() > Some(0), "{name:?}: {status}");
    }
}

#[test]
fn timings_that_do_not_add_up() {
    let world = World::new();
    for (arguments, words) in [
        (&["--ttl", "50ms"][..], &["--ttl 50ms is too short", "at least 100ms"][..]),
        (&["--ttl", "2 days"], &["--ttl 172800s is too long", "24 hours"]),
        (
            &["--at-least-for", "2 days"],
            &["--at-least-for 172800s is too long", "at most 24 hours"],
        ),
        (&["--on-lead", ""], &["--on-lead", "is empty"]),
        (&["--on-lose", " "], &["--on-lose", "is empty"]),
        (&["--clock-step", "400 days"], &["--clock-step 34560000s is too long", "at most a year"]),
        (
            &["--ttl", "15s", "--grace", "10s"],
            &["--ttl 15s", "set --grace to at most ", "raise --ttl"],
        ),
        (&["--grace", "1000000000 years"], &["set --grace to at most ", "raise --ttl"]),
        (&["--ttl", "15"], &["--ttl", "write it like 15s"]),
        (&["--grace", "5 parsecs"], &["--grace", "write it like 15s"]),
        (&["--wait", ""], &["--wait", "write it like 15s"]),
        (&["--on-lost", "panic"], &["--on-lost", "stop", "restart"]),
        (&["--min-epoch", "18446744073709551615"], &["epoch", "too high", "4503599627370496"]),
        (&["--min-epoch", "-1"], &["--min-epoch", "a whole number from 0"]),
        (&["--conflict-exit-code", "-1"], &["a whole number from 0 to 255"]),
        (&["--unknown"], &["--unknown"]),
    ] {
        let mut run = world.election("run", arguments);
        refused(&world, run.args(["--", "true"]), words);
    }
    refused(&world, &mut world.election("run", &[]), &["<CMD>"]);
    refused(&world, &mut world.bare(&[]), &["Usage"]);
    let said = world.output(&mut world.bare(&[])).stderr;
    assert!(said.starts_with(b"Leader election: "), "{}", String::from_utf8_lossy(&said));
    refused(&world, &mut world.bare(&["elect"]), &["elect"]);
    // It is named as the user knows it.
    let mut told = world.election("run", &["--ttl", "-5s", "--", "true"]);
    refused(&world, told.env("ELECTION_TTL", "9s"), &["--ttl", "a time cannot be negative"]);
    let said = fs::read_to_string(world.path().join("err")).expect("what it has said");
    assert!(!said.contains("ELECTION_") && !said.contains("unexpected argument"), "{said}");
    for (variable, value, words) in [
        ("ELECTION_TTL", "soon", "write it like 15s"),
        ("ELECTION_WAIT", "-1s", "cannot be negative"),
        ("ELECTION_ON_LOST", "panic", "restart"),
        ("ELECTION_MIN_EPOCH", "-1", "a whole number from 0"),
    ] {
        let mut run = world.election("run", &["--", "true"]);
        refused(&world, run.env(variable, value), &[variable, words]);
    }
}

/// Creating the tables does not have to take a minute to fail.
#[test]
fn a_schema_that_cannot_be_applied_in_time() {
    let world = World::new();
    let mute = super::server::Mute::start();
    for url in mute.urls() {
        let arguments = ["schema", "--apply", "--store", &url, "--timeout", "300ms"];
        let began = std::time::Instant::now();
        refused(&world, &mut world.bare(&arguments), &["300ms", "--timeout", "127.0.0.1"]);
        assert!(began.elapsed() < std::time::Duration::from_secs(20), "{:?}", began.elapsed());
    }
}

/// What is written on the command line wins over the environment.
#[test]
fn trying_once_wins_over_a_time_to_wait() {
    let world = World::new();
    let mut tries = world.bare(&["run", "--try", "--store", "sqlite:e.db"]);
    tries.env("ELECTION_NAME", "default").env("ELECTION_WAIT", "5s").args(["--", "true"]);
    let output = world.output(&mut tries);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let mut both = world.bare(&["run", "--try", "--wait", "5s", "--store", "sqlite:e.db"]);
    both.env("ELECTION_NAME", "default").args(["--", "true"]);
    refused(&world, &mut both, &["both --try and --wait say how long to wait", "keep one"]);
}
