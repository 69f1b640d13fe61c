//! What newcomers write by mistake, and the remedy that each of them is told.

use super::{members::refused, server::Mute, world::World};
use std::{fs, os::unix::fs::PermissionsExt as _};

#[test]
fn manual_pages_want_a_folder_that_can_be_written() {
    let world = World::new();
    let file = world.path().join("file");
    fs::write(&file, "").expect("a file of our own");
    for (place, words) in [
        (file.to_str().expect("UTF-8"), ["/file is a file", "name a directory"]),
        ("/proc/pages", ["/proc/pages: ", "name a writable directory"]),
    ] {
        refused(&world.output(&mut world.bare(&["man", place])), 125, &words);
    }
}

/// It is the same file to those who only want to say which database.
#[test]
fn a_database_given_as_store_file_is_told_the_right_option() {
    let world = World::new();
    world.output(&mut world.election("schema", &["--apply"]));
    let database = world.database().display().to_string();
    let output = world.output(&mut world.bare(&["status", "--store-file", &database]));
    let words = ["--store-file takes a file that contains a database URL", "SQLite database"];
    refused(&output, 125, &words);
    refused(&output, 125, &[&format!("--store sqlite:{database}")]);
    let bytes = world.path().join("bytes");
    fs::write(&bytes, b"\xff\xfe").expect("a file of our own");
    let bytes = bytes.display().to_string();
    let output = world.output(&mut world.bare(&["status", "--store-file", &bytes]));
    refused(&output, 125, &["the database's URL on its only line", "is not text"]);
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

#[test]
fn a_command_with_letters_that_changed_places_is_recognized() {
    let world = World::new();
    for (asked, meant) in [("rnu", "run"), ("hlod", "hold"), ("lits", "list"), ("schem", "schema")]
    {
        let output = world.output(&mut world.bare(&[asked]));
        refused(&output, 125, &[&format!("'{asked}'"), &format!("'{meant}'")]);
    }
    let output = world.output(&mut world.bare(&["nonsense"]));
    assert!(!String::from_utf8_lossy(&output.stderr).contains("similar"), "{output:?}");
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
        ("echo hi", 127, ["separate words", "sh -c"]),
        ("/no/such/program", 127, ["no such file", "correct the path"]),
        (&headless, 127, ["(#!) does not exist", "correct that line"]),
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
            let words = ["only a cluster's failover can be paused", "--cluster FILE"];
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
    let words = ["--hook-timeout limits hooks", "--on-lead"];
    refused(&run(&["--hook-timeout", "3s"]), 125, &words);
    assert!(run(&["--hook-timeout", "3s", "--on-lose", "true"]).status.success());
    let mut all = world.election("run", &["--", "true"]);
    assert!(world.output(all.env("ELECTION_HOOK_TIMEOUT", "3s")).status.success());
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
    silent(&["-q", "--anybody"], 0);
    silent(&["-q", "--node", "two"], 1);
    silent(&["--config", config, "--anybody"], 0);
    // What went wrong is no answer.
    let nowhere = world.output(&mut world.bare(&["check", "-q", "--store", "sqlite:no.db"]));
    refused(&nowhere, 125, &["no election is named"]);
    let both = world.output(&mut world.election("check", &["-q", "--anybody", "--node", "two"]));
    refused(&both, 125, &["both --anybody and --node", "keep one"]);
}

#[test]
fn help_shows_how_a_command_is_used() {
    let world = World::new();
    let helps = |words: &[&str], flag| {
        let output = world.output(&mut world.bare(&[words, &[flag]].concat()));
        let text = String::from_utf8(output.stdout).expect("UTF-8");
        assert!(
            output.status.success() && text.lines().all(|it| it.chars().count() <= 80),
            "{text}"
        );
        text
    };
    let help = |words: &[&str]| helps(words, "--help");
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
        assert!(helps(command, "-h").contains("election"), "{command:?}");
        let text = help(command);
        let (_, examples) = text.split_once("\nExamples:\n").unwrap_or_else(|| panic!("{text}"));
        assert!(examples.contains("election "), "{text}");
        assert!(text.contains("\nExit codes: "), "{text}");
    }
    let words = |text: String| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let run = words(help(&["run"]));
    assert!(run.contains("two and a half times `down-after`: 12s by default"), "{run}");
    assert!(run.contains("others read \"NODE leads at TEXT\""), "{run}");
    let resign = words(help(&["resign"]));
    assert!(resign.contains("1 nothing will change: nobody leads"), "{resign}");
    // What has a default need not be written.
    let init = world.output(&mut world.bare(&["cluster", "init"]));
    refused(&init, 125, &["Usage: election cluster init [OPTIONS] <ID=HOST:PORT>..."]);
    let wrong = world.output(&mut world.bare(&["cluster", "init", "n1"]));
    assert!(!String::from_utf8_lossy(&wrong.stderr).contains("--out"), "{wrong:?}");
    let init = words(help(&["cluster", "init"]));
    assert!(init.contains("ELECTION_NAME. Clusters that share a machine"), "{init}");
}
