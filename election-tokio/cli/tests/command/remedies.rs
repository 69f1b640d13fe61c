//! What newcomers write by mistake, and the remedy that each of them is told.

use super::{
    members::{IDS, Members, refused},
    process::eventually,
    server::Mute,
    world::{World, block_on},
};
use sqlx::{ConnectOptions as _, Executor as _, sqlite::SqliteConnectOptions};
use std::{fs, os::unix::fs::PermissionsExt as _};

#[test]
fn a_value_that_cannot_be_is_told_with_those_that_can() {
    let world = World::new();
    let file = |text: &str| {
        let path = world.path().join("settings.toml");
        fs::write(&path, text).expect("a file of our own");
        path.to_str().expect("UTF-8").to_owned()
    };
    let run = |options: &[&str]| {
        world.output(&mut world.election("run", &[options, &["--", "true"]].concat()))
    };
    refused(&run(&["--min-epoch", "-5"]), 125, &["--min-epoch", "a whole number, not below 0"]);
    refused(&run(&["--conflict-exit-code", "-1"]), 125, &["a whole number from 0 to 255"]);
    refused(&run(&["--ttl", "0s"]), 125, &["--ttl: a ttl of 0", "at least 100ms"]);
    refused(&run(&["--clock-step", "900d"]), 125, &["--clock-step: ", "at most a year"]);
    refused(&run(&["--at-least-for", "9d"]), 125, &["--at-least-for: ", "at most 24 hours"]);
    let both = run(&["--try", "--wait", "3s"]);
    refused(&both, 125, &["both --try and --wait say how long to wait", "keep one"]);
    assert!(!String::from_utf8_lossy(&both.stderr).contains("Usage"), "{both:?}");
    let config = file("on-lost = \"explode\"\n");
    let words = ["line 1 (`on-lost`)", "write \"stop\" or \"restart\""];
    refused(&run(&["--config", &config]), 125, &words);
    let config = file("naem = \"n\"\n");
    refused(&run(&["--config", &config]), 125, &["`naem` (did you mean `name`?)"]);
    let pages = file("");
    let man = world.output(&mut world.bare(&["man", &pages]));
    refused(&man, 125, &["settings.toml is a file", "name a folder"]);
    let man = world.output(&mut world.bare(&["man", "/proc/pages"]));
    refused(&man, 125, &["/proc/pages: ", "name a folder that you may write to"]);
}

/// It is the same file to those who only want to say which database.
#[test]
fn a_database_given_as_store_file_is_told_the_right_option() {
    let world = World::new();
    world.output(&mut world.election("schema", &["--apply"]));
    let database = world.database().display().to_string();
    let output = world.output(&mut world.bare(&["status", "--store-file", &database]));
    let words = ["--store-file takes a file that holds the database's URL", "SQLite database"];
    refused(&output, 125, &words);
    refused(&output, 125, &[&format!("--store sqlite:{database}")]);
    let bytes = world.path().join("bytes");
    fs::write(&bytes, b"\xff\xfe").expect("a file of our own");
    let bytes = bytes.display().to_string();
    let output = world.output(&mut world.bare(&["status", "--store-file", &bytes]));
    refused(&output, 125, &["holds the database's URL", "is not text"]);
}

/// What is written in one file is right in the other.
#[test]
fn a_key_may_have_underscores_in_every_file() {
    let world = World::new();
    let config = world.path().join("settings.toml");
    let text = "at_least_for = \"9d\"\nclock_step = \"1s\"\nconflict_exit_code = 3\n";
    fs::write(&config, text).expect("a file of our own");
    let run = || {
        let config = config.to_str().expect("UTF-8");
        world.output(&mut world.election("run", &["--config", config, "--", "true"]))
    };
    refused(&run(), 125, &["--at-least-for: ", "at most 24 hours"]);
    fs::write(&config, "hook_timeout = 1\n").expect("a file of our own");
    refused(&run(), 125, &["hook_timeout", "write a time with its unit"]);
    fs::write(&config, "min_epoch = 1\nmin-epoch = 1\n").expect("a file of our own");
    refused(&run(), 125, &["`min-epoch` is here twice"]);
    fs::write(&config, "at_least = \"1s\"\n").expect("a file of our own");
    refused(&run(), 125, &["did you mean `at-least-for`?"]);
    fs::write(&config, "{\"ttl\": 5}\n").expect("a file of our own");
    refused(&run(), 125, &["line 1: this is not TOML; write KEY = VALUE"]);
    fs::write(&config, "at_least = \"1s\"\n").expect("a file of our own");
    assert!(!String::from_utf8_lossy(&run().stderr).contains("at_least_for"));
}

