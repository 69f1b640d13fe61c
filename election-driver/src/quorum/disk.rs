//! What mends a disk that refuses a ballot, by what the system says.

use rustix::io::Errno;
use std::io::{self, ErrorKind as Kind};

/// Why a ballot was not saved, and the remedy. A failed save is tried again by itself.
pub(super) fn not_saved(error: &io::Error) -> String {
    said(
        error,
        "its directory is gone: stop this node, bring the directory back or remake it empty, \
                 and start the node while the others run",
    )
}

/// Why the place of a ballot cannot be opened, and the remedy.
pub(super) fn not_opened(error: &io::Error) -> String {
    said(error, "make the directory that is to hold it, or correct the path")
}

/// The error with its remedy. What this crate has found by itself carries its own.
fn said(error: &io::Error, where_missing: &'static str) -> String {
    match Errno::from_io_error(error) {
        Some(errno) => format!("{error}; {}", remedy(errno, error.kind(), where_missing)),
        None => error.to_string(),
    }
}

fn remedy(errno: Errno, kind: Kind, where_missing: &'static str) -> &'static str {
    match errno {
        Errno::MFILE | Errno::NFILE => {
            return "raise the limit of open files, of this process or of the machine";
        }
        Errno::NOTDIR => return "a part of the path is a file and no directory; correct the path",
        Errno::NAMETOOLONG => {
            return "the path, or a part of it, is longer than the system permits; shorten it";
        }
        Errno::LOOP => return "its links lead in a circle; correct them",
        _ => {}
    }
    match kind {
        Kind::ReadOnlyFilesystem => {
            "its file system is read-only: mount it for writing, and if the system has made it so \
             after an error, look at the disk first"
        }
        Kind::ResourceBusy => {
            "something is mounted at the file itself, which cannot be replaced then: mount its \
             directory"
        }
        Kind::StorageFull | Kind::QuotaExceeded => "make room on its file system",
        Kind::PermissionDenied => {
            "let this user read and write its directory, and the file if it exists"
        }
        Kind::NotFound | Kind::StaleNetworkFileHandle => where_missing,
        _ => "look at the disk",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ballot_that_cannot_be_written_is_mended_where_the_cause_is() {
        for (errno, word) in [
            (Errno::MFILE, "limit of open files"),
            (Errno::NFILE, "limit of open files"),
            (Errno::ROFS, "read-only"),
            (Errno::BUSY, "mount its directory"),
            (Errno::NOSPC, "make room"),
            (Errno::DQUOT, "make room"),
            (Errno::ACCESS, "let this user read and write"),
            (Errno::PERM, "let this user read and write"),
            (Errno::NOENT, "directory is gone"),
            (Errno::NOTDIR, "is a file and no directory"),
            (Errno::NAMETOOLONG, "shorten it"),
            (Errno::LOOP, "in a circle"),
            (Errno::IO, "look at the disk"),
        ] {
            let said = not_saved(&errno.into());
            assert!(said.contains(word), "{errno:?}: {said}");
        }
        assert!(not_opened(&Errno::NOENT.into()).contains("make the directory"));
    }

    #[test]
    fn what_was_found_here_has_its_remedy_already() {
        let error = io::Error::other("the lock was removed; start this node again");
        assert_eq!(not_saved(&error), error.to_string());
    }
}
