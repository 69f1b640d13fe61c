//! Jobs that `/proc` does not show (`hidepid`, systemd's `ProtectProc=invisible`), and processes that
//! have nothing to do with the job.
//!
//! Hiding takes a mount of `/proc`, and so root; without root these tests ask `sudo` for it.

use super::{
    job, place,
    process::{children, eventually, freeze, plays, send, within},
    world::{Candidate, World},
};
use rustix::process::{Signal, geteuid};
use std::{fs, path::PathBuf, process::Command, time::Duration};
use tempfile::TempDir;

/// What another user's program looks like: it may be executed, but not read.
const HIDDEN: u32 = 0o711;
/// It works on, whatever it is told.
const WORK: &str = "trap '' TERM; while :; do echo >> ticks; sleep 0.01; done";
/// How the job's first process may start the hidden one, `$0`.
const WAYS: [(&str, &str); 4] = [
    ("as the job", "exec \"$0\" -c \"$1\""),
    ("below a shell", "\"$0\" -c \"$1\"; true"),
    ("in a session of its own", "setsid \"$0\" -c \"$1\" & wait"),
    ("below another hidden one", "\"$0\" -c \"$0 -c '$1' & wait\"; true"),
];
const LONG: [&str; 4] = ["--ttl", "60s", "--grace", "300ms"];
const SHORT: [&str; 4] = ["--ttl", "2s", "--grace", "300ms"];

struct Place {
    world: World,
    programs: TempDir,
}

impl Place {
    fn new() -> Self {
        let (world, programs) = place::open();
        let place = Self { world, programs };
        place::copy("/bin/sh", &place.program("hidden"), HIDDEN);
        place
    }

    fn program(&self, name: &str) -> PathBuf {
        self.programs.path().join(name)
    }

    /// `election run` as a user without rights, who sees only processes of its own in `/proc`.
    fn candidate(&self, node: &str, options: &[&str], way: &str, work: &str) -> Candidate {
        let mut command = Command::new(if geteuid().is_root() { "unshare" } else { "sudo" });
        if !geteuid().is_root() {
            command.args(["-n", "unshare"]);
        }
        let mount = "mount -t proc -o hidepid=2 proc /proc && exec setpriv --reuid=65534 \
                     --regid=65534 --clear-groups env \"$@\"";
        command.args(["--mount", "--", "sh", "-c", mount, "sh"]);
        command.arg(format!("{}={}", job::PLACE, self.world.path().display()));
        command.arg(self.program("election")).args(["run", "--store", &self.world.url()]);
        command.args(["--name", "default", "--node", node]).args(options);
        command.args(["--", "sh", "-c", way]).arg(self.program("hidden")).arg(work);
        command.current_dir(self.world.path());
        self.world.start(command)
    }

    fn works(&self) -> u64 {
        fs::metadata(self.world.path().join("ticks")).map_or(0, |file| file.len())
    }

    /// Starts work in this way, ends it, and demands that it is over.
    #[track_caller]
    fn ends(&self, what: &str, options: &[&str], way: &str, end: impl Fn(&mut Candidate)) {
        let _ = fs::remove_file(self.world.path().join("ticks"));
        let mut candidate = self.candidate("one", options, way, WORK);
        eventually(&format!("work {what}"), || {
            assert!(candidate.is_running(), "{what}: {}", candidate.messages());
            (self.works() > 0).then_some(())
        });
        end(&mut candidate);
        let row = self.world.row();
        eventually(&format!("the end of the lease of work {what}"), || {
            self.world.row().live_holder().is_none().then_some(())
        });
        let before = self.works();
        let works_on = within(Duration::from_millis(300), || self.works() > before);
        assert!(!works_on, "{what}: it works on without a lease, held then by {row:?}");
    }
}

/// The lease is released, which it is only when nothing is left.
#[track_caller]
fn told(place: &Place, candidate: &mut Candidate) {
    candidate.send(Signal::TERM);
    candidate.exit();
    let messages = candidate.messages();
    assert!(!messages.contains("alive after SIGKILL"), "{messages}");
    assert!(place.world.row().live_holder().is_none(), "the lease was not released: {messages}");
}

#[test]
fn a_hidden_job_ends_with_a_told_elector() {
    let place = Place::new();
    for (what, way) in WAYS {
        place.ends(what, &LONG, way, |candidate| told(&place, candidate));
    }
}

#[test]
fn a_hidden_job_ends_with_a_killed_elector() {
    let place = Place::new();
    for (what, way) in WAYS {
        place.ends(what, &SHORT, way, Candidate::kill);
    }
}

#[test]
fn a_hidden_job_ends_while_its_elector_stands_still() {
    let place = Place::new();
    for (what, way) in WAYS {
        place.ends(what, &SHORT, way, |candidate| freeze(candidate.pid()));
    }
}