#[test]
fn what_members_are_asked_is_no_subcommand_of_cluster() {
    let world = World::new();
    for command in ["status", "list", "observe", "resign", "pause", "resume", "run"] {
        let output = world.output(&mut world.bare(&["cluster", command]));
        let told = format!("write: election {command} --cluster FILE");
        refused(&output, 125, &["`election cluster` only writes and checks files", &told]);
    }
    let output = world.output(&mut world.bare(&["cluster", "nonsense"]));
    refused(&output, 125, &["unrecognized subcommand 'nonsense'"]);
}

/// What it waited for, and what helps.
#[test]
fn a_wait_in_a_cluster_that_is_over_says_what_is_missing() {
    let members = Members::new();
    let output = members.ask("run", "n1", &["--wait", "500ms", "true"]);
    let words = [
        "not elected in time: nobody is known to lead",
        "too few members are heard (n2, n3 are not)",
        "start them, or look at the network",
    ];
    refused(&output, 124, &words);
}

#[test]
fn a_url_is_checked_before_anybody_is_asked() {
    let world = World::new();
    let [postgres, mysql] = Mute::start().urls();
    for (url, words) in [
        (format!("{postgres}?sslmode=reqire"), &["sslmode=reqire", "require, verify-ca"][..]),
        (format!("{mysql}?ssl-mode=reqire"), &["ssl-mode=reqire", "REQUIRED, VERIFY_CA"]),
        (
            format!("{postgres}?sslrootcert=/no/ca.pem"),
            &["\"/no/ca.pem\" (sslrootcert)", "correct the path"],
        ),
        (format!("{mysql}?ssl-ca=/no/ca.pem"), &["\"/no/ca.pem\" (ssl-ca)", "correct the path"]),
    ] {
        for command in [&["run"][..], &["status"]] {
            let mut asks = world.on(&url, command[0], &["--name", "n"]);
            if command[0] == "run" {
                asks.args(["--", "true"]);
            }
            refused(&world.output(&mut asks), 125, words);
        }
    }
}

#[test]
fn a_job_that_cannot_be_executed_is_told_why() {
    let world = World::new();
    let script = |name: &str, text: &str, mode: u32| {
        let path = world.path().join(name);
        fs::write(&path, text).expect("a file of our own");
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("our own file");
        path.to_str().expect("UTF-8").to_owned()
    };
    let (closed, headless) = (script("closed", "", 0o644), script("headless", "#!/no/sh\n", 0o755));
    for (job, code, words) in [
        ("no-such-program", 127, ["the job no-such-program:", "in PATH"]),
        ("echo hi", 127, ["a word of its own", "sh -c"]),
        ("/no/such/program", 127, ["there is no such file", "correct the path"]),
        (&headless, 127, ["(#!) is not there", "correct that line"]),
        (&closed, 126, ["may not execute it", "chmod +x"]),
        ("/tmp", 126, ["is a directory", "path of a program"]),
    ] {
        let run = world.output(&mut world.election("run", &["--", job]));
        refused(&run, code, &words);
    }
}

#[test]
fn what_another_command_can_do_is_told_where_this_one_cannot() {
    let world = World::new();
    for command in ["hold", "serve"] {
        for job in [&["--", "true"][..], &["true"]] {
            let output = world.output(&mut world.election(command, job));
            let words = [&format!("`election {command}` runs no job"), "election run"];
            refused(&output, 125, &words);
        }
    }
    for command in ["pause", "resume"] {
        for option in [["--store", "sqlite:e.db"], ["--name", "n"]] {
            let output = world.output(&mut world.bare(&[&[command], &option[..]].concat()));
            let words = ["only a cluster's failover is paused", "--cluster FILE"];
            refused(&output, 125, &words);
        }
    }
}

