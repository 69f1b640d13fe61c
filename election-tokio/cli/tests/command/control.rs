//! Asking a running member of a cluster, and giving it orders.

use super::{
    members::{DOWN_AFTER, IDS, Members, NAME, leads, refused},
    process::{alive, freeze, thaw},
};
use serde_json::Value;
use std::{
    io::{Read as _, Write as _},
    os::unix::net::UnixStream,
    process::Output,
    time::Instant,
};

#[track_caller]
pub(crate) fn text(output: &Output) -> String {
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    String::from_utf8(output.stdout.clone()).expect("UTF-8")
}

#[track_caller]
pub(crate) fn parsed(text: &str) -> Vec<Value> {
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect()
}

#[track_caller]
fn object(output: &Output) -> Value {
    let mut lines = parsed(&text(output));
    assert_eq!(lines.len(), 1, "{lines:?}");
    lines.remove(0)
}

#[test]
fn leadership_goes_to_the_member_that_was_named() {
    let members = Members::new();
    let (all, job, first) = members.led();
    // Not the member that would win otherwise.
    let heir = (0..3).rev().find(|place| *place != first).expect("three members");
    let other = 3 - first - heir;
    let wrong = members.ask("resign", IDS[other], &["--to", IDS[heir]]);
    refused(&wrong, 125, &["is not the leader", &format!("--node {}", IDS[first])]);
    let stranger = members.ask("resign", IDS[first], &["--to", "n9"]);
    refused(&stranger, 125, &["\"n9\" is not another member", "name one of"]);
    let own = members.ask("resign", IDS[first], &["--to", IDS[first]]);
    refused(&own, 125, &["is not another member"]);
    assert!(alive(job.pid));
    // The others wait 600 ms for the heir, which a busy machine may miss. Then whoever leads hands over.
    let (mut leader, mut next, mut tries) = (first, job, 0);
    while leader != heir {
        tries += 1;
        assert!(tries <= 5, "{} is passed over", IDS[heir]);
        let began = Instant::now();
        let said = object(&members.ask("resign", IDS[leader], &["--to", IDS[heir], "--json"]));
        assert_eq!((&said["asked"], &said["epoch"]), (&true.into(), &next.epoch.into()), "{said}");
        assert_eq!((&said["leader"], &said["to"]), (&IDS[leader].into(), &IDS[heir].into()));
        next = members.world.start_after(next.epoch);
        assert!(began.elapsed() < DOWN_AFTER, "{:?}", began.elapsed());
        leader = leads(&all, &next);
    }
    // And to whoever is elected, but not back at once.
    let said = text(&members.ask("resign", IDS[heir], &[]));
    assert_eq!(said, format!("{}: {} (epoch {}) resigns\n", *NAME, IDS[heir], next.epoch));
    let last = members.world.start_after(next.epoch);
    assert_ne!(leads(&all, &last), heir);
    members.world.assert_exclusive();
}

#[test]
fn nobody_takes_over_while_failover_is_paused() {
    let members = Members::new();
    let (mut all, job, first) = members.led();
    let [one, other] = [(first + 1) % 3, (first + 2) % 3].map(|place| IDS[place]);
    let said = object(&members.ask("pause", one, &["--for", "1h", "--json"]));
    assert_eq!(
        (&said["changed"], &said["pause"]["paused"]),
        (&true.into(), &true.into()),
        "{said}"
    );
    assert_eq!(
        (&said["pause"]["by"], &said["pause"]["primary"]),
        (&one.into(), &IDS[first].into())
    );
    let left = said["pause"]["left_ms"].as_u64().expect("a pause that ends by itself");
    assert!((3_540_000..=3_600_000).contains(&left), "{said}");
    // Every member says so, soon.
    for node in [IDS[first], other] {
        let status = members.until("the pause", node, |it| it["pause"]["paused"] == true);
        assert_eq!(status["pause"]["by"], one);
    }
    let told = text(&members.ask("status", other, &[]));
    let told = told.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(told.contains(&format!("paused by {one}, since 20")), "{told}");
    assert!(told.contains(", for another 59m ") || told.contains(", for another 1h"), "{told}");
    assert!(told.contains(&format!("only {} can be elected", IDS[first])), "{told}");
    all[first].kill();
    for node in [one, other] {
        let status = members.until("why it does not lead", node, |status| {
            status["hindrance"].as_str().is_some_and(|why| why.contains("paused"))
        });
        assert_eq!(status["leader"], Value::Null, "{status}");
    }
    assert_eq!(members.world.notes("start").len(), 1, "nobody was to be elected");
    let said = text(&members.ask("resume", other, &[]));
    assert_eq!(said, format!("{}: automatic failover is not paused\n", *NAME));
    let next = members.world.start_after(job.epoch);
    assert_ne!(leads(&all, &next), first);
    let again = object(&members.ask("resume", one, &["--json"]));
    assert_eq!(again["changed"], false, "{again}");
    // An end that no calendar has is no reason to fail.
    members.settled(one);
    let said = text(&members.ask("pause", one, &["--for", "10000000000y"]));
    assert!(
        said.contains(&format!("paused by {one}, since ")) && said.contains(", for another "),
        "{said}"
    );
    members.world.assert_exclusive();
}

