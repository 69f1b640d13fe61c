//! The output on standard error, for people and for machines.

use super::{
    control::parsed,
    process::eventually,
    world::{Candidate, World},
};
use rustix::{
    process::Signal,
    pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt},
};
use serde_json::Value;
use std::{
    fs::{self, File, OpenOptions},
    io::Read as _,
    process::{Command, Stdio},
};

/// The shape of every line: time, level, message, election and node.
#[track_caller]
fn assert_shape(lines: &[Value], election: &str, node: &str) {
    assert!(!lines.is_empty());
    for line in lines {
        assert_eq!((&line["election"], &line["node"]), (&election.into(), &node.into()), "{line}");
        assert!(line["event"].is_string(), "{line}");
        assert!(line["message"].as_str().is_some_and(|text| !text.is_empty()), "{line}");
        let level = line["level"].as_str().expect("a level");
        assert!(["ERROR", "WARN", "INFO"].contains(&level), "{line}");
        let time = line["timestamp"].as_str().expect("a time");
        assert!(time.ends_with('Z') && time.as_bytes().get(10) == Some(&b'T'), "{line}");
        for (name, value) in line.as_object().expect("an object") {
            let is_number = name == "epoch" || name == "failures" || name.ends_with("_ms");
            assert_eq!(value.is_u64(), is_number, "{name} in {line}");
        }
    }
}

#[test]
fn every_line_of_json_has_the_same_shape() {
    let world = World::new();
    let options = ["--ttl", "60s", "--json", "--node", "one"];
    let mut leader = world.start(world.run(&options, "exit=3"));
    assert_eq!(leader.exit(), Some(3));
    let lines = parsed(&leader.messages());
    assert_shape(&lines, "default", "one");
    let events: Vec<&str> = lines.iter().filter_map(|line| line["event"].as_str()).collect();
    assert_eq!(events, ["database", "elected", "job_ended", "resigning", "released"]);
    let failed = |arguments: &[&str], words: &str| {
        let mut process = world.election("run", &["--json", "--node", "one"]);
        let output = world.output(process.args(arguments));
        let said = String::from_utf8(output.stderr).expect("UTF-8");
        assert!(said.contains(words), "{said}");
        let lines = parsed(&said);
        assert_shape(&lines, "default", "one");
        assert!(lines.iter().any(|line| line["level"] == "ERROR"), "{said}");
    };
    failed(&["--", "no-such-program"], "no-such-program");
    failed(&["--ttl", "1ms", "--", "true"], "ttl");
    failed(&["--schema", "a", "--", "true"], "schema");
}

/// Those that come before anything else has begun, too.
#[test]
fn early_warnings_and_errors_have_that_shape() {
    let world = World::new();
    let url = "postgres://127.0.0.1:1/x?frobnicate=1";
    let mut run = world.on(url, "run", &["--json", "--node", "one", "--try", "--", "true"]);
    let said = String::from_utf8(world.output(&mut run).stderr).expect("UTF-8");
    assert!(said.contains("frobnicate") && said.contains("refused"), "{said}");
    let lines = parsed(&said);
    assert_shape(&lines, "default", "one");
    assert_eq!(lines.len(), 3, "{said}");
    for arguments in [&["run", "--json", "--ttl", "x", "true"][..], &["status", "--json", "--no"]] {
        let output = world.output(&mut world.bare(arguments));
        assert_eq!(output.status.code(), Some(125));
        let lines = parsed(&String::from_utf8(output.stderr).expect("UTF-8"));
        assert_eq!(lines.len(), 1, "{lines:?}");
        assert_eq!((&lines[0]["level"], &lines[0]["event"]), (&"ERROR".into(), &"failed".into()));
        assert!(lines[0]["timestamp"].is_string(), "{lines:?}");
    }
    let mut status = world.on(url, "status", &["--json", "--timeout", "9s"]);
    let said = String::from_utf8(world.output(&mut status).stderr).expect("UTF-8");
    let last = parsed(&said).pop().expect("a line");
    assert_eq!((&last["election"], &last["level"]), (&"default".into(), &"ERROR".into()), "{said}");
}

