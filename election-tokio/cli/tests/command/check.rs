//! Questions that the exit code answers.

use super::{
    control::parsed,
    members::{IDS, Members, NAME, refused},
    process::eventually,
    server::apply_schema,
    world::World,
};
use election_testing::{Kind, Server};
use rustix::process::Signal;
use serde_json::Value;
use std::{fs, process::Output};

const LONG: [&str; 4] = ["--ttl", "60s", "--grace", "2s"];

/// Exit code, and the only line.
#[track_caller]
fn answered(output: &Output) -> (Option<i32>, String) {
    assert!(output.stderr.is_empty(), "{output:?}");
    let line = String::from_utf8(output.stdout.clone()).expect("UTF-8");
    assert_eq!(line.lines().count(), 1, "{line}");
    (output.status.code(), line.trim_end().to_owned())
}

fn line(code: i32, text: impl Into<String>) -> (Option<i32>, String) {
    (Some(code), text.into())
}

#[test]
fn scripts_learn_by_the_exit_code_who_leads() {
    let world = World::new();
    let check = |options: &[&str]| answered(&world.output(&mut world.election("check", options)));
    let name = "default";
    let refused_yet = world.output(&mut world.election("check", &[]));
    refused(&refused_yet, 125, &["the database cannot be used"]);
    world.output(&mut world.election("schema", &["--apply"]));
    assert_eq!(check(&["--anybody"]), line(1, format!("{name}: nobody leads")));
    assert_eq!(check(&[]), line(1, format!("{name}: nobody leads, so this host does not")));
    for (wanted, missing) in [
        (&["--node", "one"][..], "so one does not"),
        (&["--epoch", "5"], "under epoch 5 or any other"),
        (&["--node", "one", "--epoch", "5"], "so one does not under epoch 5"),
    ] {
        assert_eq!(check(wanted), line(1, format!("{name}: nobody leads, {missing}")));
    }
    let leader = world.candidate("one", &LONG, "");
    let epoch = world.start_after(0).epoch.to_string();
    let leads = format!("{name}: one leads under epoch {epoch}");
    assert_eq!(check(&["--anybody"]), line(0, &*leads));
    let mut inherits = world.election("check", &["-q", "--anybody"]);
    assert!(world.output(inherits.env("ELECTION_NODE", "two")).status.success());
    assert_eq!(check(&["--epoch", &epoch]), line(0, &*leads));
    assert_eq!(check(&[]), line(1, format!("{leads}, not this host")));
    assert_eq!(check(&["--node", "one", "--epoch", &epoch]), line(0, &*leads));
    assert_eq!(check(&["--node", "two"]), line(1, format!("{leads}, not two")));
    assert_eq!(check(&["--epoch", "1"]), line(1, format!("{leads}, not under epoch 1")));
    let both = check(&["--node", "two", "--epoch", "1"]);
    assert_eq!(both, line(1, format!("{leads}, not two under epoch 1")));
    let (code, json) = check(&["--node", "two", "--json"]);
    let json = &parsed(&json)[0];
    assert_eq!((code, &json["holds"], &json["leader"]), (Some(1), &false.into(), &"one".into()));
    assert_eq!((&json["name"], json["epoch"].to_string()), (&Value::from(name), epoch));
    let nameless = world.output(&mut world.election("check", &["--node", ""]));
    refused(&nameless, 125, &["--node", "empty"]);
    drop(leader);
}

/// A job in cron that asks nothing else runs on one host, not on each.
#[test]
fn a_host_asks_for_the_name_that_its_elector_takes() {
    let world = World::new();
    let mut run = world.election("run", &[&LONG[..], &["--", "sleep", "1000"]].concat());
    let mut elector = run.spawn().expect("the command");
    let check = |options: &[&str]| {
        let output = world.output(&mut world.election("check", options));
        output.status.code()
    };
    eventually("a leader", || (check(&["--anybody"]) == Some(0)).then_some(()));
    assert_eq!(check(&[]), Some(0));
    elector.kill().expect("a process of ours");
    elector.wait().expect("its end");
}

