//! Which address the HTTP port gets, and what is refused.

use super::client::{leader_until, try_ask};
use crate::{members::refused, world::World};
use std::net::TcpListener;

#[test]
fn an_address_that_cannot_be_is_refused_before_the_election() {
    let world = World::new();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let taken = listener.local_addr().expect("an address").to_string();
    let cases: [(&[&str], &[&str]); 4] = [
        (
            &["--http", "localhost:1"],
            &["host names are not resolved; write 127.0.0.1:1 or [::1]:1"],
        ),
        (&["--http", "[::]:0"], &["--http [::]:0: other machines", "--http-exposed"]),
        (&["--http", "192.0.2.1:4040", "--http-exposed"], &["does not have that address"]),
        (
            &["--http", &taken],
            &["--http ", "another process is listening there", "choose another port"],
        ),
    ];
    for (options, words) in cases {
        refused(&world.output(&mut world.election("serve", options)), 125, words);
        refused(&world.output(&mut world.run(options, "exit=0")), 125, words);
    }
    drop(listener);
    let words = ["--http-exposed allows", "--http 0.0.0.0:4040"];
    refused(&world.output(&mut world.run(&["--http-exposed"], "exit=0")), 125, &words);
    let mut empty = world.election("serve", &[]);
    refused(&world.output(empty.env("ELECTION_HTTP", "")), 125, &["ELECTION_HTTP is set"]);
    let words = ["there is no job", "`election serve`"];
    refused(&world.output(&mut world.election("run", &[])), 125, &words);
    assert!(!world.database().exists(), "somebody has stood for election");
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