#[test]
fn every_line_of_text_names_election_and_node() {
    let world = World::new();
    let mut leader = world.candidate("one", &["--ttl", "60s", "--name", "a b"], "");
    world.start_after(0);
    leader.send(Signal::TERM);
    assert_eq!(leader.exit(), Some(0));
    for line in leader.messages().lines() {
        assert!(line.contains("election=\"a b\" node=one"), "{line}");
        assert!(line.contains(" event="), "{line}");
    }
}

#[test]
fn the_log_is_filtered_as_the_user_says() {
    let world = World::new();
    let said = |filter: &str, options: &[&str]| {
        let mut run = world.election("run", options);
        let output = world.output(run.args(["--", "true"]).env("RUST_LOG", filter));
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stderr).expect("UTF-8")
    };
    assert!(said("", &[]).contains("INFO elected"));
    assert_eq!(said("off", &[]), "");
    assert_eq!(said("warn", &[]), "");
    let only = said("election_driver=info", &[]);
    assert!(only.contains("elected") && !only.contains("SQLite at"), "{only}");
    let more = said("election_driver=trace", &["--quiet"]);
    assert!(more.contains("TRACE asking query=attempt"), "{more}");
    assert!(!more.contains('{') && !more.contains("Some("), "{more}");
    let wrong = said("election=loud", &[]);
    assert!(wrong.contains("WARN RUST_LOG is not valid"), "{wrong}");
    assert!(wrong.contains("INFO elected"), "{wrong}");
}

/// What the command writes to a terminal.
fn on_terminal(world: &World, variables: &[(&str, &str)]) -> String {
    let controller = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
    grantpt(&controller).and_then(|()| unlockpt(&controller)).expect("a terminal");
    let name = ptsname(&controller, Vec::new()).expect("a terminal");
    let name = name.into_string().expect("UTF-8");
    let terminal = OpenOptions::new().read(true).write(true).open(name).expect("a terminal");
    let mut run = world.election("run", &["--", "true"]);
    run.env_remove("NO_COLOR").env("TERM", "xterm").envs(variables.iter().copied());
    run.stdin(Stdio::null()).stdout(Stdio::null()).stderr(terminal);
    assert_eq!(Candidate::of(run).exit(), Some(0));
    let mut said = Vec::new();
    // The other end is closed by now, which a terminal says by an error.
    let _ = File::from(controller).read_to_end(&mut said);
    String::from_utf8(said).expect("UTF-8")
}

#[test]
fn colours_are_only_where_they_are_welcome() {
    let world = World::new();
    for (variables, coloured) in [
        (&[][..], true),
        (&[("NO_COLOR", "")], true),
        (&[("NO_COLOR", "1")], false),
        (&[("TERM", "dumb")], false),
    ] {
        let said = on_terminal(&world, variables);
        assert!(said.contains("elected"), "{said}");
        assert_eq!(said.contains('\u{1b}'), coloured, "{variables:?}: {said:?}");
    }
}

