//! What nodes say, line by line in one file, on one clock.
#![allow(dead_code)] // not every test needs all of it

use crate::checker::Checker;
use election_tokio::now;
use std::{
    fs::{File, OpenOptions},
    io::{Read as _, Seek as _, SeekFrom, Write as _},
    path::Path,
};

/// One line: when, who, in which life, what, and about what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) at: u64,
    pub(crate) node: String,
    pub(crate) life: u32,
    pub(crate) kind: String,
    pub(crate) about: String,
}

impl Entry {
    /// The epoch that it is about.
    pub(crate) fn epoch(&self) -> u64 {
        let first = self.about.split(' ').next().unwrap_or_default();
        first.parse().unwrap_or_else(|_| panic!("an epoch: {self:?}"))
    }
}

/// Writes lines, each at once and as a whole.
pub(crate) struct Pen {
    file: File,
    node: String,
    life: u32,
}

impl Pen {
    pub(crate) fn new(path: &Path, node: &str, life: u32) -> Self {
        let file = OpenOptions::new().create(true).append(true).open(path).expect("a journal");
        Self { file, node: node.to_owned(), life }
    }

    pub(crate) fn write(&self, kind: &str, about: &str) {
        self.write_at(now().as_nanos(), kind, about);
    }

    pub(crate) fn write_at(&self, at: u64, kind: &str, about: &str) {
        let about = about.replace('\n', " ");
        let line = format!("{at} {} {} {kind} {about}\n", self.node, self.life);
        (&self.file).write_all(line.as_bytes()).expect("a writable journal");
    }
}

/// Reads a journal as it grows.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    read: u64,
    /// What nodes have said, but for their acts.
    pub(crate) said: Vec<Entry>,
    pub(crate) checker: Checker,
}

impl Reader {
    /// Reads what is new.
    pub(crate) fn catch_up(&mut self, path: &Path) {
        let Ok(mut file) = File::open(path) else { return };
        file.seek(SeekFrom::Start(self.read)).expect("a file");
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).expect("a readable journal");
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        self.read += whole as u64;
        let text = std::str::from_utf8(&bytes[..whole]).expect("text");
        for entry in text.lines().map(entry) {
            if !self.checker.take(&entry) {
                self.said.push(entry);
            }
        }
    }
}

fn entry(line: &str) -> Entry {
    let mut parts = line.splitn(5, ' ');
    let mut next = || parts.next().unwrap_or_else(|| panic!("a whole line: {line:?}")).to_owned();
    Entry {
        at: next().parse().expect("a time"),
        node: next(),
        life: next().parse().expect("a life"),
        kind: next(),
        about: next(),
    }
}
