//! The check that runs, once more: in a process of its own.

use std::{
    env,
    process::{Command, Output},
    thread,
};

/// Starts this check again, behind the words of a wrapper. What tells the child its part goes into the
/// environment.
///
/// # Panics
/// If the thread does not bear the name of a test: the harness names the threads of its tests after them.
pub(super) fn again(wrapper: &[&str]) -> Command {
    let test = thread::current().name().expect("a test's own thread").to_owned();
    let program = env::current_exe().expect("this binary");
    let mut words = wrapper.iter().map(AsRef::as_ref).chain([program.as_os_str()]);
    let mut command = Command::new(words.next().expect("a program"));
    command.args(words).args(["--exact", &test, "--nocapture"]);
    command
}

/// The child ran the check, and found nothing wrong.
#[track_caller]
pub(super) fn assert_passed(output: &Output, needs: &str) {
    let out = String::from_utf8_lossy(&output.stdout);
    let err = String::from_utf8_lossy(&output.stderr);
    let passed = output.status.success() && out.contains("1 passed");
    assert!(passed, "the child ({needs}) said:\n{out}\n{err}");
}
