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

pub(super) struct Folder(PathBuf);

impl Folder {
    /// Makes a folder, if it is not there.
    pub(super) fn made(path: PathBuf) -> Result<Self, Failed> {
        let made = DirBuilder::new().recursive(true).mode(0o700).create(&path);
        made.map_err(|error| Failed::of(&path.display().to_string(), &error))?;
        Ok(Self(path))
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Writes a file, all of it or nothing. Another of its name is replaced.
    pub(super) fn write(&self, name: &str, text: &str, readers: Readers) -> Result<(), Failed> {
        let path = self.path(name);
        let new = self.path(&format!(".{name}.new"));
        written(&new, text, readers)
            .and_then(|()| fs::rename(&new, &path))
            .and_then(|()| File::open(&self.0)?.sync_all())
            .map_err(|error| Failed::of(&path.display().to_string(), &error))
    }
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
