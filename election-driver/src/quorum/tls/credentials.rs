//! What a member proves itself with, and where that comes from.

use super::{files, fingerprint::Fingerprint, judge::names, pem};
use futures_rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::{
    collections::BTreeMap,
    fmt,
    panic::{self, AssertUnwindSafe},
    path::{Path, PathBuf},
    sync::Arc,
};
use thiserror::Error;

/// Where a member's credentials come from. They are read again while the member runs, so that
/// certificates are replaced without a restart.
#[derive(Clone)]
pub struct Tls(Arc<Source>);

type Source = dyn Fn() -> Result<Credentials, CredentialsError> + Send + Sync;

impl Tls {
    /// Three files in PEM: the certificate of the cluster's authority (or several, while one replaces
    /// another), this member's certificate with any that lie between, and this member's key. Each is
    /// a regular file, or a link to one, of at most a mebibyte.
    ///
    /// The files are read at the start, about every five seconds, and soon after a connection could
    /// not be made. What cannot be read or does not fit together changes nothing, and is logged: the
    /// last credentials stay in use. Replace a file by renaming another over it. Members that refuse
    /// each other try again at least once in a `down_after`, and at once with other credentials.
    #[must_use]
    pub fn files(
        authority: impl Into<PathBuf>,
        certificate: impl Into<PathBuf>,
        key: impl Into<PathBuf>,
    ) -> Self {
        let (authority, certificate, key) = (authority.into(), certificate.into(), key.into());
        Self::source(move || Credentials::from_files(&authority, &certificate, &key))
    }

    /// Credentials from elsewhere: a secrets manager, for instance. `read` is called as often as files
    /// are read, on a thread of its own, and may block.
    #[must_use]
    pub fn source(
        read: impl Fn() -> Result<Credentials, CredentialsError> + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(read))
    }

    pub(in crate::quorum) fn read(&self) -> Result<Credentials, CredentialsError> {
        // It may be the application's own. The thread that reads again and again must outlive it.
        let read = panic::catch_unwind(AssertUnwindSafe(|| (self.0)()));
        read.unwrap_or_else(|_| {
            let why = "the code that reads the credentials panicked; see standard error";
            Err(CredentialsError::Unfit(why.to_owned()))
        })
    }
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tls")
    }
}

/// What a member proves itself with, and by what it recheck the others.
#[derive(PartialEq, Eq)]
pub struct Credentials {
    pub(super) authority: Vec<CertificateDer<'static>>,
    /// This member's, then those between it and the authority's.
    pub(super) chain: Vec<CertificateDer<'static>>,
    pub(super) key: PrivateKeyDer<'static>,
    /// Of the members with a list: the certificates that count for them.
    pub(super) accepted: BTreeMap<String, Vec<Fingerprint>>,
}

/// Why credentials cannot be used.
#[derive(Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CredentialsError {
    /// A file cannot be read.
    #[error("{path} cannot be read: {why}")]
    File {
        /// The file.
        path: String,
        /// Why not.
        why: String,
    },
    /// A part is missing or is no PEM.
    #[error("{what} contains no readable {part}: {why}")]
    Pem {
        /// Where it was looked for.
        what: String,
        /// What was looked for.
        part: &'static str,
        /// What is there instead.
        why: String,
    },
    /// The parts do not fit together, or not this member of this cluster.
    #[error("{0}")]
    Unfit(String),
    /// The cluster's file, which names them, cannot be used.
    #[error("{0}")]
    ClusterFile(String),
}

crate::log::shown!(CredentialsError);

impl Credentials {
    /// Reads three texts in PEM: the authority's certificate, this member's with any that lie between,
    /// and this member's key.
    ///
    /// # Errors
    /// If one of them holds no such thing.
    pub fn from_pem(
        authority: &[u8],
        certificate: &[u8],
        key: &[u8],
    ) -> Result<Self, CredentialsError> {
        let names = ["the authority's text", "the certificate's text", "the key's text"];
        Self::read([authority, certificate, key], names.map(str::to_owned))
    }

    /// Reads three files in PEM; see [`Tls::files`].
    ///
    /// # Errors
    /// If one is no regular file, has more than a mebibyte, cannot be read, or holds no such thing.
    pub fn from_files(
        authority: &Path,
        certificate: &Path,
        key: &Path,
    ) -> Result<Self, CredentialsError> {
        let read = |path: &Path| {
            let failed = |why| CredentialsError::File { path: path.display().to_string(), why };
            files::read(path).map_err(failed)
        };
        let [first, second, third] = [authority, certificate, key].map(read);
        let texts = [&*first?, &*second?, &*third?];
        Self::read(texts, [authority, certificate, key].map(|path| path.display().to_string()))
    }

    /// Accepts only these certificates of a member, though the authority has signed others: how one
    /// that was stolen is taken off. May be said several times. Members of which nothing is said may
    /// present any certificate that names them and that the authority has signed.
    #[must_use]
    pub fn accept(
        mut self,
        member: impl Into<String>,
        certificates: impl IntoIterator<Item = Fingerprint>,
    ) -> Self {
        self.accepted.entry(member.into()).or_default().extend(certificates);
        self
    }

    /// The fingerprint of this member's certificate.
    #[must_use]
    pub fn fingerprint(&self) -> Option<Fingerprint> {
        self.chain.first().map(Fingerprint::of_der)
    }

    /// The URIs by which this member's certificate names it; see
    /// [`certificate_name`](super::certificate_name).
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        self.chain.first().and_then(names).unwrap_or_default()
    }

    fn read(texts: [&[u8]; 3], names: [String; 3]) -> Result<Self, CredentialsError> {
        let [authority, chain, key] = texts;
        let [authority_name, chain_name, key_name] = names;
        let lacks = |what, part| move |why| CredentialsError::Pem { what, part, why };
        Ok(Self {
            authority: pem::certificates(authority)
                .map_err(lacks(authority_name, "certificate"))?,
            chain: pem::certificates(chain).map_err(lacks(chain_name, "certificate"))?,
            key: pem::key(key).map_err(lacks(key_name, "private key"))?,
            accepted: BTreeMap::new(),
        })
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let chain: Vec<_> = self.chain.iter().map(Fingerprint::of_der).collect();
        let authority: Vec<_> = self.authority.iter().map(Fingerprint::of_der).collect();
        f.debug_struct("Credentials")
            .field("authority", &authority)
            .field("chain", &chain)
            .field("accepted", &self.accepted)
            .finish_non_exhaustive()
    }
}
