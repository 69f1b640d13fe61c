//! Input that cannot work: an exit code, a message that names the remedy, and never a panic.

use super::world::World;
use std::{fs, os::unix::fs::PermissionsExt as _, process::Command};

/// Runs to the end and expects this exit code, and all of these words in the message.
#[track_caller]
fn refused(world: &World, command: &mut Command, code: i32, words: &[&str]) {
    let output = world.output(command);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{command:?}: {stderr}");
    assert!(!stderr.contains("panicked"), "{command:?}: {stderr}");
    for each in words {
        assert!(stderr.contains(each), "{command:?}: no {each:?} in {stderr:?}");
    }
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
            ("/tmp/e.db", &["no scheme", "sqlite:/tmp/e.db"]),
            ("oracle:e.db", &["oracle", "sqlite"]),
            ("postgres://me:secret@127.0.0.1:no/x", &["--store (postgres:…)", "its port", "65535"]),
            // As `docker --env-file` leaves it.
            ("\"postgres://me:secret@h/x\"", &["is in quotes", "write it without them"]),
            (":memory:", &["in-memory", "file"]),
            ("sqlite::memory:", &["in-memory", "file"]),
            ("sqlite://:memory:", &["in-memory", "file"]),
            ("sqlite:", &["no database file", "sqlite:PATH"]),
            ("sqlite://", &["no database file", "sqlite:PATH"]),
            ("sqlite:e.db?mode=ro", &["one parameter, filesystem=trusted", "sqlite:PATH"]),
            (&directory, &["is a directory"]),
        ] {
            refused(&world, &mut on(&world, command, url), 125, words);
        }
        let mut nothing = world.bare(command);
        if command == ["run"] {
            nothing.args(["--", "true"]);
        }
        let words = ["--store sqlite:PATH", "--store-file", "ELECTION_STORE", "--config"];
        refused(&world, &mut nothing, 125, &words);
    }
}

/// Commands that stay wait for a database that is not there; commands that only look or try do not.
#[test]
fn urls_that_lead_nowhere() {
    let world = World::new();
    let commands =
        [&["run", "--try"][..], &["status"], &["list"], &["resign"], &["schema", "--apply"]];
    for command in commands {
        for scheme in ["postgres", "mariadb"] {
            let url = format!("{scheme}://me:secret@127.0.0.1:1/x");
            let mut process = on(&world, command, &url);
            if command[0] == "run" {
                process.args(["--", "true"]);
            }
            refused(&world, &mut process, 125, &["127.0.0.1:1", "refused"]);
        }
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
        refused(&world, &mut unnamed, 125, &["--name NAME", "ELECTION_NAME", "default"]);
        let mut empty = on(&world, command, &url);
        refused(&world, empty.env("ELECTION_NAME", ""), 125, &["ELECTION_NAME", "empty"]);
        let mut empty = world.bare(command);
        empty.args(["--store", &url, "--name", ""]);
        if *command == ["run"] {
            empty.args(["--", "true"]);
        }
        refused(&world, &mut empty, 125, &["--name", "empty"]);
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
        refused(&world, run.env(variable, ""), 125, &[variable, "empty", "unset it"]);
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
        refused(&world, &mut missing, 125, &["no/such/directory", "its directory does not exist"]);
        let mut text = on(&world, command, &at("text"));
        refused(&world, &mut text, 125, &["not a SQLite database"]);
        for (path, words) in [
            ("new/", ["new/ ends with a slash, as a directory does", "name a file"]),
            ("new/..", ["new/.. leads to a directory", "name a file"]),
            ("/dev/null", ["/dev/null is no regular file", "name one"]),
            ("/proc/x.db", ["/proc/x.db is on a file system that the kernel", "another directory"]),
            ("/proc/version", ["that holds no databases", "name a file in another directory"]),
        ] {
            // An absolute path replaces the world's.
            let mut no_file = on(&world, command, &at(path));
            refused(&world, &mut no_file, 125, &words);
            let stderr = fs::read_to_string(world.path().join("err")).expect("what it has said");
            assert!(!stderr.contains("chmod"), "{stderr}");
        }
        let mut below = on(&world, command, &at("text/e.db"));
        refused(&world, &mut below, 125, &["text/e.db"]);
    }
    for command in &COMMANDS[1..5] {
        let mut missing = on(&world, command, &at("missing.db"));
        refused(&world, &mut missing, 125, &["missing.db", "election schema --apply"]);
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
        refused(&world, &mut command, 125, &["the tables are missing", "election schema --apply"]);
    }
    let mut run = world.election("run", &["--no-schema", "--", "true"]);
    refused(&world, &mut run, 125, &["the tables are missing", "election schema --apply"]);
    let mut run = world.election("run", &["--", "true"]);
    run.env("ELECTION_NO_SCHEMA", "true");
    refused(&world, &mut run, 125, &["the tables are missing", "election schema --apply"]);
    let applied = world.output(&mut world.election("schema", &["--apply"]));
    assert!(applied.status.success(), "{applied:?}");
    let run = world.output(&mut world.election("run", &["--no-schema", "--", "true"]));
    assert!(run.status.success(), "{run:?}");
}

