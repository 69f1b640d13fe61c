//! The `.scn` format: a printed schedule can be read back, and every error has its place.

use election_sim::{Schedule, Scn, Swarm};

#[test]
fn every_schedule_survives_being_printed_and_read() {
    let (within, beyond) = (Swarm::within_contract(), Swarm::beyond_contract());
    let shared = within.clone().sharing();
    for swarm in [within.clone(), beyond.clone(), shared, within.of_quorum(), beyond.of_quorum()] {
        for seed in 0..300 {
            let scn = Scn::new(swarm.schedule(seed));
            let text = scn.to_string();
            let read: Scn = text.parse().unwrap_or_else(|why| panic!("{why}\n{text}"));
            assert_eq!(read, scn, "{text}");
            assert_eq!(read.to_string(), text);
        }
    }
}

#[test]
fn a_new_transcript_leaves_everything_else_alone() {
    let text = "# about\nnode a # the only one\n\n# in between\nrun 9s";
    let once = Scn::rewritten(text, "one\n");
    assert_eq!(once, format!("{text}\n----\none\n"));
    assert_eq!(Scn::rewritten(&once, "two\n"), format!("{text}\n----\ntwo\n"));
    assert_eq!(once.parse::<Scn>().unwrap().transcript.as_deref(), Some("one\n"));
}

#[test]
fn odd_names_survive() {
    let mut schedule = Schedule::calm(3, std::time::Duration::from_secs(15));
    schedule.nodes[1].name = "o'brien \"\\🦀 # not a comment".into();
    schedule.nodes[2].name = "\u{a0}\u{200b} ".into();
    let scn = Scn::new(schedule);
    assert_eq!(scn.to_string().parse::<Scn>().unwrap(), scn);
}

#[track_caller]
fn refused(text: &str, line: usize, column: usize, what: &str) {
    let error = text.parse::<Scn>().expect_err(text);
    assert_eq!((error.line, error.column), (line, column), "{error}");
    assert!(error.what.contains(what), "{error}");
}

#[test]
fn what_cannot_be_read_is_located() {
    refused("node a\nrum 60s\n", 2, 1, "`rum` begins no statement");
    refused("node a\nat 3s crash a\nrun 9s\n", 2, 7, "say how long: `for 5s crash`");
    refused("node a\nat 3s for 1s resign a\nrun 9s\n", 2, 7, "at one instant");
    refused("node a\nat three crash a\n", 2, 4, "expected a span of time");
    refused("node a\nat 3s for 5s crash b\n", 2, 20, "no node `b`");
    refused("node a named \"b\\n\"\nrun 9s\n", 1, 1, "control character U+000A");
    refused("node b\n", 1, 6, "expected `a`");
    refused("node a named a\n", 1, 14, "in quotes");
    refused("node a\nat 1s for 2s cut a sideways\n", 2, 20, "`both` or `requests` or `replies`");
    refused("node a\nat 0s statement a 1 eaten\n", 2, 21, "`phantom`, found `eaten`");
    refused("node a\nlatency 1ms..\n", 2, 9, "1ms..5ms");
    refused("node a\nrun 9s extra\n", 2, 8, "unexpected `extra`");
    refused("node a\nrun\n", 2, 4, "expected a span");
    refused("node a clock 5\n", 1, 14, "parts per million");
    refused("seed x\n", 1, 6, "a seed");
}

#[test]
fn what_contradicts_itself_or_cannot_be_is_located() {
    refused("", 1, 1, "say how long it runs");
    refused("run 60s\n", 1, 1, "no nodes");
    refused("node a\nrun 0s\n", 2, 1, "has no length");
    refused("node a\nrun 99999999999s\n", 2, 5, "expected a span");
    refused("node a\nrun 40000d\n", 2, 1, "a hundred years");
    refused("node a\nrun 60s\nrun 70s\n", 3, 1, "already said in line 2");
    refused("node a\nlatency 5ms..1ms\nrun 9s\n", 2, 1, "ends before it begins");
    refused("ttl 1ms\nnode a\nrun 9s\n", 1, 1, "too short");
    // river#216: a lease as long as the renewal interval.
    refused("ttl 5s\ninterval 5s\nnode a\nrun 9s\n", 1, 1, "ttl 5s is too short for interval 5s");
    refused("node a named \"\"\nrun 9s\n", 1, 1, "is empty");
    refused("node a clock -2000000ppm\nrun 9s\n", 1, 1, "backwards");
    refused("node a observer\nheal 3s core a within 9s\nrun 9s\n", 2, 1, "is a candidate");
    refused(
        "node a\nat 5s for 1s refuse\nheal 3s core a within 9s\nrun 9s\n",
        2,
        1,
        "after the heal",
    );
}

#[test]
fn what_cannot_be_of_a_quorum_is_located() {
    refused("heartbeat 9ms\nnode a\nrun 9s\n", 1, 1, "say `quorum 5s` before it");
    refused("quorum 5s\nnode a\nat 1s for 1s refuse\nrun 9s\n", 3, 1, "what is not there");
    refused("node a\nat 1s for 1s lag a\nrun 9s\n", 2, 1, "what is not there");
    refused("quorum 5s\nelection-timeout 5s\nnode a\nnode b\nrun 9s\n", 1, 1, "election");
    refused("quorum 5s\nnode a data 5\nrun 9s\n", 2, 13, "as in 3/120");
    refused("quorum 5s\nnode a\nat 1s disk a wet\nrun 9s\n", 3, 14, "`stale 3s`");
    refused("quorum 5s\nnode a\nat 1s for 1s saves a slowly\nrun 9s\n", 3, 22, "`lying`");
    refused("quorum 5s\nsave 5ms..1ms\nnode a\nrun 9s\n", 2, 1, "ends before it begins");
    refused("quorum 5s\nnode a named \"a b\"\nrun 9s\n", 1, 1, "a b");
}
