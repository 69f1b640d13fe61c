//! Why a node of a cluster cannot be built: what was set, its limit, and the remedy.

#[cfg(feature = "cluster-file")]
use crate::quorum::file::error::ClusterFileError;
use election_core::{
    InvalidName,
    quorum::{Config, ConfigError},
};
use std::path::PathBuf;
use thiserror::Error;

/// Why a node of a cluster cannot be built.
#[derive(Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ClusterError {
    /// The list of members or the timing does not add up.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A name cannot be used.
    #[error("{what}: {why}")]
    Name {
        /// Which name.
        what: String,
        /// What is wrong with it.
        why: InvalidName,
    },
    /// The id of a member is longer than any name may be, and than an id may be
    /// ([`Config::MAX_ID`]).
    #[error("member id {id:?}… is too long ({bytes} bytes): use at most {most} bytes", most = Config::MAX_ID)]
    LongId {
        /// Its beginning.
        id: String,
        /// How long it is.
        bytes: usize,
    },
    /// An address cannot be used.
    #[error("{what}, {address:?}: {why}")]
    Address {
        /// Whose address.
        what: String,
        /// The address.
        address: String,
        /// What is wrong with it, and the remedy.
        why: &'static str,
    },
    /// The file for the ballot cannot be one.
    #[error("the ballot {path:?}: {why}")]
    Ballot {
        /// The path.
        path: PathBuf,
        /// What is wrong with it, and the remedy.
        why: &'static str,
    },
    /// Two members have one address.
    #[error("{one} and {other} have the same address, {address}; give every member its own")]
    SameAddress {
        /// A member.
        one: String,
        /// Another.
        other: String,
        /// Their address.
        address: String,
    },
    /// It was not said which of the members this process is.
    #[error("which of the members is this process? Name it with `node`")]
    NoNode,
    /// No file for the ballot was named.
    #[error("no ballot file: set `ballot`, to a file on a disk that outlives the process")]
    NoBallot,
    /// It was not said how far the data of this node have come.
    #[error(
        "how far has this node's data advanced? Call `position`, `position_later` if it has to be \
         loaded first, or `without_data`"
    )]
    NoPosition,
    /// It has certificates, and says that it has none.
    #[error("`insecure` is for clusters without certificates, but this one has them; remove it")]
    InsecureTls,
    /// Anybody on the network could vote.
    #[error(
        "{member} is at {address}, which is not on the loopback interface, and peers are not \
         authenticated: anybody who reaches a port can vote. Give the members certificates \
         (`tls`); or let only members reach the ports, and set `insecure`"
    )]
    Exposed {
        /// A member.
        member: String,
        /// Its address.
        address: String,
    },
    /// The ports of the shards are not there.
    #[error("{}", shards_refused(*.shards, *.port))]
    Shards {
        /// How many were asked for.
        shards: u16,
        /// The first port.
        port: u16,
    },
    /// Something of this kind is wrong with what the file of the cluster says
    /// ([`Cluster::from_file`](super::Cluster::from_file)).
    #[cfg(feature = "cluster-file")]
    #[error(transparent)]
    InFile(#[from] ClusterFileError),
}

crate::log::shown!(ClusterError);

fn shards_refused(shards: u16, port: u16) -> String {
    let most = 65_536 - u32::from(port);
    match shards {
        0 => "shards 0 leaves no port to listen at; use 1, or remove the setting".to_owned(),
        _ => format!(
            "shards {shards}, from port {port} on, would need port {last}, above 65535; use at \
             most {most}, or a lower port",
            last = u32::from(port) + u32::from(shards) - 1
        ),
    }
}