#[test]
fn a_member_says_what_it_knows() {
    let members = Members::with("", ["announce = \"10.0.0.1:80\"", "", ""]);
    let (all, job) = members.two();
    let (leader, other) = match leads(&all, &job) {
        0 => ("n1", "n2"),
        _ => ("n2", "n1"),
    };
    let status = members.until("a supporter", leader, |status| status["supporters"] == 2);
    assert_eq!((&status["name"], &status["node"]), (&NAME.as_str().into(), &leader.into()));
    assert_eq!((&status["leader"], &status["epoch"]), (&leader.into(), &job.epoch.into()));
    assert_eq!((&status["role"], &status["hindrance"]), (&"primary".into(), &"it leads".into()));
    assert_eq!(status["label"] == "10.0.0.1:80", leader == "n1", "{status}");
    let trusted = status["trusted_ms"].as_u64().expect("a span");
    assert!(trusted <= 2_000 && Some(trusted) <= status["stop_ms"].as_u64(), "{status}");
    let peers = status["peers"].as_array().expect("peers");
    let names: Vec<_> = peers.iter().map(|peer| &peer["node"]).collect();
    assert_eq!(names, [other, "n3"]);
    assert_eq!((&peers[0]["connected"], &peers[0]["heard"]["fresh"]), (&true.into(), &true.into()));
    assert_eq!(peers[0]["heard"]["dialect"], "extended");
    assert_eq!(
        (&peers[1]["connected"], &peers[1]["heard"]["fresh"]),
        (&false.into(), &false.into())
    );
    assert_eq!(peers[1]["refusal"], "not heard");
    let follows = members.until("a leader", other, |status| status["leader"] == leader);
    assert_eq!(follows["supports"]["node"], leader, "{follows}");
    assert_eq!(follows["hindrance"], format!("it supports {leader}"));
    let pid = all.iter().map(super::world::Candidate::pid).nth(usize::from(other == "n2"));
    assert_eq!(follows["pid"].as_i64(), pid.map(i64::from));

    for node in [leader, other] {
        let said = text(&members.ask("status", node, &[]));
        let words = format!("{}: {leader} (epoch {}) leads at ", *NAME, job.epoch);
        assert!(said.starts_with(&words), "{said}");
        for words in ["PEER", " ago", "no: not heard", "no connection to n3", "not paused"] {
            assert!(said.contains(words), "no {words:?} in {said}");
        }
        let list = text(&members.ask("list", node, &[]));
        let rows: Vec<_> = list.lines().map(|line| line.split_whitespace().next()).collect();
        assert_eq!(rows.len(), 4, "{list}");
        assert_eq!(rows.iter().filter(|mark| **mark == Some("*")).count(), 1, "{list}");
        let rows = parsed(&text(&members.ask("list", node, &["--json"])));
        let leads: Vec<_> = rows.iter().filter(|row| row["leads"] == true).collect();
        assert_eq!((rows.len(), leads.len(), &leads[0]["node"]), (3, 1, &leader.into()));
    }
    let said = members.ask("resign", leader, &["--to", "n3"]);
    refused(&said, 125, &["not handed over: n3 and this node do not hear each other", "start n3"]);
    assert!(alive(job.pid));
}

const PROGRAM: &str = "a member in a program of your own has none";

#[test]
fn a_member_that_does_not_run_is_told_how_to_start() {
    let members = Members::new();
    for command in ["status", "observe", "resign"] {
        let output = members.ask(command, "n1", &[]);
        let words =
            ["n1 is not running here", ".n1.sock", "election run --cluster", "--socket", PROGRAM];
        refused(&output, 125, &words);
    }
    let json = members.ask("status", "n1", &["--json"]);
    let said: Value = serde_json::from_slice(&json.stderr).expect("JSON");
    assert_eq!((json.status.code(), &said["event"]), (Some(125), &"failed".into()));
    let output = members.ask("status", "n9", &[]);
    refused(&output, 125, &["n9 is not a member", "n1, n2, n3"]);
    // One that stands still is not one that does not run.
    let stopped = members.start("n1", "");
    members.status("n1");
    freeze(stopped.pid());
    let output = members.ask("status", "n1", &["--timeout", "300ms"]);
    refused(&output, 125, &["n1 does not answer within 300ms", "is stopped", "--timeout"]);
}

