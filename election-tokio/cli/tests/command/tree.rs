//! Jobs that move: they leave the process group, become orphans, or daemons. None outlives the
//! lease that it was started for.

use super::{
    database, job,
    process::{alive, children, eventually, every_pid, send, within},
    world::{Candidate, World, below},
};
use rustix::process::{Signal, getpid, set_child_subreaper};
use std::{
    process::Command,
    time::{Duration, Instant},
};

/// Ways to start a program that leave the starter's process group.
const WRAPPERS: [(&str, &[&str]); 6] = [
    ("timeout", &["timeout", "600"]),
    ("setsid", &["setsid"]),
    ("setsid below a shell", &["sh", "-c", "setsid \"$@\" & wait", "sh"]),
    ("job control", &["bash", "-m", "-c", "\"$@\" & wait", "bash"]),
    ("timeout below a shell", &["sh", "-c", "timeout 600 \"$@\"; true", "sh"]),
    ("double fork", &["sh", "-c", "(setsid \"$@\" &); sleep 600", "sh"]),
];

const SHORT: [&str; 4] = ["--ttl", "2s", "--grace", "300ms"];
const LONG: [&str; 4] = ["--ttl", "60s", "--grace", "300ms"];

fn wrapped(world: &World, node: &str, options: &[&str], wrapper: &[&str], job: &str) -> Candidate {
    let mut command = world.election("run", &[&["--node", node], options].concat());
    command.arg("--").args(wrapper).args(job::command_line()).env(job::WORDS, job);
    world.start(command)
}

/// Lets two candidates run the same wrapped job, ends the first one's leadership, and demands that
/// its job is gone when the next one starts.
#[track_caller]
fn handed_over(
    what: &str,
    wrapper: &[&str],
    options: &[&str],
    end: impl Fn(&World, &mut Candidate),
) {
    let world = World::new();
    let mut first = wrapped(&world, "first", options, wrapper, "ignore-term");
    let job = world.start_after(0);
    let _second = wrapped(&world, "second", options, wrapper, "ignore-term");
    world.listed(2);
    end(&world, &mut first);
    world.start_after(job.epoch);
    assert!(!alive(job.pid), "{what}: two jobs at once");
    world.assert_exclusive();
}

#[test]
fn a_job_that_left_the_group_ends_with_a_told_elector() {
    for (what, wrapper) in WRAPPERS {
        handed_over(what, wrapper, &LONG, |_, first| first.send(Signal::TERM));
    }
}

#[test]
fn a_job_that_left_the_group_ends_with_a_killed_elector() {
    for (what, wrapper) in WRAPPERS {
        handed_over(what, wrapper, &SHORT, |_, first| first.kill());
    }
}

#[test]
fn a_job_outside_the_group_ends_while_the_elector_is_stopped() {
    for (what, wrapper) in WRAPPERS {
        handed_over(what, wrapper, &SHORT, |world, first| database::freeze(world, first.pid()));
    }
}

/// The guard is gone, so the elector has to find what the guard had adopted.
#[test]
fn a_job_that_left_the_group_ends_with_a_killed_guard() {
    for (what, wrapper) in WRAPPERS {
        handed_over(what, wrapper, &LONG, |_, first| {
            send(first.guard(), Signal::KILL);
            assert_eq!(first.exit(), Some(125), "{what}");
        });
    }
}

/// The job's main process has ended, and the processes it left behind are in none of our groups.
#[test]
fn a_daemon_left_behind_ends_before_the_next_job_starts() {
    let world = World::new();
    let daemon = ["sh", "-c", "setsid \"$@\" & while [ ! -s log ]; do sleep 0.01; done", "sh"];
    let mut first = wrapped(&world, "first", &LONG, &daemon, "ignore-term");
    let job = world.start_after(0);
    assert_eq!(first.exit(), Some(0));
    assert!(!alive(job.pid), "the daemon outlives the elector");
    assert!(world.row().live_holder().is_none(), "the lease was not released");
    first.says("left behind");
}

/// Its first thread has ended, and so it looks dead; another one works on.
const HEADLESS: &str = r#"
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
static void *work(void *file) {
    for (int i = 0; i < 60000; i++) {
        FILE *ticks = fopen(file, "a");
        fputc('.', ticks);
        fclose(ticks);
        usleep(1000);
    }
    return 0;
}
int main(int count, char **words) {
    pthread_t worker;
    (void)count;
    pthread_create(&worker, 0, work, words[1]);
    pthread_exit(0);
}
"#;