/// However its elector was told of the database, and wherever the job has gone since.
#[test]
fn a_job_knows_where_to_ask() {
    let world = World::new();
    world.url();
    let url = "sqlite:data/e.db";
    for (file, text) in [
        ("url", url.to_owned()),
        ("by-url.toml", format!("store = {url:?}\n")),
        ("by-file.toml", "store-file = \"url\"\n".to_owned()),
    ] {
        fs::write(world.path().join(file), text).expect("a file of our own");
    }
    let stray = ("ELECTION_STORE", "postgres://me:hunter2@h:1/x");
    let config = ("ELECTION_CONFIG", "by-file.toml");
    for (options, variable) in [
        (&["--store", url][..], None),
        (&["--store", url], Some(stray)),
        (&["--store-file", "url"], None),
        (&["--store-file", "url"], Some(stray)),
        (&["--config", "by-url.toml"], None),
        (&["--config", "by-file.toml"], None),
        (&[], Some(config)),
    ] {
        let election = env!("CARGO_BIN_EXE_election");
        let job = format!("cd / && {election} check");
        let mut run = world.bare(&["run", "--name", "n", "--node", "me"]);
        run.args(options).args(["--", "sh", "-c", &job]).envs(variable);
        let output = world.output(&mut run);
        assert!(output.status.success(), "{options:?}: {output:?}");
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(said.starts_with("n: me leads under epoch"), "{options:?}: {said}");
    }
}

/// A password that is in no file is kept from it.
#[test]
fn a_refused_job_is_told_that_it_inherits_no_password() {
    let (world, server) = (World::new(), Server::start(Kind::Postgres));
    apply_schema(&server.url());
    server.administer(
        "election",
        "CREATE ROLE asks LOGIN PASSWORD 'hunter2'; GRANT USAGE ON SCHEMA public TO asks; \
         GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO asks",
    );
    let url = server.url_as("asks", "hunter2");
    let asks = |command: &str| {
        let job = format!("{} {command}", env!("CARGO_BIN_EXE_election"));
        let mut run = world.bare(&["run", "--store", &url, "--name", "n", "--node", "me"]);
        world.output(run.args(["--", "sh", "-c", &job]))
    };
    let hint = "no password, so ELECTION_STORE has none here";
    refused(&asks("check"), 125, &["rejected the user or password", hint, "--store-file"]);
    // It is no hint for those who have given a password, and it is wrong.
    let wrong = server.url_as("asks", "wrong");
    let output = asks(&format!("check --store '{wrong}'"));
    refused(&output, 125, &["rejected the user or password"]);
    assert!(!String::from_utf8_lossy(&output.stderr).contains(hint), "{output:?}");
}

/// With nothing but what it has inherited.
#[test]
fn a_job_asks_whether_it_still_leads() {
    let world = World::new();
    let (store, asks) = (world.path().join("url"), world.path().join("asks"));
    fs::write(&store, world.url()).expect("a file of our own");
    let election = env!("CARGO_BIN_EXE_election");
    // Once as the leader. Then under the same epoch after it has left, which nobody leads.
    let job = format!("{election} check; echo $? $ELECTION_EPOCH > {}", asks.display());
    let mut run = world.bare(&["run", "--name", "n", "--node", "me", "--", "sh", "-c", &job]);
    let output = world.output(run.env("ELECTION_STORE_FILE", &store));
    assert!(output.status.success(), "{output:?}");
    let said = fs::read_to_string(&asks).expect("what the job has written");
    let (code, epoch) = said.trim().split_once(' ').expect("two words");
    assert_eq!(code, "0", "{output:?}");
    let late = |options: &[&str]| {
        let mut check = world.bare(&[&["check"], options].concat());
        check.env("ELECTION_STORE_FILE", &store).env("ELECTION_NAME", "n");
        answered(&world.output(check.env("ELECTION_NODE", "me").env("ELECTION_EPOCH", epoch)))
    };
    assert_eq!(late(&[]), line(1, format!("n: nobody leads, so me does not under epoch {epoch}")));
    // Of another election it asks what the command line says alone.
    let nobody = line(1, "other: nobody leads, so this host does not");
    assert_eq!(late(&["--name", "other"]), nobody);
    let you = late(&["--name", "other", "--node", "you"]);
    assert_eq!(you, line(1, "other: nobody leads, so you does not"));
}

