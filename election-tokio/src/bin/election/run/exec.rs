//! The moment in which this binary becomes the job.

use crate::{
    arguments::Exec,
    exit::{Exit, Failed},
};
use rustix::process::{Signal, getppid, set_parent_process_death_signal};
use std::{io::ErrorKind, os::unix::process::CommandExt as _, process::Command};

/// Asks the kernel to be killed when the parent dies, makes sure that it has not died before, and
/// executes the job. Returns only if that fails.
///
/// The kernel forgets the wish when the job is a set-user-id program, and does not pass it on to
/// the job's own children; the guard covers both as long as they stay in the process group.
pub(crate) fn become_job(exec: &Exec) -> Result<Exit, Failed> {
    #[cfg(target_os = "linux")]
    set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(|error| Failed::of("cannot tie the job's life to this process", &error))?;
    let parent = getppid().map(|pid| pid.as_raw_nonzero().get());
    if parent != Some(exec.parent) {
        return Ok(Exit::TOOL_FAILED);
    }
    let Some((program, arguments)) = exec.job.split_first() else {
        return Err(Failed::new("no job is named; write it after --"));
    };
    let error = Command::new(program).args(arguments).exec();
    eprintln!("election: {}: {error}", program.to_string_lossy());
    Ok(match error.kind() {
        ErrorKind::NotFound => Exit::NOT_FOUND,
        _ => Exit::CANNOT_EXECUTE,
    })
}
