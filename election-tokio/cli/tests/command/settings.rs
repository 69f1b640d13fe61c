//! Where options come from, and which of them wins.

use super::{
    members::{Members, refused},
    process::eventually,
    world::World,
};
use rustix::process::Signal;
use std::{
    fs,
    path::Path,
    process::{Command, Output},
};

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Writes a TOML file and returns its path.
fn file(world: &World, text: &str) -> String {
    let path = world.path().join("election.toml");
    fs::write(&path, text).expect("a file of our own");
    path.to_str().expect("a path in UTF-8").to_owned()
}

const SHOW: [&str; 4] = ["--", "sh", "-c", "echo $ELECTION_NAME/$ELECTION_NODE"];

#[test]
fn the_command_line_wins_then_the_environment_then_the_file() {
    let world = World::new();
    let url = world.url();
    let config = file(&world, &format!("store = {url:?}\nname = \"filed\"\nnode = \"filed\"\n"));
    let run = |variables: &[(&str, &str)], options: &[&str]| -> String {
        let mut command = world.bare(&["run"]);
        command.args(options).args(SHOW).envs(variables.iter().copied());
        let output = world.output(&mut command);
        assert!(output.status.success(), "{output:?}");
        text(&output.stdout).trim().to_owned()
    };
    let from_file = ("ELECTION_CONFIG", config.as_str());
    let variables = [from_file, ("ELECTION_NAME", "env"), ("ELECTION_NODE", "env")];
    assert_eq!(run(&[], &["--config", &config]), "filed/filed");
    assert_eq!(run(&[from_file], &[]), "filed/filed");
    assert_eq!(run(&variables, &[]), "env/env");
    assert_eq!(run(&variables, &["--node", "flag"]), "env/flag");
    let named = ["--name", "flag", "--node", "flag"];
    assert_eq!(run(&[("ELECTION_STORE", &url)], &named), "flag/flag");
    // A wrong store does not matter when a better one is named before it.
    let config = file(&world, "store = \"nonsense\"\n");
    let with = |more: &[&str]| run(&[], &[&named[..], &["--config", &config], more].concat());
    assert_eq!(with(&["--store", &url]), "flag/flag");
    let secret = world.path().join("url");
    fs::write(&secret, format!("{url}\n")).expect("a file of our own");
    let secret = secret.to_str().expect("a path in UTF-8");
    assert_eq!(with(&["--store-file", secret]), "flag/flag");
    let wrong = ("ELECTION_STORE", "nonsense");
    assert_eq!(run(&[wrong], &[&named[..], &["--store-file", secret]].concat()), "flag/flag");
    let (filed, wrong) = (("ELECTION_STORE_FILE", secret), ("ELECTION_STORE_FILE", "no/such/file"));
    assert_eq!(run(&[filed], &[&named[..], &["--config", &config]].concat()), "flag/flag");
    assert_eq!(run(&[wrong], &[&named[..], &["--store", &url]].concat()), "flag/flag");
    let config = file(&world, &format!("store-file = {secret:?}\nname = \"n\"\nnode = \"m\"\n"));
    assert_eq!(run(&[], &["--config", &config]), "n/m");
}

#[test]
fn every_option_can_be_in_the_file() {
    let world = World::new();
    let url = world.url();
    let config = file(
        &world,
        &format!(
            "store = {url:?}\nname = \"n\"\nnode = \"me\"\nlabel = \"10.0.0.1:80\"\nttl = \"9s\"\n\
             grace = \"1s\"\nwait = \"20s\"\non-lost = \"stop\"\nmin-epoch = 2000000000000\n\
             no-schema = false\nallow-setuid = true\nisolate = false\nleave-timeout = \"3s\"\ntimeout = \"9s\"\n\
             interval = \"2s\"\nconflict-exit-code = 75\nat-least-for = \"20s\"\nclock-step = \"5m\"\n"
        ),
    );
    // The job looks at its own election, with nothing but what it was given.
    let election = env!("CARGO_BIN_EXE_election");
    let status = [election, "status", "--json", "--config", &config];
    let arguments = [&["run", "--config", &config, "--"][..], &status].concat();
    let output = world.output(&mut world.bare(&arguments));
    assert!(output.status.success(), "{output:?}");
    let status: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(status["name"], "n");
    assert_eq!(status["leader"], "me");
    assert_eq!(status["label"], "10.0.0.1:80");
    assert_eq!(status["ttl_ms"], 20_000, "for at least so long");
    assert!(status["remaining_ms"].as_u64() > Some(300_000), "kept for longer: {status}");
    assert_eq!(status["epoch"], 2_000_000_000_000_u64);
}

