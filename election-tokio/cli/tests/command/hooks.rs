//! Commands that run beside leadership.

use super::{
    database, job,
    process::{children, eventually, freeze, gone, plays, send},
    world::{Candidate, World},
};
use rustix::process::Signal;
use std::{
    fs,
    io::Write as _,
    process::{Command, Stdio},
};

const LONG: [&str; 4] = ["--ttl", "60s", "--grace", "2s"];

/// A hook that writes down what has happened, into a file of this name.
fn noting(world: &World, name: &str) -> String {
    let file = world.path().join(name);
    format!("echo $ELECTION_EVENT-$ELECTION_LEADER-$ELECTION_EPOCH >> {}", file.display())
}

/// What was written down once this was.
#[track_caller]
fn noted(world: &World, name: &str, last: &str) -> Vec<String> {
    eventually(&format!("{last} in {name}"), || {
        let text = fs::read_to_string(world.path().join(name)).ok()?;
        let lines: Vec<_> = text.lines().map(str::to_owned).collect();
        lines.iter().any(|line| line == last).then_some(lines)
    })
}

/// `election hold`, whose hook is a job that notices when another runs beside it.
fn with_job_as_hook(world: &World, command: &str, options: &[&str], words: &str) -> Command {
    let job = format!("exec {}", job::command_line().join(" "));
    let options = [&["--node", "first", "--on-lead", &job], options].concat();
    let mut command = world.election(command, &options);
    command.env(job::WORDS, words);
    command
}

#[test]
fn hooks_run_in_the_order_of_what_happens() {
    let world = World::new();
    let hook = noting(&world, "first");
    let all = ["--on-lead", &hook, "--on-lose", &hook, "--on-change", &hook];
    let mut first = world.candidate("first", &[&LONG[..], &all].concat(), "");
    let one = world.start_after(0).epoch;
    world.listed(1);
    noted(&world, "first", &format!("change-first-{one}"));
    assert!(world.output(&mut world.election("resign", &[])).status.success());
    // Alone on the list, it leads again.
    let two = world.start_after(one).epoch;
    noted(&world, "first", &format!("change-first-{two}"));
    let hook = noting(&world, "second");
    let all = ["--on-lead", &hook, "--on-lose", &hook, "--on-change", &hook];
    let second = world.candidate("second", &[&LONG[..], &all].concat(), "");
    noted(&world, "second", &format!("change-first-{two}"));
    first.send(Signal::TERM);
    // It waits for its last hooks.
    assert_eq!(first.exit(), Some(0));
    let lines = fs::read_to_string(world.path().join("first")).expect("a file of our own");
    let lines: Vec<_> = lines.lines().map(str::to_owned).collect();
    let wanted = [
        format!("lead-first-{one}"),
        format!("change-first-{one}"),
        format!("lose-first-{one}"),
        "change--".to_owned(),
        format!("lead-first-{two}"),
        format!("change-first-{two}"),
        format!("lose-first-{two}"),
        "change--".to_owned(),
    ];
    assert_eq!(lines, wanted);
    let three = world.start_after(two);
    assert_eq!(three.elector, second.pid());
    let lines = noted(&world, "second", &format!("change-second-{}", three.epoch));
    let lead = format!("lead-second-{}", three.epoch);
    let lead = lines.iter().position(|line| *line == lead).expect("its beginning");
    assert_eq!(lines[0], format!("change-first-{two}"));
    assert_eq!(lines[lead + 1..], [format!("change-second-{}", three.epoch)]);
}

/// The elector stands still, and so does the process that runs its hooks.
#[test]
fn a_hook_that_hangs_is_killed_before_another_can_lead() {
    for all in [false, true] {
        let world = World::new();
        let options = ["--ttl", "2s"];
        let first = with_job_as_hook(&world, "hold", &options, "ignore-term parent");
        let first = world.start(first);
        let hook = world.start_after(0);
        world.first("grandchild");
        database::freeze(&world, first.pid());
        if all {
            children(first.pid()).into_iter().for_each(freeze);
        }
        let second = world.candidate("second", &options, "parent");
        let job = world.start_after(hook.epoch);
        assert_eq!(job.elector, second.pid());
        world.assert_exclusive();
        assert_eq!(world.notes("start").len(), 2);
    }
}

