//! Why a connection of somebody else was closed.

use election_core::{NodeId, quorum::wire::WireError};
use thiserror::Error;

/// With which byte a connection begins that is to be encrypted.
pub(super) const HANDSHAKE: u8 = 0x16;
/// With which byte an encrypted connection complains of a plain one.
pub(super) const COMPLAINT: u8 = 0x15;

#[derive(Debug, Error)]
pub(super) enum Refusal {
    /// It sends what no member does.
    #[error(
        "it speaks TLS, but this member has no certificate; give every member a certificate, or \
         none"
    )]
    Encrypted,
    #[error(transparent)]
    Frame(WireError),
    /// It did not prove to be a member.
    #[cfg(feature = "tls")]
    #[error("{cause}")]
    Unproved { reason: &'static str, cause: String },
    /// It speaks in another member's name.
    #[error(
        "it holds the certificate of {proved} but claims to be {claimed}; do not trust whoever has \
         the key of {proved}: give {proved} a new one, and list only that as accepted"
    )]
    Impostor { proved: NodeId, claimed: NodeId },
}

impl Refusal {
    /// A stable lower-case name for logs and metrics.
    pub(super) fn as_str(&self) -> &'static str {
        match self {
            Self::Encrypted => "encrypted",
            Self::Frame(error) => error.as_str(),
            #[cfg(feature = "tls")]
            Self::Unproved { reason, .. } => reason,
            Self::Impostor { .. } => "impostor",
        }
    }
}

impl From<WireError> for Refusal {
    fn from(error: WireError) -> Self {
        match error {
            WireError::NotAnArray(HANDSHAKE) => Self::Encrypted,
            error => Self::Frame(error),
        }
    }
}
