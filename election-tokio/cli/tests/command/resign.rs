//! What `resign` says and exits with, and what `status` shows of a request that is pending.

use super::{control::parsed, process::eventually, server::apply_schema, world::World};
use election_testing::{Kind, Server};
use serde_json::Value;
use std::process::Command;

const LONG: [&str; 4] = ["--ttl", "120s", "--grace", "20s"];

/// The exit code, and what is printed.
#[track_caller]
fn answered(world: &World, command: &mut Command) -> (Option<i32>, String) {
    let output = world.output(command);
    assert!(output.stderr.is_empty(), "{output:?}");
    (output.status.code(), String::from_utf8(output.stdout).expect("UTF-8"))
}

#[track_caller]
fn has(said: &str, words: &[&str]) {
    for each in words {
        assert!(said.contains(each), "no {each:?} in {said}");
    }
}

#[track_caller]
fn object(said: &str) -> Value {
    parsed(said).into_iter().next().expect("a line")
}

/// Whoever looks for the process would look in vain.
#[test]
fn a_lease_that_is_kept_for_nobody_is_no_leader_that_was_asked() {
    let world = World::new();
    let kept = ["--node", "first", "--at-least-for", "10m", "--", "true"];
    assert!(world.output(&mut world.election("run", &kept)).status.success());
    let (code, said) = answered(&world, &mut world.election("resign", &[]));
    assert_eq!(code, Some(1), "{said}");
    has(&said, &["nobody is there to resign", "first (epoch ", "its lease is kept for another "]);
    has(&said, &["others can lead after that", "(as with --at-least-for)"]);
    assert!(!said.contains("asked first"), "{said}");
    let (code, json) = answered(&world, &mut world.election("resign", &["--json"]));
    let json = object(&json);
    assert_eq!((code, &json["listed"], &json["leader"]), (Some(1), &false.into(), &"first".into()));
    let (_, said) = answered(&world, &mut world.election("status", &[]));
    has(&said, &["first", "for another ", "not listed as a candidate", "may have exited"]);
}

/// Until its job has ended, it is the holder still.
#[test]
fn a_request_that_is_pending_is_shown_and_is_not_made_again() {
    let world = World::new();
    let leader = world.candidate("first", &LONG, "ignore-term");
    let epoch = world.start_after(0).epoch;
    world.listed(1);
    let (_, before) = answered(&world, &mut world.election("status", &[]));
    assert!(!before.contains("asked") && !before.contains("may have exited"), "{before}");
    let (code, said) = answered(&world, &mut world.election("resign", &[]));
    assert_eq!(code, Some(0), "{said}");
    has(&said, &[&format!("asked first (epoch {epoch}) to resign")]);
    leader.says("event=resigning");
    let (code, said) = answered(&world, &mut world.election("status", &[]));
    assert_eq!(code, Some(0), "{said}");
    has(&said, &["first leads under epoch", ", asked to resign"]);
    let (_, json) = answered(&world, &mut world.election("status", &["--json"]));
    assert_eq!(object(&json)["resign_requested"], true, "{json}");
    let (code, said) = answered(&world, &mut world.election("resign", &[]));
    assert_eq!(code, Some(1), "{said}");
    has(
        &said,
        &["first (epoch ", "was already asked to resign", "its job is ending", "Others can lead"],
    );
    let (code, json) = answered(&world, &mut world.election("resign", &["--json"]));
    let json = object(&json);
    assert_eq!((code, &json["already"], &json["asked"]), (Some(1), &true.into(), &true.into()));
}

/// Whoever grants what the error names has granted enough.
#[test]
fn all_rights_that_are_missing_are_named_at_once() {
    let (world, server) = (World::new(), Server::start(Kind::Postgres));
    apply_schema(&server.url());
    let administer = |script: &str| server.administer("election", script);
    administer("REVOKE ALL ON SCHEMA public FROM public");
    administer("CREATE ROLE operator LOGIN PASSWORD 'operator'");
    let _leader = world.start(world.run_on(&server.url(), &["--ttl", "60s"], ""));
    world.start_after(0);
    let url = server.url_as("operator", "operator");
    let resign = || world.output(&mut world.on(&url, "resign", &[]));
    let output = resign();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(125), "{said}");
    let (_, grants) = said.split_once("GRANT ").unwrap_or_else(|| panic!("{said}"));
    let (grants, _) = grants.rsplit_once(';').expect("the end of the last line");
    administer(&format!("GRANT {grants};"));
    let output = resign();
    assert!(output.status.success(), "{said}: {output:?}");
    // They are the documentation's, for this user and these tables.
    let documented = Kind::Postgres.grants();
    for line in documented.lines() {
        let line = line.replace("public", "\"public\"").replace(" app;", " \"operator\";");
        assert!(said.contains(&line), "no {line} in {said}");
    }
    eventually("the end of the leadership", || {
        let output = world.output(&mut world.on(&url, "status", &["--json"]));
        let status = object(&String::from_utf8_lossy(&output.stdout));
        (status["resign_requested"] != true).then_some(())
    });
}
