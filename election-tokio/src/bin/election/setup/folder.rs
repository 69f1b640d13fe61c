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
        self.write_all(&[(name, text, readers)])
    }

    /// Writes files that belong together. None is replaced before all can be.
    pub(super) fn write_all(&self, files: &[(&str, &str, Readers)]) -> Result<(), Failed> {
        let new = |name: &str| self.path(&format!(".{name}.new"));
        let failed = |name: &str| {
            let path = self.path(name).display().to_string();
            move |error: io::Error| Failed::of(&path, &error)
        };
        for (name, text, readers) in files {
            written(&new(name), text, *readers).map_err(failed(name))?;
        }
        for (name, ..) in files {
            fs::rename(new(name), self.path(name)).map_err(failed(name))?;
        }
        let synced = File::open(&self.0).and_then(|folder| folder.sync_all());
        synced.map_err(|error| Failed::of(&self.0.display().to_string(), &error))
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
