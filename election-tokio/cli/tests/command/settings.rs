//! Where options come from, and which of them wins.

use super::{members::Members, process::eventually, world::World};
use std::{fs, process::Command};

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

/// It can be read only once.
#[test]
fn the_file_may_be_a_pipe() {
    let world = World::new();
    world.output(&mut world.election("schema", &["--apply"]));
    let ask = "\"$0\" check --config <(printf 'store = \"%s\"\\nname = \"n\"\\n' \"$1\")";
    let mut bash = Command::new("bash");
    bash.args(["-c", ask, env!("CARGO_BIN_EXE_election"), &world.url()]);
    let output = world.output(bash.env_remove("ELECTION_STORE").current_dir(world.path()));
    assert_eq!(text(&output.stdout), "n: nobody leads, so this host does not\n", "{output:?}");
    // A pipe lies nowhere: its paths are those of whoever reads it.
    let mut bash = Command::new("bash");
    bash.args(["-c", ask, env!("CARGO_BIN_EXE_election"), "sqlite:data/e.db"]);
    let output = world.output(bash.env_remove("ELECTION_STORE").current_dir(world.path()));
    assert_eq!(text(&output.stdout), "n: nobody leads, so this host does not\n", "{output:?}");
}