/// Whoever knows this machine need not name its member.
#[test]
fn the_machines_only_member_is_asked_by_default() {
    let members = Members::new();
    let ask = || {
        let mut command = members.bare(&["status", "--cluster"]);
        command.arg(members.file());
        members.world.output(&mut command)
    };
    let _first = members.start("n2", "");
    members.status("n2");
    assert!(text(&ask()).contains("member    n2 (process"));
    let _second = members.start("n1", "");
    members.status("n1");
    refused(&ask(), 125, &["which member of the cluster?", "--node", "n1, n2 run on this machine"]);
}

/// To name one of them would not help.
#[test]
fn that_no_member_answers_is_said_with_what_was_tried() {
    let members = Members::new();
    let ask = |options: &[&str]| {
        let mut command = members.bare(&[options, &["--cluster"]].concat());
        command.arg(members.file());
        members.world.output(&mut command)
    };
    let one = |id: &str| format!("{}.{id}.sock", *NAME);
    let [n1, n2, n3] = IDS.map(one);
    let words =
        ["no member of the cluster answers here", &*n1, &*n2, &*n3, "start one", "--socket"];
    for command in ["status", "list", "check", "resign", "pause", "resume", "observe"] {
        let output = ask(&[command]);
        refused(&output, 125, &words);
        assert!(!String::from_utf8_lossy(&output.stderr).contains("which member"), "{output:?}");
    }
    // Those that were killed leave their sockets behind.
    let mut all = members.all("");
    IDS.iter().for_each(|node| drop(members.status(node)));
    all.iter_mut().for_each(super::world::Candidate::kill);
    refused(&ask(&["status"]), 125, &words);
    let socket = members.world.path().join("elsewhere").display().to_string();
    refused(&ask(&["status", "--socket", &socket]), 125, &["no member", "elsewhere", "start one"]);
}

/// It hears no majority: somebody may lead whom it does not hear.
#[test]
fn a_member_that_is_cut_off_does_not_log_that_nobody_leads() {
    let members = Members::new();
    let (mut all, _job, first) = members.led();
    let follower = (first + 1) % 3;
    (0..3).filter(|place| *place != follower).for_each(|place| all[place].kill());
    all[follower].says("event=leader_unknown");
    all[follower].says("the leader is unknown: ");
    let said = all[follower].messages();
    let (_, later) = said.split_once("event=following").expect("a leader");
    assert!(!later.contains("nobody leads"), "{said}");
}

/// What a member waits for with an order is bounded by the asker's patience, and another order does
/// not get in between.
#[test]
fn an_order_that_hangs_ends_in_time_and_is_alone() {
    let members = Members::new();
    let (all, _job, first) = members.led();
    // The others are there, as far as the primary knows, and do not answer.
    let others = || (0..3).filter(|place| *place != first);
    others().for_each(|place| freeze(all[place].pid()));
    let order = |line: &str| {
        let mut stream = UnixStream::connect(members.socket(IDS[first])).expect("the socket");
        stream.write_all(line.as_bytes()).expect("a reader");
        stream
    };
    let answer = |mut stream: UnixStream| {
        let mut said = String::new();
        stream.read_to_string(&mut said).expect("an answer");
        said
    };
    let hangs = order("{\"ask\":\"pause\",\"for_ms\":null,\"within_ms\":300}\n");
    let too = order("{\"ask\":\"pause\",\"for_ms\":null,\"within_ms\":300}\n");
    // Either may have been read first.
    let both = [answer(hangs), answer(too)];
    for words in ["not done within 300ms; the order still stands", "another order is in progress"] {
        assert!(both.iter().any(|said| said.contains(words)), "no {words:?} in {both:?}");
    }
    // The next is not kept out by the one that was given up.
    let third = answer(order("{\"ask\":\"resume\",\"within_ms\":1}\n"));
    assert!(!third.contains("another order"), "{third}");
    others().for_each(|place| thaw(all[place].pid()));
    // Of the asker's time, the member is told what the way back leaves.
    IDS.iter().for_each(|node| members.settled(node));
    others().for_each(|place| freeze(all[place].pid()));
    let output = members.ask("pause", IDS[first], &["--timeout", "600ms"]);
    refused(&output, 125, &["not done within 500ms", "see `election status`", "--timeout"]);
    others().for_each(|place| thaw(all[place].pid()));
}

/// Whoever gave the order was told that it failed, and may have given another since.
#[test]
fn an_order_given_up_while_the_member_stood_still_is_void() {
    let members = Members::new();
    let (all, job, first) = members.led();
    let other = (first + 1) % 3;
    freeze(all[other].pid());
    let output = members.ask("pause", IDS[other], &["--timeout", "150ms"]);
    refused(&output, 125, &["does not answer within 150ms", "its process is stopped"]);
    thaw(all[other].pid());
    members.settled(IDS[other]);
    let said = text(&members.ask("resume", IDS[other], &[]));
    assert_eq!(said, format!("{}: automatic failover was not paused\n", *NAME));
    assert!(alive(job.pid));
}
