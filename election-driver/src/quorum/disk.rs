//! What mends a disk that refuses a ballot, by what the system says.

use rustix::io::Errno;
use std::io::{self, ErrorKind as Kind};

/// Why a ballot was not saved, and the remedy. A failed save is tried again by itself.
pub(super) fn not_saved(error: &io::Error) -> String {
    said(
        error,
        "its directory is gone: stop this node, restore the directory or create it empty, and \
         start the node while the others run",
    )
}

/// Why the place of a ballot cannot be opened, and the remedy.
pub(super) fn not_opened(error: &io::Error) -> String {
    said(error, "create its directory, or correct the path")
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
            return "raise the open-file limit of this process or of the machine";
        }
        Errno::NOTDIR => return "a part of the path is a file, not a directory; correct the path",
        Errno::NAMETOOLONG => {
            return "the path, or a part of it, is longer than the system allows; shorten it";
        }
        Errno::LOOP => return "its symbolic links form a loop; correct them",
        _ => {}
    }
    match kind {
        Kind::ReadOnlyFilesystem => {
            "its file system is read-only: remount it for writing; if the system made it read-only \
             after an error, check the disk first"
        }
        Kind::ResourceBusy => {
            "the file is itself a mount point and cannot be replaced: mount its directory instead"
        }
        Kind::StorageFull | Kind::QuotaExceeded => "free some space on its file system",
        Kind::PermissionDenied => {
            "give this user read and write access to its directory, and to the file if it exists"
        }
        Kind::NotFound | Kind::StaleNetworkFileHandle => where_missing,
        _ => "check the disk",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ballot_that_cannot_be_written_is_mended_where_the_cause_is() {
        for (errno, word) in [
            (Errno::MFILE, "open-file limit"),
            (Errno::NFILE, "open-file limit"),
            (Errno::ROFS, "read-only"),
            (Errno::BUSY, "mount its directory"),
            (Errno::NOSPC, "free some space"),
            (Errno::DQUOT, "free some space"),
            (Errno::ACCESS, "give this user read and write access"),
            (Errno::PERM, "give this user read and write access"),
            (Errno::NOENT, "directory is gone"),
            (Errno::NOTDIR, "is a file, not a directory"),
            (Errno::NAMETOOLONG, "shorten it"),
            (Errno::LOOP, "form a loop"),
            (Errno::IO, "check the disk"),
        ] {
            let said = not_saved(&errno.into());
            assert!(said.contains(word), "{errno:?}: {said}");
        }
        assert!(not_opened(&Errno::NOENT.into()).contains("create its directory"));
    }

    #[test]
    fn what_was_found_here_has_its_remedy_already() {
        let error = io::Error::other("the lock was removed; restart this node");
        assert_eq!(not_saved(&error), error.to_string());
    }
}