/// In the environment or a file it is for all starts.
#[test]
fn a_limit_on_hooks_wants_a_hook() {
    let world = World::new();
    let run = |options: &[&str]| {
        world.output(&mut world.election("run", &[options, &["--", "true"]].concat()))
    };
    let words = ["--hook-timeout limits a hook", "--on-lead"];
    refused(&run(&["--hook-timeout", "3s"]), 125, &words);
    assert!(run(&["--hook-timeout", "3s", "--on-lose", "true"]).status.success());
    let mut all = world.election("run", &["--", "true"]);
    assert!(world.output(all.env("ELECTION_HOOK_TIMEOUT", "3s")).status.success());
}

/// Whether an upgrade helps, only the tables' owner knows.
#[test]
fn tables_of_another_program_are_not_to_be_upgraded_blindly() {
    let world = World::new();
    world.url();
    let sql = "CREATE TABLE election_leader (id INTEGER PRIMARY KEY, who TEXT); \
               CREATE TABLE election_candidate (id INTEGER PRIMARY KEY, who TEXT)";
    block_on(async {
        let options = SqliteConnectOptions::new().filename(world.database());
        let mut connection = options.create_if_missing(true).connect().await.expect("a database");
        connection.execute(sql).await.expect("tables");
    });
    for command in ["status", "list", "resign", "check"] {
        let output = world.output(&mut world.election(command, &[]));
        refused(&output, 125, &["lacks a column", "another program's", "another schema"]);
    }
}

/// Scripts go on by it.
#[test]
fn who_resigns_nobody_is_told_by_the_exit_code() {
    let world = World::new();
    world.output(&mut world.election("schema", &["--apply"]));
    for options in [&[][..], &["--json"]] {
        let output = world.output(&mut world.election("resign", options));
        assert_eq!(output.status.code(), Some(1), "{output:?}");
    }
    // It has left, and its lease is kept.
    let kept = ["--at-least-for", "10m", "--", "true"];
    assert!(world.output(&mut world.election("run", &kept)).status.success());
    let output = world.output(&mut world.election("resign", &[]));
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    // In a cluster, too: alone, a member of three knows of nobody.
    let members = Members::new();
    let _lone = members.start("n1", "");
    let resigned = eventually("an answer", || {
        let output = members.ask("resign", "n1", &[]);
        String::from_utf8_lossy(&output.stderr).contains("is not known who").then_some(output)
    });
    refused(&resigned, 125, &["nobody was asked", "ask a member that hears a majority"]);
}

#[test]
fn a_question_may_be_answered_by_the_exit_code_alone() {
    let world = World::new();
    world.output(&mut world.election("schema", &["--apply"]));
    let config = world.path().join("quiet.toml");
    fs::write(&config, "quiet = true\n").expect("a file of our own");
    let config = config.to_str().expect("UTF-8");
    let silent = |options: &[&str], code: i32| {
        let output = world.output(&mut world.election("check", options));
        assert_eq!(output.status.code(), Some(code), "{output:?}");
        assert!(output.stdout.is_empty() && output.stderr.is_empty(), "{output:?}");
    };
    silent(&["--quiet"], 1);
    let _leader = world.candidate("one", &["--ttl", "60s"], "");
    world.start_after(0);
    silent(&["-q"], 0);
    silent(&["-q", "--node", "two"], 1);
    silent(&["--config", config], 0);
    // What went wrong is no answer.
    let nowhere = world.output(&mut world.bare(&["check", "-q", "--store", "sqlite:no.db"]));
    refused(&nowhere, 125, &["no election is named"]);
}

