//! Why a member's own certificate and key are of no use together.

use super::{explain, provider};
use futures_rustls::{
    pki_types::{CertificateDer, PrivateKeyDer},
    rustls::{Error, sign::CertifiedKey},
};

/// What is wrong with the pair, and the remedy; `error` is what came of it.
pub(super) fn why_not(
    chain: &[CertificateDer<'static>],
    key: &PrivateKeyDer<'static>,
    error: &Error,
) -> String {
    match error {
        Error::InvalidCertificate(_) => {
            format!("this member's own certificate: {}", explain::plain(error))
        }
        Error::InconsistentKeys(_) => match chain.iter().skip(1).any(|other| fits(other, key)) {
            true => "this member's own certificate is not first in its file; put it before the \
                     certificates that signed it"
                .to_owned(),
            false => {
                "this member's key does not belong to its certificate; name the matching key, or \
                 make a new pair with `election cluster add-key`"
                    .to_owned()
            }
        },
        _ if provider().key_provider.load_private_key(key.clone_key()).is_err() => {
            "this member's key type is not supported; use ECDSA (P-256 or P-384), Ed25519, or RSA \
             with 2048 to 4096 bits; `election cluster add-key` makes one"
                .to_owned()
        }
        error => format!("this member's key and certificate cannot be used: {error}"),
    }
}

/// Whether this key is the certificate's.
fn fits(certificate: &CertificateDer<'static>, key: &PrivateKeyDer<'static>) -> bool {
    let key = provider().key_provider.load_private_key(key.clone_key());
    key.is_ok_and(|key| CertifiedKey::new(vec![certificate.clone()], key).keys_match().is_ok())
}
