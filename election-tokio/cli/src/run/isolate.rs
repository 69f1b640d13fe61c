//! `--isolate`: a PID namespace for the job, whose first process dies with the guard.
//!
//! ```text
//!   guard              enters the namespace for its next child
//!    └─ first process  this program as `__exec`; has the job's exit code
//!        └─ job        sees processes of its own in /proc, and nobody else's
//! ```
//!
//! When the first process of a PID namespace ends, the kernel kills all others at once, however many
//! there are, and reaps it only after them. It ends when the guard does, whatever has ended that, since
//! the kernel kills it then. So nothing of the job is left even if elector and guard are killed together.

use crate::exit::{Exit, Failed};
use rustix::{
    mount::{MountFlags, MountPropagationFlags, mount, mount_change},
    process::{WaitOptions, getegid, geteuid, wait},
    thread::UnshareFlags,
};
use std::{
    ffi::CStr,
    fs, io,
    os::unix::process::ExitStatusExt as _,
    process::{Child, ExitStatus},
};

/// Makes the next child of this process, which has one thread, the first of a PID namespace. An ordinary
/// user may do that only as the root of a user namespace.
pub(super) fn enter() -> io::Result<()> {
    // Root may lack the right to it, in a container for instance.
    if unshare(UnshareFlags::NEWPID).is_ok() {
        return Ok(());
    }
    let (user, group) = (geteuid(), getegid());
    unshare(UnshareFlags::NEWUSER | UnshareFlags::NEWPID)?;
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("0 {} 1", user.as_raw()))?;
    fs::write("/proc/self/gid_map", format!("0 {} 1", group.as_raw()))
}

/// Gives this process, the first of its PID namespace, a `/proc` that shows the processes there.
pub(super) fn look_around() -> Result<(), Failed> {
    let shown = || -> io::Result<()> {
        unshare(UnshareFlags::NEWNS)?;
        mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?;
        let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
        mount("proc", "/proc", "proc", flags, None::<&CStr>)?;
        Ok(())
    };
    shown().map_err(|error| Failed::new(refused(&error)))
}

/// Waits for the job, and for all that it leaves to this process meanwhile.
pub(super) fn wait_for(job: &Child) -> Exit {
    loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid.as_raw_pid().unsigned_abs() == job.id() => {
                return Exit::of_job(ExitStatus::from_raw(status.as_raw()));
            }
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(_) => return Exit::TOOL_FAILED,
        }
    }
}

pub(super) fn refused(error: &io::Error) -> String {
    format!(
        "this system does not give the job a PID namespace (--isolate): {error}; it takes root, or \
         unprivileged user namespaces, and a /proc without mounts over parts of it (containers and \
         systemd's ProtectKernelTunables= make those): allow that, or remove --isolate"
    )
}

#[expect(deprecated, reason = "what is unsafe about it are descriptors, which stay shared here")]
fn unshare(what: UnshareFlags) -> io::Result<()> {
    Ok(rustix::thread::unshare(what)?)
}