#[test]
fn a_process_without_its_first_thread_is_told_and_killed() {
    let world = World::new();
    let (source, program) = (world.path().join("headless.c"), world.path().join("headless"));
    std::fs::write(&source, HEADLESS).expect("a file of our own");
    let mut compiler = Command::new("cc");
    compiler.arg("-pthread").arg("-o").arg(&program).arg(&source);
    assert!(compiler.status().expect("a C compiler").success());
    let ticks = world.path().join("ticks");
    let count = || std::fs::metadata(&ticks).map_or(0, |file| file.len());
    for wrapper in
        ["exec \"$@\"", "\"$@\"; exit 5", "\"$@\" & while [ ! -s ticks ]; do sleep 0.01; done"]
    {
        let _ = std::fs::remove_file(&ticks);
        let mut command = world.election("run", &LONG);
        command.args(["--", "sh", "-c", wrapper, "sh"]).arg(&program).arg(&ticks);
        let mut first = world.start(command);
        eventually("work", || (count() > 0).then_some(()));
        first.send(Signal::TERM);
        first.exit();
        let (row, before) = (world.row(), count());
        assert!(row.live_holder().is_none(), "{wrapper}: the lease was not released");
        let works_on = within(Duration::from_millis(300), || count() > before);
        assert!(!works_on, "{wrapper}: it works on without a lease");
    }
}

/// The guard cannot hear signals before it listens; they wait until the job is there.
#[test]
fn signals_to_a_job_that_is_being_started_hurt_nobody_else() {
    let world = World::new();
    for round in 0..10 {
        let mut candidate = world.candidate("one", &LONG, "exit=0");
        // On a busy machine it may be over before anybody has looked.
        eventually("a guard", || {
            (!candidate.is_running() || !children(candidate.pid()).is_empty()).then_some(())
        });
        candidate.send(Signal::USR1);
        // It may meet the job before that can hear it, or after it has ended.
        let code = candidate.exit();
        assert!([Some(0), Some(128 + 10)].contains(&code), "round {round}: {code:?}");
    }
}

/// A signal that is passed on must not come back to its sender, for ever.
#[test]
fn a_job_in_the_group_of_its_elector_is_signalled_alone() {
    let world = World::new();
    let script = "$SIG{USR1} = sub { open(F, '>>', 'heard'); print F '.'; close F }; \
                  setpgrp(0, getpgrp(getppid())); open(F, '>>', 'ready'); close F; \
                  sleep 1 until -s 'heard'; select(undef, undef, undef, 0.3)";
    // The guard's group is not the elector's, so the job has to look one further up.
    let script = script.replace("getppid()", "$ARGV[0]");
    let mut command = world.election("run", &LONG);
    let elector = "exec perl -e \"$0\" \"$(cut -d' ' -f4 /proc/$PPID/stat)\"";
    command.args(["--", "sh", "-c", elector, &script]);
    let mut candidate = world.start(command);
    eventually("the job", || world.path().join("ready").exists().then_some(()));
    candidate.send(Signal::USR1);
    assert_eq!(candidate.exit(), Some(0), "{}", candidate.messages());
    let heard = std::fs::read(world.path().join("heard")).expect("what it has heard");
    assert_eq!(heard, b".");
}

/// Each process of it is gone before anybody has looked twice.
#[test]
fn a_job_that_runs_away_is_caught() {
    let world = World::new();
    let run_away = "r() { r & exit; }; r & sleep 0.5";
    let mut command = world.election("run", &LONG);
    command.args(["--", "bash", "-c", run_away]);
    let mut candidate = world.start(command);
    assert_eq!(candidate.exit(), Some(0));
    let left: Vec<i32> = every_pid();
    let left = left.into_iter().filter(|pid| job::is_of(*pid, world.path()) && alive(*pid));
    assert_eq!(left.count(), 0, "processes that outlive the lease");
    assert!(world.row().live_holder().is_none(), "the lease was not released");
}

/// A command in namespaces of its own.
pub(crate) fn unshared(world: &World, namespaces: &[&str], command: &Command) -> Command {
    let mut unshared = Command::new("unshare");
    unshared.arg("-Ur").args(namespaces).arg("--").env(job::PLACE, world.path());
    below(unshared, command)
}