/// Leadership that ends early is kept from others until the hook has ended.
#[test]
fn a_hook_that_ignores_its_end_is_killed_before_the_release() {
    let world = World::new();
    let options = [&LONG[..], &["--http", "127.0.0.1:0"]].concat();
    let first = world.start(with_job_as_hook(&world, "serve", &options, "ignore-term"));
    let hook = world.start_after(0);
    let second = world.candidate("second", &LONG, "");
    world.listed(2);
    assert!(world.output(&mut world.election("resign", &[])).status.success());
    // Long before the ttl is over.
    let job = world.start_after(hook.epoch);
    assert_eq!((job.elector, world.notes("term").len()), (second.pid(), 1));
    first.says("on-lead: killed, since leadership was over");
    world.assert_exclusive();
}

#[test]
fn a_hook_ends_with_its_elector() {
    let world = World::new();
    let options = ["--ttl", "60s", "--hook-timeout", "1h"];
    let mut first = world.start(with_job_as_hook(&world, "hold", &options, ""));
    let hook = world.start_after(0);
    first.kill();
    gone("the hook", hook.pid);
}

/// What an elector has told before goes on, except for what goes with leadership: whether it was killed,
/// or lives on and has given leadership up.
#[test]
fn no_hook_of_a_leadership_begins_once_that_is_over() {
    for killed in [true, false] {
        let world = World::new();
        let mut first = world.candidate("first", &LONG, "");
        let job = world.start_after(0);
        // The process that runs hooks passes on what one prints after what its elector tells it: once
        // it has said `on`, it knows that nobody tells it any more.
        let change = "touch begun; while [ ! -e go ]; do sleep 0.01; done; echo on; \
                      while [ ! -e end ]; do sleep 0.01; done; echo done >> over";
        let hooks = ["--on-change", change, "--on-lead", "touch led"];
        let options = [&LONG[..], &hooks].concat();
        let mut second = match killed {
            true => world.start(world.election("hold", &options)),
            false => {
                world.candidate("second", &[&options[..], &["--on-lost", "stop"]].concat(), "")
            }
        };
        let path = |name: &str| world.path().join(name);
        eventually("a hook that runs", || path("begun").exists().then_some(()));
        world.listed(2);
        first.send(Signal::TERM);
        first.exit();
        let mut runners = vec![];
        if killed {
            second.says("elected");
            runners = children(second.pid());
            assert_eq!(runners.len(), 1, "{runners:?}");
            second.kill();
        } else {
            world.start_after(job.epoch);
            let asked = world.output(&mut world.election("resign", &[]));
            assert!(asked.status.success(), "{asked:?}");
            second.says("resigning");
        }
        fs::write(path("go"), "").expect("a file of our own");
        second.says("on-change: on");
        fs::write(path("end"), "").expect("a file of our own");
        match runners[..] {
            [runner] => gone("the process that runs hooks", runner),
            _ => assert_eq!(second.exit(), Some(120), "{}", second.messages()),
        }
        assert!(path("over").exists(), "the first hook was not left to end");
        assert!(!path("led").exists(), "a hook for a leadership that nobody has");
    }
}

#[test]
fn a_second_signal_ends_the_wait_for_the_last_hook() {
    let world = World::new();
    let hook = ["--on-lose", "touch begun; sleep 1000", "--hook-timeout", "1h"];
    let mut only = world.candidate("only", &[&LONG[..], &hook].concat(), "");
    let job = world.start_after(0);
    only.send(Signal::TERM);
    eventually("the last hook", || world.path().join("begun").exists().then_some(()));
    gone("the job", job.pid);
    assert!(only.is_running(), "it does not wait for its last hook");
    // Within a second of the first signal, another is the same.
    eventually("its end", || {
        only.send(Signal::TERM);
        (!only.is_running()).then_some(())
    });
    assert_eq!(only.exit(), Some(0), "{}", only.messages());
}

#[test]
fn a_failed_or_slow_hook_is_only_logged() {
    let world = World::new();
    let fails = ["--on-lead", "echo to stdout; echo to stderr >&2; exit 3"];
    let failed = [
        "INFO on-lead: to stdout event=hook hook=on-lead election=default node=first",
        "INFO on-lead: to stderr",
        "WARN on-lead: failed with exit code 3 event=hook_failed hook=on-lead code=3",
    ];
    // On a busy machine a hook may be late before it has printed a word.
    let late = ["--on-change", "sleep 1000", "--hook-timeout", "300ms"];
    let killed = ["WARN on-change: killed after 300ms (--hook-timeout)"];
    let mut epoch = 0;
    for (hook, lines) in [(&fails[..], &failed[..]), (&late, &killed)] {
        let mut first: Candidate = world.candidate("first", &[&LONG[..], hook].concat(), "code=7");
        epoch = world.start_after(epoch).epoch;
        lines.iter().for_each(|line| first.says(line));
        assert!(first.is_running());
        first.send(Signal::TERM);
        assert_eq!(first.exit(), Some(7));
    }
    assert_eq!(world.notes("start").len(), 2);
    let mut quiet = world.candidate("quiet", &[&["--quiet", "--json"], &fails[..]].concat(), "");
    quiet.says("\"code\":3");
    quiet.send(Signal::TERM);
    quiet.exit();
    for line in quiet.messages().lines() {
        let line: serde_json::Value = serde_json::from_str(line).expect("JSON");
        assert_eq!(line["event"], "hook_failed");
    }
}

