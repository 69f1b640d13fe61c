//! The password of the database is for the database alone.

use super::world::World;
use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt as _,
    process::Command,
};

/// Runs a command that has to fail, and returns its output, which must contain nothing of the
/// password.
#[track_caller]
fn failed(world: &World, command: &mut Command) -> String {
    let output = world.output(command);
    assert_eq!(output.status.code(), Some(125), "{command:?}: {output:?}");
    let said = [output.stdout, output.stderr].map(|it| String::from_utf8_lossy(&it).into_owned());
    let said = said.concat();
    for part in ["hunter", "HUNTER", "ter2"] {
        assert!(!said.contains(part), "{command:?}: the password is told: {said}");
    }
    said
}

/// Wrong in one way or another, each with a password in it: `hunter2`, in part or in percents.
const URLS: [&str; 27] = [
    "postgress://me:hunter2@127.0.0.1:1/x",
    "oracle://me:hunter2@127.0.0.1:1/x",
    "postgres://me:hunter2@127.0.0.1:1/x",
    "postgres://me:hunter2@127.0.0.1:no/x",
    "postgres://me:hunter2",
    "postgres://me:hun/ter2@127.0.0.1:1/x",
    "postgres://me:hun#ter2@127.0.0.1:1/x",
    "postgres://me:1?hunter2@127.0.0.1:1/x",
    "postgres://me:hun ter2@127.0.0.1:1/x",
    "postgres://me:%68unter2%00@127.0.0.1:1/x",
    "postgres://127.0.0.1:1/x?password=hunter2&user=me",
    "postgres://127.0.0.1:1/x?pasword=hunter2",
    "postgres://127.0.0.1:1/x?password=hunter2&port=no",
    "postgres://127.0.0.1:1/x?password=hunter2&sslmode=no",
    "postgres://me:hunter2@127.0.0.1:2,127.0.0.1:1/x",
    "postgres://me:hunter2@127.0.0.1:1,127.0.0.1:no/x",
    "postgres://me:hunter2@127.0.0.1:1,me:hunter2@127.0.0.1:2/x",
    "mysql://me:hun,ter2@127.0.0.1:1,127.0.0.1:2/x",
    "mysql://me:hunter2@127.0.0.1:1,/x",
    "mysql://me:hunter2@127.0.0.1:1/x",
    "mysql://127.0.0.1:1/x?password=hunter2&ssl-mode=no",
    "me:hunter2@127.0.0.1/x",
    "//me:hunter2@127.0.0.1/x",
    "host=127.0.0.1 user=me password=hunter2",
    "host=127.0.0.1 user=me password=hunter2 options=-c:x",
    "hunter2",
    "sqlite:e.db?password=hunter2",
];

/// Each of them in two of the ways in which it can be given, and those in turn by two commands, whose
/// errors are text or JSON.
#[test]
fn no_error_tells_the_password() {
    let world = World::new();
    let (config, secret) = (world.path().join("election.toml"), world.path().join("url"));
    for (nth, url) in URLS.into_iter().enumerate() {
        fs::write(&config, format!("store = '{url}'\n")).expect("a file of our own");
        fs::write(&secret, url).expect("a file of our own");
        for (way, runs, json) in [
            (nth % 4, nth % 2 == 0, nth % 3 == 0),
            ((nth + 2) % 4, nth / 4 % 2 == 0, nth / 2 % 2 == 0),
        ] {
            let mut process = world.bare(&[if runs { "run" } else { "status" }, "--name", "n"]);
            process.args(json.then_some("--json"));
            match way {
                0 => process.args(["--store", url]),
                1 => process.env("ELECTION_STORE", url),
                2 => process.arg("--config").arg(&config),
                _ => process.arg("--store-file").arg(&secret),
            };
            if runs {
                process.args(["--try", "--", "true"]); // who stays waits for a database
            }
            let said = failed(&world, &mut process);
            assert!(
                way != 0 || said.contains("--store") || url.contains("127.0.0.1:1/x"),
                "{said}"
            );
        }
    }
}