/// As root nothing is unwritable by its mode alone: there the file system has to say no.
#[test]
fn directories_that_cannot_be_written() {
    let world = World::new();
    let closed = world.path().join("closed");
    fs::create_dir(&closed).expect("a directory of our own");
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o500)).expect("our own directory");
    let writable = fs::write(closed.join("probe"), "").is_ok();
    let closed = if writable { "/proc/self/fdinfo".into() } else { closed };
    let url = format!("sqlite:{}/e.db", closed.display());
    for command in [&["run"][..], &["schema", "--apply"]] {
        let mut command = on(&world, command, &url);
        refused(&world, &mut command, 125, &["e.db", "directory", "writable"]);
    }
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
            refused(&world, &mut command, 125, &["--name", code]);
        }
        for flag in ["--node", "--label"] {
            let mut run = world.election("run", &[flag, odd, "--", "true"]);
            refused(&world, &mut run, 125, &[flag, code]);
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
        "o'brien",
        "a \"quoted\" name",
        "robert'); DROP TABLE election_leader;--",
        "🦀🦀",
        " padded ",
        "--leading-dashes",
        "-x",
        "%s\\n",
        "x/y:z?",
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
        (&["--ttl", "50ms"][..], &["ttl", "too short", "100ms"][..]),
        (&["--ttl", "0s"], &["ttl", "too short"]),
        (&["--ttl", "2 days"], &["ttl", "too long", "24 hours"]),
        (&["--at-least-for", "2 days"], &["at least 172800s", "too long", "24 hours"]),
        (&["--on-lead", ""], &["--on-lead", "is empty"]),
        (&["--on-lose", " "], &["--on-lose", "is empty"]),
        (&["--clock-step", "400 days"], &["clock step of 34560000s", "too long", "a year"]),
        (&["--at-least-for", "5"], &["--at-least-for", "write it like 15s"]),
        (&["--ttl", "15s", "--grace", "10s"], &["grace", "raise the ttl or lower"]),
        (&["--grace", "1000000000 years"], &["grace", "raise the ttl or lower"]),
        (&["--ttl", "soon"], &["--ttl", "write it like 15s"]),
        (&["--ttl", "15"], &["--ttl", "write it like 15s"]),
        (&["--ttl=-5s"], &["--ttl", "write it like 15s"]),
        (&["--grace", "5 parsecs"], &["--grace", "write it like 15s"]),
        (&["--wait", ""], &["--wait", "write it like 15s"]),
        (&["--wait", "1s", "--try"], &["--wait", "--try"]),
        (&["--on-lost", "panic"], &["--on-lost", "stop", "restart"]),
        (&["--min-epoch", "18446744073709551615"], &["epoch", "too high", "4503599627370496"]),
        (&["--min-epoch", "18446744073709551616"], &["--min-epoch", "too large"]),
        (&["--min-epoch=-1"], &["--min-epoch", "a whole number, not below 0"]),
        (&["--unknown"], &["--unknown"]),
    ] {
        let mut run = world.election("run", arguments);
        refused(&world, run.args(["--", "true"]), 125, words);
    }
    refused(&world, &mut world.election("run", &[]), 125, &["<CMD>"]);
    refused(&world, &mut world.bare(&[]), 125, &["Usage"]);
    refused(&world, &mut world.bare(&["elect"]), 125, &["elect"]);
    for variable in ["ELECTION_TTL", "ELECTION_GRACE", "ELECTION_WAIT"] {
        let mut run = world.election("run", &["--", "true"]);
        let flag = format!("--{}", variable.trim_start_matches("ELECTION_").to_lowercase());
        refused(&world, run.env(variable, "soon"), 125, &[&flag, "write it like 15s"]);
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
        refused(&world, &mut world.bare(&arguments), 125, &["300ms", "--timeout", "127.0.0.1"]);
        assert!(began.elapsed() < std::time::Duration::from_secs(20), "{:?}", began.elapsed());
    }
}

#[test]
fn what_is_wrong_with_a_url_is_said_once() {
    let world = World::new();
    for command in COMMANDS {
        let url = "postgres://me@127.0.0.1:1/x?sslmode=bogus";
        let output = world.output(&mut on(&world, command, url));
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(stderr.matches("bogus").count() == 1, "{stderr}");
        assert!(!stderr.contains("error with configuration"), "{stderr}");
        for url in ["postgres://me:p#w@127.0.0.1:1/x", "mysql://me:p#w@127.0.0.1:1/x"] {
            refused(&world, &mut on(&world, command, url), 125, &["percent-encoding", "%23"]);
        }
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
    refused(&world, &mut both, 125, &["both --try and --wait", "keep one"]);
}