/// A value that cannot be is refused, which shows that it is used; and it is refused under the option's
/// name.
#[test]
fn every_value_in_the_file_is_used() {
    let world = World::new();
    let told = |mut command: Command, line: &str, option: &str| {
        let config = file(&world, line);
        // The job, if there is one, comes last.
        let words: Vec<_> = command.get_args().map(ToOwned::to_owned).collect();
        let (name, rest) = words.split_first().expect("a command");
        let mut with = Command::new(command.get_program());
        with.arg(name).args(["--config", &config]).args(rest);
        with.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        with.current_dir(world.path());
        command = with;
        let output = world.output(&mut command);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(125), "{command:?}, {line}: {said}");
        assert!(said.contains(option), "{command:?}, {line}: {said}");
    };
    for (line, option) in [
        ("ttl = \"1ms\"", "--ttl"),
        ("grace = \"48h\"", "grace 172800s"),
        ("interval = \"48h\"", "interval 172800s"),
        ("at-least-for = \"48h\"", "--at-least-for"),
        ("clock-step = \"9999h\"", "--clock-step"),
        ("hook-timeout = \"0s\"", "`hook-timeout`"),
        ("wait = \"0s\"", "`wait`"),
        ("label = \"\\u0007\"", "--label"),
        ("node = \"\\u0007\"", "--node"),
        ("schema = \"x\"", "--schema"),
        ("http = \"x\"", "--http"),
        ("on-change = \"\"", "--on-change"),
    ] {
        told(world.election("run", &["--", "true"]), line, option);
    }
    for command in ["status", "check", "list", "resign"] {
        told(world.election(command, &[]), "timeout = \"0s\"", "`timeout`");
    }
    told(world.election("schema", &["--apply"]), "timeout = \"0s\"", "`timeout`");
    let members = Members::new();
    for (line, option) in [
        ("label = \"\\u0007\"", "--label"),
        ("grace = \"48h\"", "--grace"),
        ("listen = \"x\"", "--listen"),
    ] {
        told(members.command("run", "n1", &["--", "true"]), line, option);
    }
    for command in ["status", "check", "resign"] {
        told(members.command(command, "n1", &[]), "timeout = \"0s\"", "`timeout`");
    }
    assert!(!world.database().exists(), "nobody was elected for that");
}

