//! What SQLite's result codes mean for an election, and the remedies.

use crate::{
    StoreError, StoreErrorCode,
    store::calls::{Cause, STRANGE, explained},
};
use election_core::lease::Failure;
use rustix::fs::{Access, AtFlags, CWD, accessat};
use std::{io, path::Path};

pub(super) fn explain(error: sqlx::Error, otherwise: Failure) -> StoreError {
    let lacks = |message: &str| message.starts_with(MISSING) || names_no_column(message);
    let found = error.as_database_error().and_then(|error| match error.code()?.parse::<i32>() {
        _ if lacks(error.message()) => Some(StoreErrorCode::Tables),
        Ok(code) if code & 0xff == 19 => Some(StoreErrorCode::Row),
        _ => None,
    });
    explained(error, otherwise, |code, message| {
        let code = code.parse::<i32>().ok()?;
        Some(match code & 0xff {
            _ if code == OLD_SNAPSHOT => (
                Failure::Conflict,
                "another connection has written since this transaction first read, so it can no \
                 longer write; roll back, and begin with BEGIN IMMEDIATE",
            ),
            _ if [FULL, NO_SHARED_MEMORY].contains(&code) => {
                (Failure::Fatal, "the disk is full; free some space")
            }
            5 | 6 => (
                Failure::Conflict,
                "another process is writing, or holds a lock on the file (`fuser -v FILE` shows \
                 who has it open)",
            ),
            3 | 8 => (
                Failure::Fatal,
                "the file or its directory is not writable, and even read-only observers need \
                 write access, because SQLite keeps its log beside the file; grant this user write \
                 access to both, or ask as the user who runs the election",
            ),
            CANNOT_OPEN => (
                Failure::Fatal,
                "the database cannot be opened; check that this user may read and write the file \
                 and its directory (SQLite keeps its log beside the file)",
            ),
            11 | 26 => (
                Failure::Fatal,
                "this is not a SQLite database, or it is damaged; name another file, or restore it",
            ),
            1 if message.starts_with(MISSING) => (
                Failure::Fatal,
                "the tables are missing; create them with `ensure_schema` or `election schema \
                 --apply`",
            ),
            1 if names_no_column(message) => (Failure::Fatal, STRANGE),
            1 => (
                Failure::Fatal,
                "the tables belong to another program; use another file, or rename them",
            ),
            19 => (
                Failure::Fatal,
                "a constraint or trigger on the election's tables rejected a row; fix it or drop it",
            ),
            10 => (
                Failure::Ambiguous,
                "the disk failed to read or write, or the file may not grow (`ulimit -f`)",
            ),
            _ => return None,
        })
    })
    .coded(found)
}

/// `SQLITE_BUSY_SNAPSHOT`: no waiting helps.
const OLD_SNAPSHOT: i32 = 517;
const FULL: i32 = 13;
/// `SQLITE_IOERR_SHMSIZE`: the file beside the database that processes share has no room to grow.
const NO_SHARED_MEMORY: i32 = 4874;
const CANNOT_OPEN: i32 = 14;
/// SQLite has no code for it.
const MISSING: &str = "no such table";

pub(super) fn is_missing(error: &StoreError) -> bool {
    let cause = Cause::of(error).and_then(sqlx::Error::as_database_error);
    cause.is_some_and(|error| error.message().starts_with(MISSING))
}

pub(super) fn lacks_column(error: &StoreError) -> bool {
    let cause = Cause::of(error).and_then(sqlx::Error::as_database_error);
    cause.is_some_and(|error| names_no_column(error.message()))
}

/// In a query, and in an INSERT.
fn names_no_column(message: &str) -> bool {
    message.starts_with("no such column") || message.contains(" has no column named ")
}

/// Why a file cannot be opened: SQLite has one code for all causes, the system has one for each. What
/// is gone after this process has `used` it is elsewhere, and must not be created anew: there would be
/// two elections once it is back.
pub(super) fn unopened(error: StoreError, path: &Path, used: bool) -> StoreError {
    let cause = Cause::of(&error).and_then(sqlx::Error::as_database_error);
    let code = cause.and_then(|error| error.code()?.parse::<i32>().ok());
    if code.is_none_or(|code| code & 0xff != CANNOT_OPEN) {
        return error;
    }
    let directory = path.parent().unwrap_or(Path::new("/"));
    // Ask, do not try: closing a file drops all locks that this process holds on it.
    let asked = |path, may| {
        let told = accessat(CWD, path, may, AtFlags::EACCESS);
        told.map_err(|error| io::Error::from(error).kind())
    };
    let file = asked(path, Access::READ_OK | Access::WRITE_OK);
    let why = match (asked(directory, Access::WRITE_OK | Access::EXEC_OK), file) {
        (Err(io::ErrorKind::NotFound), _) if used => {
            "its directory was moved or removed while in use; put it back with everything in it, \
             and do not create another: two processes could lead"
        }
        (_, Err(io::ErrorKind::NotFound)) if used => {
            "the file was moved or removed while in use; put it back with its -wal and -shm. With \
             a second file two processes could lead: create one (`ensure_schema`, or `election \
             schema --apply`) only if this one is lost for good"
        }
        (Err(io::ErrorKind::NotFound), _) => "its directory does not exist; create it",
        (Err(io::ErrorKind::NotADirectory), _) => {
            "the path of its directory is a file; correct the path"
        }
        (Err(io::ErrorKind::PermissionDenied), _) => {
            "its directory is not writable for this user, and SQLite keeps its log there, even for \
             read-only observers; grant write access (chmod, chown)"
        }
        (Err(io::ErrorKind::ReadOnlyFilesystem), _) => {
            "its directory, where SQLite keeps its log, is mounted read-only; remount it for \
             writing"
        }
        (_, Err(io::ErrorKind::NotFound)) => {
            "the file does not exist; create it with its tables (`ensure_schema`, or `election \
             schema --apply`), in a directory that is writable"
        }
        (_, Err(io::ErrorKind::PermissionDenied)) => {
            "this user may not read and write the file; grant access (chmod, chown)"
        }
        _ => return error,
    };
    StoreError { context: format!("the database cannot be opened: {why}"), ..error }
}
