//! Which address the HTTP port gets, and what is refused.

use super::client::{leader_until, try_ask};
use crate::world::World;
use std::{net::TcpListener, process::Command};

#[track_caller]
fn refused(world: &World, command: &mut Command, words: &[&str]) {
    let output = world.output(command);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(125), "{command:?}: {said}");
    assert!(!said.contains("panicked"), "{said}");
    for each in words {
        assert!(said.contains(each), "no {each:?} in {said}");
    }
    assert!(!world.database().exists(), "{command:?} has stood for election");
}

#[test]
fn an_address_that_cannot_be_is_refused_before_the_election() {
    let world = World::new();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let taken = listener.local_addr().expect("an address").to_string();
    let cases: [(&[&str], &[&str]); 6] = [
        (
            &["--http", "4040"],
            &["--http \"4040\": the IP address is missing; write 127.0.0.1:4040"],
        ),
        (&["--http", "localhost:1"], &["names are not looked up; write 127.0.0.1:1 or [::1]:1"]),
        (
            &["--http", "0.0.0.0:0"],
            &["--http 0.0.0.0:0: other machines", "--http-exposed", "127.0.0.1:0"],
        ),
        (&["--http", "[::]:0"], &["other machines", "--http-exposed"]),
        (&["--http", "192.0.2.1:4040", "--http-exposed"], &["does not have that address"]),
        (&["--http", &taken], &["--http ", "another process listens there", "choose another port"]),
    ];
    for (options, words) in cases {
        refused(&world, &mut world.election("serve", options), words);
        refused(&world, &mut world.run(options, "exit=0"), words);
    }
    drop(listener);
    let words = ["--http-exposed permits", "--http 0.0.0.0:4040"];
    refused(&world, &mut world.run(&["--http-exposed"], "exit=0"), &words);
    refused(&world, world.election("serve", &[]).env("ELECTION_HTTP", "here"), &["\"here\""]);
    refused(
        &world,
        world.election("serve", &[]).env("ELECTION_HTTP", ""),
        &["ELECTION_HTTP is set"],
    );
    refused(&world, &mut world.election("serve", &["true"]), &["true"]);
    refused(&world, &mut world.election("run", &[]), &["there is no job", "`election serve`"]);
}

/// The port that Kubernetes' leader-elector had, on this machine alone. Where something else has
/// it, that is what is said.
#[test]
fn serve_uses_the_usual_port_and_run_uses_none() {
    let world = World::new();
    let serving = world.start(world.election("serve", &["--node", "usual"]));
    let usual = "127.0.0.1:4040";
    crate::process::eventually("the usual port", || {
        let said = serving.messages();
        let serves = said.contains(&format!("answering at http://{usual}/leader"));
        (serves || said.contains(&format!("--http {usual}: Address already in use"))).then_some(())
    });
    if serving.messages().contains("answering") {
        let port = usual.parse().expect("an address");
        leader_until("a leader", port, |said| said["name"] == "usual");
        assert!(try_ask("[::1]:4040".parse().expect("an address"), "GET", "/leader").is_err());
    }
    let running = world.candidate("running", &["--ttl", "60s", "--name", "other"], "");
    world.start_after(0);
    assert!(!running.messages().contains("http"), "{}", running.messages());
}
