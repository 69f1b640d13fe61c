//! Files that are read again and again while a member runs, and must never hold its reader up.

use crate::quorum::reading::whole;
use std::{
    fs::{self, FileType},
    os::unix::fs::FileTypeExt as _,
    path::Path,
};

/// Reads a regular file, or one that links lead to. Whoever opens a pipe waits for its other end, and
/// a device may have no end at all.
///
/// # Errors
/// Why it cannot be read.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, String> {
    match fs::metadata(path).map(|found| found.file_type()) {
        Ok(kind) if !kind.is_file() => Err(not_regular(kind)),
        _ => whole(path, "the certificates or the key").map_err(|error| error.to_string()),
    }
}

fn not_regular(kind: FileType) -> String {
    let what = match kind {
        _ if kind.is_dir() => return "it is a directory; name a file in it".to_owned(),
        _ if kind.is_fifo() => "a pipe",
        _ if kind.is_socket() => "a socket",
        _ => "a device",
    };
    format!("it is {what}, not a regular file; replace it with a PEM file, or correct the path")
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    use std::{fs::File, os::unix::net::UnixListener};

    #[track_caller]
    fn assert_refused(path: &Path, words: &str) {
        let said = read(path).unwrap_err();
        assert!(said.contains(words), "no {words:?} in {said}");
    }

    /// A test that waits for a pipe never ends.
    #[test]
    fn what_is_no_regular_file_is_refused_and_not_waited_for() {
        let place = tempfile::tempdir().unwrap();
        let [pipe, link, socket] = ["pipe", "link", "socket"].map(|name| place.path().join(name));
        mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        std::os::unix::fs::symlink(&pipe, &link).unwrap();
        let _listener = UnixListener::bind(&socket).unwrap();
        let remedy = ", not a regular file; replace it with a PEM file, or correct the path";
        assert_refused(&pipe, &format!("it is a pipe{remedy}"));
        assert_refused(&link, &format!("it is a pipe{remedy}"));
        assert_refused(&socket, &format!("it is a socket{remedy}"));
        assert_refused(Path::new("/dev/zero"), &format!("it is a device{remedy}"));
        assert_refused(place.path(), "it is a directory; name a file in it");
        assert_refused(&place.path().join("none"), "correct the path, or create the file");
    }

    #[test]
    fn a_file_is_read_through_links_and_up_to_a_mebibyte() {
        let place = tempfile::tempdir().unwrap();
        let [path, link] = ["file", "link"].map(|name| place.path().join(name));
        std::os::unix::fs::symlink(&path, &link).unwrap();
        let file = File::create(&path).unwrap();
        file.set_len(1 << 20).unwrap();
        assert_eq!(read(&link).unwrap().len(), 1 << 20);
        file.set_len(1 << 40).unwrap();
        assert_refused(&link, "larger than 1 MiB; name the file with");
    }
}