#[test]
fn what_is_wrong_is_named_as_the_user_knows_it() {
    let world = World::new();
    let said = |process: &mut Command| {
        let output = world.output(process);
        assert_eq!(output.status.code(), Some(125), "{output:?}");
        String::from_utf8(output.stderr).expect("UTF-8")
    };
    let run = |options: &[&str]| {
        let mut process = world.election("run", options);
        process.args(["--", "true"]);
        process
    };
    for (variable, value, words) in [
        ("ELECTION_TTL", "abc", "write it like 15s"),
        ("ELECTION_WAIT", "-1s", "cannot be negative"),
        ("ELECTION_ON_LOST", "panic", "restart"),
        ("ELECTION_MIN_EPOCH", "-1", "a whole number, not below 0"),
        ("ELECTION_LEAVE_TIMEOUT", "2", "write it like 15s"),
    ] {
        let text = said(run(&[]).env(variable, value));
        assert!(text.contains(variable) && text.contains(words), "{text}");
        assert!(!text.contains("'--") || text.contains("'--help'"), "{text}");
    }
    for (flag, value, words) in [
        ("--ttl", "-5s", "a time cannot be negative"),
        ("--grace", "-1ms", "a time cannot be negative"),
        ("--wait", "-1s", "a time cannot be negative"),
        ("--leave-timeout", "-1s", "a time cannot be negative"),
        ("--min-epoch", "-5", "a whole number, not below 0"),
    ] {
        let text = said(run(&[flag, value]).env("ELECTION_TTL", "9s"));
        assert!(text.contains(flag) && text.contains(words), "{text}");
        assert!(!text.contains("ELECTION_") && !text.contains("unexpected argument"), "{text}");
    }
    let text = said(world.election("status", &["--timeout", "-5s"]).env("ELECTION_TTL", "9s"));
    assert!(text.contains("a time cannot be negative"), "{text}");
}

#[test]
fn help_fits_a_terminal_of_eighty_columns() {
    let world = World::new();
    let commands = ["run", "status", "list", "observe", "resign", "schema", "demo"];
    let whole = [vec!["--help"], vec!["-h"]];
    let each = commands.iter().flat_map(|it| [vec![*it, "--help"], vec![*it, "-h"]]);
    for arguments in whole.into_iter().chain(each) {
        let output = world.output(&mut world.bare(&arguments));
        let text = String::from_utf8(output.stdout).expect("UTF-8");
        assert!(output.status.success() && text.contains("election"), "{arguments:?}: {text}");
        for line in text.lines() {
            assert!(line.chars().count() <= 80, "{arguments:?}: {line}");
        }
    }
    let run = world.output(&mut world.bare(&["run", "--help"]));
    let run = String::from_utf8(run.stdout).expect("UTF-8");
    let run = run.split_whitespace().collect::<Vec<_>>().join(" ");
    for event in ["elected", "not_released", "outage_over", "job_killed", "waiting"] {
        assert!(run.contains(event), "{event}");
    }
}

#[test]
fn a_quiet_elector_tells_of_an_outage_from_begin_to_end() {
    let world = World::new();
    let leader = world.candidate("one", &["--ttl", "2s", "--quiet"], "");
    let job = world.start_after(0);
    let directory = world.database().parent().expect("a directory").to_owned();
    let away = world.path().join("away");
    fs::rename(&directory, &away).expect("a directory of our own");
    super::process::gone("the job", job.pid);
    fs::rename(&away, &directory).expect("a directory of our own");
    world.start_after(job.epoch);
    eventually("the end of the outage", || {
        leader.messages().contains("the database answers again").then_some(())
    });
    assert!(!leader.messages().contains("INFO elected"), "{}", leader.messages());
}

/// Those that the library's documentation lists, but for what only programs meet.
#[test]
fn the_help_names_every_event() {
    let documented = concat!(env!("CARGO_MANIFEST_DIR"), "/../../election-driver/src/log.rs");
    let documented = fs::read_to_string(documented).expect("the library's source");
    let rows = documented.lines().filter_map(|line| line.strip_prefix("//! | `"));
    let events = rows.filter_map(|row| row.split('`').next());
    let events: Vec<_> = events.filter(|name| *name != "event").collect(); // the head of a table
    assert!(events.len() > 30, "{events:?}");
    let world = World::new();
    let help = world.output(&mut world.bare(&["run", "--help"])).stdout;
    let help = String::from_utf8(help).expect("UTF-8");
    let (_, named) = help.split_once("The events: ").expect("the list of events");
    let named: Vec<_> = named.split(|c: char| !c.is_ascii_lowercase() && c != '_').collect();
    for event in events {
        let of_programs = event.starts_with("work_") || event == "still_held";
        assert_ne!(named.contains(&event), of_programs, "`{event}`");
    }
}
