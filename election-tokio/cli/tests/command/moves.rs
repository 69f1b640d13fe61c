//! Members that move to another address while the others run.

use super::{
    members::{DOWN_AFTER, IDS, Members},
    process::{alive, eventually},
};
use rustix::process::Signal;
use std::time::Instant;

/// An address of nobody else.
fn elsewhere(address: &str) -> String {
    let (host, port) = address.rsplit_once(':').expect("a port");
    format!("{host}:{}", port.parse::<u16>().expect("a port") + 5)
}

fn followers_move(members: &Members) {
    let (mut all, job, first) = members.led();
    let followers = [(first + 1) % 3, (first + 2) % 3];
    for place in followers {
        let (old, new) = (members.address(place), elsewhere(members.address(place)));
        IDS.iter().for_each(|node| members.edit(node, |text| text.replace(old, &new)));
        let others = || (0..3).filter(|other| *other != place);
        for other in others() {
            all[other].says(&format!("the address of {} is now {new};", IDS[place]));
        }
        all[place].send(Signal::KILL);
        all[place].exit();
        all[place] = members.start(IDS[place], "");
        let began = Instant::now();
        for other in others() {
            members.until("the moved member", IDS[other], |status| {
                let peers = status["peers"].as_array().expect("peers");
                let peer = peers.iter().find(|peer| peer["node"] == IDS[place]).expect("a peer");
                peer["address"] == new
                    && peer["connected"] == true
                    && peer["heard"]["fresh"] == true
            });
        }
        assert!(began.elapsed() < 2 * DOWN_AFTER, "{:?}", began.elapsed());
        IDS.iter().for_each(|node| members.settled(node));
    }
    assert!(alive(job.pid));
    assert_eq!(members.world.notes("start").len(), 1);
}

#[test]
fn members_move_one_by_one_under_one_leadership() {
    followers_move(&Members::new());
}

#[test]
fn members_with_certificates_move_as_well() {
    followers_move(&Members::certified());
}

#[test]
fn an_address_that_cannot_be_used_is_told_beside_certificates() {
    let members = Members::certified();
    let (all, job, first) = members.led();
    let other = members.address((first + 1) % 3);
    members.edit(IDS[first], |text| text.replace(other, members.address(first)));
    all[first].says("have the same address");
    assert!(alive(job.pid));
}

#[test]
fn addresses_that_cannot_be_used_change_nothing() {
    let members = Members::new();
    let (all, job, first) = members.led();
    let other = members.address((first + 1) % 3);
    let good = std::fs::read_to_string(members.file()).expect("a file of our own");
    for (text, words) in [
        (good.replace(other, "127.0.0.1"), "the port is missing"),
        (good.replace(other, "10.0.0.1:7400"), "anybody who reaches a port can vote"),
        (good.replace(other, members.address(first)), "have the same address"),
        (good.replace("id = \"n3\"", "id = \"n4\""), "no longer describes the running cluster"),
        (String::new(), "`election` is missing"),
    ] {
        members.edit(IDS[0], |_| text);
        let told = || {
            let messages = all[first].messages();
            messages.lines().any(|line| {
                line.contains(words) && line.contains("the previous addresses stay in use")
            })
        };
        eventually(words, || told().then_some(()));
    }
    members.edit(IDS[0], |_| good);
    IDS.iter().for_each(|node| members.settled(node));
    assert!(alive(job.pid));
    assert_eq!(members.world.notes("start").len(), 1);
}
