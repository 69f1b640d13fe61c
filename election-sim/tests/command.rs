//! The command `election-sim`: its output and its exit codes.

use std::{
    path::PathBuf,
    process::{Command, Output},
};

fn command(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_election-sim"))
        .args(arguments)
        .current_dir(scratch())
        .env_remove("UPDATE")
        .output()
        .expect("the command runs")
}

fn scratch() -> PathBuf {
    let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    std::fs::create_dir_all(&directory).expect("a directory");
    directory
}

fn file(name: &str, text: &str) -> String {
    let path = scratch().join(name);
    std::fs::write(&path, text).expect("a file");
    path.display().to_string()
}

#[track_caller]
fn expect(arguments: &[&str], code: i32, says: &str) {
    let output = command(arguments);
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {said}");
    assert!(said.contains(says), "{arguments:?}: {said}");
}

#[test]
fn clean_seeds_exit_with_zero() {
    expect(&["run", "lease", "--seeds", "0..50"], 0, "50 seeds");
    expect(&["run", "lease", "--seeds", "0x10..0x20", "--json"], 0, "\"result\":\"clean\"");
    expect(&["run", "quorum", "--seeds", "0..50"], 0, "50 seeds");
    let legacy = ["run", "quorum", "--legacy", "--seeds", "0..200"];
    expect(&legacy, 0, "beyond the contract, ");
    expect(&["run", "lease", "--shared", "--seeds", "0..9"], 0, "9 seeds");
    expect(&["run", "lease", "--beyond", "--seeds", "0..60"], 0, "exclusion did not hold");
    expect(&["replay", "lease", "0x2a"], 0, "= nothing violated");
    expect(&["shrink", "lease", "7"], 0, "nothing to shrink");
    for arguments in [&["help"][..], &["--help"], &[]] {
        expect(arguments, 0, "Exit codes");
    }
    expect(&["--version"], 0, env!("CARGO_PKG_VERSION"));
    for verb in ["run", "replay", "shrink", "explore", "bench"] {
        expect(&[verb, "--help"], 0, "Usage: election-sim");
    }
}

#[test]
fn a_violation_exits_with_one_and_is_made_small() {
    // In one millisecond nobody can be elected.
    let text = "node a\nnode b\nat 1s for 2s pause b\nat 20s for 100s refuse\n\
                heal 45s core a,b within 1ms\nrun 60s\n";
    let path = file("violated.scn", text);
    expect(&["run", &path], 1, "= liveness");
    expect(&["replay", &path], 1, "= liveness");
    expect(&["shrink", &path], 1, "shrunk in");
    let shrunk = std::fs::read_to_string(scratch().join("target/election-sim/lease-0x0.scn"))
        .expect("the shrunk schedule");
    assert!(!shrunk.contains("pause"), "{shrunk}");
    expect(&["run", &file("shrunk.scn", &shrunk)], 0, "as expected");
    let of_app = format!("# Whether it fails depends on the app of that test.\n{text}");
    expect(&["replay", &file("app.scn", &of_app)], 1, "only the election is played here");
    let other = shrunk.replace("= liveness", "= something else");
    expect(&["run", &file("other.scn", &other)], 1, "differs from its transcript");
}

