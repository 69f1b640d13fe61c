//! Mutual TLS between members: who speaks is proved before a byte of the protocol is read.
//!
//! Every member has a certificate that names it, signed by the cluster's own authority. Each side of a
//! connection presents its own and recheck the other's. There is no handshake beside TLS 1.3, no
//! resumption and no other way in: a connection either proves which member is at its other end, or it
//! is closed.
//!
//! ```text
//!   Tls ── reads ──▶ Credentials ── built for this cluster ──▶ Identity ──▶ connections
//!   (files, or the application)   ▲                             │ Judge: whose certificate is this?
//!                         Keyring ┘ reads again, from a thread of its own
//! ```

mod credentials;
mod expiry;
mod explain;
pub(crate) mod files;
mod fingerprint;
#[cfg(feature = "fuzzing")]
mod fuzzing;
mod identity;
mod judge;
mod keyring;
mod name;
mod own;
pub(crate) mod pem;

pub use credentials::{Credentials, CredentialsError, Tls};
pub use expiry::Expiry;
pub(super) use explain::{explained, is_refusal, reason};
pub use fingerprint::{Fingerprint, InvalidFingerprint};
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub use fuzzing::whose;
pub(super) use identity::Identity;
pub use keyring::CertificateStatus;
pub(super) use keyring::{Keyring, News};
pub(super) use name::MemberName;
pub use name::certificate_name;

#[cfg(test)]
pub(super) mod tests;

/// What this crate's cryptography comes from, for every connection between members.
pub(crate) fn provider() -> std::sync::Arc<futures_rustls::rustls::crypto::CryptoProvider> {
    use std::sync::{Arc, OnceLock};
    static PROVIDER: OnceLock<Arc<futures_rustls::rustls::crypto::CryptoProvider>> =
        OnceLock::new();
    let ring = || Arc::new(futures_rustls::rustls::crypto::ring::default_provider());
    PROVIDER.get_or_init(ring).clone()
}
