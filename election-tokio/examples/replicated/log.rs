//! The log: a file, and its records in memory.

use crate::wire::invalid;
use election_tokio::core::quorum::Position;
use std::{
    collections::BTreeMap,
    fmt,
    fs::File,
    io::{self, Read as _, Write as _},
    path::Path,
};

/// A line of the log: the epoch whose primary wrote it, and `key value`, or nothing if it opens the
/// epoch.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    pub(crate) epoch: u64,
    pub(crate) change: String,
}

impl Record {
    pub(crate) fn parse(line: &str) -> io::Result<Self> {
        let bad = || invalid(format!("{line:?} is no record"));
        let (epoch, change) = line.split_once(' ').ok_or_else(bad)?;
        Ok(Self { epoch: epoch.parse().map_err(|_| bad())?, change: change.to_owned() })
    }

    pub(crate) fn value_of(&self, key: &str) -> Option<&str> {
        self.change.split_once(' ').filter(|(of, _)| *of == key).map(|(_, value)| value)
    }
}

impl fmt::Display for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} {}", self.epoch, self.change)
    }
}

/// The file and its contents. What is in here is durable.
pub(crate) struct Log {
    file: File,
    pub(crate) records: Vec<Record>,
}

/// Up to where each epoch wrote, in numbers of records.
pub(crate) type Histories = BTreeMap<u64, usize>;

impl Log {
    pub(crate) fn open(directory: &Path) -> io::Result<Self> {
        let path = directory.join("log");
        let mut file = File::options().read(true).append(true).create(true).open(path)?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        // The process may have ended within a line, and before the last lines were on the disk.
        bytes.truncate(bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1));
        file.set_len(bytes.len() as u64)?;
        file.sync_all()?;
        File::open(directory)?.sync_all()?;
        let text = String::from_utf8(bytes).map_err(invalid)?;
        let records = text.lines().map(Record::parse).collect::<io::Result<_>>()?;
        Ok(Self { file, records })
    }

    pub(crate) fn position(&self, records: usize) -> Position {
        let last = self.records[..records].last();
        Position { history: last.map_or(0, |last| last.epoch), offset: records as u64 }
    }

    pub(crate) fn append(&mut self, records: Vec<Record>) -> io::Result<()> {
        let lines: String = records.iter().map(Record::to_string).collect();
        self.file.write_all(lines.as_bytes())?;
        self.file.sync_data()?;
        self.records.extend(records);
        Ok(())
    }

    pub(crate) fn cut(&mut self, records: usize) -> io::Result<()> {
        let kept = self.records[..records].iter().map(|record| record.to_string().len());
        self.file.set_len(kept.sum::<usize>() as u64)?;
        self.file.sync_all()?;
        self.records.truncate(records);
        Ok(())
    }

    pub(crate) fn histories(&self) -> Histories {
        self.records.iter().enumerate().map(|(at, record)| (record.epoch, at + 1)).collect()
    }

    /// How many records this log and another have in common.
    pub(crate) fn agrees(&self, theirs: &Histories) -> usize {
        let ours = self.histories();
        let both = ours.iter().filter_map(|(epoch, end)| Some(*end.min(theirs.get(epoch)?)));
        both.max().unwrap_or(0)
    }
}
