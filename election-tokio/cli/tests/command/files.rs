//! Files in whose place something else stands: a pipe that nobody writes to, a device.

use super::{members::refused, world::World};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use std::path::Path;

/// A pipe without another end. Whoever opens it waits.
pub(crate) fn pipe(path: &Path) -> &Path {
    let mode = Mode::RUSR | Mode::WUSR;
    mknodat(CWD, path, FileType::Fifo, mode, 0).expect("a pipe of our own");
    path
}

pub(crate) const IS_PIPE: &str = "it is a pipe, not a regular file; ";

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
            &[flag, "/pipe: ", IS_PIPE, "use a regular file, or correct the path"],
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
        refused(&ask(world.path()), 125, &["it is a directory", "name a file in it"]);
    }
}