/// The elector has to find what the guard had adopted, and cannot see it.
#[test]
fn a_hidden_job_ends_with_a_killed_guard() {
    let place = Place::new();
    for (what, way) in WAYS {
        place.ends(what, &LONG, way, |candidate| {
            send(candidate.guard(), Signal::KILL);
            assert_eq!(candidate.exit(), Some(125), "{}", candidate.messages());
            assert!(place.world.row().live_holder().is_none(), "{}", candidate.messages());
        });
    }
}

#[test]
fn a_hidden_daemon_ends_with_the_job_that_has_left_it_behind() {
    let place = Place::new();
    let way = "setsid \"$0\" -c \"$1\" & while [ ! -s ticks ]; do sleep 0.01; done";
    let _ = fs::remove_file(place.world.path().join("ticks"));
    let mut candidate = place.candidate("one", &LONG, way, WORK);
    assert_eq!(candidate.exit(), Some(0), "{}", candidate.messages());
    candidate.says("left behind are killed: process ");
    assert!(place.world.row().live_holder().is_none(), "the lease was not released");
    let before = place.works();
    assert!(!within(Duration::from_millis(300), || place.works() > before), "it works on");
}

/// It is told by SIGTERM like everybody, and has its time to end.
#[test]
fn a_hidden_job_is_told_to_end() {
    let place = Place::new();
    let work = "trap 'echo told > told; exit 7' TERM; echo > ticks; while :; do sleep 0.01; done";
    // The shell hears the signal, too, and goes on waiting.
    let below = "trap : TERM; \"$0\" -c \"$1\" & wait $!; wait $!; exit $?";
    for (what, way) in [WAYS[0], ("below a shell", below)] {
        for file in ["ticks", "told"] {
            let _ = fs::remove_file(place.world.path().join(file));
        }
        let options = ["--ttl", "120s", "--grace", "20s"];
        let mut candidate = place.candidate("one", &options, way, work);
        eventually("work", || (place.works() > 0).then_some(()));
        candidate.send(Signal::TERM);
        assert_eq!(candidate.exit(), Some(7), "{what}: {}", candidate.messages());
        assert!(place.world.path().join("told").exists(), "{what}: it was not told");
    }
}

/// Where neither an elector nor its guard may be read, each does its work all the same.
#[test]
fn a_hidden_guard_and_a_hidden_elector_end_a_hidden_job() {
    let place = Place::new();
    place::permit(&place.program("election"), HIDDEN);
    let (what, way) = WAYS[1];
    place.ends(what, &LONG, way, |candidate| told(&place, candidate));
    place.ends(what, &SHORT, way, Candidate::kill);
    place.ends(what, &LONG, way, |candidate| {
        let guard = children(candidate.pid()).into_iter().find(|pid| plays(*pid, "__guard"));
        freeze(guard.expect("a guard"));
        candidate.send(Signal::TERM);
        candidate.exit();
    });
}

/// What is read depends on the job: half a thousand processes of others cost nothing.
#[test]
fn a_crowd_of_others_costs_the_elector_nothing() {
    const CROWD: usize = 500;
    let world = World::new();
    let mut crowd = Command::new("perl");
    let script =
        "for (1..$ARGV[0]) { unless (fork) { sleep 600; exit } } print \"up\\n\"; sleep 600";
    crowd.args(["-e", &format!("$| = 1; {script}"), &CROWD.to_string()]);
    crowd.env(job::PLACE, world.path()).stdout(std::process::Stdio::piped());
    let mut crowd = crowd.spawn().expect("perl");
    let mut up = [0; 3];
    std::io::Read::read_exact(&mut crowd.stdout.take().expect("a pipe"), &mut up).expect("a crowd");
    let candidate = world.candidate("one", &LONG, "parent");
    let job = world.start_after(0);
    world.first("grandchild");
    let calls = || {
        let text = fs::read_to_string(format!("/proc/{}/io", candidate.pid())).expect("our child");
        let line = text.lines().find_map(|line| line.strip_prefix("syscr: "));
        line.and_then(|count| count.trim().parse::<usize>().ok()).expect("a count of reads")
    };
    let before = calls();
    let resigned = world.output(&mut world.election("resign", &[]));
    assert!(resigned.status.success(), "{resigned:?}");
    candidate.says("stopped");
    let reads = calls() - before;
    println!("{reads} reads to stop a job of two processes among {CROWD} others");
    assert!(reads < CROWD, "{reads} reads");
    assert!(job.pid > 0);
    send(i32::try_from(crowd.id()).expect("a process id"), Signal::KILL);
    let _ = crowd.wait();
}

/// A thousand processes and more are reached in no moment; killing them begins earlier by that.
#[test]
fn a_job_that_takes_long_to_kill_is_warned_of() {
    let place = Place::new(); // whose user can make no control group
    let crowd = "exec perl -e 'for (1..1500) { unless (fork) { sleep 600; exit } } sleep 600'";
    let mut candidate = place.candidate("one", &["--ttl", "3s", "--grace", "300ms"], crowd, "");
    candidate.says("event=job_slow");
    candidate.says("so killing begins that much earlier");
    candidate.send(Signal::TERM);
    candidate.exit();
}
