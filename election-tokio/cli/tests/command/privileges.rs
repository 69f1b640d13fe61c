//! Jobs that gain privileges: the elector can neither signal nor kill a process of another user.
//!
//! Creating a set-user-ID program takes root; without root these tests ask `sudo` for it.

use super::{
    job, place,
    process::{alive, eventually, gone},
    world::{Candidate, World},
};
use rustix::process::{Signal, geteuid};
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant},
};
use tempfile::TempDir;

/// A place where set-user-ID bits count, which memory file systems usually switch off.
struct Place {
    world: World,
    programs: TempDir,
}

const STUBBORN: [&str; 5] = ["--allow-setuid", "--ttl", "2s", "--grace", "300ms"];
/// What is said of a process that cannot be killed.
const SURVIVES: &str = "leadership is not released but expires";

/// Runs a command as root, to its end.
#[track_caller]
fn as_root(arguments: &[&str]) {
    let (program, rest) = match arguments.split_first() {
        Some((program, rest)) if geteuid().is_root() => (*program, rest),
        _ => ("sudo", arguments),
    };
    let mut command = Command::new(program);
    if program == "sudo" {
        command.arg("-n");
    }
    let status = command.args(rest).status().expect("a command, or sudo before it");
    assert!(status.success(), "{arguments:?} as root: {status}");
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a path in UTF-8")
}

impl Place {
    fn new() -> Self {
        let (world, programs) = place::open();
        let place = Self { world, programs };
        let program = place.program("as-root");
        as_root(&["install", "-o", "root", "-m", "4755", "/usr/bin/setpriv", text(&program)]);
        place
    }

    fn program(&self, name: &str) -> PathBuf {
        self.programs.path().join(name)
    }

    /// `election run` as a user without rights, with a job that begins by becoming root.
    fn candidate(&self, node: &str, options: &[&str], job: &[&str]) -> Candidate {
        let as_root = self.program("as-root");
        let becomes_root = [text(&as_root), "--reuid=0", "--regid=0", "--clear-groups", "--"];
        self.user(node, options, &[&becomes_root, job].concat())
    }

    /// `election run` as a user without rights.
    fn user(&self, node: &str, options: &[&str], job: &[&str]) -> Candidate {
        let mut command = place::as_nobody(&self.program("election"));
        command.args(["run", "--store", &self.world.url(), "--name", "default", "--node", node]);
        command.args(options).arg("--").args(job).env(job::PLACE, self.world.path());
        command.current_dir(self.world.path());
        self.world.start(command)
    }

    /// A candidate whose job has become root, and the number of that.
    #[track_caller]
    fn stubborn_candidate(&self) -> (Candidate, i32) {
        let script = format!("echo $$ > {}; exec sleep 600", text(&self.pid_file()));
        let candidate = self.candidate("first", &STUBBORN, &["sh", "-c", &script]);
        (candidate, self.pid())
    }

    fn pid_file(&self) -> PathBuf {
        self.world.path().join("pid")
    }

    /// Of the process that has written it.
    #[track_caller]
    fn pid(&self) -> i32 {
        let number = || fs::read_to_string(self.pid_file()).ok()?.trim().parse().ok();
        eventually("the job", number)
    }
}

#[test]
fn a_job_gains_no_privileges_unless_told_so() {
    let place = Place::new();
    let mut plain = place.candidate("one", &[], &["true"]);
    assert!(plain.exit().is_some_and(|code| code != 0), "{}", plain.messages());
    for words in ["as-root", "no_new_privs", "--allow-setuid"] {
        plain.says(words);
    }
    let mut allowed = place.candidate("one", &["--allow-setuid"], &["true"]);
    assert_eq!(allowed.exit(), Some(0), "{}", allowed.messages());
    let config = place.world.path().join("election.toml");
    fs::write(&config, "allow-setuid = true\n").expect("a file of our own");
    let mut allowed = place.candidate("one", &["--config", text(&config)], &["true"]);
    assert_eq!(allowed.exit(), Some(0), "{}", allowed.messages());
}

/// Capabilities of a file are privileges as well.
#[test]
fn a_program_that_would_get_capabilities_is_named() {
    let place = Place::new();
    let program = place.program("as-root");
    as_root(&["chmod", "755", text(&program)]);
    let mut plain = place.candidate("one", &[], &["true"]);
    assert!(plain.exit().is_some_and(|code| code != 0), "it may not become root");
    assert!(!plain.messages().contains("gain privileges"), "{}", plain.messages());
    as_root(&["setcap", "cap_setuid,cap_setgid+ep", text(&program)]);
    let mut able = place.candidate("one", &[], &["true"]);
    assert!(able.exit().is_some_and(|code| code != 0), "{}", able.messages());
    able.says("as-root would gain privileges when executed");
}

