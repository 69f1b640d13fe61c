//! Opening the files that somebody has named. None of them may hold its reader up for ever.
// With it the command has these functions, too.
#![cfg_attr(not(feature = "cluster-file"), allow(unreachable_pub))]

use rustix::fs::{CWD, Mode, OFlags, openat};
use std::{
    fs::{self, File},
    io::{self, Read as _},
    os::unix::fs::FileTypeExt as _,
    path::Path,
};

/// The longest text that is read whole, in bytes.
const LONGEST: u64 = 1 << 20;

/// An error of the system, with the remedy.
fn explained(error: io::Error) -> io::Error {
    let remedy = match error.kind() {
        io::ErrorKind::NotFound => "correct the path, or create the file",
        io::ErrorKind::PermissionDenied => "give the user of this process access",
        io::ErrorKind::IsADirectory => {
            return io::Error::new(error.kind(), "it is a directory; name a file in it");
        }
        _ => return error,
    };
    io::Error::new(error.kind(), format!("{error}; {remedy}"))
}

/// Opens a file. It may also be a pipe that this process was given, as by `<(…)` in a shell; of one
/// that has a name in a directory nobody knows whether it will ever have another end.
///
/// # Errors
/// If it cannot be opened, or is a directory, a socket or such a pipe.
pub fn open(path: &Path) -> io::Result<File> {
    let kind = fs::metadata(path).map_err(explained)?.file_type();
    let is_given = ["/dev/fd", "/dev/stdin", "/proc"].iter().any(|place| path.starts_with(place));
    let refused = |what: &str| {
        let why =
            format!("it is {what}, not a regular file; use a regular file, or correct the path");
        io::Error::new(io::ErrorKind::InvalidInput, why)
    };
    match kind {
        _ if kind.is_dir() => Err(explained(io::ErrorKind::IsADirectory.into())),
        _ if kind.is_socket() => Err(refused("a socket")),
        _ if kind.is_fifo() && !is_given => Err(refused("a pipe")),
        _ if kind.is_file() => {
            // What is put in its place meanwhile is not waited for either.
            let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
            let opened = openat(CWD, path, flags, Mode::empty());
            Ok(File::from(opened.map_err(io::Error::from).map_err(explained)?))
        }
        _ => File::open(path).map_err(explained),
    }
}

/// Reads a file, or a pipe, that is no longer than a mebibyte. `means` says which file is meant.
///
/// # Errors
/// If it cannot be read, or is longer.
pub fn whole(path: &Path, means: &str) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.take(LONGEST + 1).read_to_end(&mut bytes)?;
    if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > LONGEST {
        let why = format!("it is larger than 1 MiB; name the file with {means}");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, why));
    }
    Ok(bytes)
}
