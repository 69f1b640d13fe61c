//! The moment in which this binary becomes the job.

use crate::{
    arguments::Exec,
    exit::{Exit, Failed},
};
use election_tokio::core::Timestamp;
use rustix::process::{Signal, getpid, getppid, kill_process, set_parent_process_death_signal};
use std::{
    io::{ErrorKind, Write as _},
    os::unix::process::CommandExt as _,
    process::Command,
};

/// Asks the kernel to be killed when the parent dies, makes sure that it has not died before and
/// that the hard stop has not come, and executes the job. Returns only if that fails.
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
    // A guard that was alive when this process joined its group kills it at the hard stop. One
    // that had ended before cannot, but ended only at the hard stop. It ends as it would have.
    if election_tokio::now() >= Timestamp::from_nanos(exec.until) {
        let _ = kill_process(getpid(), Signal::KILL);
    }
    let Some((program, arguments)) = exec.job.split_first() else {
        return Err(Failed::new("no job is named; write it after --"));
    };
    let error = Command::new(program).args(arguments).exec();
    let _ = writeln!(std::io::stderr(), "election: {}: {error}", program.to_string_lossy());
    Ok(match error.kind() {
        ErrorKind::NotFound => Exit::NOT_FOUND,
        _ => Exit::CANNOT_EXECUTE,
    })
}
