//! Limits that a user, a shell or a service manager sets (`ulimit`), and what the command says of them.

use super::world::World;
use rustix::process::geteuid;
use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt as _,
    path::Path,
    process::{Command, Output},
};

fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

/// The command below a shell that first sets this limit.
fn limited(world: &World, limit: &str, command: &Command) -> Output {
    let mut shell = Command::new("bash");
    shell.args(["-c", &format!("ulimit {limit}; exec \"$@\""), "-"]).arg(command.get_program());
    shell.args(command.get_args());
    shell.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    world.output(&mut shell)
}

/// The log's and tokio's threads panic where there is no room for them.
#[test]
fn too_few_processes_are_named() {
    let world = World::new();
    let programs = tempfile::tempdir_in("/var/tmp").expect("a temporary directory");
    let election = programs.path().join("election");
    fs::copy(env!("CARGO_BIN_EXE_election"), &election).expect("a copy that everybody can reach");
    fs::set_permissions(programs.path(), Permissions::from_mode(0o755)).expect("our directory");
    let url = format!("sqlite:{}", text(&programs.path().join("none.db")));
    for command in ["status", "run"] {
        let mut words = Vec::new();
        if geteuid().is_root() {
            // The limit does not count for root. Nobody else has this number.
            words.extend(["setpriv", "--reuid=64124", "--regid=64124", "--clear-groups"]);
        }
        words.extend(["bash", "-c", "ulimit -u 1; exec \"$@\"", "-", text(&election)]);
        words.extend([command, "--store", &url, "--name", "x"]);
        if command == "run" {
            words.extend(["--", "true"]);
        }
        let output = world.output(Command::new(words[0]).args(&words[1..]));
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(125), "{output:?}");
        assert!(said.contains("cannot start a thread") && said.contains("ulimit -u"), "{said}");
        assert!(!said.contains("panicked"), "{said}");
    }
}

/// The kernel would end the elector, without a word.
#[test]
fn a_file_that_may_not_grow_is_a_disk_that_fails() {
    let world = World::new();
    let tries = world.election("run", &["--try", "--", "true"]);
    let output = limited(&world, "-f 1", &tries);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(125), "{output:?}");
    assert!(said.contains("the file may not grow (`ulimit -f`)"), "{said}");
}

/// While it leads the database's log reaches the limit again and again, and begins anew each time. The
/// job has the usual dealing with that limit.
#[test]
fn a_leader_goes_on_when_its_file_may_not_grow_any_more() {
    let world = World::new();
    let election = |job: &str| {
        let job = ["--ttl", "300ms", "--on-lost", "stop", "--", "bash", "-c", job];
        limited(&world, "-f 60", world.election("run", &job).current_dir(world.path()))
    };
    // Ten renewals fill it.
    let output = election("sleep 3; exit 7");
    assert_eq!(output.status.code(), Some(7), "{output:?}");
    let output = election(&format!("head -c 99999 /dev/zero > {}", text(&world.path().join("f"))));
    assert_eq!(output.status.code(), Some(128 + 25), "{output:?}");
}
