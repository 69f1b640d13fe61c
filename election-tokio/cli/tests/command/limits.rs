//! Limits that a user, a shell or a service manager sets (`ulimit`), and what the command says of them.

use super::{
    place,
    world::{World, below},
};
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
    shell.args(["-c", &format!("ulimit {limit}; exec \"$@\""), "-"]);
    world.output(&mut below(shell, command))
}

/// The log's and tokio's threads panic where there is no room for them.
#[test]
fn too_few_processes_are_named() {
    let world = World::new();
    let programs = place::programs(0o755);
    let election = programs.path().join("election");
    let data = programs.path().join("data");
    fs::create_dir(&data).expect("a directory of our own");
    fs::set_permissions(&data, Permissions::from_mode(0o777)).expect("of our own");
    let url = format!("sqlite:{}", text(&data.join("e.db")));
    let runs = (1..10).map(|limit| ("run", limit));
    for (command, limit) in [("status", 1)].into_iter().chain(runs) {
        // The limit does not count for root. Nobody else has this number.
        let mut shell = match geteuid().is_root() {
            true => place::as_user(64_124, "bash"),
            false => Command::new("bash"),
        };
        shell.args(["-c", &format!("ulimit -u {limit}; exec \"$@\""), "-"]).arg(&election);
        shell.args([command, "--store", &url, "--name", "x"]);
        if command == "run" {
            shell.args(["--", "true"]);
        }
        let output = world.output(&mut shell);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!said.contains("panicked"), "{said}");
        if limit == 1 {
            assert_eq!(output.status.code(), Some(125), "{output:?}");
            assert!(said.contains("cannot start a thread"), "{said}");
        }
        assert!(output.status.success() || said.contains("`ulimit -u`"), "{limit}: {output:?}");
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

/// Tokio panics where it gets no descriptor (6 and 7).
#[test]
fn too_few_files_are_named() {
    let world = World::new();
    for limit in 5..23 {
        for command in ["status", "run"] {
            let job: &[&str] = if command == "run" { &["--try", "--", "true"] } else { &[] };
            let election = world.election(command, job);
            let output = limited(&world, &format!("-n {limit}"), &election);
            let said = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(125), "{limit}: {output:?}");
            assert!(said.contains("`ulimit -n`") && !said.contains("panicked"), "{limit}: {said}");
        }
    }
    let output = limited(&world, "-n 40", &world.election("run", &["--try", "--", "true"]));
    assert_eq!(output.status.code(), Some(0), "{output:?}");
}

/// What an old container runtime does with a system call that it does not know.
const OLD_RUNTIME: &str = r#"
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(int count, char **words) {
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_clone3, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    (void)count;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) return 1;
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) return 1;
    execvp(words[1], words + 1);
    return 1;
}
"#;

#[test]
fn a_runtime_that_forbids_threads_is_named() {
    let world = World::new();
    let (source, program) = (world.path().join("old.c"), world.path().join("old"));
    fs::write(&source, OLD_RUNTIME).expect("a file of our own");
    let mut compiler = Command::new("cc");
    assert!(
        compiler.arg("-o").arg(&program).arg(&source).status().expect("a C compiler").success()
    );
    let run = world.election("run", &["--try", "--", "true"]);
    let output = world.output(&mut below(Command::new(&program), &run));
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(125), "{output:?}");
    assert!(said.contains("clone3") && said.contains("seccomp"), "{said}");
    assert!(!said.contains("ulimit"), "{said}");
}
