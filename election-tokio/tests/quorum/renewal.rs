//! Certificates that are replaced while members run, and files that break meanwhile. Whatever is done
//! to them, one leadership goes on.

use crate::{
    certificates::Folder,
    checker::Tenure,
    cluster::{DOWN_AFTER, Nodes, place_of},
    hostile::{Flood, noises, silence},
};
use election_driver::conformance::certificates::{Authority, shakes_hands};
use election_testing::process::{eventually, within};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use std::{
    fs::{self, OpenOptions},
    io::Read as _,
    net::TcpStream,
    os::unix::fs::OpenOptionsExt as _,
};

/// How often a node has said this.
fn times(nodes: &Nodes, node: usize, event: &str) -> usize {
    let begins = format!("{event} ");
    nodes.said(node, "log").iter().filter(|entry| entry.about.starts_with(&begins)).count()
}

/// Changes what is in a node's folder, and waits until the node has taken it up.
fn takes_up(nodes: &Nodes, node: usize, change: impl FnOnce()) {
    let before = times(nodes, node, "certificates");
    change();
    eventually("other certificates", || {
        knock(nodes, node);
        (times(nodes, node, "certificates") > before).then_some(())
    });
}

/// Fails at a handshake: a node that has seen it reads its files at once, and not after seconds.
fn knock(nodes: &Nodes, node: usize) {
    let stream = TcpStream::connect(nodes.address(node)).expect("a port");
    drop(shakes_hands(stream, None).map(|mut session| session.read(&mut [0; 1])));
}

/// Every certificate is replaced, then the authority, while strangers fail at handshakes.
#[test]
fn certificates_and_authority_rotate_in_one_leadership() {
    let (old, new) = (Authority::new(), Authority::new());
    let (mut nodes, folders, leader) = Nodes::secured(3, &old);
    let attack = Flood::on(&nodes, &[silence, noises]);
    let each = |nodes: &Nodes, change: &dyn Fn(&Folder, usize)| {
        for (node, folder) in folders.iter().enumerate() {
            takes_up(nodes, node, || change(folder, node));
            nodes.still_leads(&leader);
        }
    };
    each(&nodes, &|folder, node| folder.put(&old.member(node)));
    each(&nodes, &|folder, _| folder.trust(&[&old, &new]));
    each(&nodes, &|folder, node| folder.put(&new.member(node)));
    each(&nodes, &|folder, _| folder.trust(&[&new]));
    println!("{} connections of strangers meanwhile", attack.ends());
    // What the old authority has signed counts no more, and what the new one has signed does.
    let is_taken = |nodes: &Nodes, authority: &Authority| {
        let node = place_of(&leader.node);
        let stream = TcpStream::connect(nodes.address(node)).expect("a port");
        let member = authority.member((node + 1) % 3);
        let mut session = shakes_hands(stream, Some(&member)).expect("a handshake from this side");
        // The member hangs up on who is silent, and tells who is refused.
        let end = session.read_exact(&mut [0; 1]).expect_err("members say nothing here");
        !end.to_string().contains("fatal alert")
    };
    assert!(!is_taken(&nodes, &old));
    assert!(is_taken(&nodes, &new));
    let follower = (place_of(&leader.node) + 1) % 3;
    nodes.kill(follower);
    nodes.start(follower);
    nodes.follows(follower, leader.epoch);
    nodes.still_leads(&leader);
}

/// A node has these files in place of good ones. It says so once, and once that they are good again.
#[test]
fn what_cannot_be_used_is_told_once_and_changes_nothing() {
    let (authority, foreign) = (Authority::new(), Authority::new());
    let (nodes, folders, leader) = Nodes::secured(3, &authority);
    for (node, folder) in folders.iter().enumerate().take(2) {
        let good = authority.member(node);
        takes_up(&nodes, node, || folder.put(&good));
        let torn = {
            let mut torn = good.clone();
            torn.certificate.truncate(torn.certificate.len() / 2);
            torn
        };
        let mixed = {
            let mut mixed = authority.member(node);
            mixed.certificate.clone_from(&good.certificate);
            mixed
        };
        let other = authority.member((node + 1) % 3);
        let cases = [
            (torn, "it is cut short"),
            (mixed, "key does not belong to its certificate"),
            (other, "name the files of "),
            (foreign.member(node), "not signed by this cluster's authority"),
        ];
        for (bad, words) in cases {
            is_told_once(&nodes, node, words, || folder.put(&bad));
            takes_up(&nodes, node, || folder.put(&good));
        }
        is_told_once(&nodes, node, "No such file", || {
            fs::remove_file(folder.key()).expect("a file of our own");
        });
        takes_up(&nodes, node, || folder.put(&good));
        nodes.still_leads(&leader);
    }
}

/// Does something bad to the files, and has the node read them several times.
fn is_told_once(nodes: &Nodes, node: usize, words: &str, change: impl FnOnce()) {
    let before = times(nodes, node, "certificates_refused");
    change();
    eventually("a word of it", || {
        knock(nodes, node);
        (times(nodes, node, "certificates_refused") > before).then_some(())
    });
    nodes.logged(node, "certificates_refused", &[words, "the previous ones stay in use"]);
    let told = || times(nodes, node, "certificates_refused");
    let again = within(2 * DOWN_AFTER, || {
        knock(nodes, node);
        told() > before + 1
    });
    assert!(!again, "{} times", told() - before);
}

/// The source hangs, as on a network's file system that has gone.
#[test]
fn a_source_that_hangs_delays_no_heartbeat() {
    let authority = Authority::new();
    let (mut nodes, folders, leader) = Nodes::secured(3, &authority);
    let old = place_of(&leader.node);
    let least = |nodes: &mut Nodes, leader: &Tenure| {
        nodes.order(old, "least");
        let began = nodes.tenures()[0].last;
        let lasts = u64::try_from((4 * DOWN_AFTER).as_nanos()).expect("a short time");
        eventually("as long a leadership", || {
            (nodes.tenures()[0].last >= began + lasts).then_some(())
        });
        nodes.still_leads(leader);
        nodes.order(old, "least").parse::<u64>().expect("milliseconds")
    };
    let calm = least(&mut nodes, &leader);
    let pipes: Vec<_> = folders.iter().map(Folder::hangs).collect();
    for pipe in &pipes {
        let mode = Mode::RUSR | Mode::WUSR;
        mknodat(CWD, pipe, FileType::Fifo, mode, 0).expect("a pipe of our own");
    }
    let hung = least(&mut nodes, &leader);
    println!("least trust left: {calm} ms calm, {hung} ms while all sources hang");
    assert!(hung > calm / 2, "{calm} ms, then {hung} ms");
    for (node, pipe) in pipes.iter().enumerate() {
        // It can be opened without waiting only if somebody waits at its other end.
        let nonblocking = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).expect("a flag");
        let mut opens = OpenOptions::new();
        opens.write(true).custom_flags(nonblocking);
        let other_end = eventually("a thread that hangs", || opens.open(pipe).ok());
        fs::remove_file(pipe).expect("a pipe of our own");
        takes_up(&nodes, node, || {
            folders[node].put(&authority.member(node));
            drop(other_end);
        });
    }
    nodes.still_leads(&leader);
}
