//! Ballots on disks that fill up and hang.

use crate::{
    checker::Tenure,
    cluster::{DOWN_AFTER, Nodes, place_of},
};
use election_testing::process::{eventually, within};
use std::{fs, path::PathBuf, process::Command};

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
    nodes.logged(2, "save_failed", &[]);
    let elected = within(DOWN_AFTER, || nodes.tenures().len() > 1);
    assert!(!elected, "a vote that is not durable was counted");
    fs::remove_file(&filler).expect("the file that filled it up");
    nodes.leader_after(leader.epoch);
    nodes.check();
}

/// Holds every `fsync` of one kind in a process as long as a file exists.
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
fn hanging(kind: &str) -> (Nodes, Tenure, Vec<PathBuf>) {
    let mut nodes = Nodes::new(3);
    let library = library(nodes.path());
    let holds: Vec<_> = (0..3).map(|node| nodes.path().join(format!("hold-{node}"))).collect();
    let preload = format!("LD_PRELOAD={}", library.display());
    let kind = format!("HOLD_KIND={kind}");
    for (node, hold) in holds.iter().enumerate() {
        let file = format!("HOLD_FSYNC={}", hold.display());
        nodes.wrap(node, &["env", &preload, &file, &kind]);
    }
    (0..3).for_each(|node| nodes.start(node));
    let leader = nodes.leader_after(0);
    nodes.all_follow(&leader);
    (nodes, leader, holds)
}

/// A file that is on the disk under a name that is not, or the other way round, is lost by a crash.
#[test]
fn a_vote_waits_for_the_file_and_for_its_directory() {
    for kind in ["file", "directory"] {
        let (mut nodes, leader, holds) = hanging(kind);
        let old = place_of(&leader.node);
        let held = (old + 2) % 3;
        fs::write(&holds[held], "").expect("a directory of our own");
        nodes.kill(old);
        // It answers, so the disk holds up nothing else.
        eventually("a node that is not fit to lead", || {
            nodes.order(held, "why").contains("fit").then_some(())
        });
        assert_eq!(nodes.tenures().len(), 1, "its vote is not durable: {kind}");
        fs::remove_file(&holds[held]).expect("our own file");
        nodes.leader_after(leader.epoch);
        nodes.check();
    }
}
