//! What a stranger's certificate is read by, by itself: for the fuzz target of this repository.

use super::{
    identity::certificate_name,
    judge::{Named, whose as judged},
};
use election_core::quorum::Peer;
use futures_rustls::pki_types::CertificateDer;

/// The place of the member whose certificate this is, whoever signed it, or why it is nobody's.
///
/// # Errors
/// If it cannot be read, or names none of them or several.
pub fn whose(cluster: &str, ids: &[&str], certificate: &[u8]) -> Result<usize, String> {
    let named = |id: &&str| Named {
        id: (*id).to_owned(),
        uri: certificate_name(cluster, id),
        accepted: None,
    };
    let members: Vec<_> = ids.iter().map(named).collect();
    let found = judged(&members, &CertificateDer::from(certificate));
    found.map(Peer::index).map_err(|why| why.to_string())
}
