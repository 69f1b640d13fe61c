//! Elections in etcd.

use super::{
    control::{parsed, text},
    process::{alive, eventually, send},
    world::World,
};
use election_testing::Etcd;
use rustix::process::Signal;
use std::{fs, process::Command};

/// Etcd itself is asked by the library's tests.
#[test]
fn a_job_runs_on_etcd_and_its_successor_too() {
    let (world, etcd) = (World::new(), Etcd::start());
    let url = format!("{}/jobs", etcd.url());
    let options = |node| ["--node", node, "--ttl", "3s", "--label", "10.0.0.1:80"];
    let mut first = world.start(world.run_on(&url, &options("first"), ""));
    let job = world.start_after(0);
    let second = world.start(world.run_on(&url, &options("second"), ""));

    let status = parsed(&text(&world.output(&mut world.on(&url, "status", &["--json"]))));
    assert_eq!((&status[0]["leader"], &status[0]["epoch"]), (&"first".into(), &job.epoch.into()));
    assert_eq!((&status[0]["label"], &status[0]["schema"]), (&"10.0.0.1:80".into(), &().into()));
    eventually("two candidates on the list", || {
        let listed = parsed(&text(&world.output(&mut world.on(&url, "list", &["--json"]))));
        (listed.len() == 2 && listed[0]["leads"] == true).then_some(())
    });
    let told = text(&world.output(&mut world.on(&url, "status", &[])));
    assert!(told.contains("with a lease of 3.0s, last renewed at an unknown time"), "{told}");
    let mut check = world.on(&url, "check", &["--quiet", "--node", "first"]);
    assert_eq!(world.output(&mut check).status.code(), Some(0));

    first.kill();
    let next = world.start_after(job.epoch);
    let asked = text(&world.output(&mut world.on(&url, "resign", &["--json"])));
    assert_eq!(parsed(&asked)[0]["epoch"], next.epoch);
    // It is alone: it leads again.
    assert!(world.start_after(next.epoch).elector == second.pid());
    world.assert_exclusive();
    send(second.pid(), Signal::TERM);
}

/// So says the README: after the kill above, its job runs beside its successor's.
#[test]
fn etcdctl_lock_leaves_its_job_running() {
    let (world, etcd) = (World::new(), Etcd::start_single(&[]));
    let lock = |node: &str| {
        let job = world.path().join(node);
        let mut etcdctl = Command::new("etcdctl");
        etcdctl.env("ETCDCTL_API", "3").arg(format!("--endpoints={}", etcd.hosts_from(0)));
        etcdctl.args(["lock", "--ttl=2", "jobs", "--", "sh", "-c"]);
        etcdctl.arg(format!("echo $$ > {0}.next; mv {0}.next {0}; exec sleep 60", job.display()));
        let wrapper = etcdctl.spawn().unwrap();
        let started = || fs::read_to_string(&job).ok()?.trim().parse::<i32>().ok();
        (wrapper, eventually("a job of etcdctl", started))
    };
    let (mut first, job) = lock("first");
    first.kill().unwrap();
    first.wait().unwrap();
    let (mut second, next) = lock("second");
    assert!(alive(job) && alive(next), "one of them has ended");
    second.kill().unwrap();
    second.wait().unwrap();
    [job, next].iter().for_each(|job| send(*job, Signal::KILL));
}

#[test]
fn what_etcd_does_not_have_is_refused() {
    let world = World::new();
    let url = "etcd://me:hunter2@127.0.0.1:1/jobs";
    for (command, options, words) in [
        ("schema", &[] as &[&str], "etcd needs no tables"),
        ("status", &["--schema", "ops"], "etcd has no schemas; leave --schema out"),
        ("list", &["--elections"], "name one (--name)"),
        ("status", &[], "etcd at 127.0.0.1:1"),
        ("hold", &["--try"], "--try does not work on etcd"),
    ] {
        let output = world.output(&mut world.on(url, command, options));
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(125), "{command}: {said}");
        assert!(said.contains(words) && !said.contains("hunter2"), "{command}: {said}");
    }
}