#[test]
fn a_run_is_drawn_in_one_file_that_needs_nothing_else() {
    let text = "node a named \"<&\"\nnode b\nat 5s for 20s crash b\nat 9s jump a +1s\nrun 40s\n";
    let path = file("drawn.scn", text);
    let draw = |name: &str| {
        let out = scratch().join(name);
        let shown = out.display().to_string();
        expect(&["replay", &path, "--svg", &shown], 0, "= ");
        std::fs::read_to_string(out).expect("the picture")
    };
    let picture = draw("drawn.svg");
    assert!(picture.starts_with("<svg xmlns=") && picture.ends_with("</svg>\n"), "{picture}");
    for part in ["database", "crash b", "jump a +1s", "elected #", "&lt;&amp;", "class=\"trip\""] {
        assert!(picture.contains(part), "{part} is not in\n{picture}");
    }
    assert_eq!(picture.matches('<').count(), picture.matches('>').count());
    assert!(!picture.contains("href") && !picture.contains("<script"), "{picture}");
    let page = draw("drawn.html");
    assert!(page.contains("</svg>") && page.contains("renew #"), "{page}");
    let late = "node a\nat 0s for 50s refuse\nheal 3s core a within 1ms\nrun 9s\n";
    let late = file("late.scn", late);
    expect(&["replay", &late, "--svg", "late.svg"], 1, "= liveness");
    let broken = std::fs::read_to_string(scratch().join("late.svg")).expect("the picture");
    assert!(broken.contains("class=\"bad\""), "{broken}");
    expect(&["replay", &path, "--svg", "no/such/place.svg"], 2, "no/such/place.svg: ");
}

#[test]
fn a_small_world_is_explored() {
    expect(&["explore", "lease", "--depth", "12"], 0, "up to the limit of depth");
    expect(
        &["explore", "lease", "--scope", "twice", "--states", "9000", "--json"],
        0,
        "\"states\"",
    );
    expect(&["explore", "lease", "--mode", "swarm", "--walks", "200"], 0, "in 200 walks");
    expect(
        &["explore", "lease", "--nodes", "3", "--mode", "uniform", "--walks", "9"],
        0,
        "9 walks",
    );
    expect(&["explore"], 2, "explore what?");
    expect(&["explore", "quorum"], 0, "every state seen, nothing violated");
    expect(&["explore", "quorum", "--scope", "n2", "--mode", "swarm", "--walks", "99"], 0, "n2:");
    expect(&["explore", "quorum", "--scope", "fine"], 2, "one of small, resign, n2");
    expect(&["explore", "both"], 2, "cannot explore `both`");
    expect(&["explore", "lease", "--mode", "depth-first"], 2, "bfs, uniform, swarm");
    expect(&["explore", "lease", "--scope", "vast"], 2, "expected all, or one of small, resign");
    expect(&["explore", "lease", "--nodes", "9"], 2, "one to 3");
}

#[test]
fn bad_input_exits_with_two_and_says_where() {
    expect(&["run", &file("bad.scn", "node a\nat 3s explode a\n")], 2, "bad.scn:2:7: `explode`");
    expect(&["run", &file("none.scn", "run 5s\n")], 2, "there are no nodes");
    expect(&["run", "missing.scn"], 2, "missing.scn: ");
    let odd = scratch().join("odd.scn");
    std::fs::write(&odd, b"node a\nrun \xff\n").expect("a file");
    expect(&["run", &odd.display().to_string()], 2, "odd.scn:2:5: this is not UTF-8");
    let twice = file("twice.scn", "node a\nrun 9s\nrun 8s\n");
    expect(&["replay", &twice], 2, "twice.scn:3:1: `run` was already said in line 2");
    expect(&["shrink", &file("odder.scn", "node a\nrun 0s\n")], 2, "odder.scn:2:1: ");
    expect(&["run", "lease", "--seeds", "5..5"], 2, "empty");
    expect(&["run", "lease", "--seeds", "9"], 2, "expected a range");
    expect(&["run", "lease", "--budget", "0"], 2, "more than none");
    expect(&["run", "lease", "--nodes", "0"], 2, "no nodes");
    expect(&["run", "lease", "--nodes", "99999"], 2, "more than 10000");
    expect(&["run", "lease", "--ttl", "0.001"], 2, "too short");
    expect(&["run", "lease", "--engine", "oracle"], 2, "postgres, mysql, sqlite or register");
    expect(&["run", "quorum", "--nodes", "64"], 2, "64");
    expect(&["run"], 2, "run what?");
    expect(&["replay", "lease"], 2, "which seed?");
    expect(&["replay", "lease", "many"], 2, "is no seed");
    expect(&["dance"], 2, "unrecognized subcommand 'dance'");
    expect(&["run", "lease", "--frobnicate"], 2, "frobnicate");
}