/// Nobody knows then whether a hook has ended that goes with leadership.
#[test]
fn leadership_with_unwatched_hooks_is_not_released() {
    let world = World::new();
    let options = [&LONG[..], &["--on-lead", "sleep 1000"]].concat();
    let mut leader = world.candidate("leader", &options, "");
    world.start_after(0);
    let runner = eventually("the process that runs the hooks", || {
        children(leader.pid()).into_iter().find(|pid| plays(*pid, "__hooks"))
    });
    eventually("a hook", || children(runner).first().copied());
    send(runner, Signal::KILL);
    leader.says("the process that runs the hooks has ended");
    leader.send(Signal::TERM);
    assert_eq!(leader.exit(), Some(0));
    assert!(world.row().live_holder().is_some(), "the lease was released");
    leader.says("event=not_released");
}

/// Hooks are waited for, but not if nobody runs them.
#[test]
fn who_leaves_does_not_wait_for_hooks_that_stand_still() {
    let world = World::new();
    let options = [&LONG[..], &["--on-lose", "true", "--hook-timeout", "1s"]].concat();
    let mut leader = world.candidate("leader", &options, "");
    world.start_after(0);
    let runner = eventually("the process that runs the hooks", || {
        children(leader.pid()).into_iter().find(|pid| plays(*pid, "__hooks"))
    });
    freeze(runner);
    leader.send(Signal::TERM);
    assert_eq!(leader.exit(), Some(0));
    leader.says("leaving while hooks are still running, after 1s");
    assert!(world.row().live_holder().is_none(), "the lease was not released");
}

/// Neither an epoch of somebody else's (of the job that has started this elector, say), nor its input,
/// nor a password.
#[test]
fn a_hook_has_what_is_its_own_and_nothing_else() {
    let world = World::new();
    let hook = "readlink /proc/self/fd/0 > input; cat >> input; \
                env > seen.new; mv seen.new seen-${ELECTION_LEADER:-nobody}";
    let mut run = world.run(&[&LONG[..], &["--node", "first", "--on-change", hook]].concat(), "");
    run.env("ELECTION_EPOCH", "7").current_dir(world.path()).stdin(Stdio::piped());
    run.env("ELECTION_STORE", "postgres://me:hunter2@h:1/x");
    let mut first = Candidate::of(run);
    let mut input = first.stdin();
    input.write_all(b"the job's").expect("a pipe of our own");
    let seen = |whose: &str| {
        let file = world.path().join(format!("seen-{whose}"));
        eventually(&format!("a hook that {whose} leads"), || fs::read_to_string(&file).ok())
    };
    let epoch = world.start_after(0).epoch;
    assert!(seen("first").contains(&format!("ELECTION_EPOCH={epoch}\n")));
    assert!(!seen("first").contains("hunter2"), "{}", seen("first"));
    first.send(Signal::TERM);
    assert_eq!(first.exit(), Some(0));
    assert!(!seen("nobody").contains("ELECTION_EPOCH="), "{}", seen("nobody"));
    assert_eq!(fs::read(world.path().join("input")).expect("a file of a hook"), b"/dev/null\n");
}

/// It fills no log, and keeps nobody from releasing.
#[test]
fn endless_output_of_a_hook_is_dropped_and_counted() {
    let world = World::new();
    let options = [&LONG[..], &["--on-lead", "echo begun; exec yes"]].concat();
    let mut first = world.candidate("first", &options[..], "");
    first.says("on-lead: y");
    world.start_after(0); // the job hears a signal from now on
    first.send(Signal::TERM);
    assert_eq!(first.exit(), Some(0));
    first.says("bytes are dropped, after a megabyte of log");
    let length = first.messages().len();
    assert!(length < 3 << 20, "{length} bytes of log");
    assert!(world.row().live_holder().is_none(), "the lease was not released");
}
