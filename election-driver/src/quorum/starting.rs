//! How far a start has come, for those who wait for it (a disk, a network or a name server may hang),
//! and why it cannot go on.

use election_core::quorum::wire::InvalidId;
use std::{
    fmt, io,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};
use thiserror::Error;

/// What a start does at the moment, in words that continue "this member is …". Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Starting(Arc<AtomicUsize>);

/// What may hang.
#[derive(Clone, Copy)]
pub(super) enum Stage {
    Ballot = 1,
    Proof,
    Ports,
    Over,
}

impl Starting {
    pub(super) fn begins(&self, stage: Stage) {
        self.0.store(stage as usize, Ordering::Relaxed);
    }
}

impl fmt::Display for Starting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const STAGES: [&str; 5] = [
            "starting",
            "opening its ballot",
            "reading its certificates",
            "opening its ports and resolving their names",
            "started",
        ];
        f.write_str(STAGES.get(self.0.load(Ordering::Relaxed)).unwrap_or(&STAGES[0]))
    }
}

/// Why a node cannot be started.
#[derive(Error)]
#[non_exhaustive]
pub enum StartError {
    /// The ballot cannot be kept: another process has it, or the directory cannot be used.
    #[error("the ballot cannot be used: {reason}")]
    Ballot {
        /// Which file, what is wrong with it, and the remedy.
        reason: String,
        /// The file.
        path: PathBuf,
    },
    /// The name of the address to listen at is not found. It may be a moment later: see
    /// [`Cluster::look_up`](super::Cluster::look_up).
    #[error(
        "cannot listen at {address}: {source}; correct the name, repair the name service, or \
         `listen` at an IP address, such as 0.0.0.0:{port}"
    )]
    Lookup {
        /// Where.
        address: String,
        /// Its port.
        port: u16,
        /// Why not.
        source: io::Error,
    },
    /// A port cannot be opened.
    #[error("cannot listen at {address}: {source}; {}", remedy(.source))]
    Listen {
        /// Where.
        address: String,
        /// Why not.
        source: io::Error,
    },
    /// An id cannot stand in a frame.
    #[error(transparent)]
    Id(#[from] InvalidId),
    /// The credentials cannot be used.
    #[cfg(feature = "tls")]
    #[error("the certificates cannot be used: {0}")]
    Credentials(#[from] super::tls::CredentialsError),
    /// The system gives no thread for what may block: the ballot, and looking names up.
    #[error("cannot start a thread: {0}; raise the thread limit")]
    Thread(io::Error),
}

crate::log::shown!(StartError);

fn remedy(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::AddrInUse => "another process uses the port: stop it, or use another port",
        io::ErrorKind::AddrNotAvailable => {
            "this machine does not have that address: correct it, or set `listen`"
        }
        io::ErrorKind::PermissionDenied => "use a port above 1023, or let this user open it",
        _ => "correct the address, or set `listen`",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_that_cannot_be_opened_is_told_with_its_remedy() {
        for (kind, part) in [
            (io::ErrorKind::AddrInUse, "use another port"),
            (io::ErrorKind::AddrNotAvailable, "this machine does not have that address"),
            (io::ErrorKind::PermissionDenied, "above 1023"),
            (io::ErrorKind::NotFound, "correct the address"),
        ] {
            let address = "127.0.0.1:80".to_owned();
            let said = StartError::Listen { address, source: kind.into() }.to_string();
            assert!(said.contains(part), "{said} lacks {part:?}");
        }
    }
}
