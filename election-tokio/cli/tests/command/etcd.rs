//! Elections in etcd.

use super::{
    control::{parsed, text},
    process::{eventually, send},
    world::World,
};
use election_testing::Etcd;
use rustix::process::Signal;

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
    assert!(told.contains("for another ") && !told.contains("the row itself"), "{told}");
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