#[test]
fn words_that_are_out_of_place_do_not_come_back_with_a_password() {
    let world = World::new();
    for (nth, url) in URLS.into_iter().filter(|url| url.contains(['@', '='])).enumerate() {
        let arguments: [&[&str]; 7] = [
            &["status", url],
            &["status", "--stor", url],
            &["status", &format!("--stor={url}")],
            &["status", "--json", "--name", "n", "--store", "x", url],
            &["run", "--ttl", url, "--", "true"],
            &["run", &format!("--on-lost={url}"), "--", "true"],
            &[url],
        ];
        for place in [nth % 7, (nth + 3) % 7] {
            failed(&world, &mut world.bare(arguments[place]));
        }
    }
}

#[test]
fn a_line_that_cannot_be_understood_is_named_by_its_number() {
    let world = World::new();
    let config = world.path().join("election.toml");
    for (text, place) in [
        ("store = \"postgres://me:hunter2@h/x\n", "line 1 (`store`)"),
        ("name = \"n\"\nstore = postgres://me:hunter2@h/x\n", "line 2 (`store`)"),
        ("name = \"é\"\n\nstore \"postgres://me:hunter2@h/x\"\n", "line 3, column 7: "),
        ("\"postgres://me:hunter2@h/x\" = 1\n", "line 1"),
        ("postgres:me:hunter2@h/x?a=b\n", "line 1, column "),
        ("ttl = 5\nstore = \"postgres://me:hunter2@h/x\"\n", "line 1 (`ttl`)"),
        ("store = [\"postgres://me:hunter2@h/x\"]\n", "line 1 (`store`)"),
        ("on-lost = \"postgres://me:hunter2@h/x\"\n", "line 1 (`on-lost`)"),
    ] {
        fs::write(&config, text).expect("a file of our own");
        let mut status = world.bare(&["status", "--config"]);
        let said = failed(&world, status.arg(&config));
        assert!(said.contains(place) && said.contains("election.toml"), "{text:?}: {said}");
    }
}

#[test]
fn help_shows_no_password() {
    let world = World::new();
    for command in ["run", "status", "schema"] {
        let mut help = world.bare(&[command, "--help"]);
        let output = world.output(help.env("ELECTION_STORE", "postgres://me:hunter2@h/x"));
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && text.contains("ELECTION_STORE_FILE"), "{text}");
        assert!(!text.contains("hunter2"), "{text}");
        assert!(text.contains("hows in `ps`"), "{text}");
    }
}

