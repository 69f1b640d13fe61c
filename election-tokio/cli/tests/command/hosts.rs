//! A database with several hosts.

use super::{server::apply_schema, world::World};
use election_testing::{Kind, Server};
use std::fs;

/// The job asks for itself, with what it has inherited: all hosts, and no password.
#[test]
fn every_command_understands_a_list_of_hosts() {
    let (world, server) = (World::new(), Server::start(Kind::Postgres));
    apply_schema(&server.url());
    let standby = server.standby();
    let hosts = format!("127.0.0.1:{},127.0.0.1:{}", standby.port(), server.port());
    let url = format!("postgres://election:election@{hosts}/election");
    let asked = world.path().join("asked");
    let job = format!(
        "{} check && echo $ELECTION_STORE > {}",
        env!("CARGO_BIN_EXE_election"),
        asked.display()
    );
    let mut run = world.bare(&["run", "--name", "n", "--node", "me", "--", "sh", "-c", &job]);
    let output = world.output(run.env("ELECTION_STORE", &url));
    assert!(output.status.success(), "{output:?}");
    let inherited = fs::read_to_string(&asked).expect("what the job has written");
    assert_eq!(inherited.trim(), format!("postgres://election@{hosts}/election"));

    let file = world.path().join("election.toml");
    fs::write(&file, format!("store = \"{url}\"\nname = \"n\"\n")).expect("a file of our own");
    let config = file.to_str().expect("a path in UTF-8");
    for options in [&["--store", &*url, "--name", "n"][..], &["--config", config]] {
        let mut status = world.bare(&["status"]);
        let output = world.output(status.args(options));
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let shown = hosts.replace(',', ", ");
        assert!(said.contains(&format!("PostgreSQL at {shown}, database election")), "{output:?}");
    }
}

#[test]
fn a_list_of_replicas_is_explained() {
    let (world, mut server) = (World::new(), Server::start(Kind::Postgres));
    apply_schema(&server.url());
    let standby = server.standby();
    let (replica, dead) = (standby.port(), server.port());
    server.kill();
    let url = format!("postgres://election:hunter2@127.0.0.1:{replica},127.0.0.1:{dead}/election");
    let output = world.output(&mut world.on(&url, "status", &["--timeout", "2s"]));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(125), "{said}");
    for words in [
        format!("127.0.0.1:{replica}: it is a replica"),
        format!("127.0.0.1:{dead}: nothing listens there"),
    ] {
        assert!(said.contains(&words), "no {words:?} in {said}");
    }
    assert!(!said.contains("hunter2"), "{said}");
    let url = format!("{url}?target_session_attrs=any");
    let output = world.output(&mut world.on(&url, "status", &[]));
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(said.contains("default") && said.contains("its answer can be old"), "{output:?}");
}

/// In the first turn after it, every host does this.
#[test]
fn cron_after_a_failover_is_told_when_to_come_again() {
    let (world, mut server) = (World::new(), Server::start(Kind::Postgres));
    apply_schema(&server.url());
    let standby = server.standby();
    server.kill();
    standby.promote();
    let url = format!("postgres://election:election@127.0.0.1:{}/election", standby.port());
    let mut tries = world.start(world.run_on(&url, &["--try", "--ttl", "30s"], ""));
    assert_eq!(tries.exit(), Some(125));
    for words in ["was promoted", "has to end first", "in about 2", "--wait", "try again then"] {
        tries.says(words);
    }
    let mut late = world.start(world.run_on(&url, &["--wait", "4s", "--ttl", "30s"], ""));
    assert_eq!(late.exit(), Some(124));
    late.says("not elected in time: nobody can be elected yet: the database server was promoted");
}

#[test]
fn a_list_that_is_wrong_is_refused_with_the_remedy() {
    let world = World::new();
    for (url, words) in [
        ("postgres://me:hunter2@a,,b/d", "host 2 of the list is empty"),
        ("mysql://me:hunter2@a,b:no/d", "the port of host 2 is not a number"),
        ("mysql://me:hunt,er2@a,b/d", "a comma as %2C"),
        ("postgres://a,b/d?target_session_attrs=standby", "write read-write"),
    ] {
        let output = world.output(&mut world.on(url, "status", &[]));
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(125), "{url}: {said}");
        assert!(said.contains(words), "{url}: {said}");
    }
}
