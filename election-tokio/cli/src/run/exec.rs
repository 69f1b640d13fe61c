//! The moment in which this binary becomes the job.

use super::{cgroup::Cgroup, deadline::Deadline, isolate, process_tree};
use crate::{
    arguments::Exec,
    exit::{Exit, Failed},
    line::{self, Line, Style},
};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    fs::getxattr,
    process::{Signal, geteuid, getpid, kill_process, set_parent_process_death_signal},
    thread::set_no_new_privs,
};
use std::{
    env,
    ffi::OsStr,
    fs,
    io::{self, ErrorKind, Write as _},
    os::unix::{
        ffi::OsStrExt as _,
        fs::{MetadataExt as _, PermissionsExt as _},
        process::CommandExt as _,
    },
    path::{Path, PathBuf},
    process::{Child, Command},
};
use tracing::Level;

/// Executes the job. Returns only if that fails, and says where the elector finds it that nothing has
/// run; or when an isolated job has ended.
pub(crate) fn become_job(exec: &Exec) -> Result<Exit, Failed> {
    let deadline = Deadline::open(&exec.deadline).ok();
    let failed = match begin(exec, deadline.as_ref()) {
        Ok(Ok(job)) => return Ok(isolate::wait_for(&job)),
        Ok(Err(exit)) => Ok(exit),
        Err(failed) => Err(failed),
    };
    if let Some(deadline) = deadline {
        let _ = deadline.could_not_begin();
    }
    failed
}

/// Asks the kernel to kill this process when the guard dies, checks that the guard is not dead yet
/// and that the hard stop has not come, and executes the job. Returns only if that fails, or with an
/// isolated job.
///
/// The kernel forgets the request if the job is a set-user-ID program, and does not pass it on to
/// the job's own children; guard and elector cover both, and [`isolate`] where it is asked for.
fn begin(exec: &Exec, deadline: Option<&Deadline>) -> Result<Result<Child, Exit>, Failed> {
    set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(|error| Failed::of("cannot tie the job's life to its guard", &error))?;
    if process_tree::parent() != Some(exec.parent) {
        return Ok(Err(Exit::TOOL_FAILED));
    }
    let Some((program, arguments)) = exec.job.split_first() else {
        return Err(Failed::new("there is no job; write it after --"));
    };
    let tell = |event, message: String| tell(exec.json, event, message);
    if let Some(Err(error)) = exec.cgroup.as_deref().map(Cgroup::enter) {
        tell("warning", format!("the job has no control group of its own: {error}"));
    }
    // Root can kill whatever its job may become.
    if !exec.allow_setuid && !geteuid().is_root() {
        set_no_new_privs(true)
            .map_err(|error| Failed::of("cannot stop the job from gaining privileges", &error))?;
        if let Some(path) = privileged(program) {
            let message = format!(
                "{} would gain privileges when executed, and this process could not stop it then; \
                 the privileges are withheld (no_new_privs). If the job needs them, see \
                 --allow-setuid in `election run --help`",
                path.display()
            );
            tell("warning", message);
        }
    }
    // A guard that stood still between its look at the clock and the start of this process kills
    // this process, but only after the job has begun. So this process looks at the clock itself,
    // and ends as the guard would have ended it.
    if let Some(deadline) = deadline
        && deadline.get() <= election_tokio::now()
    {
        let _ = deadline.was_missed();
        let _ = kill_process(getpid(), Signal::KILL);
        // the first process of a PID namespace cannot kill itself
        return Ok(Err(Exit::signal(Signal::KILL.as_raw())));
    }
    let mut job = Command::new(program);
    job.args(arguments);
    let error = if exec.isolate {
        isolate::look_around()?;
        match job.spawn() {
            Ok(job) => return Ok(Ok(job)),
            Err(error) => error,
        }
    } else {
        job.exec()
    };
    tell("failed", unexecutable(program, &error));
    Ok(Err(match error.kind() {
        ErrorKind::NotFound => Exit::NOT_FOUND,
        _ => Exit::CANNOT_EXECUTE,
    }))
}

