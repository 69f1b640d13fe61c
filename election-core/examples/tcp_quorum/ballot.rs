//! The ballot as a file, by the rules of `election_core::quorum::record`.

use election_core::{
    NodeId,
    quorum::{Ballot, Restored, record::Record},
};
use rustix::fs::{FlockOperation, flock};
use std::{
    error::Error,
    fs::{self, File},
    io::{self, ErrorKind, Read as _, Write as _},
    path::PathBuf,
};

pub(crate) struct BallotFile {
    directory: PathBuf,
    node: NodeId,
    /// Held as long as the process lives: two processes with one ballot could each vote.
    _lock: File,
}

impl BallotFile {
    /// The directory has to exist. If it were made here, a disk that is not mounted would look like
    /// a first start.
    pub(crate) fn open(directory: PathBuf, node: NodeId) -> Result<Self, Box<dyn Error>> {
        let place = directory.join("lock");
        let lock = File::create(&place).map_err(|error| format!("{}: {error}", place.display()))?;
        flock(&lock, FlockOperation::NonBlockingLockExclusive)
            .map_err(|_| format!("{}: another process votes here", place.display()))?;
        Ok(Self { directory, node, _lock: lock })
    }

    /// What an earlier life of this node has left. Only a file that is not there is none.
    pub(crate) fn read(&self) -> Restored {
        let mut bytes = Vec::new();
        let file = File::open(self.directory.join("ballot"));
        let why: Box<dyn Error> =
            match file.and_then(|file| file.take(1 << 16).read_to_end(&mut bytes)) {
                Err(error) if error.kind() == ErrorKind::NotFound => return Restored::Nothing,
                Err(error) => error.into(),
                Ok(_) => match Record::read(&bytes, &self.node) {
                    Ok(ballot) => return Restored::Ballot(ballot),
                    Err(error) => error.into(),
                },
            };
        eprintln!("{}: this node will not vote: {why}", self.node);
        Restored::Unusable
    }

    /// On return the ballot survives a crash. A crash meanwhile leaves the old one or the new one,
    /// each of them whole.
    pub(crate) fn save(&self, ballot: &Ballot) -> io::Result<()> {
        let temporary = self.directory.join("ballot.new");
        let mut file = File::create(&temporary)?;
        file.write_all(Record::new(ballot, &self.node).as_bytes())?;
        file.sync_all()?;
        fs::rename(temporary, self.directory.join("ballot"))?;
        File::open(&self.directory)?.sync_all()
    }
}
