//! In place of the job, its guard and its hooks on systems other than Linux: the reason why there are
//! none.
//!
//! A guard kills everything that the job has started. For that it adopts what the job abandons and finds
//! the rest in `/proc`, and the kernel kills the job's first process if the guard dies. A promise that
//! holds only for jobs that start nothing else is not made.

use super::signals::Signals;
use crate::{
    arguments::{Exec, Guard, HookRunner},
    exit::{Exit, Failed},
    location::Location,
    plan::HookPlan,
};
use election_tokio::Handle;
use rustix::process::getpgrp;
use std::{
    convert::Infallible,
    ffi::OsStr,
    future::{Pending, pending},
    io,
};

pub(super) const NO_JOB: &str = "\
a job needs Linux, whose kernel lets `election run` find and kill all that the job has started: use \
`election hold` or `election serve`, and end the work yourself when leadership ends";

pub(crate) fn is_visible() -> Result<(), String> {
    Err(NO_JOB.to_owned())
}

pub(super) fn obstacle(_: &OsStr) -> Option<String> {
    None
}

pub(crate) fn become_job(_: &Exec) -> Result<Exit, Failed> {
    Err(Failed::new(NO_JOB))
}

pub(crate) fn watch_over_job(_: Guard) -> Result<Exit, Failed> {
    Err(Failed::new(NO_JOB))
}

pub(crate) fn run_hooks(_: &HookRunner) -> Result<Exit, Failed> {
    Err(Failed::new(NO_JOB))
}

/// None: a plan with hooks is refused.
pub(super) enum Hooks {}

pub(super) struct Manner<'a> {
    pub(super) location: &'a Location,
    pub(super) allow_setuid: bool,
    pub(super) json: bool,
    pub(super) quiet: bool,
}

impl Hooks {
    pub(super) fn start(_: HookPlan, _: &Manner<'_>, _: &Handle) -> io::Result<Option<Self>> {
        Ok(None)
    }

    pub(super) async fn finish(self, _: &mut Signals) {
        match self {}
    }
}

/// Orphans go to the first process of the machine.
pub(super) fn bury_strangers() -> Pending<Infallible> {
    pending()
}

pub(super) fn own_group() -> i32 {
    getpgrp().as_raw_pid()
}