#[test]
fn how_to_wait_and_how_to_say_it_can_be_in_the_file() {
    let world = World::new();
    let _leader = world.candidate("leader", &["--ttl", "60s"], "");
    world.start_after(0);
    let run = |text: &str, options: &[&str]| {
        let config = file(&world, text);
        let options = [&["--config", &config], options, &["--", "true"]].concat();
        let output = world.output(&mut world.election("run", &options));
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (code, said) = run("try = true\n", &[]);
    assert!(code == Some(124) && said.contains("somebody else leads"), "{said}");
    let (code, said) = run("try = true\nquiet = true\n", &[]);
    assert_eq!((code, said.as_str()), (Some(124), ""));
    // Whoever is told to wait on the command line waits.
    let (code, said) = run("try = true\njson = true\n", &["--wait", "300ms"]);
    let lines: Vec<serde_json::Value> =
        said.lines().map(|line| serde_json::from_str(line).expect(line)).collect();
    assert_eq!((code, &lines[lines.len() - 1]["event"]), (Some(124), &"not_elected".into()));
    assert!(said.contains("not elected in time: leader"), "{said}");
    let (code, said) = run("try = true\nwait = \"1s\"\n", &[]);
    assert!(
        code == Some(125) && said.contains("both `try` in --config") && said.contains("keep one"),
        "{said}"
    );
    let config = file(&world, "json = true\n");
    let status = world.output(&mut world.election("status", &["--config", &config]));
    let status: serde_json::Value = serde_json::from_slice(&status.stdout).expect("JSON");
    assert_eq!(status["leader"], "leader");
}

#[test]
fn the_node_to_check_can_be_in_the_file() {
    let world = World::new();
    let _leader = world.candidate("one", &["--ttl", "60s"], "");
    world.start_after(0);
    for (node, code) in [("one", 0), ("two", 1)] {
        let config = file(&world, &format!("node = \"{node}\"\n"));
        let output = world.output(&mut world.election("check", &["--config", &config]));
        assert_eq!(output.status.code(), Some(code), "{node}: {output:?}");
    }
}

#[test]
fn the_member_to_ask_can_be_in_the_file() {
    let members = Members::new();
    let elsewhere = members.world.path().join("elsewhere.sock");
    let elsewhere = elsewhere.to_str().expect("UTF-8");
    let _n1 = members.start("n1", "");
    let _n2 = members.world.start(members.run("n2", &["--socket", elsewhere], ""));
    members.status("n1");
    let asked = |more: &str| {
        let config = file(&members.world, &format!("cluster = \"cluster.toml\"\n{more}"));
        eventually("an answer", || {
            let output =
                members.world.output(&mut members.bare(&["status", "--json", "--config", &config]));
            let status = serde_json::from_slice::<serde_json::Value>(&output.stdout).ok()?;
            Some(status["node"].as_str()?.to_owned())
        })
    };
    assert_eq!(asked("node = \"n1\"\n"), "n1");
    assert_eq!(asked(&format!("node = \"n2\"\nsocket = {elsewhere:?}\n")), "n2");
}

/// A time in which nobody answers is refused wherever it is said, and needs no slow database.
#[test]
fn the_time_for_a_look_can_be_in_the_file() {
    let world = World::new();
    world.output(&mut world.election("schema", &["--apply"]));
    let config = file(&world, "timeout = \"0s\"\n");
    for look in [&["status"][..], &["list"], &["list", "--elections"]] {
        let mut command = world.election(look[0], &look[1..]);
        assert!(world.output(&mut command).status.success(), "{look:?}");
        command.args(["--config", &config]);
        refused(&world.output(&mut command), 125, &["it is zero; write a longer time"]);
    }
}

#[test]
fn hooks_can_be_in_the_file() {
    let world = World::new();
    let note = |kind: &str| format!("on-{kind} = \"echo $ELECTION_EVENT >> {kind}\"\n");
    let config = file(&world, &["lead", "lose", "change"].map(note).concat());
    let options = ["--ttl", "60s", "--grace", "2s", "--config", &config];
    let mut only = world.candidate("only", &options, "");
    world.start_after(0);
    let noted = |kind: &str| fs::read_to_string(world.path().join(kind)).unwrap_or_default();
    // A hook that has not begun before leadership ends is left out.
    for (kind, line) in [("lead", "lead\n"), ("change", "change\n")] {
        eventually(kind, || (noted(kind) == line).then_some(()));
    }
    only.send(Signal::TERM);
    assert_eq!(only.exit(), Some(0), "{}", only.messages());
    for (kind, lines) in [("lead", "lead\n"), ("lose", "lose\n"), ("change", "change\nchange\n")] {
        assert_eq!(noted(kind), lines, "{kind}");
    }
}

#[test]
fn the_interval_can_be_in_the_file() {
    let world = World::new();
    let config = file(&world, "ttl = \"600s\"\ninterval = \"100ms\"\n");
    let _often = world.candidate("often", &["--config", &config], "");
    world.start_after(0);
    eventually("renewals", || (world.row().renewals >= 3).then_some(()));
}

#[test]
fn that_no_tables_are_made_can_be_in_the_file() {
    let world = World::new();
    let config = file(&world, "no-schema = true\n");
    let run = world.output(&mut world.run(&["--config", &config], "exit=0"));
    refused(&run, 125, &["schema --apply"]);
}

/// Wherever one starts from: else one file would be two databases, and two leaders.
#[test]
fn paths_in_the_file_are_those_of_its_directory() {
    let world = World::new();
    let _leader = world.candidate("leader", &["--ttl", "60s"], "");
    world.start_after(0);
    let place = world.path().join("data");
    fs::write(place.join("url"), world.url()).expect("a file of our own");
    for text in ["store = \"sqlite:e.db\"\n", "store-file = \"url\"\n"] {
        let config = place.join("election.toml");
        fs::write(&config, text).expect("a file of our own");
        for (from, named) in [("/", &*config), ("data", Path::new("election.toml"))] {
            let mut status = world.bare(&["status", "--json", "--name", "default", "--config"]);
            status.arg(named).current_dir(world.path().join(from));
            let output = world.output(&mut status);
            let said: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
            assert_eq!(said["leader"], "leader", "{text} from {from}: {output:?}");
        }
    }
}

/// It can be read only once.
#[test]
fn the_file_may_be_a_pipe() {
    let world = World::new();
    world.output(&mut world.election("schema", &["--apply"]));
    let ask = "\"$0\" check --config <(printf 'store = \"%s\"\\nname = \"n\"\\n' \"$1\")";
    let mut bash = Command::new("bash");
    bash.args(["-c", ask, env!("CARGO_BIN_EXE_election"), &world.url()]);
    let output = world.output(bash.env_remove("ELECTION_STORE").current_dir(world.path()));
    assert_eq!(text(&output.stdout), "n: nobody leads\n", "{output:?}");
    // A pipe lies nowhere: its paths are those of whoever reads it.
    let mut bash = Command::new("bash");
    bash.args(["-c", ask, env!("CARGO_BIN_EXE_election"), "sqlite:data/e.db"]);
    let output = world.output(bash.env_remove("ELECTION_STORE").current_dir(world.path()));
    assert_eq!(text(&output.stdout), "n: nobody leads\n", "{output:?}");
}

#[test]
fn the_least_epoch_is_taken_from_wherever_it_is_said() {
    let world = World::new();
    let job = ["--", "sh", "-c", "echo $ELECTION_EPOCH"];
    let epoch = |world: &World, process: &mut Command| -> u64 {
        let output = world.output(process);
        text(&output.stdout).trim().parse().unwrap_or_else(|_| panic!("{output:?}"))
    };
    let mut environment = world.election("run", &job);
    assert_eq!(
        epoch(&world, environment.env("ELECTION_MIN_EPOCH", "3000000000000")),
        3_000_000_000_000
    );
    // Lower than what the database knows: terms grow all the same.
    let lower = [&["--min-epoch", "5"][..], &job].concat();
    assert_eq!(epoch(&world, &mut world.election("run", &lower)), 3_000_000_000_001);
}

#[test]
fn files_that_say_something_else_are_refused_by_name() {
    let world = World::new();
    for (line, words) in [
        ("ttll = \"5s\"", &["ttll", "unknown"][..]),
        ("on_loss = \"stop\"", &["on_loss", "on-lost"]),
        ("ttl = \"soon\"", &["ttl", "write it like \"15s\""]),
        ("ttl = 15", &["ttl", "a time with its unit", "\"15s\""]),
        ("conflict-exit-code = \"7\"", &["conflict-exit-code", "a whole number"]),
        ("leave-timeout = \"-2s\"", &["leave-timeout", "negative", "\"15s\""]),
        ("on-lost = \"panic\"", &["panic", "stop", "restart"]),
        ("store", &["line 2, column 6: "]),
        ("name = \"\"", &["--name", "empty"]),
        ("store-file = \"/dev/null\"", &["both `store` in", "and `store-file` in", "keep one"]),
    ] {
        let config = file(&world, &format!("store = \"sqlite:x\"\n{line}\n"));
        for command in ["run", "status"] {
            let mut process = world.bare(&[command, "--config", &config]);
            if !line.starts_with("name") {
                process.args(["--name", "n"]);
            }
            if command == "run" {
                process.args(["--", "true"]);
            }
            let Output { status, stderr, .. } = world.output(&mut process);
            let stderr = text(&stderr);
            assert_eq!(status.code(), Some(125), "{line}: {stderr}");
            let named = stderr.contains("election.toml") || line.starts_with("name");
            assert!(named, "{line}: {stderr}");
            for each in words {
                assert!(stderr.contains(each), "{line}: no {each:?} in {stderr}");
            }
        }
    }
    let mut missing = world.bare(&["status", "--config", "no/such/file.toml"]);
    let output = world.output(&mut missing);
    assert_eq!(output.status.code(), Some(125));
    assert!(text(&output.stderr).contains("--config no/such/file.toml"), "{output:?}");
}

#[test]
fn the_job_is_told_what_it_leads() {
    let world = World::new();
    let job = "echo \"$ELECTION_NAME $ELECTION_NODE $ELECTION_EPOCH\"";
    let arguments = ["--name", "billing", "--node", "me", "--", "sh", "-c", job];
    let output = world.output(&mut world.election("run", &arguments));
    let stdout = text(&output.stdout);
    let mut words = stdout.split_whitespace();
    assert_eq!((words.next(), words.next()), (Some("billing"), Some("me")), "{output:?}");
    let epoch: u64 = words.next().and_then(|word| word.parse().ok()).expect("an epoch");
    let status = world.output(&mut world.election("status", &["--json", "--name", "billing"]));
    let status: serde_json::Value = serde_json::from_slice(&status.stdout).expect("JSON");
    assert_eq!(status["epoch"], epoch);
}

/// At the start, before anything can go wrong on the way.
#[test]
fn the_log_says_how_the_connection_is_protected() {
    let world = World::new();
    let far = "[::ffff:127.0.0.1]:1/x";
    let exposed = "somebody in between could read the password";
    for (url, words) in [
        (world.url(), ["INFO SQLite at /", "e.db"]),
        (format!("postgres://{far}"), ["INFO PostgreSQL at [::ffff:7f00:1]:1, TLS verified", ""]),
        (format!("mariadb://{far}"), ["INFO MySQL at [::ffff:7f00:1]:1, TLS verified", ""]),
        (format!("postgres://{far}?sslmode=disable"), ["WARN", exposed]),
        (format!("mysql://{far}?ssl-mode=PREFERRED"), ["WARN", exposed]),
        ("postgres://127.0.0.1:1/x".to_owned(), ["INFO PostgreSQL at 127.0.0.1:1", "(loopback)"]),
        (
            "postgres:///x?host=/no/where".to_owned(),
            ["INFO PostgreSQL at /no/where, unix socket", ""],
        ),
    ] {
        let mut run = world.bare(&["run", "--try", "--name", "n", "--store", &url, "--", "true"]);
        let said = text(&world.output(&mut run).stderr);
        for word in words {
            assert!(said.contains(word), "{url}: no {word:?} in {said}");
        }
    }
}
