//! The output on standard error, for people and for machines.

use super::{control::parsed, process::eventually, terminal::Terminal, world::World};
use rustix::process::Signal;
use serde_json::Value;
use std::io::Read as _;

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
    assert!(wrong.contains("WARN RUST_LOG is invalid"), "{wrong}");
    assert!(wrong.contains("INFO elected"), "{wrong}");
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
        let mut run = world.election("run", &["--", "true"]);
        run.env_remove("NO_COLOR").envs(variables.iter().copied());
        let (mut terminal, mut child) = Terminal::open(&run, 24, 80);
        let mut said = Vec::new();
        // The other end is closed then, which a terminal says by an error.
        let _ = terminal.read_to_end(&mut said);
        let status = eventually("its end", || child.try_wait().expect("our own child"));
        let said = String::from_utf8(said).expect("UTF-8");
        assert!(status.success() && said.contains("elected"), "{said}");
        assert_eq!(said.contains('\u{1b}'), coloured, "{variables:?}: {said:?}");
    }
}
