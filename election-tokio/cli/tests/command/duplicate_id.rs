//! A second process under a member's id, or under a candidate's name.

use super::{
    members::{IDS, Members},
    world::World,
};
use std::net::SocketAddr;

#[test]
fn an_unreachable_second_process_is_told_by_those_it_greets() {
    let members = Members::new();
    let (all, _job, first) = members.led();
    let [twice, other] = [(first + 1) % 3, (first + 2) % 3];
    let mut elsewhere: SocketAddr = members.address(twice).parse().expect("an address");
    elsewhere.set_port(elsewhere.port() + 5);
    let beside = |name: &str| members.world.path().join(name).display().to_string();
    let (listen, ballot, socket) = (elsewhere.to_string(), beside("ballot"), beside("socket"));
    let options = ["--listen", &*listen, "--ballot", &*ballot, "--socket", &*socket];
    let _second = members.world.start(members.run(IDS[twice], &options, ""));
    for place in [first, other] {
        all[place].says("event=duplicate_id");
        all[place].says(&format!("says that it is {}", IDS[twice]));
    }
    let told = all[twice].messages();
    assert!(!told.contains("event=duplicate_id"), "it is the one that is meant: {told}");
}

#[test]
fn a_second_process_of_one_name_at_a_database_names_the_first() {
    let world = World::new();
    let options = ["--ttl", "2s", "--interval", "200ms"];
    let _first = world.candidate("same", &options, "");
    world.start_after(0);
    let second = world.candidate("same", &options, "");
    second.says("event=duplicate_id");
    second.says("another process takes part as same (incarnation");
}