/// A job of its own for one run, which says what it has inherited.
fn inherited(world: &World, variables: &[(&str, &str)], options: &[&str]) -> String {
    let mut run = world.bare(&["run", "--name", "n", "--quiet"]);
    let job =
        ["--", "sh", "-c", "tr '\\0' '\\n' < /proc/self/environ; tr '\\0' ' ' < /proc/$$/cmdline"];
    run.args(options).args(job).envs(variables.iter().copied());
    let output = world.output(&mut run);
    assert!(output.status.success(), "{output:?}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn the_job_does_not_inherit_the_password() {
    let world = World::new();
    let url = world.url();
    let flag = ["--store", &*url];
    for given in
        ["postgres://me:hunter2@h:1/x", "postgres://h/x?user=me&password=hunter2", "me:hunter2@h/x"]
    {
        let own = ("PGPASSWORD", "the-users-own");
        let seen = inherited(&world, &[("ELECTION_STORE", given), own], &flag);
        assert!(!seen.contains("hunter2") && !seen.contains("unter2"), "{seen}");
        // The one that counts, not the one that does not.
        let found = seen.lines().find_map(|line| line.strip_prefix("ELECTION_STORE="));
        assert_eq!(found, Some(&*url), "{given}: {seen}");
        assert!(seen.contains("PGPASSWORD=the-users-own"), "{seen}");
    }
    // In what is no URL nobody knows where the password is.
    let file = world.path().join("file");
    fs::write(&file, &url).expect("a file of our own");
    let flag = ["--store-file", file.to_str().expect("a path in UTF-8")];
    let seen = inherited(&world, &[("ELECTION_STORE", "postgres://me:hunter2@[h/x")], &flag);
    assert!(!seen.contains("hunter2") && !seen.contains("ELECTION_STORE="), "{seen}");
    // Where the database comes from the environment alone, the job can still look at it.
    let seen = inherited(&world, &[("ELECTION_STORE", &url)], &[]);
    assert!(seen.contains(&format!("ELECTION_STORE={url}\n")), "{seen}");
    let file = world.path().join("url");
    fs::write(&file, &url).expect("a file of our own");
    let file = file.to_str().expect("a path in UTF-8");
    let seen = inherited(&world, &[("ELECTION_STORE_FILE", file)], &[]);
    assert!(
        !seen.contains(&url) && seen.contains(&format!("ELECTION_STORE_FILE={file}")),
        "{seen}"
    );
}

#[test]
fn a_file_holds_one_url() {
    let world = World::new();
    let url = world.url();
    let file = world.path().join("url");
    let path = file.to_str().expect("a path in UTF-8");
    let apply = |text: &[u8]| {
        fs::write(&file, text).expect("a file of our own");
        world.bare(&["schema", "--apply", "--store-file", path])
    };
    // Some editors of Windows put a mark at the beginning.
    for (begin, end) in [("", ""), ("", "\n"), ("", "\r\n"), ("", "\n\n"), ("\u{feff}", "\r\n")] {
        let output = world.output(&mut apply(format!("{begin}{url}{end}").as_bytes()));
        assert!(
            output.status.success() && output.stderr.is_empty(),
            "{begin:?} {end:?}: {output:?}"
        );
    }
    let two = format!("{url}\npostgres://me:hunter2@h/x\n");
    let large = url.clone() + &"\n".repeat(64 * 1024);
    for (text, word) in [
        (&b""[..], "is empty"),
        (b"\n\n", "is empty"),
        (two.as_bytes(), "more than one line"),
        (large.as_bytes(), "larger than any URL"),
        (b"sqlite:\xff\xfe hunter2", "UTF-8"),
        (b"\"postgres://me:hunter2@h/x\"\n", "is in quotes; write it without them"),
        (b"'postgres://me:hunter2@h/x'\n", "is in quotes; write it without them"),
    ] {
        let said = failed(&world, &mut apply(text));
        assert!(said.contains(word) && said.contains(path), "{said}");
    }
    let said = failed(&world, &mut world.bare(&["schema", "--apply", "--store-file", "no/such"]));
    assert!(said.contains("--store-file no/such"), "{said}");
    let mut both = world.bare(&["schema", "--apply", "--store", &url, "--store-file", path]);
    let said = failed(&world, &mut both);
    assert!(said.contains("--store") && said.contains("--store-file"), "{said}");
    let mut both = world.bare(&["schema", "--apply"]);
    both.env("ELECTION_STORE", &url).env("ELECTION_STORE_FILE", path);
    let said = failed(&world, &mut both);
    assert!(said.contains("both ELECTION_STORE and ELECTION_STORE_FILE"), "{said}");
}

#[test]
fn a_password_that_everybody_can_read_is_warned_of() {
    let world = World::new();
    let file = world.path().join("url");
    let path = file.to_str().expect("a path in UTF-8");
    for (mode, url, warned) in [
        (0o644, "postgres://me:hunter2@127.0.0.1:1/x", true),
        (0o444, "postgres://127.0.0.1:1/x?password=hunter2", true),
        (0o640, "postgres://me:hunter2@127.0.0.1:1/x", false),
        (0o600, "postgres://me:hunter2@127.0.0.1:1/x", false),
        (0o644, "postgres://me@127.0.0.1:1/x", false),
    ] {
        let _ = fs::remove_file(&file);
        fs::write(&file, url).expect("a file of our own");
        fs::set_permissions(&file, Permissions::from_mode(mode)).expect("a file of our own");
        let said =
            failed(&world, &mut world.bare(&["status", "--name", "n", "--store-file", path]));
        assert_eq!(said.contains("chmod o-r"), warned, "{mode:o} {url}: {said}");
        assert!(said.contains("127.0.0.1:1"), "it was not used all the same: {said}");
    }
    let _ = fs::remove_file(&file);
    fs::write(&file, "postgres://me:hunter2@127.0.0.1:1/x").expect("a file of our own");
    let mut json = world.bare(&["status", "--json", "--name", "n", "--store-file", path]);
    for line in failed(&world, &mut json).lines() {
        let line: serde_json::Value = serde_json::from_str(line).expect("JSON");
        assert!(["WARN", "ERROR"].contains(&line["level"].as_str().expect("a level")));
    }
}
