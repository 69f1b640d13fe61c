//! Ballots on disks that tear, forget, fill up and hang.

use crate::{
    checker::Tenure,
    cluster::{DOWN_AFTER, Nodes, place_of},
};
use election_testing::process::{eventually, within};
use std::{fs, path::PathBuf, process::Command};

fn alerted(nodes: &Nodes, node: usize, name: &str) -> String {
    eventually(name, || {
        let alerts = nodes.said(node, "alert");
        alerts.into_iter().map(|entry| entry.about).find(|about| about.starts_with(name))
    })
}

/// A torn ballot is not a fresh start: the node follows, and never votes. Once an operator has taken
/// the file away, it learns from the others what it may have promised.
#[test]
fn a_torn_ballot_does_not_vote() {
    let (mut nodes, leader) = Nodes::started(3);
    nodes.all_follow(&leader);
    let (old, torn, third) = around(&leader.node);
    has_a_ballot(&nodes, torn);
    nodes.kill(torn);
    let whole = fs::read(nodes.ballot(torn)).expect("a ballot");
    fs::write(nodes.ballot(torn), &whole[..whole.len() / 2]).expect("our own file");
    nodes.start(torn);
    alerted(&nodes, torn, "ballot_unusable");
    nodes.follows(torn, leader.epoch);
    nodes.kill(old);
    let why = eventually("what keeps the third from leading", || {
        let why = nodes.order(third, "why");
        why.contains("votes").then_some(why)
    });
    println!("{why}");
    let elected = within(2 * DOWN_AFTER, || nodes.tenures().len() > 1);
    assert!(!elected, "elected by a node that may have voted for another");
    let left = fs::read(nodes.ballot(torn)).expect("a ballot");
    assert_eq!(left, &whole[..whole.len() / 2], "what cannot be read is not replaced");
    nodes.kill(torn);
    fs::remove_file(nodes.ballot(torn)).expect("our own file");
    nodes.start(torn);
    nodes.start(old);
    nodes.leader_after(leader.epoch);
    nodes.check();
}

/// A lost disk looks like a first start, but the others know better.
#[test]
fn a_lost_ballot_is_learned_from_the_others() {
    let (mut nodes, leader) = Nodes::started(3);
    nodes.all_follow(&leader);
    let (old, wiped, _) = around(&leader.node);
    has_a_ballot(&nodes, wiped);
    nodes.kill(wiped);
    fs::remove_file(nodes.ballot(wiped)).expect("our own file");
    nodes.start(wiped);
    nodes.follows(wiped, leader.epoch);
    has_a_ballot(&nodes, wiped); // which says what it has learned
    nodes.kill(old);
    let next = nodes.leader_after(leader.epoch);
    assert!(next.epoch > leader.epoch);
    nodes.check();
}

/// Who only follows may not have recorded yet whom.
fn has_a_ballot(nodes: &Nodes, node: usize) {
    eventually("a ballot", || nodes.ballot(node).exists().then_some(()));
}

/// The leader, and the two others.
fn around(leader: &str) -> (usize, usize, usize) {
    let old = place_of(leader);
    (old, (old + 1) % 3, (old + 2) % 3)
}

/// A disk of one page for the ballot of one node, in a mount namespace of that node's own.
const SMALL: &str = "mount -t tmpfs -o size=16k,mode=0700 tmpfs \"$0\"; exec \"$@\"";

#[test]
fn a_full_disk_does_not_vote_until_there_is_room() {
    let mut nodes = Nodes::new(3);
    let disk = nodes.path().join("small");
    fs::create_dir(&disk).expect("a directory of our own");
    nodes.set_ballot(2, disk.join("ballot"));
    for node in 0..2 {
        nodes.position(node, "1:1");
    }
    let own = fs::metadata("/proc/self").expect("a /proc file system");
    let namespaces = if std::os::unix::fs::MetadataExt::uid(&own) == 0 { "-m" } else { "-Urm" };
    nodes.wrap(2, &["unshare", namespaces, "sh", "-euc", SMALL, disk.to_str().expect("UTF-8")]);
    (0..3).for_each(|node| nodes.start(node));
    let leader = nodes.leader_after(0);
    nodes.all_follow(&leader);
    let seen = PathBuf::from(format!("/proc/{}/root", nodes.pid(2)));
    let inside = seen.join(disk.strip_prefix("/").expect("an absolute path"));
    let filler = inside.join("filler");
    // As much as there is room for: writing ends with an error.
    let _ = fs::write(&filler, vec![0; 64 * 1024]);
    let old = place_of(&leader.node);
    assert_ne!(old, 2, "it has older data");
    nodes.kill(old);
    alerted(&nodes, 2, "save_failed");
    let elected = within(DOWN_AFTER, || nodes.tenures().len() > 1);
    assert!(!elected, "a vote that is not durable was counted");
    fs::remove_file(&filler).expect("the file that filled it up");
    nodes.leader_after(leader.epoch);
    nodes.check();
}

