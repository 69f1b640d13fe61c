//! How members prove to each other who speaks, if they do.

#[cfg(feature = "tls")]
use super::tls;
use super::{starting::StartError, transport::Transport};
use election_core::{Namespace, NodeId};
use futures_lite::io::{AsyncRead, AsyncWrite};
use std::io;

/// What a cluster was told of it.
#[derive(Default)]
pub(super) enum Proof {
    #[default]
    Nothing,
    #[cfg(feature = "tls")]
    Tls(tls::Tls),
}

/// What a running node has for it. Cheap to clone.
#[derive(Clone)]
pub(super) enum Security {
    /// Nothing: whoever reaches a port is believed.
    Plain,
    #[cfg(feature = "tls")]
    Tls(tls::Keyring),
}

impl Security {
    /// Reads what there is to be read. May block.
    pub(super) fn open(proof: Proof, own: (Namespace, NodeId)) -> Result<Self, StartError> {
        match proof {
            Proof::Nothing => {
                drop(own);
                Ok(Self::Plain)
            }
            #[cfg(feature = "tls")]
            Proof::Tls(source) => {
                let own = tls::MemberName { cluster: own.0, id: own.1 };
                tls::Keyring::open(source, own).map(Self::Tls)
            }
        }
    }

    /// Makes a connection to a member out of one to its address.
    pub(super) async fn connect<S: AsyncRead + AsyncWrite + Unpin>(
        &self,
        stream: S,
        id: NodeId,
    ) -> io::Result<Transport<S>> {
        match self {
            Self::Plain => {
                drop(id);
                Ok(Transport::Plain(stream))
            }
            #[cfg(feature = "tls")]
            Self::Tls(keyring) => {
                let shaken = keyring.current().connect(stream, id).await;
                shaken.map_err(|error| self.explained(error))
            }
        }
    }

    /// What an error of a connection means.
    pub(super) fn explained(&self, error: io::Error) -> io::Error {
        match self {
            Self::Plain => error,
            #[cfg(feature = "tls")]
            Self::Tls(keyring) => tls::explained(error).unwrap_or_else(|explained| {
                keyring.ask();
                explained
            }),
        }
    }

    /// Whether an error that was explained lasts until something is replaced.
    pub(super) fn is_refusal(&self, error: &io::Error) -> bool {
        match self {
            Self::Plain => {
                let _: &io::Error = error;
                false
            }
            #[cfg(feature = "tls")]
            Self::Tls(_) => tls::is_refusal(error),
        }
    }

    /// Whether a connection that was made earlier may stay.
    #[cfg(feature = "tls")]
    pub(super) fn still_admits<S>(&self, transport: &Transport<S>, id: &NodeId) -> bool {
        match self {
            Self::Plain => true,
            Self::Tls(keyring) => keyring.current().still_admits(transport, id),
        }
    }

    /// What there is of certificates, if there are any.
    #[cfg(feature = "tls")]
    pub(super) fn certificates(&self) -> Option<tls::CertificateStatus> {
        match self {
            Self::Plain => None,
            Self::Tls(keyring) => Some(keyring.status()),
        }
    }
}
