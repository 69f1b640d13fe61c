//! Folders with files that nobody else may read.

use crate::exit::Failed;
use std::{
    fs::{self, DirBuilder, File},
    io::{self, Write as _},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

/// Who may read a file.
#[derive(Clone, Copy)]
pub(super) enum Readers {
    Anybody,
    Owner,
}

pub(super) struct Folder {
    path: PathBuf,
    is_new: bool,
}

impl Folder {
    /// Makes a folder, if it is not there.
    pub(super) fn made(path: PathBuf) -> Result<Self, Failed> {
        let is_new = !path.exists();
        let made = DirBuilder::new().recursive(true).mode(0o700).create(&path);
        made.map_err(|error| unwritten(&path, &error))?;
        Ok(Self { path, is_new })
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Writes a file, all of it or nothing. Another of its name is replaced.
    pub(super) fn write(&self, name: &str, text: &str, readers: Readers) -> Result<(), Failed> {
        self.write_all(&[(name, text, readers)])
    }

    /// Writes files that belong together. None is replaced before all can be, and a failure before
    /// that leaves nothing behind.
    pub(super) fn write_all(&self, files: &[(&str, &str, Readers)]) -> Result<(), Failed> {
        let new = |name: &str| self.path(&format!(".{name}.new"));
        let failed = |name: &str| {
            let path = self.path(name);
            move |error: io::Error| unwritten(&path, &error)
        };
        let begun: Result<(), Failed> = files.iter().try_for_each(|(name, text, readers)| {
            written(&new(name), text, *readers).map_err(failed(name))
        });
        if begun.is_err() {
            // The first error tells more than one of tidying up would.
            files.iter().for_each(|(name, ..)| drop(fs::remove_file(new(name))));
            if self.is_new {
                let _ = fs::remove_dir(&self.path);
            }
            return begun;
        }
        for (name, ..) in files {
            fs::rename(new(name), self.path(name)).map_err(failed(name))?;
        }
        let synced = File::open(&self.path).and_then(|folder| folder.sync_all());
        synced.map_err(|error| unwritten(&self.path, &error))
    }
}

/// An error with what is to be done.
fn unwritten(path: &Path, error: &io::Error) -> Failed {
    let remedy = match error.kind() {
        io::ErrorKind::StorageFull => {
            "the disk is full; free some space, or write elsewhere (--out)"
        }
        io::ErrorKind::QuotaExceeded => {
            "this user's quota is used up; free some space, or write elsewhere (--out)"
        }
        io::ErrorKind::FileTooLarge => {
            "the file-size limit of this process is too low; raise it (ulimit -f)"
        }
        io::ErrorKind::PermissionDenied => {
            "this user may not write here; grant access (chmod, chown), or write elsewhere (--out)"
        }
        io::ErrorKind::ReadOnlyFilesystem => {
            "this is mounted read-only; remount it for writing, or write elsewhere (--out)"
        }
        _ => return Failed::of(&path.display().to_string(), error),
    };
    Failed::new(format!("{}: {error}: {remedy}", path.display()))
}

fn written(path: &Path, text: &str, readers: Readers) -> io::Result<()> {
    // One that an earlier attempt has left may have other rights.
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mode = match readers {
        Readers::Anybody => 0o644,
        Readers::Owner => 0o600,
    };
    let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(mode).open(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}