#[test]
fn a_member_of_a_cluster_says_whether_it_leads() {
    let members = Members::new();
    let (all, job, first) = members.led();
    let (leader, other) = (IDS[first], IDS[(first + 1) % 3]);
    let file = members.file().display().to_string();
    assert!(super::process::carries(job.pid, "ELECTION_CLUSTER", &file));
    let epoch = job.epoch.to_string();
    let leads = format!("{}: {leader} leads under epoch {epoch}", *NAME);
    let check = |node, options: &[&str]| answered(&members.ask("check", node, options));
    assert_eq!(check(leader, &[]), line(0, &*leads));
    assert_eq!(check(leader, &["--epoch", &epoch]), line(0, &*leads));
    assert_eq!(check(leader, &["--epoch", "0"]).0, Some(1));
    members.settled(other);
    assert_eq!(check(other, &[]), line(1, format!("{leads}, not {other}")));
    drop(all);
}

#[test]
fn a_member_that_hears_too_few_says_so() {
    let members = Members::new();
    let _alone = members.start("n1", "");
    members.until("the end of its start", "n1", |status| status["boots_ms"].is_null());
    for options in [&[][..], &["--epoch", "1"]] {
        let (code, said) = answered(&members.ask("check", "n1", options));
        assert_eq!(code, Some(125), "{said}");
        let why = "the leader is unknown: this member hears 0 of the 2 others";
        assert!(said.starts_with(&format!("{}: {why}", *NAME)), "{said}");
    }
    let status = members.ask("status", "n1", &["--exit-code"]);
    assert_eq!(status.status.code(), Some(125), "that nobody leads is not known: {status:?}");
    let text = String::from_utf8_lossy(&status.stdout);
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains("must hear 2 more members"), "{text}");
    refused(&members.ask("pause", "n1", &[]), 125, &["1", "2"]);
    let words = ["the leader is unknown", "nobody was asked", "ask a member that hears a majority"];
    refused(&members.ask("resign", "n1", &[]), 125, &words);
    let (code, json) = answered(&members.ask("check", "n1", &["--json"]));
    let json = &parsed(&json)[0];
    assert_eq!((code, &json["holds"], &json["leader"]), (Some(125), &Value::Null, &Value::Null));
    assert!(json["unknown"].as_str().is_some_and(|why| why.contains("hears 0")), "{json}");
}

#[test]
fn status_says_by_its_exit_code_that_nobody_leads_if_told_to() {
    let world = World::new();
    world.output(&mut world.election("schema", &["--apply"]));
    let status = |options: &[&str]| world.output(&mut world.election("status", options));
    assert_eq!(status(&["--exit-code"]).status.code(), Some(1));
    assert_eq!(status(&["--exit-code", "--json"]).status.code(), Some(1));
    assert_eq!(status(&[]).status.code(), Some(0));
    let _leader = world.candidate("one", &LONG, "");
    world.start_after(0);
    assert_eq!(status(&["--exit-code"]).status.code(), Some(0));
}

#[test]
fn who_is_not_elected_exits_as_it_was_told_to() {
    let world = World::new();
    let mut leader = world.candidate("leader", &LONG, "");
    world.start_after(0);
    let config = world.path().join("conflict.toml");
    fs::write(&config, "conflict-exit-code = 0\n").expect("a file of our own");
    let config = ["--config", config.to_str().expect("UTF-8")];
    for (options, code) in [
        (&["--try", "--conflict-exit-code", "75"][..], 75),
        (&["--wait", "300ms", "--conflict-exit-code", "75"], 75),
        (&[&["--try"], &config[..]].concat(), 0),
        (&["--try"], 124),
    ] {
        let mut late = world.candidate("late", &[&LONG[..], options].concat(), "");
        assert_eq!(late.exit(), Some(code), "{options:?}: {}", late.messages());
    }
    leader.send(Signal::TERM);
    leader.exit();
    // The job's own code is the job's.
    let options = [&LONG[..], &["--try", "--conflict-exit-code", "75"]].concat();
    assert_eq!(world.candidate("next", &options, "exit=124").exit(), Some(124));
    let wrong = world.output(&mut world.run(&["--try", "--conflict-exit-code", "256"], ""));
    refused(&wrong, 125, &["--conflict-exit-code", "256", "255"]);
}