/// What the kernel says of a hook, whose elector may grant privileges.
#[test]
fn hooks_gain_privileges_where_the_job_may() {
    let place = Place::new();
    let path = |name: &str| place.world.path().join(name);
    // The job ends when the hook has looked.
    let hook = "grep NoNewPrivs /proc/self/status > new && mv new seen";
    let job = ["sh", "-c", "while [ ! -e seen ]; do sleep 0.01; done"];
    for (option, kept) in [(&[][..], "1"), (&["--allow-setuid"], "0")] {
        let options = [&["--on-lead", hook], option].concat();
        let mut candidate = place.user("one", &options, &job);
        assert_eq!(candidate.exit(), Some(0), "{}", candidate.messages());
        let seen = fs::read_to_string(path("seen")).expect("a file of the hook's");
        assert_eq!(seen.split_whitespace().nth(1), Some(kept), "{option:?}: {seen}");
        fs::remove_file(path("seen")).expect("a file in a directory of ours");
    }
}

/// The job is neither told nor killed, so the lease runs out, and the log says why.
#[test]
fn a_lease_is_not_released_over_a_job_that_cannot_be_killed() {
    let place = Place::new();
    let (mut first, pid) = place.stubborn_candidate();
    let held = place.world.row();
    first.send(Signal::TERM);
    assert_eq!(first.exit(), Some(128 + 15), "{}", first.messages());
    let row = place.world.row();
    let still_there = alive(pid);
    as_root(&["kill", "-9", &pid.to_string()]);
    assert!(still_there, "it could be killed, and this test shows nothing");
    assert_eq!(row.epoch, held.epoch);
    let holder = row.holder.expect("the lease was released over a job that lives");
    assert_eq!(holder.candidate.id.as_str(), "first");
    first.says("cannot be told to end");
    first.says(SURVIVES);
    gone("the job", pid);
}

/// It waits for a process that it cannot kill, but not when it is told to end.
#[test]
fn an_elector_with_an_unkillable_job_ends_when_told() {
    let place = Place::new();
    let (mut first, pid) = place.stubborn_candidate();
    let resign = place.world.output(&mut place.world.election("resign", &[]));
    assert!(resign.status.success(), "{resign:?}");
    first.says(SURVIVES);
    assert!(first.is_running(), "it waits for as long as it is not told to end");
    let began = Instant::now();
    first.send(Signal::TERM);
    assert_eq!(first.exit(), Some(128 + 15), "{}", first.messages());
    let took = began.elapsed();
    as_root(&["kill", "-9", &pid.to_string()]);
    assert!(took < Duration::from_secs(3), "{took:?}");
    gone("the job", pid);
}

/// Nobody else stays to kill the rest, so one signal is not enough.
#[test]
fn an_elector_without_a_guard_leaves_when_told_twice() {
    let place = Place::new();
    let (mut first, pid) = place.stubborn_candidate();
    as_root(&["kill", "-9", &first.guard().to_string()]);
    first.send(Signal::TERM);
    first.says(SURVIVES);
    first.send(Signal::TERM);
    assert_eq!(first.exit(), Some(128 + 15), "{}", first.messages());
    as_root(&["kill", "-9", &pid.to_string()]);
    // Once of itself, and once when it left.
    assert!(first.messages().matches(SURVIVES).count() > 1, "{}", first.messages());
    gone("the job", pid);
}

/// Another job must not start beside it without a word.
#[test]
fn what_cannot_be_killed_after_the_jobs_end_is_named() {
    let place = Place::new();
    let becomes_root =
        format!("{} --reuid=0 --regid=0 --clear-groups --", text(&place.program("as-root")));
    let file = text(&place.pid_file()).to_owned();
    let script = format!(
        "{becomes_root} sh -c 'echo $$ > {file}; exec sleep 600' & \
         while [ ! -s {file} ]; do sleep 0.01; done"
    );
    let mut first = place.user("first", &STUBBORN, &["sh", "-c", &script]);
    let pid = place.pid();
    assert_eq!(first.exit(), Some(0), "{}", first.messages());
    let holder = place.world.row().holder;
    as_root(&["kill", "-9", &pid.to_string()]);
    assert_eq!(holder.expect("not released").candidate.id.as_str(), "first");
    first.says("resigning without releasing leadership");
    first.says(SURVIVES);
    gone("what the job left behind", pid);
}

#[test]
fn a_program_that_would_change_its_group_is_named() {
    let place = Place::new();
    let program = place.program("as-group");
    as_root(&["install", "-g", "root", "-m", "2755", "/usr/bin/env", text(&program)]);
    let mut candidate = place.user("one", &[], &[text(&program), "true"]);
    assert_eq!(candidate.exit(), Some(0), "{}", candidate.messages());
    for words in ["as-group", "no_new_privs"] {
        candidate.says(words);
    }
}