/// Processes that cannot be seen cannot be contained.
#[test]
fn a_proc_of_another_namespace_is_refused() {
    let world = World::new();
    let run = world.election("run", &["--", "true"]);
    let output = world.output(&mut unshared(&world, &["--pid", "--fork"], &run));
    assert_eq!(output.status.code(), Some(125), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("--mount-proc"), "{output:?}");
}

/// Where this test may make a control group, so may a guard; elsewhere neither.
#[test]
fn a_job_has_a_control_group_where_that_is_permitted() {
    let world = World::new();
    let mut candidate = world.candidate("one", &LONG, "");
    let job = world.start_after(0);
    let group = |pid: i32| {
        let text = std::fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap_or_default();
        text.lines().find_map(|line| line.strip_prefix("0::").map(str::to_owned))
    };
    let directory = |group: &str| {
        let mounts = std::fs::read_to_string("/proc/self/mountinfo").ok()?;
        let mount = mounts.lines().find(|line| line.contains(" - cgroup2 "))?;
        Some(format!("{}{group}", mount.split(' ').nth(4)?))
    };
    let (own, jobs) = (group(candidate.pid()), group(job.pid));
    let probe = own.as_deref().and_then(directory).map(|own| format!("{own}/election-test"));
    let permitted = probe.is_some_and(|probe| {
        let kills = || std::path::Path::new(&probe).join("cgroup.kill").exists();
        std::fs::create_dir(&probe).is_ok_and(|()| {
            let kills = kills();
            std::fs::remove_dir(&probe).is_ok() && kills
        })
    });
    assert_eq!(own != jobs, permitted, "{own:?} and {jobs:?}");
    candidate.send(Signal::TERM);
    assert_eq!(candidate.exit(), Some(0));
    if permitted {
        let left = jobs.as_deref().and_then(directory).expect("a group has a directory");
        assert!(!std::path::Path::new(&left).exists(), "{left} was left behind");
    }
}

/// The worst place for an orphan: a parent that adopts and never reaps, like a container without an
/// init. A dead process must not be waited for.
#[test]
fn a_job_that_forks_is_handed_over_without_delay() {
    set_child_subreaper(Some(getpid())).expect("a kernel with subreapers");
    let world = World::new();
    let candidate = |number: usize| world.candidate(&format!("n{number}"), &LONG, "parent");
    let mut leading = candidate(0);
    let mut job = world.start_after(0);
    for number in 1..=3 {
        let next = candidate(number);
        world.listed(2);
        eventually("the grandchild", || {
            world.notes("grandchild").into_iter().find(|note| note.epoch == job.epoch)
        });
        let began = Instant::now();
        leading.send(Signal::TERM);
        assert_eq!(leading.exit(), Some(0));
        job = world.start_after(job.epoch);
        assert!(began.elapsed() < Duration::from_secs(29), "{:?}", began.elapsed());
        assert!(!leading.messages().contains("WARN"), "{}", leading.messages());
        leading = next;
    }
    world.assert_exclusive();
}

/// A shell that became the elector may have left children with it.
#[test]
fn what_the_elector_has_inherited_is_left_alone() {
    let world = World::new();
    let mut run = world.election("run", &LONG);
    run.args(["--", "sh", "-c", "sleep 600 & wait"]); // nothing ties that sleep to its parent's life
    let mut command = Command::new("sh");
    command.args(["-c", "sleep 600 & echo $! > stranger; exec \"$0\" \"$@\""]);
    let mut candidate = world.start(below(command, &run));
    let guard = eventually("a guard", || {
        children(candidate.pid()).into_iter().find(|pid| super::process::plays(*pid, "__guard"))
    });
    eventually("the job's child", || {
        let job = children(guard).into_iter().next()?;
        children(job).into_iter().next()
    });
    send(guard, Signal::KILL);
    assert_eq!(candidate.exit(), Some(125), "{}", candidate.messages());
    let stranger = std::fs::read_to_string(world.path().join("stranger")).unwrap();
    let stranger: i32 = stranger.trim().parse().unwrap();
    assert!(alive(stranger), "killed although it is none of the job");
    send(stranger, Signal::KILL);
}
