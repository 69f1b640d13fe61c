//! Files in whose place something else stands: a pipe that nobody writes to, a device.

use super::{
    members::{Members, refused},
    process::eventually,
    world::World,
};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::Value;
use std::{
    fs,
    os::fd::AsRawFd as _,
    path::{Path, PathBuf},
};

/// A pipe without another end. Whoever opens it waits.
fn pipe(path: &Path) -> &Path {
    let mode = Mode::RUSR | Mode::WUSR;
    mknodat(CWD, path, FileType::Fifo, mode, 0).expect("a pipe of our own");
    path
}

const IS_PIPE: &str = "it is a pipe and no regular file; ";

#[test]
fn a_pipe_in_place_of_what_is_read_once_is_refused() {
    let world = World::new();
    let pipe = pipe(&world.path().join("pipe")).to_owned();
    for flag in ["--config", "--store-file", "--cluster"] {
        let mut status = world.bare(&["status", flag]);
        let output = world.output(status.arg(&pipe));
        refused(
            &output,
            125,
            &[flag, "/pipe: ", IS_PIPE, "write it to a file, or correct the path"],
        );
    }
    let mut check = world.bare(&["cluster", "check"]);
    refused(&world.output(check.arg(&pipe)), 125, &["/pipe: ", IS_PIPE]);
}

#[test]
fn an_unreadable_settings_file_is_told_with_the_remedy() {
    let world = World::new();
    for flag in ["--config", "--cluster"] {
        let ask = |path: &Path| world.output(world.bare(&["status", flag]).arg(path));
        refused(
            &ask(&world.path().join("none")),
            125,
            &["/none: No such file", "correct the path"],
        );
        refused(&ask(world.path()), 125, &["it is a directory", "name the file in it"]);
    }
}

/// As a shell makes one of `<(…)`.
#[test]
fn a_pipe_that_was_given_is_read() {
    let world = World::new();
    let (reader, writer) = rustix::pipe::pipe().expect("a pipe");
    rustix::io::write(&writer, world.url().as_bytes()).expect("room in a pipe");
    drop(writer);
    let given = format!("/proc/{}/fd/{}", std::process::id(), reader.as_raw_fd());
    let output = world.output(&mut world.bare(&["schema", "--apply", "--store-file", &given]));
    assert!(output.status.success(), "{output:?}");
}

/// The files of n1's certificate.
fn files(members: &Members) -> [PathBuf; 3] {
    ["authority.pem", "certificate.pem", "key.pem"].map(|name| members.folder("n1").join(name))
}

/// What was put in place of a file is told, and is not waited for.
#[test]
fn a_running_member_refuses_what_is_no_regular_file_and_goes_on() {
    let members = Members::certified();
    let member = members.start("n1", "");
    // Whoever asks reads the file of n2.
    let status = || -> Option<Value> {
        let mut asks = members.bare(&["status", "--node", "n1", "--json", "--cluster"]);
        let output = members.world.output(asks.arg(members.file_of("n2")));
        serde_json::from_slice(&output.stdout).ok()
    };
    let until = |what: &str, holds: &dyn Fn(&Value) -> bool| {
        eventually(what, || status().filter(|status| holds(&status["certificates"]["refused"])));
    };
    until("a member", &Value::is_null);
    let [_, _, key] = files(&members);
    for file in [key, members.file_of("n1")] {
        let good = file.with_extension("good");
        fs::rename(&file, &good).expect("a file of our own");
        pipe(&file);
        let path = file.to_str().expect("UTF-8");
        until("a refusal", &|refused| {
            refused.as_str().is_some_and(|why| why.contains(path) && why.contains(IS_PIPE))
        });
        member.says("event=certificates_refused");
        fs::rename(&good, &file).expect("a file of our own");
        until("its end", &Value::is_null);
    }
    assert_eq!(member.messages().matches("event=certificates_refused").count(), 2);
}