/// Prints a line as the elector would, unless it would have to wait for a reader.
fn tell(json: bool, event: &'static str, message: String) {
    // The variables that tell the job about its leadership.
    env::var("ELECTION_NAME").into_iter().for_each(line::name_election);
    env::var("ELECTION_NODE").into_iter().for_each(line::name_node);
    let level = if event == "failed" { Level::ERROR } else { Level::WARN };
    let style = if json { Style::Json } else { Style::Text { coloured: false } };
    let line = Line::new(level, message).with("event", event).written(style);
    let stderr = io::stderr();
    let mut ready = [PollFd::new(&stderr, PollFlags::OUT)];
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    if poll(&mut ready, Some(&at_once)).is_ok_and(|ready| ready > 0) {
        let _ = (&stderr).write_all(line.as_bytes());
    }
}

/// What keeps the job from being executed, as far as that can be seen beforehand, and the remedy.
pub(super) fn obstacle(program: &OsStr) -> Option<String> {
    const NO_FILE: i32 = 2;
    const NO_RIGHT: i32 = 13;
    let error = match found(program).map(fs::metadata) {
        None => io::Error::from_raw_os_error(NO_FILE),
        Some(Err(error)) => error,
        Some(Ok(file)) if file.is_file() && file.mode() & 0o111 != 0 => return None,
        Some(Ok(_)) => io::Error::from_raw_os_error(NO_RIGHT),
    };
    Some(unexecutable(program, &error))
}

/// Why a job cannot be executed, and the remedy.
fn unexecutable(program: &OsStr, error: &io::Error) -> String {
    const NO_FORMAT: i32 = 8;
    let name = program.to_string_lossy();
    let is_path = name.contains('/');
    let why = match error.kind() {
        ErrorKind::NotFound if is_path && Path::new(program).exists() => {
            "the program named on its first line (#!) does not exist; correct that line, or \
             install the program"
        }
        ErrorKind::NotFound if name.contains(char::is_whitespace) => {
            "no such program; write the command and its arguments as separate words, or the whole \
             line for a shell: -- sh -c 'CMD...'"
        }
        ErrorKind::NotFound if is_path => "no such file; correct the path",
        ErrorKind::NotFound => "not found in PATH; correct the name, or write the program's path",
        ErrorKind::PermissionDenied if Path::new(program).is_dir() => {
            "this is a directory; write the path of a program"
        }
        ErrorKind::PermissionDenied => {
            "this user may not execute it; allow that (chmod +x), or start it with its \
             interpreter: -- sh FILE"
        }
        _ if error.raw_os_error() == Some(NO_FORMAT) => {
            "this is not a program; a script starts with a line like #!/bin/sh"
        }
        _ => "it cannot be executed",
    };
    format!("the job {name}: {why}: {error}")
}

/// The program file, if it would run as another user or with capabilities.
fn privileged(program: &OsStr) -> Option<PathBuf> {
    let path = found(program)?;
    let file = fs::metadata(&path).ok()?;
    let (mode, own) = (file.mode(), geteuid().as_raw());
    let set_id = mode & 0o4000 != 0 && file.uid() != own || mode & 0o2010 == 0o2010;
    let mut value = [0; 64];
    let capable = getxattr(&path, "security.capability", &mut value[..]).is_ok();
    (set_id || capable).then_some(path)
}

/// Where the kernel will find a program.
fn found(program: &OsStr) -> Option<PathBuf> {
    if program.as_bytes().contains(&b'/') {
        return Some(program.into());
    }
    let executable = |path: &Path| {
        fs::metadata(path)
            .is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
    };
    let path = env::var_os("PATH")?;
    env::split_paths(&path).map(|directory| directory.join(program)).find(|path| executable(path))
}