/// A member that was killed leaves its socket behind, and its last words with the others.
#[test]
fn the_dead_are_neither_primary_nor_asked_for() {
    let members = Members::new();
    let (mut all, _, first) = members.led();
    let others: Vec<_> = (0..3).filter(|place| *place != first).collect();
    members.until("its word that it leads", IDS[others[0]], |status| {
        let peers = status["peers"].as_array().expect("peers");
        peers.iter().any(|peer| peer["heard"]["role"] == "primary")
    });
    all[first].kill();
    members.until("the dead one silent", IDS[others[0]], |status| {
        let peers = status["peers"].as_array().expect("peers");
        peers.iter().any(|peer| peer["refusal"] == "not heard")
    });
    for command in ["status", "list"] {
        let output = members.ask(command, IDS[others[0]], &[]);
        let text = super::control::text(&output);
        let row =
            text.lines().find(|line| line.trim_start().starts_with(&format!("{} ", IDS[first])));
        let row = row.unwrap_or_else(|| panic!("{text}"));
        assert!(row.contains("was primary") && row.contains(" ago"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }
    all[others[1]].kill();
    // One of three runs on this machine, and need not be named.
    let mut only = members.bare(&["status", "--cluster"]);
    let output = members.world.output(only.arg(members.file()));
    let member = format!("member    {} ", IDS[others[0]]);
    assert!(super::control::text(&output).contains(&member), "{output:?}");
}

/// What holds for a file of settings holds for that of a cluster.
#[test]
fn cluster_file_keys_take_hyphens_and_underscores() {
    let members = Members::new();
    let file = fs::read_to_string(members.file()).expect("a file of our own");
    for (spelled, span) in [("down-after", "7s"), ("down_after", "9s")] {
        let text = file.replace("down_after = \"2s\"", &format!("{spelled} = {span:?}"));
        fs::write(members.file(), text).expect("a file of our own");
        let run = members.ask("run", "n1", &["--grace", "1h", "true"]);
        refused(&run, 125, &[&format!("for a down-after of {span}")]);
        let said = String::from_utf8_lossy(&run.stderr);
        assert!(!said.contains("down_after"), "{said}");
    }
    let unknown = file.replace("down_after", "down");
    fs::write(members.file(), unknown).expect("a file of our own");
    let run = members.ask("run", "n1", &["true"]);
    refused(&run, 125, &["`down` (did you mean `down-after`?)", "fail-back"]);
    let said = String::from_utf8_lossy(&run.stderr);
    assert!(!said.contains("down_after") && !said.contains("fail_back"), "{said}");
}

#[test]
fn help_shows_how_a_command_is_used() {
    let world = World::new();
    let help = |words: &[&str]| {
        let output = world.output(&mut world.bare(&[words, &["--help"]].concat()));
        String::from_utf8(output.stdout).expect("UTF-8")
    };
    for command in [
        &["run"][..],
        &["hold"],
        &["check"],
        &["status"],
        &["list"],
        &["observe"],
        &["resign"],
        &["pause"],
        &["resume"],
        &["cluster", "init"],
        &["cluster", "add-key"],
        &["cluster", "check"],
        &["serve"],
        &["schema"],
        &["completions"],
        &["man"],
        &["demo"],
    ] {
        let text = help(command);
        let (_, examples) = text.split_once("\nExamples:\n").unwrap_or_else(|| panic!("{text}"));
        assert!(examples.contains("election "), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        assert!(text.contains("\nExit codes: "), "{text}");
    }
    let words = |text: String| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let run = words(help(&["run"]));
    assert!(run.contains("two and a half times `down-after`: 12s by default"), "{run}");
    assert!(run.contains("others read \"NODE leads at TEXT\""), "{run}");
    let resign = words(help(&["resign"]));
    assert!(resign.contains("1 nothing more will happen: nobody leads"), "{resign}");
    // What has a default need not be written.
    let init = world.output(&mut world.bare(&["cluster", "init"]));
    refused(&init, 125, &["Usage: election cluster init [OPTIONS] <ID=HOST:PORT>..."]);
    let wrong = world.output(&mut world.bare(&["cluster", "init", "n1"]));
    assert!(!String::from_utf8_lossy(&wrong.stderr).contains("--out"), "{wrong:?}");
    let init = words(help(&["cluster", "init"]));
    assert!(init.contains("ELECTION_NAME. Clusters that share a machine"), "{init}");
}

#[test]
fn times_that_are_left_are_called_so() {
    let world = World::new();
    let _leader = world.candidate("one", &["--ttl", "60s"], "");
    world.start_after(0);
    world.listed(1);
    for (options, heading) in [(&[][..], "LISTING LEFT"), (&["--elections"], "LEASE LEFT")] {
        let output = world.output(&mut world.election("list", options));
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(said.lines().next().is_some_and(|line| line.ends_with(heading)), "{said}");
    }
}
