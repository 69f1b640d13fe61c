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
    for words in ["was promoted", "has to expire first", "in about 2", "--wait", "try again then"] {
        tries.says(words);
    }
    let mut late = world.start(world.run_on(&url, &["--wait", "4s", "--ttl", "30s"], ""));
    assert_eq!(late.exit(), Some(124));
    late.says("not elected in time: nobody can be elected yet: the database server was promoted");
}