/// A directory that is moved away takes the ballot along. Whatever stands in its place is not
/// written to, and what the next life would not find is no vote.
#[test]
fn a_directory_that_was_replaced_does_not_vote() {
    let (mut nodes, leader) = Nodes::started(3);
    nodes.all_follow(&leader);
    let (old, moved, _) = around(&leader.node);
    let state = nodes.ballot(moved).parent().expect("a directory").to_owned();
    let away = nodes.path().join("away");
    fs::rename(&state, &away).expect("a directory of our own");
    fs::create_dir(&state).expect("a directory of our own");
    nodes.kill(old);
    alerted(&nodes, moved, "save_failed");
    nodes.logged(moved, "save_failed", &["put it back", state.to_str().expect("UTF-8")]);
    let elected = within(DOWN_AFTER, || nodes.tenures().len() > 1);
    assert!(!elected, "a vote that the next life would not find was counted");
    let files = fs::read_dir(&state).expect("our own").count();
    assert_eq!(files, 0, "nothing is put in a directory that is not this node's");
    fs::remove_dir(&state).expect("an empty directory");
    fs::rename(&away, &state).expect("a directory of our own");
    nodes.leader_after(leader.epoch);
    nodes.check();
}

/// Holds every `fsync` of a process as long as a file exists, or those of one kind.
const HELD: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
static int chosen(int descriptor) {
    const char *kind = getenv("HOLD_KIND");
    struct stat found;
    if (!kind || fstat(descriptor, &found) != 0) return 1;
    return (S_ISDIR(found.st_mode) != 0) == (kind[0] == 'd');
}
static int held(const char *name, int descriptor) {
    const char *file = getenv("HOLD_FSYNC");
    while (file && chosen(descriptor) && access(file, F_OK) == 0) usleep(1000);
    int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, name);
    return real(descriptor);
}
int fsync(int descriptor) { return held("fsync", descriptor); }
int fdatasync(int descriptor) { return held("fdatasync", descriptor); }
"#;

fn library(place: &std::path::Path) -> PathBuf {
    let (source, library) = (place.join("held.c"), place.join("held.so"));
    fs::write(&source, HELD).expect("a directory of our own");
    let mut compiler = Command::new("cc");
    let status = compiler.args(["-shared", "-fPIC", "-o"]).arg(&library).arg(&source).arg("-ldl");
    assert!(status.status().expect("a C compiler").success());
    library
}

/// Nodes each of whose disks hangs while a file of its own exists; and those files.
fn hanging(kind: Option<&str>) -> (Nodes, Tenure, Vec<PathBuf>) {
    let mut nodes = Nodes::new(3);
    let library = library(nodes.path());
    let holds: Vec<_> = (0..3).map(|node| nodes.path().join(format!("hold-{node}"))).collect();
    let preload = format!("LD_PRELOAD={}", library.display());
    let kind = kind.map(|kind| format!("HOLD_KIND={kind}"));
    for (node, hold) in holds.iter().enumerate() {
        let file = format!("HOLD_FSYNC={}", hold.display());
        let words = ["env", &preload, &file].into_iter().chain(kind.as_deref());
        nodes.wrap(node, &words.collect::<Vec<_>>());
    }
    (0..3).for_each(|node| nodes.start(node));
    let leader = nodes.leader_after(0);
    nodes.all_follow(&leader);
    (nodes, leader, holds)
}

/// Waits until a node says that it is not fit to lead.
fn unfit(nodes: &mut Nodes, node: usize) {
    let unfit = eventually("a node that is not fit to lead", || {
        let why = nodes.order(node, "why");
        why.contains("fit").then_some(why)
    });
    println!("{unfit}");
}

/// A disk that takes seconds delays no heartbeat, and a node whose disk hangs does not want to lead.
/// Once the disk writes again, it does.
#[test]
fn a_disk_that_hangs_delays_the_vote_and_nothing_else() {
    let (mut nodes, leader, holds) = hanging(None);
    let (old, other, held) = around(&leader.node);
    let hold = &holds[held];
    fs::write(hold, "").expect("a directory of our own");
    nodes.kill(old);
    unfit(&mut nodes, held);
    nodes.logged(held, "save_hangs", &[]);
    assert_eq!(nodes.tenures().len(), 1, "its vote is not durable");
    let heard = nodes.order(other, &format!("hears n{}", held + 1));
    assert_eq!(heard, "fresh", "heartbeats go on while the disk hangs");
    fs::remove_file(hold).expect("our own file");
    let mut next = nodes.leader_after(leader.epoch);
    nodes.logged(held, "saved", &["again"]);
    nodes.order(held, "position 9");
    if place_of(&next.node) != held {
        nodes.start(old);
        nodes.follows(old, next.epoch);
        nodes.kill(other);
        next = nodes.leader_after(next.epoch);
    }
    assert_eq!(place_of(&next.node), held, "it alone has the newest data");
    nodes.check();
}

/// A file that is on the disk under a name that is not, or the other way round, is lost by a crash.
#[test]
fn a_vote_waits_for_the_file_and_for_its_directory() {
    for kind in ["file", "directory"] {
        let (mut nodes, leader, holds) = hanging(Some(kind));
        let (old, _, held) = around(&leader.node);
        fs::write(&holds[held], "").expect("a directory of our own");
        nodes.kill(old);
        unfit(&mut nodes, held);
        assert_eq!(nodes.tenures().len(), 1, "its vote is not durable: {kind}");
        fs::remove_file(&holds[held]).expect("our own file");
        nodes.leader_after(leader.epoch);
        nodes.check();
    }
}
